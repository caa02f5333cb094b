"""Figures for a page: the description that `charts.js` draws with uPlot.

uPlot was chosen for its size and speed: 51 kB of script, beside 1.2 MB for Plotly's smallest bundle (1.5 MB for its
cartesian one, 4.6 MB whole) and 130 kB for Dygraphs, and 10^5 points in a frame. Legends, linked axes, bands of states,
markers with error bars and the keyboard are ours, in `charts.js`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows.report import sequence, style
from narrows.report.values import BAND_ALPHA, MAX_POINTS, limit, y_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from narrows.report.values import Array, Figure, Line, Panel

DASHES: dict[str, tuple[float, ...]] = {
    name: tuple(float(length) for length in pattern.split()) for name, _, pattern in style.DASHES
}
"""Lengths of strokes and gaps, px, by the name of a dash."""

UNION = 1.5
"""Lines keep their own points as long as the panel's common x axis is at most this multiple of the longest line."""


def rgba(colour: str, alpha: float) -> str:
    """`#rrggbb` as CSS `rgba()`.

    >>> rgba("#0072B2", 0.5)
    'rgba(0,114,178,0.5)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def _numbers(values: Array, digits: int = 5) -> list[float | int | None]:
    """Return JSON numbers, `None` for "no value", rounded to keep pages small."""
    rounded = (float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist())
    return [int(value) if value is not None and value.is_integer() else value for value in rounded]


def described(figure: Figure) -> dict[str, Any]:
    """Return the description of a figure, without colours of text and axes, which the page sets for light and dark.

    Lines of a panel share one x axis: `x`, and for each line `y` and, with a band, `low` and `high`; `null` is "no
    value". Long lines are thinned so that peaks stay.
    """
    limits = y_limits(figure)
    panels = [_panel(panel, limits[index]) for index, panel in enumerate(figure.panels)]
    return {
        "x_label": figure.x_label,
        "x_range": list(figure.x_range) if figure.x_range else None,
        "x_log": figure.x_log,
        "over_time": figure.over_time,
        "ticks": list(figure.ticks),
        "marks": [[float(place), text] for place, text in figure.marks],
        "height": int(max(150, figure.panel_in * 118)),
        "panels": panels,
    }


def _panel(panel: Panel, limits: tuple[float, float] | None) -> dict[str, Any]:
    x, lines = aligned(panel.lines, limit(len(panel.lines)))
    if panel.stacked:
        lines = _stacked(lines)
    made: dict[str, Any] = {
        "title": panel.title,
        "y_label": panel.y_label,
        "y_range": list(limits) if limits else None,
        "x": _numbers(x, 9),
        "stacked": panel.stacked,
        "lines": [_line(line) for line in lines],
    }
    if panel.rule is not None:
        made["rule"] = [panel.rule, panel.rule_text]
    if panel.flows:
        made["flows"] = sequence.described(panel.flows)
    if panel.bands:
        made["bands"] = [
            [band.name, float(f"{band.start:.9g}"), float(f"{band.end:.9g}"), rgba(band.colour, BAND_ALPHA)]
            for band in panel.bands
        ]
    return made


def _line(line: Line) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": line.name,
        "colour": line.colour,
        "width": round(1.6 * line.width, 2),
        "y": _numbers(line.y),
        "in_legend": line.in_legend,
    }
    dash = DASHES[style.DASHES[line.dash % len(style.DASHES)][0]]
    if dash:
        made["dash"] = list(dash)
    if line.step:
        made["step"] = True
    if line.markers:
        made["symbol"] = line.symbol
    if line.low is not None and line.high is not None:
        made["low"], made["high"] = _numbers(line.low), _numbers(line.high)
    return made


def _stacked(lines: Sequence[Line]) -> list[Line]:
    """Replace the values of stacked lines by their sums from the bottom; the topmost comes first, to be drawn first."""
    total: Array | None = None
    summed = []
    for line in lines:
        total = np.nan_to_num(line.y) if total is None else total + np.nan_to_num(line.y)
        summed.append(replace(line, y=total))
    return summed[::-1]


def aligned(lines: Sequence[Line], most: int = MAX_POINTS) -> tuple[Array, list[Line]]:
    """Bring lines to one x axis of about `most` points.

    Parameters
    ----------
    lines : sequence of Line
        Of one panel.
    most : int
        Points above which lines are thinned.

    Returns
    -------
    (array, list of Line)
        The common axis, and the lines with values at it. Where the lines' points are few or common, the axis has them
        all; at points of others a line has interpolated values, a stepped one its last. Otherwise the axis has two
        points per stretch, at which each line has its smallest and its largest value of the stretch, in their order,
        so that peaks stay.

    Examples
    --------
    >>> import numpy as np
    >>> from narrows.report.values import Line
    >>> one = Line("a", np.array([0.0, 1.0]), np.array([3.0, 4.0]), "#000000")
    >>> two = Line("b", np.array([1.0, 2.0]), np.array([5.0, 6.0]), "#000000")
    >>> axis, made = aligned([one, two])
    >>> axis.tolist(), made[1].y.tolist()
    ([0.0, 1.0, 2.0], [nan, 5.0, 6.0])
    """
    if not lines:
        return np.zeros(0), []
    longest = max(line.x.size for line in lines)
    whole = any(line.markers or line.low is not None for line in lines)
    axis = np.unique(np.concatenate([line.x for line in lines]))
    if whole or (longest <= most and axis.size <= max(UNION * longest, most)):
        return axis, [_spread(line, axis) for line in lines]
    edges = np.linspace(axis[0], axis[-1], most // 2 + 1)
    width = edges[1] - edges[0]
    pairs = np.column_stack([edges[:-1] + 0.25 * width, edges[:-1] + 0.75 * width]).ravel()
    return pairs, [_extremes(line, edges, pairs) for line in lines]


def _spread(line: Line, axis: Array) -> Line:
    """Return a line with values at a common axis that has all its points: between them interpolated or held."""
    if line.x.size == axis.size or not line.x.size:
        return line
    at = np.searchsorted(axis, line.x)

    def spread(values: Array) -> Array:
        out = np.full(axis.size, np.nan)
        out[at] = values
        if line.markers:
            return out
        if line.step:
            return _held(out, at)
        # Interpolation over a point without a value gives none, so gaps stay.
        inside = (axis >= line.x[0]) & (axis <= line.x[-1])
        out[inside] = np.interp(axis[inside], line.x, values)
        return out

    low, high = (None if edge is None else spread(edge) for edge in (line.low, line.high))
    return replace(line, x=axis, y=spread(line.y), low=low, high=high)


def _held(y: Array, at: NDArray[np.intp]) -> Array:
    """Hold each value of a stepped line until its next point."""
    last = np.maximum.accumulate(np.where(np.isin(np.arange(y.size), at), np.arange(y.size), -1))
    held = np.where(last >= 0, y[np.maximum(last, 0)], np.nan)
    held[at[-1] + 1 :] = np.nan
    return np.asarray(held, dtype=np.float64)


def _extremes(line: Line, edges: Array, pairs: Array) -> Line:
    """Return a line's smallest and largest value in each stretch, in their order; a stepped line keeps its value."""
    out = np.full(pairs.size, np.nan)
    bounds = np.searchsorted(line.x, edges)
    bounds[-1] = line.x.size
    before = np.nan
    for index in range(edges.size - 1):
        part = line.y[bounds[index] : bounds[index + 1]]
        known = np.flatnonzero(np.isfinite(part))
        if known.size:
            first, second = sorted((int(known[np.argmin(part[known])]), int(known[np.argmax(part[known])])))
            out[2 * index], out[2 * index + 1] = part[first], part[second]
            before = float(part[known[-1]])
        elif part.size:
            before = np.nan
        elif line.step and bounds[index] < line.x.size:
            out[2 * index] = out[2 * index + 1] = before
    return replace(line, x=pairs, y=out)
