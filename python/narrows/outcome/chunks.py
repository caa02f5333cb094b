"""Samples of one kind, chunk by chunk: from the engine, from a Parquet file, or from tables in memory.

The samples of a run may exceed memory. Code that can work on one chunk at a time uses this module; a chunk has some
hundred thousand rows. `narrows.outcome.samples` builds whole tables where they fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    import pyarrow as pa

    from narrows import _core

CoreTable = list[tuple[str, str, str, bytes]]
"""A table as the extension gives it: name, unit, meaning and little-endian u64 values of each column."""

NONE: Final = -1
"""2^64-1, the engine's "no value", read as a signed integer."""

SUBQUEUE: Final = "subqueue"
"""Kind of the rows of sub-queues. Their columns are columns of queues, so such rows add no columns to a table."""

WHOLE_QUEUE: Final = frozenset({"corrupted"})
"""Columns of queues that sub-queues do not have."""

TIDY: Final[dict[str, tuple[str, str]]] = {
    "run": ("", "Index of the run, from 0."),
    "time_s": ("s", "Time of the sample."),
    "kind": ("", "flow, queue or router."),
    "name": ("", "Name of the flow, queue or router."),
}
"""Unit and meaning of the columns that all kinds have."""


class Chunks(Protocol):
    """Rows of one kind, in order."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def schema(self) -> pa.Schema:
        """Columns ``run time_s kind name`` and the kind's own columns."""

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the rows chunk by chunk."""


@dataclass(frozen=True)
class Whole:
    """Rows that are already one table.

    Attributes
    ----------
    table : pyarrow.Table
    """

    table: pa.Table

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the table."""
        return self.table.schema

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the table."""
        yield self.table


@dataclass(frozen=True)
class Nothing:
    """No rows of sub-queues, whose columns are those of queues.

    Attributes
    ----------
    queues : Chunks
        Rows of queues.
    """

    queues: Chunks

    @property
    def rows(self) -> int:
        """Number of rows: 0."""
        return 0

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of sub-queues."""
        import pyarrow as pa

        schema = self.queues.schema
        return pa.schema([schema.field(name) for name in own_columns(schema, SUBQUEUE)])

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield a table without rows."""
        yield self.schema.empty_table()


@dataclass(frozen=True)
class Engine:
    """Rows that the engine holds, in memory or in its temporary file.

    Attributes
    ----------
    result : narrows._core.Result
    kind : str
    names : sequence of str
        In the order of the index column.
    run : int
        Index of the run.
    places : sequence of tuple, optional
        As for `from_core`.
    """

    result: _core.Result
    kind: str
    names: Sequence[str]
    run: int
    places: Sequence[tuple[int, int]] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.result.sampled(f"{self.kind}s")[0]

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of a chunk."""
        return next(iter(self)).schema

    def __iter__(self) -> Iterator[pa.Table]:
        """Unpack chunk by chunk; there is always at least one chunk, which may have no rows."""
        _, chunks = self.result.sampled(f"{self.kind}s")
        for number in range(chunks):
            chunk = self.result.chunk(f"{self.kind}s", number)
            yield from_core(self.kind, chunk, self.names, self.run, self.places)


