"""Parts of a data set: Parquet files of whole runs, read with their checksums; each run counts once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from narrows.studies.sweep import table
from narrows.studies.sweep.rows import from_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

    import pyarrow as pa
    import pyarrow.parquet as pq


_PART: Final = re.compile(r"part-\d{8}-[0-9a-f]{8}\.parquet")
_PARTIAL: Final = re.compile(rf"\.{_PART.pattern}\.\d+\.partial")
_NEEDED: Final = {"kind", "address", "seed", "status", "wall_s"}
_MAGIC: Final = b"PAR1"
"""The first bytes of a Parquet file."""


def read(path: Path) -> pa.Table:
    """Read a part, and verify the checksums of its pages.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    OSError
        If the part cannot be read.
    ValueError
        If the part is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = path.read_bytes()  # read first, to distinguish disk errors from damaged content
    try:
        read: pa.Table = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True).read(
            use_threads=False
        )
    except (pa.ArrowException, OSError) as error:
        message = f"{path}: is damaged: {error}"
        raise ValueError(message) from error
    if not set(read.schema.names) >= _NEEDED:
        message = f"{path}: is not a part of a sweep"
        raise ValueError(message)
    return read


def opened(path: Path) -> pq.ParquetFile:
    """Open a part, of which `groups` reads some rows at a time.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    pyarrow.parquet.ParquetFile

    Raises
    ------
    OSError, ValueError
        As `read`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(pa.OSFile(str(path)), page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _damage(path, error) from error


def groups(
    file: pq.ParquetFile, path: Path, columns: list[str] | None = None, numbers: Sequence[int] | None = None
) -> Iterator[pa.Table]:
    """Read the row groups of a part one after the other, and verify the checksums of their pages.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
    path : pathlib.Path
        For messages.
    columns : list of str, optional
        By default all.
    numbers : sequence of int, optional
        Indices of the row groups; by default all.

    Yields
    ------
    pyarrow.Table

    Raises
    ------
    OSError, ValueError
        As `read`.
    """
    import pyarrow as pa

    for number in range(file.num_row_groups) if numbers is None else numbers:
        try:
            group = file.read_row_group(number, columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise _damage(path, error) from error
        yield group


def _damage(path: Path, error: Exception) -> OSError | ValueError:
    """Distinguish errors of the disk, which have a number, from damaged content."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return ValueError(f"{path}: is damaged: {error}")


def runs(path: Path) -> pa.Table:
    """Read the rows of runs, and verify the checksums of all pages.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    pyarrow.Table
        Columns ``kind``, ``address``, ``status`` and ``wall_s``, and those of axes.

    Raises
    ------
    OSError, ValueError
        As `read`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    file = opened(path)
    names = file.schema_arrow.names
    if not set(names) >= _NEEDED:
        message = f"{path}: is not a part of a sweep"
        raise ValueError(message)
    chosen = {"kind", "address", "status", "wall_s", *table.axes_of(file.schema_arrow)}
    wanted = [name for name in names if name in chosen]
    found = [file.schema_arrow.empty_table().select(wanted)]
    for group in groups(file, path):
        own = group.select(wanted)
        found.append(own.filter(pc.equal(own["kind"], "run")))
    return pa.concat_tables(found)


def encoded(rows: pa.Table, *, stays: bool = True) -> memoryview:
    """Encode rows as a Parquet file in memory.

    Parameters
    ----------
    rows : pyarrow.Table
    stays : bool
        Whether the file is a result. One that is soon put together with others is larger, and takes less time.

    Returns
    -------
    memoryview
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # With few rows, statistics and the compressor's tables for each column would be most of the work.
    many = rows.num_rows > 1000
    texts = [one.name for one in rows.schema if pa.types.is_string(one.type)]
    how = {"compression": "zstd" if many and stays else "snappy", "use_dictionary": many and (stays or texts)}
    pq.write_table(rows, sink, **how, write_statistics=many and stays, write_page_checksum=True)
    return memoryview(sink.getvalue())


