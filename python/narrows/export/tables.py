"""Rows of tables for CSV, from Arrow tables and data frames, and the list of their columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.export.columns import documented
from narrows.export.values import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

COLUMNS: Final = "columns"
"""Name of the table that lists the columns of all others."""


def of_arrow(table: pa.Table, docs: Mapping[str, str] | None = None) -> Rows:
    """Return the rows of an Arrow table.

    Parameters
    ----------
    table : pyarrow.Table
    docs : mapping, optional
        Meaning of each column; by default what the table's metadata say.

    Returns
    -------
    Rows
    """
    told = table if docs is None else documented(table, docs)
    return Rows(told.schema, lambda: [told])


def of_frame(frame: pd.DataFrame, docs: Mapping[str, str]) -> Rows:
    """Return the rows of a data frame, without its index; NaN is "no value".

    Parameters
    ----------
    frame : pandas.DataFrame
    docs : mapping
        Meaning of each column.

    Returns
    -------
    Rows
    """
    import pyarrow as pa

    return of_arrow(pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None), docs)


def finite(value: float) -> float | None:
    """Return a number, or "no value" for NaN and infinity.

    >>> finite(0.5), finite(float("nan"))
    (0.5, None)
    """
    return value if math.isfinite(value) else None


def write_csv(path: Path, rows: Rows) -> None:
    """Write rows as CSV, part by part.

    Parameters
    ----------
    path : pathlib.Path
    rows : Rows

    Raises
    ------
    OSError
        If it cannot be written.
    """
    from narrows.outcome import text

    text.write_csv(path, rows.schema, rows.parts())


def listed(tables: Iterable[tuple[str, pa.Schema]]) -> Rows:
    """Return a row for each column of some tables: its table, name, type, unit and meaning.

    Parameters
    ----------
    tables : iterable of (str, pyarrow.Schema)
        Names and columns.

    Returns
    -------
    Rows
    """
    import pyarrow as pa

    made = [
        {
            "table": name,
            "column": field.name,
            "type": _type(field.type),
            "unit": (field.metadata or {}).get(b"unit", b"").decode(),
            "meaning": (field.metadata or {}).get(b"doc", b"").decode(),
        }
        for name, schema in tables
        for field in schema
    ]
    names = ("table", "column", "type", "unit", "meaning")
    table = pa.Table.from_pylist(made, schema=pa.schema([(name, pa.string()) for name in names]))
    return Rows(table.schema, lambda: [table])


def _type(dtype: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_integer(dtype):
        return "integer"
    if pa.types.is_floating(dtype):
        return "number"
    return "boolean" if pa.types.is_boolean(dtype) else "text"
