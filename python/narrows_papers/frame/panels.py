"""Panels that papers' figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Line, Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Cell


def beside(label: str, cells: Sequence[Cell], *, in_legend: bool, y_from_zero: bool = True) -> Panel:
    """Draw published values beside measured ones, with their intervals, one cell a tick.

    Parameters
    ----------
    label : str
        Quantity and unit of the cells.
    cells : sequence of Cell
    in_legend : bool
        Whether the legend names the lines: in the first panel of a figure.
    y_from_zero : bool
        Whether the axis begins at zero.

    Returns
    -------
    Panel
    """
    x = np.arange(len(cells), dtype=np.float64)
    measured = np.array([cell.measured for cell in cells])
    low = np.array([cell.measured if cell.low is None else cell.low for cell in cells])
    high = np.array([cell.measured if cell.high is None else cell.high for cell in cells])
    published = np.array([np.nan if cell.published is None else cell.published for cell in cells])
    printed = Line(
        "published", x - 0.1, published, style.PUBLISHED_COLOUR, markers=True, symbol="diamond", in_legend=in_legend
    )
    ours = Line(
        "measured, 95 % interval",
        x + 0.1,
        measured,
        style.MEASURED_COLOUR,
        low=low,
        high=high,
        markers=True,
        in_legend=in_legend,
    )
    return Panel(label, (printed, ours), y_from_zero=y_from_zero)
