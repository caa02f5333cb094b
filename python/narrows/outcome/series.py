"""Rows of the state of algorithms, chunk by chunk: series of variables, from the engine or from a Parquet file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from narrows.outcome.chunks import opened, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from narrows import _core
    from narrows.outcome.chunks import Source
    from narrows.outcome.tidy import CoreTable

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


def schema(variables: Iterable[Variable] = ()) -> pa.Schema:
    """Return the columns of a table of state.

    Parameters
    ----------
    variables : iterable of Variable
        For the list in the metadata.

    Returns
    -------
    pyarrow.Schema
    """
    import pyarrow as pa

    listed = json.dumps([asdict(variable) for variable in variables])
    words = pa.dictionary(pa.int32(), pa.string())
    types = {"run": pa.int64(), "time_s": pa.float64(), "value": pa.float64()}
    fields = [
        pa.field(name, types.get(name, words), metadata={"unit": unit, "doc": doc})
        for name, (unit, doc) in COLUMNS.items()
    ]
    return pa.schema(fields, metadata={_KEY: listed.encode()})


def listed_in(path: Source) -> list[Variable]:
    """Read the list of variables in the metadata of a Parquet file.

    Parameters
    ----------
    path : path or Copy

    Returns
    -------
    list of Variable

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it lacks columns or the list, or the list is damaged.
    """
    import pyarrow.parquet as pq

    found = pq.read_schema(opened(path))
    absent = [name for name in COLUMNS if name not in found.names]
    if absent:
        message = f"{path}: lacks the columns {', '.join(absent)}"
        raise ValueError(message)
    listed = (found.metadata or {}).get(_KEY)
    if listed is None:
        message = f"{path}: lacks the list of variables in its metadata"
        raise ValueError(message)
    try:
        return [Variable(**{**row, "words": tuple(row["words"])}) for row in json.loads(listed)]
    except (TypeError, LookupError, ValueError) as error:
        message = f"{path}: has a damaged list of variables: {error}"
        raise ValueError(message) from None


@dataclass(frozen=True)
class Engine:
    """Rows that the engine holds, in memory or in its temporary file.

    Attributes
    ----------
    result : narrows._core.Result
    run : int
        Index of the run.
    """

    result: _core.Result
    run: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.result.sampled(TABLE)[0]

    @property
    def schema(self) -> pa.Schema:
        """Columns of a chunk."""
        return schema()

    def __iter__(self) -> Iterator[pa.Table]:
        """Unpack chunk by chunk."""
        names = {"flow": self.result.flow_names, "queue": self.result.queue_names}
        told = [
            (kind, names[kind][index], algorithm, variable, unit)
            for kind, index, algorithm, variable, unit, _, _ in self.result.series()
        ]
        for chunk in unpacked(self.result, TABLE):
            yield self._table(chunk, told)

    def _table(self, columns: CoreTable, told: Sequence[tuple[str, ...]]) -> pa.Table:
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
class Parquet:
    """Rows in a Parquet file.

    Attributes
    ----------
    path : path or Copy
    """

    path: Source

    @cached_property
    def rows(self) -> int:
        """Number of rows, read from the file's metadata."""
        import pyarrow.parquet as pq

        return int(pq.read_metadata(opened(self.path)).num_rows)

    @property
    def schema(self) -> pa.Schema:
        """Columns of a chunk."""
        return schema()

    def __iter__(self) -> Iterator[pa.Table]:
        """Read row group by row group."""
        import pyarrow.parquet as pq

        words = [name for name in COLUMNS if name not in {"run", "time_s", "value"}]
        with pq.ParquetFile(opened(self.path), read_dictionary=words) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number, columns=list(COLUMNS))
