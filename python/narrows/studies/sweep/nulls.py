"""Columns without values: a third of a data set's columns, where no run has stations or routers.

They share their memory. Accessing memory for the first time costs more than what is done with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Nulls:
    """Columns of nulls of one length.

    Parameters
    ----------
    size : int
        Number of rows.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._made: dict[pa.DataType, pa.Array] = {}

    def of(self, kind: pa.DataType) -> pa.Array:
        """Return a column of a type, the same for all calls.

        Parameters
        ----------
        kind : pyarrow.DataType

        Returns
        -------
        pyarrow.Array
        """
        import pyarrow as pa

        if kind not in self._made:
            self._made[kind] = pa.nulls(self._size, kind)
        return self._made[kind]


def taken(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Take rows of a table as `pyarrow.Table.take` does; columns without values are not moved.

    Parameters
    ----------
    table : pyarrow.Table
    rows : pyarrow.Array
        Indices; none is null.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    names = table.schema.names
    nulls = Nulls(len(rows))
    some = [name for name in names if table[name].null_count < table.num_rows]
    moved = dict(zip(some, table.select(some).take(rows).columns, strict=True))
    arrays = [moved[name] if name in moved else nulls.of(table.schema.field(name).type) for name in names]
    return pa.Table.from_arrays(arrays, schema=table.schema)
