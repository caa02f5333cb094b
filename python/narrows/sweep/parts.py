"""Parts of a data set: Parquet files of whole runs, read with their checksums, each run taken once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from narrows.sweep import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa


_PART: Final = re.compile(r"part-\d{8}-[0-9a-f]{8}\.parquet")
_PARTIAL: Final = re.compile(rf"\.{_PART.pattern}\.\d+\.partial")
_MAGIC: Final = b"PAR1"
"""What a Parquet file begins with."""


def read(path: Path) -> pa.Table:
    """Read a part, checksums of its pages included.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = path.read_bytes()  # what the disk refuses is told from what is damaged
    try:
        read: pa.Table = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True).read(
            use_threads=False
        )
    except (pa.ArrowException, OSError) as error:
        message = f"{path}: is damaged: {error}"
        raise ValueError(message) from error
    if not {"kind", "address", "seed", "status", "wall_s"} <= set(read.schema.names):
        message = f"{path}: is no part of a sweep"
        raise ValueError(message)
    return read


def encoded(rows: pa.Table) -> memoryview:
    """Rows as a Parquet file in memory.

    Parameters
    ----------
    rows : pyarrow.Table

    Returns
    -------
    memoryview
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # Of a few rows, statistics and a compressor's tables for each column would be most of the work.
    many = rows.num_rows > 1000
    how = "zstd" if many else "snappy"
    pq.write_table(rows, sink, compression=how, use_dictionary=many, write_statistics=many, write_page_checksum=True)
    return memoryview(sink.getvalue())


def all_rows(paths: Sequence[Path], layout: table.Layout) -> pa.Table:
    """Read parts, each run once, without the columns of axes.

    Parameters
    ----------
    paths : sequence of Path
        The later wins.
    layout : Layout
        Of the sweep that asks, for a table without rows.

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
    """All rows, of each run only those of one part: of the latest, but a failure never replaces a success.

    Parameters
    ----------
    parts : sequence of pyarrow.Table
    layout : Layout
        For a table without rows.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    status: dict[str, str] = {}
    home: dict[str, int] = {}
    for number, part in enumerate(parts):
        won = better(statuses(part), status)
        status |= won
        home |= dict.fromkeys(won, number)
    kept = []
    for number, part in enumerate(parts):
        mask = [home[address] == number for address in part["address"].to_pylist()]
        kept.append(part if all(mask) else part.filter(pa.array(mask, type=pa.bool_())))
    if not kept:
        return table.from_records([], layout)
    return pa.concat_tables(kept, promote_options="permissive")


def better(found: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Which of the statuses found replace those known: a failure never replaces a success.

    Parameters
    ----------
    found, known : mapping
        Status by content address.

    Returns
    -------
    dict
        The winners among those found.
    """
    return {key: status for key, status in found.items() if status == "ok" or known.get(key) != "ok"}


def statuses(part: pa.Table) -> dict[str, str]:
    """Status of the runs in a part.

    Parameters
    ----------
    part : pyarrow.Table

    Returns
    -------
    dict
        By content address.
    """
    rows = zip(part["address"].to_pylist(), part["kind"].to_pylist(), part["status"].to_pylist(), strict=True)
    return {address: status for address, kind, status in rows if kind == "run"}


def walls(part: pa.Table) -> dict[str, float]:
    """What the runs in a part took that succeeded.

    Parameters
    ----------
    part : pyarrow.Table

    Returns
    -------
    dict
        Seconds on the clock by content address.
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
        By content address.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    mask = [key not in plan for key in rows["address"].to_pylist()]
    return rows.filter(pa.array(mask, type=pa.bool_()))


def listed(folder: Path) -> list[Path]:
    """Parts of a folder, in the order in which they were written.

    Parameters
    ----------
    folder : pathlib.Path
        Need not exist.

    Returns
    -------
    list of Path
    """
    return sorted(path for path in folder.iterdir() if _is_part(path)) if folder.is_dir() else []


def number_of(path: Path) -> int:
    """Where a part stands in the order of writing.

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
    """Whether a file is one that was being written when its process ended.

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
