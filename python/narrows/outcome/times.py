"""Times of tables in one unit.

The engine counts nanoseconds, and metrics have seconds and milliseconds. A column of times ends in its unit
(``time_s``, ``srtt_ns``, ``rtt_mean_ms``); `converted` gives all of them the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from narrows.base.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

TimeUnit = Literal["s", "ms", "us", "ns"]
"""Units that times can have in tables."""

NS: Final[dict[str, int]] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds in each unit."""


def unit_of(name: str) -> str | None:
    """Return the unit of time in which a column's name ends.

    Parameters
    ----------
    name : str

    Returns
    -------
    str or None

    Examples
    --------
    >>> unit_of("srtt_ns"), unit_of("time_s"), unit_of("packets")
    ('ns', 's', None)
    """
    stem, _, end = name.rpartition("_")
    return end if stem and end in NS else None


def check(time: str | None) -> None:
    """Refuse a unit that times cannot have.

    Parameters
    ----------
    time : str or None

    Raises
    ------
    InputError
    """
    if time is not None and time not in NS:
        message = f"time is {time!r}; allowed: {', '.join(map(repr, NS))}, or None for the units as they are kept"
        raise InputError(message)


def converted(table: pa.Table, time: TimeUnit | None) -> pa.Table:
    """Return a table whose times all have one unit, in values, names and metadata.

    Parameters
    ----------
    table : pyarrow.Table
    time : {"s", "ms", "us", "ns"} or None
        ``None`` returns the table itself.

    Returns
    -------
    pyarrow.Table
        Nanoseconds are integers, other units floating-point numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> converted(pa.table({"time_s": [0.25], "rtt_ns": [20_000_000]}), "ms").to_pylist()
    [{'time_ms': 250.0, 'rtt_ms': 20.0}]
    """
    check(time)
    if time is None:
        return table
    import pyarrow as pa

    columns = [_column(table[field.name], unit_of(field.name), time) for field in table.schema]
    fields = [
        _field(field, column.type, time) if unit_of(field.name) else field
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def _field(field: pa.Field, dtype: pa.DataType, time: str) -> pa.Field:
    import pyarrow as pa

    stem = field.name.rpartition("_")[0]
    metadata = None if field.metadata is None else {**field.metadata, b"unit": time.encode()}
    return pa.field(f"{stem}_{time}", dtype, nullable=field.nullable, metadata=metadata)


def _column(column: pa.ChunkedArray, unit: str | None, time: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if unit is None or unit == time:
        return column
    whole, part = pa.float64(), NS[unit] / NS[time]
    # One multiplication or one division, so that 20 ms are 0.02 s and not 0.020000000000000004 s.
    values = column.cast(whole)
    made = pc.multiply(values, part) if part >= 1 else pc.divide(values, NS[time] / NS[unit])
    return pc.round(made).cast(pa.int64()) if time == "ns" else made
