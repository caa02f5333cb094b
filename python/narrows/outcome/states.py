"""State of algorithms over time as one long table: what BBR, CUBIC, RED or loss recovery kept at each sample.

Runs have it where the scenario asks for it: ``sampling = { interval = "10 ms", state = true }``. A row is one variable
of one flow or queue at one time; `States.wide` has a column for each variable of one of them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from narrows.base import memory
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    from narrows import _core

__all__ = ["States", "Variable"]

COLUMNS: Final[dict[str, tuple[str, str]]] = {
    "run": ("", "Index of the run, from 0."),
    "time_s": ("s", "Time of the sample."),
    "kind": ("", "flow or queue."),
    "name": ("", "Name of the flow or queue."),
    "algorithm": ("", "What keeps the variable: a congestion control, a queue discipline, or tcp."),
    "variable": ("", "Name of the variable."),
    "unit": ("", "Unit of the value; empty if it has none."),
    "value": ("", "The value; null where the variable has none."),
}
"""Unit and meaning of each column."""

TABLE: Final = "state"
"""Name of the engine's table."""

NONE: Final = 2**64 - 1
"""The engine's "no value"."""

_KEY: Final = b"variables"
"""Key of the list of variables in the metadata of a table."""

_WIDTH: Final = 40
"""Bytes per row in a table: two numbers, and six indices into dictionaries."""


@dataclass(frozen=True)
class Variable:
    """A variable of an algorithm.

    Attributes
    ----------
    kind : {"flow", "queue"}
        What the algorithm works for.
    algorithm, name : str
        The algorithm, and the variable's name in it.
    unit, doc : str
        Unit and meaning; empty where the algorithm declares none.
    words : tuple of str
        What the values 0, 1, 2 .. mean; empty for a quantity.
    """

    kind: str
    algorithm: str
    name: str
    unit: str
    doc: str
    words: tuple[str, ...]


class States:
    """State of algorithms over time, of one run or of several.

    Parameters
    ----------
    parts : sequence
        Where the rows are, run by run.
    variables : iterable of Variable
        What the rows describe.
    """

    def __init__(self, parts: Sequence[_Part] = (), variables: Iterable[Variable] = ()) -> None:
        self._parts = tuple(parts)
        self._variables = tuple(dict.fromkeys(variables))

    @classmethod
    def from_result(cls, result: _core.Result, run: int = 0) -> States:
        """Wrap the state that an engine's run sampled; rows are unpacked only on access.

        Parameters
        ----------
        result : narrows._core.Result
        run : int
            Index of the run.

        Returns
        -------
        States
        """
        series = result.series()
        if not series:
            return cls()
        variables = [
            Variable(kind, algorithm, name, unit, doc, tuple(words))
            for kind, _, algorithm, name, unit, doc, words in series
        ]
        return cls([_Engine(result, run)], variables)

    @classmethod
    def concat(cls, parts: Iterable[States]) -> States:
        """Concatenate the state of several runs, without copying.

        Parameters
        ----------
        parts : iterable of States

        Returns
        -------
        States
        """
        listed = list(parts)
        return cls(
            [part for states in listed for part in states._parts],
            [variable for states in listed for variable in states.variables],
        )

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> States:
        """Read a file that `to_parquet` wrote.

        Parameters
        ----------
        path : path

        Returns
        -------
        States

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is no such file.
        """
        import pyarrow.parquet as pq

        schema = pq.read_schema(path)
        absent = [name for name in COLUMNS if name not in schema.names]
        if absent:
            message = f"{path}: lacks the columns {', '.join(absent)}"
            raise ValueError(message)
        listed = (schema.metadata or {}).get(_KEY)
        if listed is None:
            message = f"{path}: lacks the list of variables in its metadata"
            raise ValueError(message)
        try:
            variables = [Variable(**{**row, "words": tuple(row["words"])}) for row in json.loads(listed)]
        except (TypeError, LookupError, ValueError) as error:
            message = f"{path}: has a damaged list of variables: {error}"
            raise ValueError(message) from None
        return cls([_File(path, None)], variables)

    def of_run(self, run: int) -> States:
        """Keep the rows of one run.

        Parameters
        ----------
        run : int
            Index of the run.

        Returns
        -------
        States
        """
        return States([part.of_run(run) for part in self._parts], self._variables)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What the rows describe, in the order in which variables first appear."""
        return self._variables

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows in parts, however many there are.

        Yields
        ------
        pyarrow.Table
            Some hundred thousand rows with the columns of `COLUMNS`, in the order of runs and times.
        """
        for part in self._parts:
            yield from part.tables()

    def objects(self) -> dict[tuple[str, str], int]:
        """Count the rows of each flow and queue.

        Returns
        -------
        dict
            Number of rows by kind and name, in the order of their first samples.
        """
        counts: dict[tuple[str, str], int] = {}
        for table in self.batches():
            pairs = table.select(["kind", "name"]).group_by(["kind", "name"]).aggregate([([], "count_all")]).to_pylist()
            for row in pairs:
                key = (str(row["kind"]), str(row["name"]))
                counts[key] = counts.get(key, 0) + int(row["count_all"])
        return counts

    def frame(self, name: str | None = None, variable: str | None = None) -> pd.DataFrame:
        """Return rows as a data frame; "no value" is NaN.

        Parameters
        ----------
        name : str, optional
            Only this flow or queue.
        variable : str, optional
            Only this variable.

        Returns
        -------
        pandas.DataFrame
            Columns ``run time_s kind name algorithm variable unit value``.

        Raises
        ------
        InputError
            If there is no such variable, or the rows do not fit in memory.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        names = list(dict.fromkeys(v.name for v in self._variables))
        if variable is not None and variable not in names:
            message = f"variable is {variable!r}; allowed: {', '.join(names) or 'none'}"
            raise InputError(message)
        kept = []
        rows = 0
        for table in self.batches():
            chosen = table
            if name is not None:
                chosen = chosen.filter(pc.equal(chosen["name"], name))
            if variable is not None:
                chosen = chosen.filter(pc.equal(chosen["variable"], variable))
            rows += chosen.num_rows
            memory.check(
                2 * rows * _WIDTH, f"{rows:,} samples of state in one table", "one flow or variable at a time (frame)"
            )
            kept.append(chosen)
        table = pa.concat_tables(kept).unify_dictionaries() if kept else self._empty()
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def wide(self, name: str, run: int | None = None) -> pd.DataFrame:
        """Return the variables of one flow or queue side by side.

        Parameters
        ----------
        name : str
            The flow or queue.
        run : int, optional
            Index of the run; by default the first one.

        Returns
        -------
        pandas.DataFrame
            A row per time (index ``time_s``) and a column per variable, named ``algorithm.variable``. If something was
            sampled more than once at a time, the last value is shown.

        Raises
        ------
        InputError
            If nothing of that name was sampled.
        """
        rows = self.frame(name=name)
        if rows.empty:
            names = sorted(name for _, name in self.objects())
            message = f"name is {name!r}; allowed: {', '.join(names) or 'none, because no state was sampled'}"
            raise InputError(message)
        rows = rows[rows["run"] == (rows["run"].iloc[0] if run is None else run)]
        order = dict.fromkeys(f"{v.algorithm}.{v.name}" for v in self._variables)
        rows = rows.assign(column=rows["algorithm"].astype(str) + "." + rows["variable"].astype(str))
        wide = rows.pivot_table(index="time_s", columns="column", values="value", aggfunc="last", dropna=False)
        made: pd.DataFrame = wide[[column for column in order if column in wide.columns]].rename_axis(columns=None)
        return made

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the rows as Parquet (zstd), with the list of variables in the schema's metadata.

        Parameters
        ----------
        path : path
            File to write.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        import pyarrow.parquet as pq

        schema = self._empty().schema
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for table in self.batches():
                writer.write_table(table.cast(schema))

    def _empty(self) -> pa.Table:
        """Return a table without rows, which carries the list of variables."""
        import pyarrow as pa

        listed = json.dumps([asdict(variable) for variable in self._variables])
        words = pa.dictionary(pa.int32(), pa.string())
        types = {"run": pa.int64(), "time_s": pa.float64(), "value": pa.float64()}
        fields = [
            pa.field(name, types.get(name, words), metadata={"unit": unit, "doc": doc})
            for name, (unit, doc) in COLUMNS.items()
        ]
        return pa.schema(fields, metadata={_KEY: listed.encode()}).empty_table()

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(part.rows for part in self._parts)

    def __repr__(self) -> str:
        """Return the numbers of rows and variables."""
        return f"<States: {len(self)} rows of {len(self._variables)} variables>"


class _Part(Protocol):
    """Rows of one run or several, in order."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows chunk by chunk."""

    def of_run(self, run: int) -> _Part:
        """Keep the rows of one run."""


