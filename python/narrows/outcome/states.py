"""State of algorithms over time as one long table: what BBR, CUBIC, RED or loss recovery kept at each sample.

Runs have it where the scenario asks for it: ``sampling = { interval = "10 ms", state = true }``. A row is one variable
of one flow or queue at one time; `States.wide` has a column for each variable of one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.base import memory
from narrows.base.errors import InputError
from narrows.outcome import times
from narrows.outcome.chunks import OfRun, Whole
from narrows.outcome.series import COLUMNS, Engine, Parquet, Variable, listed_in, schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    from narrows import _core
    from narrows.outcome.chunks import Chunks, Source

__all__ = ["COLUMNS", "States", "Variable"]

_WIDTH: Final = 40
"""Bytes per row in a table: two numbers, and six indices into dictionaries."""


class States:
    """State of algorithms over time, of one run or of several.

    Parameters
    ----------
    parts : sequence
        Where the rows are, run by run.
    variables : iterable of Variable
        What the rows describe.
    """

    def __init__(self, parts: Sequence[Chunks] = (), variables: Iterable[Variable] = ()) -> None:
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
        return cls([Engine(result, run)], variables)

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
    def from_parquet(cls, path: Source) -> States:
        """Read a file that `to_parquet` wrote.

        Parameters
        ----------
        path : path or Copy

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
        return cls([Parquet(path)], listed_in(path))

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
        # The engine's rows are of one run each, so those of other runs need not be unpacked.
        kept = [part for part in self._parts if not isinstance(part, Engine) or part.run == run]
        return States([part if isinstance(part, Engine) else OfRun(part, run) for part in kept], self._variables)

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
            yield from part

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
        table = pa.concat_tables(kept).unify_dictionaries() if kept else schema(self._variables).empty_table()
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

        with_variables = schema(self._variables)
        with pq.ParquetWriter(path, with_variables, compression="zstd") as writer:
            for table in self.batches():
                writer.write_table(table.cast(with_variables))

    def to_csv(self, path: str | PathLike[str], *, time: times.TimeUnit | None = "s") -> None:
        """Write the rows as CSV, part by part; "no value" is empty.

        Parameters
        ----------
        path : path
            File to write.
        time : {"s", "ms", "us", "ns"} or None
            Unit of the times of samples; values of variables have the unit in their row.

        Raises
        ------
        InputError
            If there is no such unit.
        OSError
            If it cannot be written.
        """
        from narrows.outcome import text

        empty = schema(self._variables).empty_table()
        parts = (times.converted(part.cast(empty.schema), time) for part in self.batches())
        text.write_csv(path, times.converted(empty, time).schema, parts)

    def __reduce__(self) -> tuple[type[States], tuple[list[Whole], tuple[Variable, ...]]]:
        """Return how a copy is made in another process: from whole tables."""
        import pyarrow as pa

        memory.check(len(self) * _WIDTH, f"{len(self):,} samples of state in one table", "one run at a time")
        return States, ([Whole(pa.concat_tables(part)) for part in self._parts], self._variables)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(part.rows for part in self._parts)

    def __repr__(self) -> str:
        """Return the numbers of rows and variables."""
        return f"<States: {len(self)} rows of {len(self._variables)} variables>"