@dataclass(frozen=True)
class Parquet:
    """Rows in a Parquet file.

    Attributes
    ----------
    path : path
    kind : str
    """

    path: str | PathLike[str]
    kind: str

    @cached_property
    def rows(self) -> int:
        """Number of rows, read from the column ``kind`` alone."""
        return sum(table.num_rows for table in self._groups(("kind",)))

    @cached_property
    def schema(self) -> pa.Schema:
        """The file's columns that apply to the kind."""
        import pyarrow as pa

        schema = self._file().schema_arrow
        return pa.schema([schema.field(name) for name in own_columns(schema, self.kind)])

    def __iter__(self) -> Iterator[pa.Table]:
        """Read row group by row group."""
        names = tuple(self.schema.names)
        for table in self._groups(names):
            yield table.select(names)

    def _file(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self.path, read_dictionary=["kind", "name"])

    def _groups(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        import pyarrow.compute as pc

        with self._file() as file:
            place = file.schema_arrow.names.index("kind")
            for number in range(file.num_row_groups):
                known = file.metadata.row_group(number).column(place).statistics
                if known is None or not known.has_min_max or known.min <= self.kind <= known.max:
                    group = file.read_row_group(number, columns=list(columns))
                    yield group.filter(pc.equal(group["kind"], self.kind))


@dataclass(frozen=True)
class OfRun:
    """The rows of one run, out of those of several.

    Attributes
    ----------
    chunks : Chunks
    run : int
        Index of the run.
    """

    chunks: Chunks
    run: int

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return sum(table.num_rows for table in self)

    @property
    def schema(self) -> pa.Schema:
        """Columns of a chunk, the same as for all runs."""
        return self.chunks.schema

    def __iter__(self) -> Iterator[pa.Table]:
        """Filter chunk by chunk."""
        import pyarrow.compute as pc

        for table in self.chunks:
            yield table.filter(pc.equal(table["run"], self.run))


@dataclass(frozen=True)
class Joined:
    """Rows of several `Chunks`, one after the other.

    Attributes
    ----------
    parts : sequence of Chunks
        At least one.
    """

    parts: Sequence[Chunks]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the first part."""
        return self.parts[0].schema

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the chunks of the first part, then those of the next."""
        for part in self.parts:
            yield from part


def own_columns(schema: pa.Schema, kind: str) -> list[str]:
    """Name the columns of the tidy table that apply to a kind.

    Parameters
    ----------
    schema : pyarrow.Schema
    kind : str

    Returns
    -------
    list of str
    """
    declared, without = ("queue", WHOLE_QUEUE) if kind == SUBQUEUE else (kind, frozenset[str]())
    own = (f.name for f in schema if f.name in TIDY or (f.metadata or {}).get(b"kind") == declared.encode())
    return [name for name in own if name not in without]


def tidy_schema(schemas: Mapping[Any, pa.Schema]) -> pa.Schema:
    """Put the columns of all kinds side by side.

    Parameters
    ----------
    schemas : mapping
        By kind.

    Returns
    -------
    pyarrow.Schema
        Columns ``run time_s kind name``, then those of each kind.
    """
    import pyarrow as pa

    first = next(iter(schemas.values()))
    more = [field for schema in schemas.values() for field in schema if field.name not in TIDY]
    return pa.schema([first.field(name) for name in TIDY] + more)


def widen(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Add the columns of all kinds to a table of one kind, null where they do not apply.

    Parameters
    ----------
    table : pyarrow.Table
    schema : pyarrow.Schema
        As `tidy_schema` makes it.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    present = set(table.schema.names)
    columns = [
        table[field.name] if field.name in present else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def from_core(
    kind: str, columns: CoreTable, names: Sequence[str], run: int, places: Sequence[tuple[int, int]] | None = None
) -> pa.Table:
    """Wrap the engine's columns without copying them.

    Parameters
    ----------
    kind : str
    columns : list of tuple
    names : sequence of str
        In the order of the index column.
    run : int
        Index of the run.
    places : sequence of tuple, optional
        Of sub-queues: index of the queue and index in it, in the order of the names.

    Returns
    -------
    pyarrow.Table
    """
    import numpy as np
    import pyarrow as pa

    values = {name: np.frombuffer(data, dtype="<i8") for name, _, _, data in columns}
    rows = len(values["time_ns"])
    index = {"time_ns", kind} if kind != SUBQUEUE else {"time_ns", "queue", kind}
    codes = values[kind] if places is None else _codes(values["queue"], values[kind], places)
    arrays: list[Any] = [
        pa.array(np.full(rows, run, dtype=np.int32)),
        pa.array(values["time_ns"] / 1e9),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([kind])),
        pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(names), type=pa.string())),
    ]
    fields = [_field(name, array.type, *TIDY[name], "") for name, array in zip(TIDY, arrays, strict=True)]
    for name, unit, doc, data in columns:
        if name not in index:
            arrays.append(_column(data, values[name]))
            fields.append(_field(name, pa.int64(), unit, doc, "queue" if kind == SUBQUEUE else kind))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _codes(queue: Any, subqueue: Any, places: Sequence[tuple[int, int]]) -> Any:
    """Return the index in ``places`` of each pair of queue and sub-queue; the places are in rising order."""
    import numpy as np

    def key(queue: Any, subqueue: Any) -> Any:
        return (queue << 32) | subqueue

    listed = np.array(places, dtype=np.int64).reshape(-1, 2)
    return np.searchsorted(key(listed[:, 0], listed[:, 1]), key(queue, subqueue))


def _field(name: str, dtype: pa.DataType, unit: str, doc: str, kind: str) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, dtype, metadata={"unit": unit, "doc": doc, "kind": kind})


def _column(data: bytes, values: Any) -> pa.Array:
    """Wrap a column's bytes without copying; only the null bitmap is built, and only if there are nulls."""
    import numpy as np
    import pyarrow as pa

    missing = values == NONE
    bitmap = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes()) if missing.any() else None
    return pa.Array.from_buffers(pa.int64(), len(values), [bitmap, pa.py_buffer(data)])
