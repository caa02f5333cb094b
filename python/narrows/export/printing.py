"""Tables of reports as tables for papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.export.values import Printed

if TYPE_CHECKING:
    from narrows.report.tables import Cell, Table

SPREAD: Final = "Means over the runs; half of their 95 % confidence interval follows ±"
"""The note of tables with intervals."""

CONTINUED: Final = ("min.", "median", "95 %", "99 %", "max.", "largest")
"""Titles of columns that name a statistic alone."""


def printed(table: Table) -> Printed:
    """Return a table of a report for a paper.

    Parameters
    ----------
    table : narrows.report.tables.Table

    Returns
    -------
    Printed
    """
    titles = _whole([column.title for column in table.columns])
    heads = ((table.what, ""), *zip(titles, (column.unit for column in table.columns), strict=True))
    rows = tuple((row.name, *map(text, row.cells)) for row in table.rows)
    spread = any(cell.spread for row in table.rows for cell in row.cells)
    return Printed(heads, rows, SPREAD if spread else "")


def _whole(titles: list[str]) -> list[str]:
    """Complete titles that continue the one before them, since columns may become rows.

    >>> _whole(["RTT mean", "95 %", "Timeouts"])
    ['RTT mean', 'RTT 95 %', 'Timeouts']
    """
    subject, whole = "", []
    for title in titles:
        before, _, last = title.rpartition(" ")
        if before and last in ("mean", "median"):
            subject = before
        whole.append(f"{subject} {title}" if title in CONTINUED and subject else title)
    return whole


def text(cell: Cell) -> str:
    """Return a cell with its interval.

    >>> from narrows.report.tables import Cell
    >>> text(Cell("0.80", "0.02")), text(Cell("–"))
    ('0.80 ± 0.02', '–')
    """
    return f"{cell.value} ± {cell.spread}" if cell.spread else cell.value
