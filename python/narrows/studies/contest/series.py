"""Throughput of every pair over time, as a matrix of small drawings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from narrows.report import render
from narrows.report.ramps import BLUE, VERMILLION, css

if TYPE_CHECKING:
    from narrows.studies.contest.plan import Order
    from narrows.studies.contest.record import Record
    from narrows.studies.contest.result import Contest

WIDTH, HEIGHT = 60, 30
"""Size of a drawing in SVG units; the page scales it."""


def means(runs: list[Record]) -> tuple[list[float], list[float]]:
    """Throughput of the two flows over time, averaged over runs.

    Parameters
    ----------
    runs : list of Record
        Records of one match.

    Returns
    -------
    first, second : list of float
        Mb/s by bin.
    """
    return (
        [math.fsum(column) / len(runs) for column in zip(*(run.series.first for run in runs), strict=True)],
        [math.fsum(column) / len(runs) for column in zip(*(run.series.second for run in runs), strict=True)],
    )


def drawing(first: list[float], second: list[float], top: float) -> str:
    """Draw one pair: the first flow's throughput at the bottom in blue, the second's on top of it in vermillion.

    Parameters
    ----------
    first, second : list of float
        Mb/s by bin.
    top : float
        Mb/s at the upper edge of the drawing.

    Returns
    -------
    str
        SVG, without text.

    Examples
    --------
    >>> drawing([2.0, 1.0], [0.0, 1.0], 2.0).count("<path")
    2
    """
    both = [a + b for a, b in zip(first, second, strict=True)]
    lower = _area(first, [0.0] * len(first), top)
    upper = _area(both, first, top)
    areas = ((lower, css(BLUE)), (upper, css(VERMILLION)))
    return render.part("pair.svg.j2", width=WIDTH, height=HEIGHT, areas=areas)


def _area(upper: list[float], lower: list[float], top: float) -> str:
    """Outline of the area between two step functions, as an SVG path."""
    if not upper:
        return "M0 0"
    step = WIDTH / len(upper)

    def y(value: float) -> str:
        return f"{HEIGHT * (1 - min(1.0, value / top if top > 0 else 0.0)):.1f}"

    there = "".join(f"V{y(value)}H{step * (i + 1):.4g}" for i, value in enumerate(upper))
    back = "".join(
        f"V{y(value)}H{step * i:.4g}" for i, value in reversed([(i, value) for i, value in enumerate(lower)])
    )
    return f"M0 {y(lower[0])}{there}{back}Z"


def matrix(contest: Contest, order: Order | None = None) -> list[list[str]]:
    """Draw all pairs on the same scale.

    Parameters
    ----------
    contest : Contest
    order : str, optional

    Returns
    -------
    list of list of str
        SVG by row and column.
    """
    labels = contest.plan.labels
    curves = {(a, b): means(contest.runs(a, b, order)) for a in labels for b in labels}
    top = max((a + b for first, second in curves.values() for a, b in zip(first, second, strict=True)), default=1.0)
    return [[drawing(*curves[row, column], top) for column in labels] for row in labels]