@dataclass(frozen=True)
class _Engine:
    """Rows that the engine holds, in memory or in its temporary file."""

    result: _core.Result
    run: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.result.sampled(TABLE)[0]

    def of_run(self, run: int) -> _Part:
        """Return these rows if they are of the run."""
        return self if run == self.run else _File(None, run)

    def tables(self) -> Iterator[pa.Table]:
        """Unpack chunk by chunk."""
        names = {"flow": self.result.flow_names, "queue": self.result.queue_names}
        told = [
            (kind, names[kind][index], algorithm, variable, unit)
            for kind, index, algorithm, variable, unit, _, _ in self.result.series()
        ]
        for number in range(self.result.sampled(TABLE)[1]):
            yield self._table(self.result.chunk(TABLE, number), told)

    def _table(self, columns: list[tuple[str, str, str, bytes]], told: Sequence[tuple[str, ...]]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        values = {name: np.frombuffer(data, dtype="<u8") for name, _, _, data in columns}
        series = values["series"].astype(np.int64)
        bits = values["value_bits"]
        made = {
            "run": pa.array(np.full(len(series), self.run, dtype=np.int64)),
            "time_s": pa.array(values["time_ns"] / 1e9),
        }
        for place, column in enumerate(("kind", "name", "algorithm", "variable", "unit")):
            words = list(dict.fromkeys(row[place] for row in told))
            codes = np.array([words.index(row[place]) for row in told], dtype=np.int32)
            made[column] = pa.DictionaryArray.from_arrays(pa.array(codes[series]), pa.array(words, type=pa.string()))
        made["value"] = pa.array(bits.view("<f8"), mask=bits == NONE)
        return pa.table(made)


@dataclass(frozen=True)
class _File:
    """Rows in a Parquet file, of all runs or of one; no rows without a file."""

    path: str | PathLike[str] | None
    run: int | None

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        import pyarrow.parquet as pq

        if self.path is None:
            return 0
        if self.run is None:
            return int(pq.read_metadata(self.path).num_rows)
        return sum(table.num_rows for table in self.tables())

    def of_run(self, run: int) -> _Part:
        """Keep the rows of one run."""
        return _File(self.path, run)

    def tables(self) -> Iterator[pa.Table]:
        """Read row group by row group."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        if self.path is None:
            return
        words = [name for name in COLUMNS if name not in {"run", "time_s", "value"}]
        with pq.ParquetFile(self.path, read_dictionary=words) as file:
            for number in range(file.num_row_groups):
                table = file.read_row_group(number, columns=list(COLUMNS))
                yield table if self.run is None else table.filter(pc.equal(table["run"], self.run))
