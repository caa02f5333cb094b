"""Time-sequence graphs as pgfplots: the marks of `narrows.report.sequence_marks` as plots of an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.export.tex import escape
from narrows.export.tikz import named
from narrows.report.sequence import KINDS
from narrows.report.sequence_marks import COLUMNS, Bars, Letters, Points, Steps, marks, sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from narrows.packets.capture import Integers
    from narrows.report.sequence_marks import Marks
    from narrows.report.values import Array, Panel

PARTS: Final = COLUMNS // 3
"""Parts of the time within which segments are one bar: LaTeX's memory holds a third of what matplotlib draws."""

MARKERS: Final = {"diamond": "mark=diamond*", "thin diamond": "mark=diamond", "cross": "mark=x"}
"""pgfplots' name of each symbol."""


def of_panel(panel: Panel, span: tuple[float, float] | None) -> Marks:
    """Return the marks of a panel, as many as LaTeX's memory holds.

    Parameters
    ----------
    panel : narrows.report.values.Panel
        With flows; the first one is drawn.
    span : (float, float) or None
        The time that is drawn, s.

    Returns
    -------
    Marks
    """
    return sparse(marks(panel.flows[0], span, PARTS), PARTS)


def plots(made: Marks) -> Iterator[str]:
    """Yield the commands of an axis that draw the marks.

    Parameters
    ----------
    made : Marks

    Yields
    ------
    str
    """
    for layer in made.layers:
        if layer.time.size:
            yield from _layer(layer)
    if made.beyond:
        where = r"anchor=north west, inner sep=1pt, font=\scriptsize"
        yield rf"\node[{where}] at (rel axis cs:0.01,0.98) {{$\uparrow$ {escape(made.beyond)}}};"


def _layer(layer: Steps | Bars | Points | Letters) -> Iterator[str]:
    colour = named(KINDS[layer.kind])
    match layer:
        case Steps():
            yield from _plot(f"{colour}, const plot, line width=0.6pt", layer.time, layer.y)
        case Bars():
            gap = np.full(layer.time.size, np.nan)
            x = np.repeat(layer.time, 3)
            y = np.column_stack([layer.low, layer.high, gap]).ravel()
            yield from _plot(f"{colour}, line width={0.8 * layer.width:.2f}pt, line cap=butt", x, y)
        case Points():
            yield from _plot(f"only marks, {colour}, {MARKERS[layer.symbol]}, mark size=1.5pt", layer.time, layer.y)
        case Letters():
            for x, y in zip(layer.time, layer.y, strict=True):
                yield (
                    rf"\node[anchor=south, inner sep=0.5pt, font=\tiny, text={colour}] at (axis cs:{x:.9g},{y:.9g}) "
                    rf"{{{escape(layer.letter)}}};"
                )


def _plot(options: str, x: Array, y: Array | Integers) -> Iterator[str]:
    yield rf"\addplot[{options}, forget plot] table {{"
    yield from _rows(x, y)
    yield "};"


def _rows(x: Array, y: Array | Integers) -> Iterable[str]:
    """Return a point each, with nine digits: sequence numbers and times of a short stretch differ in few of them."""
    return (f"{a:.9g} {b:.9g}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
