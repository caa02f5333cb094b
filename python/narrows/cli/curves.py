"""Curves over time, drawn with characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from narrows.base.format import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from rich.console import Console

    from narrows.studies.reproduction.result import Curve

    Array = NDArray[np.float64]

MARKS = ("●", "○", "▲", "△")
"""Marks of lines, which distinguish them without colours."""

COLOURS = ("blue", "red", "green", "magenta")
BOTH = "◐"
"""Mark where several lines meet."""

HEIGHT = 9
WIDTH = 66
LABEL = 7
"""Rows, columns, and width of the numbers on the left, in characters."""


def print_curve(curve: Curve, out: Console) -> None:
    """Print lines over time: one mark per line and column, at the mean of the values in that column.

    Parameters
    ----------
    curve : Curve
    out : rich.console.Console
    """
    width = max(20, min(WIDTH, out.width - LABEL - 2))
    end = max(float(x[-1]) for _, x, _ in curve.lines if x.size)
    rows = [columns(x, y, end, width) for _, x, y in curve.lines]
    top = max((float(np.nanmax(row)) for row in rows if not np.isnan(row).all()), default=0.0) or 1.0
    heading = Text.assemble((curve.title, "bold"), (f" ({curve.unit})", "dim"))
    for i, (name, _, _) in enumerate(curve.lines):
        heading.append(f"   {MARKS[i % len(MARKS)]} ", COLOURS[i % len(COLOURS)]).append(name)
    drawn = grid(rows, top)
    if any(mark == BOTH for cells in drawn for mark, _ in cells):
        heading.append(f"   {BOTH} ").append("several", "dim")
    out.print(heading)
    for level, cells in enumerate(drawn):
        label = number(top) if level == 0 else "0" if level == HEIGHT - 1 else ""
        line = Text(f"{label:>{LABEL}} ").append("│", "dim")
        for mark, style in cells:
            line.append(mark, style)
        out.print(line, soft_wrap=True)
    last = f"{end:.0f} s"
    out.print(Text(" " * (LABEL + 1)).append("└" + "─" * width, "dim"), soft_wrap=True)
    out.print(Text(" " * (LABEL + 2) + "0" + last.rjust(width - 1), "dim"), soft_wrap=True)
    out.print()


def columns(x: Array, y: Array, end: float, width: int) -> Array:
    """Mean of the values in each of `width` equal intervals of time from 0 to `end`; NaN without values.

    Examples
    --------
    >>> columns(np.array([0.0, 1.0, 3.0]), np.array([2.0, 4.0, 8.0]), 4.0, 2).tolist()
    [3.0, 8.0]
    """
    ok = ~np.isnan(y)
    place = np.clip((x[ok] / end * width).astype(int), 0, width - 1)
    total = np.bincount(place, weights=y[ok], minlength=width)
    count = np.bincount(place, minlength=width)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan), dtype=np.float64)


def grid(rows: Sequence[Array], top: float) -> list[list[tuple[str, str]]]:
    """Return marks and styles, from the top row down.

    Examples
    --------
    >>> drawn = grid([np.array([0.0, 8.0]), np.array([8.0, 8.0])], 8.0)
    >>> [mark for mark, _ in drawn[0]], [mark for mark, _ in drawn[-1]]
    (['○', '◐'], ['●', ' '])
    """
    cells = [[(" ", "")] * len(rows[0]) for _ in range(HEIGHT)]
    for i, row in enumerate(rows):
        for c, value in enumerate(row.tolist()):
            if np.isnan(value):
                continue
            level = HEIGHT - 1 - round(value / top * (HEIGHT - 1))
            taken = cells[level][c][0] != " "
            cells[level][c] = (BOTH, "") if taken else (MARKS[i % len(MARKS)], COLOURS[i % len(COLOURS)])
    return cells
