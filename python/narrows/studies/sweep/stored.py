"""The rows of a data set for those who read them: in memory, or read from its file when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.studies.sweep import parts

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

MOST_ROWS: Final = 340_000
"""Largest number of rows that a finished sweep keeps in memory: 256 MB, 25,000 runs of two flows and ten queues."""


class Rows:
    """The rows of a data set.

    Parameters
    ----------
    source : pyarrow.Table or pathlib.Path
        The rows, or the one part that has them, in order.
    """

    def __init__(self, source: pa.Table | Path) -> None:
        import pyarrow as pa

        self._table = source if isinstance(source, pa.Table) else None
        self._path = None if isinstance(source, pa.Table) else source
        self.schema: pa.Schema = source.schema if isinstance(source, pa.Table) else parts.opened(source).schema_arrow

    def table(self) -> pa.Table:
        """Return all rows. Those of a file are read each time: 10 kB for a run of two flows and ten queues.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        return self._read(None, None)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column.

        Parameters
        ----------
        name : str

        Returns
        -------
        pyarrow.ChunkedArray

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        return self._read([name], None)[name]

    def of_kind(self, kind: str, columns: list[str]) -> pa.Table:
        """Return the rows of a kind.

        Parameters
        ----------
        kind : str
        columns : list of str

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        return self._read(columns, kind)

    def _read(self, columns: list[str] | None, kind: str | None) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = self.schema.names if columns is None else columns
        if self._table is not None:
            table = self._table if columns is None else self._table.select(wanted)
            return table if kind is None else table.filter(pc.equal(self._table["kind"], kind))
        path = self._path
        assert path is not None  # noqa: S101 - one of the two is there
        try:
            found = [self.schema.empty_table().select(wanted)]
            for group in parts.groups(parts.opened(path), path, [*dict.fromkeys(["kind", *wanted])]):
                rows = group if kind is None else group.filter(pc.equal(group["kind"], kind))
                found.append(rows.select(wanted))
        except (OSError, ValueError) as error:
            message = f"{path}: cannot be read: {error}; `narrows sweep` puts aside what is damaged"
            raise InputError(message) from None
        return pa.concat_tables(found)
