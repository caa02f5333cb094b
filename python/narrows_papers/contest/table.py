"""`cells.csv` of the contest, with the reason for each difference."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from narrows_papers.contest import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Cell
    from narrows_papers.contest.evaluation import Compared


def cells_csv(compared: Sequence[Compared], others: Sequence[Cell]) -> str:
    """All cells as CSV: those of the paper, with slips and reasons for differences, then the unpublished ones."""
    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(
        [
            "name",
            "first",
            "second",
            "of",
            "published",
            "measured",
            "low",
            "high",
            "difference_percent",
            "slip",
            "reason",
        ]
    )

    def plain(value: float | None) -> str:
        return "" if value is None else f"{value:.6g}"

    for one in compared:
        cell = one.cell
        numbers = (cell.published, cell.measured, cell.low, cell.high, cell.percent)
        who = (one.printed.first, one.printed.second, one.printed.of)
        rows.writerow([cell.name, *who, *map(plain, numbers), one.printed.slip, text.reason(one) or ""])
    for cell in others:
        _, table, first, second = cell.name.split("/")
        numbers = (None, cell.measured, cell.low, cell.high, None)
        rows.writerow(
            [cell.name, first, second, "first" if table == "table2" else "second", *map(plain, numbers), "", ""]
        )
    return buffer.getvalue()