def write(file: IO[bytes], batches: Iterable[pa.Table]) -> None:
    """Write rows as a Parquet file, with a row group for each batch.

    Parameters
    ----------
    file : file
    batches : iterable of pyarrow.Table
        At least one; all have the same columns.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    import pyarrow.parquet as pq

    writer = None
    try:
        for batch in batches:
            if writer is None:
                writer = pq.ParquetWriter(file, batch.schema, compression="zstd", write_page_checksum=True)
            writer.write_table(batch, row_group_size=batch.num_rows)
    finally:
        if writer is not None:
            writer.close()


def all_rows(paths: Sequence[Path], layout: table.Layout) -> pa.Table:
    """Read parts, each run once, without the columns of axes.

    Parameters
    ----------
    paths : sequence of Path
        Later parts take precedence.
    layout : Layout
        Layout of the sweep, for a table without rows.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    OSError, ValueError
        As `read`.
    """
    return unique([table.core(read(path)) for path in paths], layout)


def unique(parts: Sequence[pa.Table], layout: table.Layout) -> pa.Table:
    """All rows, with each run from one part only: the latest, except that a failure never replaces a success.

    Parameters
    ----------
    parts : sequence of pyarrow.Table
    layout : Layout
        Layout for a table without rows.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    status: dict[str, str] = {}
    home: dict[str, int] = {}
    found = 0
    for number, part in enumerate(parts):
        there = statuses(part)
        found += len(there)
        won = better(there, status)
        status |= won
        home |= dict.fromkeys(won, number)
    kept = []
    for number, part in enumerate(parts):
        if found == len(home):  # no run is in two parts
            kept.append(part)
            continue
        mask = [home[address] == number for address in part["address"].to_pylist()]
        kept.append(part if all(mask) else part.filter(pa.array(mask, type=pa.bool_())))
    if not kept:
        return from_records([], layout)
    return pa.concat_tables(kept, promote_options="permissive")


def better(found: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Select the new statuses that replace known ones: a failure never replaces a success.

    Parameters
    ----------
    found, known : mapping
        Statuses by content address.

    Returns
    -------
    dict
        The statuses among `found` that win.
    """
    return {key: status for key, status in found.items() if status == "ok" or known.get(key) != "ok"}


def statuses(part: pa.Table) -> dict[str, str]:
    """Statuses of the runs in a part.

    Parameters
    ----------
    part : pyarrow.Table

    Returns
    -------
    dict
        Statuses by content address.
    """
    import pyarrow.compute as pc

    own = part.select(["address", "status"]).filter(pc.equal(part["kind"], "run"))
    return dict(zip(own["address"].to_pylist(), own["status"].to_pylist(), strict=True))


def walls(part: pa.Table) -> dict[str, float]:
    """Wall-clock times of the successful runs in a part.

    Parameters
    ----------
    part : pyarrow.Table

    Returns
    -------
    dict
        Seconds by content address.
    """
    import pyarrow.compute as pc

    good = part.filter(pc.equal(part["status"], "ok"))
    return dict(zip(good["address"].to_pylist(), good["wall_s"].to_pylist(), strict=True))


def others(rows: pa.Table, plan: Mapping[str, Any]) -> pa.Table:
    """Rows of runs that are not in a plan.

    Parameters
    ----------
    rows : pyarrow.Table
    plan : mapping
        Runs by content address.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    foreign = [key for key in rows["address"].unique().to_pylist() if key not in plan]
    return rows.filter(pc.is_in(rows["address"], pa.array(foreign, pa.string()))) if foreign else rows.slice(0, 0)


def listed(folder: Path) -> list[Path]:
    """Parts in a folder, in the order in which they were written.

    Parameters
    ----------
    folder : pathlib.Path
        The folder, which need not exist.

    Returns
    -------
    list of Path
    """
    return sorted(path for path in folder.iterdir() if _is_part(path)) if folder.is_dir() else []


def number_of(path: Path) -> int:
    """Position of a part in the order of writing.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    int
    """
    middle = path.name.split("-")[1]
    return int(middle) if middle.isdigit() else 0


def is_partial(path: Path) -> bool:
    """Whether a file is a part that was being written when its process ended.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    bool
    """
    if _PARTIAL.fullmatch(path.name) is None or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(len(_MAGIC))
    return _MAGIC.startswith(begin)


def _is_part(path: Path) -> bool:
    return _PART.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()
