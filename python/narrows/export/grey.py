"""Figures that survive grey print: each line has a marker and a dash besides its colour, and each area a hatching."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.report.printed import MOST_NAMED
from narrows.report.values import MARKS

if TYPE_CHECKING:
    from narrows.report.values import Figure, Line, Panel


def distinct(figure: Figure) -> Figure:
    """Give each name of a figure a marker of its own; lines of one name have the same in every panel.

    Parameters
    ----------
    figure : narrows.report.values.Figure

    Returns
    -------
    narrows.report.values.Figure
        A figure with one name, or with more than have a legend, is returned unchanged.
    """
    names = list(dict.fromkeys(line.name for panel in figure.panels for line in panel.lines))
    if not 1 < len(names) <= MOST_NAMED:
        return figure
    order = {name: index for index, name in enumerate(names)}
    return replace(figure, panels=tuple(_panel(panel, order) for panel in figure.panels))


def _panel(panel: Panel, order: dict[str, int]) -> Panel:
    return replace(panel, lines=tuple(_line(line, order[line.name]) for line in panel.lines))


def _line(line: Line, index: int) -> Line:
    mark = MARKS[index % len(MARKS)]
    if line.markers:
        return line if line.symbol != "circle" else replace(line, symbol=mark)
    return replace(line, mark=mark, place=index)
