"""Samples of one kind, chunk by chunk: from the engine, from a Parquet file, or from tables in memory.

The samples of a run may exceed memory. Code that can work on one chunk at a time uses this module; a chunk has some
hundred thousand rows. `narrows.outcome.samples` builds whole tables where they fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from narrows.base.nameless import Copy
from narrows.outcome.tidy import SUBQUEUE, TIDY, from_core, own_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    import pyarrow as pa

    from narrows import _core
    from narrows.base.nameless import Reader
    from narrows.outcome.tidy import CoreTable

    Source = str | PathLike[str] | Copy
    """Where a file is: a path, or a copy in a temporary file."""


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
        for chunk in unpacked(self.result, f"{self.kind}s"):
            yield from_core(self.kind, chunk, self.names, self.run, self.places)


@dataclass(frozen=True)
class Parquet:
    """Rows in a Parquet file.

    Attributes
    ----------
    path : path or Copy
    kind : str
    """

    path: Source
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
        found = [schema.field(name) for name in own_columns(schema, self.kind)]
        # Files of earlier versions do not say which columns have a value in every row.
        return pa.schema([field.with_nullable(field.name not in TIDY) for field in found])

    def __iter__(self) -> Iterator[pa.Table]:
        """Read row group by row group; there is always at least one chunk, which may have no rows."""
        names, found = tuple(self.schema.names), False
        for table in self._groups(names):
            found = True
            yield table.select(names).cast(self.schema)
        if not found:
            yield self.schema.empty_table()

    def _file(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(opened(self.path), read_dictionary=["kind", "name"])

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


def opened(source: Source) -> str | PathLike[str] | Reader:
    """Return what PyArrow reads a file from.

    Parameters
    ----------
    source : path or Copy

    Returns
    -------
    path or Reader
    """
    return source.open() if isinstance(source, Copy) else source


def unpacked(result: _core.Result, table: str) -> Iterator[CoreTable]:
    """Unpack a table of samples chunk by chunk.

    Parameters
    ----------
    result : narrows._core.Result
    table : str
        The engine's name of it.

    Yields
    ------
    list of tuple
        Columns of a chunk.
    """
    for number in range(result.sampled(table)[1]):
        yield result.chunk(table, number)
