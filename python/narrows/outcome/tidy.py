"""Columns of the tidy table of samples: from the engine's columns, of one kind of row or of all of them.

Each column carries its unit, meaning and kind of row in the Arrow field's metadata (``unit``, ``doc``, ``kind``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

Kind = Literal["flow", "queue", "router", "subqueue"]
"""Kind of object that a row describes."""

CoreTable = list[tuple[str, str, str, bytes]]
"""A table as the extension gives it: name, unit, meaning and little-endian u64 values of each column."""

NONE: Final = -1
"""2^64-1, the engine's "no value", read as a signed integer."""

SUBQUEUE: Final = "subqueue"
"""Kind of the rows of sub-queues. Their columns are columns of queues, so such rows add no columns to a table."""

KINDS: Final[tuple[Kind, ...]] = ("flow", "queue", "router")
"""The kinds that have columns, in their order."""

ALL_KINDS: Final[tuple[Kind, ...]] = (*KINDS, SUBQUEUE)
"""All kinds, in the order of their rows. Rows of sub-queues come from disciplines that have them, and from no other."""

WHOLE_QUEUE: Final = frozenset({"corrupted"})
"""Columns of queues that sub-queues do not have."""

TIDY: Final[dict[str, tuple[str, str]]] = {
    "run": ("", "Index of the run, from 0."),
    "time_s": ("s", "Time of the sample."),
    "kind": ("", "flow, queue or router."),
    "name": ("", "Name of the flow, queue or router."),
}
"""Unit and meaning of the columns that all kinds have."""


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
    # One array for all absent columns of a type: most columns are absent, and each would have a buffer of its own.
    absent: dict[pa.DataType, pa.ChunkedArray] = {}
    columns = []
    for field in schema:
        if field.name in present:
            columns.append(table[field.name])
            continue
        if field.type not in absent:
            absent[field.type] = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        columns.append(absent[field.type])
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

    # Every row has a run, a time, a kind and a name; the engine may have no value for anything else.
    return pa.field(name, dtype, nullable=name not in TIDY, metadata={"unit": unit, "doc": doc, "kind": kind})


def _column(data: bytes, values: Any) -> pa.Array:
    """Wrap a column's bytes without copying; only the null bitmap is built, and only if there are nulls."""
    import numpy as np
    import pyarrow as pa

    missing = values == NONE
    bitmap = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes()) if missing.any() else None
    return pa.Array.from_buffers(pa.int64(), len(values), [bitmap, pa.py_buffer(data)])
