"""Samples read from a file that another program may have rewritten: restores columns, types and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.outcome.tidy import TIDY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import pyarrow as pa

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "flow": (
        "cwnd_bytes",
        "ssthresh_bytes",
        "srtt_ns",
        "rtt_ns",
        "rto_ns",
        "rwnd_bytes",
        "flightsize_bytes",
        "inflight_bytes",
        "sent_bytes",
        "sent_packets",
        "delivered_bytes",
        "lost_packets",
        "retransmitted_packets",
        "timeouts",
        "commands_normal",
        "commands_freeze",
        "commands_fallback",
        "arrived_bytes",
    ),
    "queue": (
        "bytes",
        "packets",
        "forwarded_bytes",
        "forwarded_packets",
        "dropped_overflow",
        "dropped_early",
        "dropped_forced",
        "corrupted",
        "marked",
    ),
    "router": ("flows", "flows_normal", "flows_freeze", "flows_fallback", "window_bytes"),
    "subqueue": (
        "bytes",
        "packets",
        "forwarded_bytes",
        "forwarded_packets",
        "dropped_overflow",
        "dropped_early",
        "dropped_forced",
        "marked",
    ),
}
"""Columns of each kind of row, as the engine declares them (`crates/samples`)."""

_LATER: Final = frozenset({"window_bytes"})
"""Columns missing from files of earlier versions."""


def lacking(names: Iterable[str], kind: str) -> list[str]:
    """Name the columns of a kind that are missing here, apart from columns that earlier versions did not write.

    Parameters
    ----------
    names : iterable of str
        Names of the existing columns.
    kind : str

    Returns
    -------
    list of str
    """
    there = set(names)
    return [name for name in (*TIDY, *COLUMNS[kind]) if name not in there and name not in _LATER]


def as_written(table: pa.Table, kind: str, path: str | PathLike[str]) -> pa.Table:
    """Take the columns of a kind out of a table, with their original types and metadata.

    Other programs keep neither: pandas turns integers with nulls into floating-point numbers, and drops the metadata.

    Parameters
    ----------
    table : pyarrow.Table
        Rows of the kind.
    kind : str
    path : path
        The file's path, for messages.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    ValueError, TypeError
        If a value does not fit its column's type, or a row has no run, time, kind or name.
    """
    import pyarrow as pa

    there = set(table.schema.names)
    types = {"run": pa.int32(), "time_s": pa.float64()}
    arrays, fields = [], []
    for name in (*TIDY, *(name for name in COLUMNS[kind] if name in there)):
        found, field = table[name], table.schema.field(name)
        if name in ("kind", "name"):
            if not (pa.types.is_dictionary(found.type) and found.type.value_type == pa.string()):
                found = found.cast(pa.string()).dictionary_encode()
        else:
            found = found.cast(types.get(name, pa.int64()))
        if name in TIDY and found.null_count:
            message = f"{path}: has rows without {name}"
            raise ValueError(message)
        arrays.append(found)
        told = field.metadata or {b"unit": b"", b"doc": b"", b"kind": b"" if name in TIDY else kind.encode()}
        fields.append(pa.field(name, found.type, nullable=name not in TIDY, metadata=told))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
