"""Samples in a Parquet file: written row group by row group, and read back, at once or part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.outcome import rewritten
from narrows.outcome.chunks import Parquet
from narrows.outcome.tidy import ALL_KINDS, TIDY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    import pyarrow as pa

    from narrows.outcome.chunks import Chunks, Source
    from narrows.outcome.tidy import Kind

GROUP_ROWS: Final = 1 << 17
"""Fewest rows of a row group in Parquet; one row group at a time is in memory while a file is written or read."""

EAGER_ROWS: Final = 1_000_000
"""Rows up to which a Parquet file is read at once; a larger file is read part by part, on request."""


def write(path: str | PathLike[str], schema: pa.Schema, chunks: Iterable[pa.Table]) -> None:
    """Write the tidy table (zstd).

    Parameters
    ----------
    path : path
        File to write.
    schema : pyarrow.Schema
        As `narrows.outcome.tidy.tidy_schema` makes it.
    chunks : iterable of pyarrow.Table
        Rows with these columns.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    import pyarrow.parquet as pq

    # Counters hardly repeat: a dictionary of theirs would take time and space.
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=["kind", "name"]) as writer:
        for group in _groups(chunks):
            writer.write_table(group)


def read(path: str | PathLike[str]) -> dict[Kind, pa.Table | Chunks]:
    """Read a file that `write` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        Rows by kind: a table each, or chunks where the file is large.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError, TypeError
        If it has other columns, or columns of another type.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    absent = [name for name in TIDY if name not in pq.read_schema(path).names]
    if absent:
        message = f"{path}: lacks the columns {', '.join(absent)}"
        raise ValueError(message)
    file = pq.ParquetFile(path, read_dictionary=["kind", "name"])
    if file.metadata.num_rows > EAGER_ROWS:
        file.close()
        return parts(path)
    tidy = file.read()
    tables: dict[Kind, pa.Table] = {}
    for kind in ALL_KINDS:
        tables[kind] = rewritten.as_written(tidy.filter(pc.equal(tidy["kind"], kind)), kind, path)
    if sum(table.num_rows for table in tables.values()) != tidy.num_rows:
        message = f"{path}: has rows of another kind than {', '.join(ALL_KINDS)}"
        raise ValueError(message)
    return {**tables}


def parts(path: Source) -> dict[Kind, pa.Table | Chunks]:
    """Return the rows of a file that `write` wrote, to be read part by part on request.

    Parameters
    ----------
    path : path or Copy
        The file; it must stay as long as the rows are wanted.

    Returns
    -------
    dict
        Rows by kind.
    """
    return {kind: Parquet(path, kind) for kind in ALL_KINDS}


def _groups(chunks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Combine small chunks into larger ones; yields at least one, which may have no rows."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    for chunk in chunks:
        waiting.append(chunk)
        if sum(table.num_rows for table in waiting) >= GROUP_ROWS:
            yield pa.concat_tables(waiting).unify_dictionaries()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries()
