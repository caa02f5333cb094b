"""Figures as values: panels of lines over one axis, whatever draws them.

A `Figure` is a column of `Panel`s over one time (or category) axis. It does not depend on the numbers' source.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from narrows.report import style

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.packets import FlowPackets

Array = NDArray[np.float64]

#: Number of points above which a line is thinned for drawing; the samples in the result keep all points.
MAX_POINTS = 2400

#: Points of all lines of a panel together from which each line is thinned further, and the fewest that one keeps.
ALL_POINTS = 24_000
LEAST_POINTS = 240

#: The label of axes of simulated time.
TIME = "Time (s)"

#: Markers that stay apart in grey print, in the order in which lines get them.
MARKS = ("circle", "square", "triangle", "diamond", "down", "cross")

#: Points of a line that have a marker, about.
MARKED = 8

#: Opacity of the background of a band.
BAND_ALPHA = 0.16


@dataclass(frozen=True)
class Line:
    """One line of a panel.

    `low` and `high`, if given, are drawn as a shaded band around it. `step` draws each value until the next one.
    `markers` draws points (with `low`..`high` as error bars) instead of a line. `mark`, a name of `MARKS`, is drawn at
    some points of a line in figures for print; `place` shifts these points, so that lines do not hide each other's.
    """

    name: str
    x: Array
    y: Array
    colour: str
    dash: int = 0
    low: Array | None = None
    high: Array | None = None
    step: bool = False
    markers: bool = False
    symbol: str = "circle"
    in_legend: bool = True
    width: float = 1.0
    mark: str = ""
    place: int = 0


@dataclass(frozen=True)
class Band:
    """A stretch of the x axis with a coloured background, such as the time that an algorithm spent in one state."""

    name: str
    start: float
    end: float
    colour: str


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    `stacked` draws filled lines on top of each other (counts that add up). Values above `y_top` are cut off.
    `bands` are drawn behind the lines; those of one name have one entry in the legend.
    With `flows`, the panel is a time-sequence graph of one of them (`narrows.report.sequence`).
    """

    y_label: str
    lines: tuple[Line, ...]
    title: str = ""
    stacked: bool = False
    y_from_zero: bool = True
    y_top: float | None = None
    rule: float | None = None
    rule_text: str = ""
    bands: tuple[Band, ...] = ()
    flows: tuple[FlowPackets, ...] = ()


@dataclass(frozen=True)
class Figure:
    """Panels over a common x axis, with a file name and a caption.

    `ticks` names the positions 0, 1, 2 .. of a category axis; without it the axis is numeric. `marks` are vertical
    lines at given positions with a short text. With `x_log`, x is logarithmic (all of its values are above zero).
    """

    name: str
    title: str
    caption: str
    x_label: str
    panels: tuple[Panel, ...]
    ticks: tuple[str, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    panel_in: float = 1.5
    share_y: bool = False
    width_in: float = style.COLUMN_IN
    x_range: tuple[float, float] | None = None
    x_log: bool = False

    @property
    def over_time(self) -> bool:
        """Whether x is simulated time; such figures of a page show the same stretch of it."""
        return self.x_label == TIME and not self.ticks and not self.x_log


@dataclass(frozen=True)
class Drawn:
    """A figure for a page: its description for scripts, and the static drawing for print and without scripts."""

    figure: Figure
    description: dict[str, Any]
    svg_data_uri: str
    files: tuple[Path, ...] = field(default=())


def limit(lines: int) -> int:
    """Return the number of points above which each of so many lines is thinned.

    >>> limit(2), limit(60), limit(1000)
    (2400, 400, 240)
    """
    return max(LEAST_POINTS, min(MAX_POINTS, ALL_POINTS // max(lines, 1)))


def every(points: int, place: int) -> tuple[int, int]:
    """Return the first of so many points that has a marker, and the step to the next.

    >>> every(80, 0), every(80, 1), every(3, 1)
    ((0, 10), (6, 10), (0, 1))
    """
    step = max(1, points // MARKED)
    return int(place * 0.618 * step) % step, step


def thin(line: Line, limit: int = MAX_POINTS) -> Line:
    """Thin `line` to about `limit` points; each stretch keeps its smallest and largest, so that peaks stay."""
    n = len(line.x)
    if n <= limit or line.markers or line.low is not None:
        return line
    edges = np.linspace(0, n, limit // 2 + 1).astype(int)
    keep: set[int] = {0, n - 1}
    for start, stop in itertools.pairwise(edges):
        part = line.y[start:stop]
        if part.size and not np.all(np.isnan(part)):
            keep.add(int(start + np.nanargmin(part)))
            keep.add(int(start + np.nanargmax(part)))
    index = np.array(sorted(keep))
    return Line(**{**line.__dict__, "x": line.x[index], "y": line.y[index]})


def y_limits(figure: Figure) -> list[tuple[float, float] | None]:
    """Return the limits of each panel's y axis: from zero if requested, common to all panels with `share_y`."""
    tops: list[float] = []
    bottoms: list[float] = []
    for panel in figure.panels:
        stack = np.zeros(1)
        top, bottom = 0.0, np.inf
        for line in panel.lines:
            values = line.y if line.high is None else np.maximum(np.nan_to_num(line.y), np.nan_to_num(line.high))
            finite = values[np.isfinite(values)]
            if not finite.size:
                continue
            if panel.stacked:
                padded = np.nan_to_num(line.y)
                stack = padded if stack.size != padded.size else stack + padded
                top = max(top, float(stack.max()))
            else:
                top = max(top, float(finite.max()))
            lows = line.y if line.low is None else line.low
            lows = lows[np.isfinite(lows)]
            bottom = min(bottom, float(lows.min())) if lows.size else bottom
        top = top if panel.rule is None else max(top, panel.rule)
        tops.append(top if panel.y_top is None else min(top, panel.y_top))
        bottoms.append(0.0 if panel.y_from_zero or not np.isfinite(bottom) else bottom)
    if figure.share_y and tops:
        tops = [max(tops)] * len(tops)
        bottoms = [min(bottoms)] * len(bottoms)
    limits: list[tuple[float, float] | None] = []
    for low, high in zip(bottoms, tops, strict=True):
        span = high - low
        limits.append((low if low == 0 else low - 0.06 * span, high + 0.06 * span) if span > 0 else None)
    return limits
