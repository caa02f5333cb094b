"""The parts of a sweep's page as values for its template: data for the scripts, tables, heat map, and figures."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.report import charts, style
from narrows.report.ramps import BLUE, PAPER, Ramp, css, ink
from narrows.stats.runs import CONFIDENCE, t_quantile
from narrows.studies.sweep.cells import EMPTY, Cell, cells
from narrows.studies.sweep.view import MOST_FACETS, MOST_HEAT, MOST_SERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.sweep.measured import Column, Measured
    from narrows.studies.sweep.view import View

MOST_LEVELS: Final = 200
"""Largest number of values of an axis that figures and tables outside the scripts show."""

MOST_RUNS: Final = 100_000
"""Runs up to which the page has the values of every run for its scripts."""

DATA_BYTES: Final = 400_000
"""Bytes of the page that the values of measures may take; further measures are left to the data set."""

_EXACT_RUNS: Final = 3000
"""Runs up to which values have seven significant digits in the page; with more they have five."""

_MOST_SEEDS: Final = 1000
"""Number of seeds up to which Student's quantiles are listed; beyond, the last one holds."""


def data(made: Measured, view: View) -> dict[str, Any] | None:
    """Return the runs for the page's scripts.

    Parameters
    ----------
    made : Measured
    view : View

    Returns
    -------
    dict or None
        Axes with the index of each point's value, seeds, measures, Student's quantiles by degrees of freedom, and the
        view. The values of a measure are JSON (point by point, seed by seed, ``null`` without a value), deflated, in
        base 64. ``None`` if there are too many runs.
    """
    if not made.columns or len(made.points) > MOST_RUNS or not view.measures:
        return None
    points, first, place = np.unique(made.points, return_index=True, return_inverse=True)
    position = place * len(made.seeds) + made.seed_codes
    listed, left = _measures(made, view, position, len(points) * len(made.seeds))
    degrees = range(1, max(2, min(len(made.seeds), _MOST_SEEDS)))
    return {
        "axes": [
            {
                "name": column.name,
                "unit": column.unit,
                "numeric": column.numeric,
                "log": column.log,
                "levels": list(column.levels) if column.numeric else None,
                "texts": [column.text(level) for level in range(len(column.levels))],
                "codes": _packed(column.codes[first].tolist()),
            }
            for column in made.columns
        ],
        "seeds": len(made.seeds),
        "points": len(points),
        "measures": listed,
        "left_out": left,
        "t": [float(f"{t_quantile(df, CONFIDENCE):.7g}") for df in degrees],
        "view": {
            "measures": list(view.measures),
            "x": view.x,
            "series": view.series,
            "facet": view.facet,
            "heat": list(view.heat) if view.heat else None,
        },
        "most": {"series": MOST_SERIES, "facets": MOST_FACETS, "heat": MOST_HEAT},
    }


def _measures(made: Measured, view: View, position: Any, size: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Pack measures until the room is used up, those of the view first; return them, and the names of the others."""
    names = [*view.measures, *(name for name in made.varying if name not in view.measures)]
    digits = 7 if len(made.points) <= _EXACT_RUNS else 5
    listed: list[dict[str, Any]] = []
    room = DATA_BYTES
    for name in names:
        one = made.measures[name]
        values: list[float | int | None] = [None] * size
        for at, value in zip(position.tolist(), one.values.tolist(), strict=True):
            if np.isfinite(value):
                short = float(f"{value:.{digits}g}")
                values[at] = int(short) if short.is_integer() else short
        packed = _packed(values)
        if len(packed) > room and listed:
            break
        room -= len(packed)
        listed.append({"name": name, "unit": one.unit, "kind": one.kind, "values": packed})
    return listed, names[len(listed) :]


def _packed(values: Sequence[object]) -> str:
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a heat map: what it says, its colours, and all about it."""

    text: str
    style: str
    title: str


@dataclass(frozen=True)
class Heat:
    """A heat map: a measure over two axes.

    Attributes
    ----------
    measure, columns, rows : str
        Titles.
    heads : tuple of str
        Values of the columns.
    body : tuple of (str, tuple of HeatCell)
        Value of each row, and its cells.
    low, high : str
        Smallest and largest value, for the legend.
    ends : tuple of str
        Colours of both, as CSS.
    """

    measure: str
    columns: str
    rows: str
    heads: tuple[str, ...]
    body: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    low: str
    high: str
    ends: tuple[str, str]


def heat(made: Measured, view: View) -> Heat | None:
    """Return the heat map of the view's first measure, which the page has without scripts.

    Parameters
    ----------
    made : Measured
    view : View

    Returns
    -------
    Heat or None
        ``None`` without two axes, or if one has too many values.
    """
    if view.heat is None or not view.measures:
        return None
    across, down = (made.column(name) for name in view.heat)
    if max(len(across.levels), len(down.levels)) > MOST_HEAT:
        return None
    measure = made.measures[view.measures[0]]
    found = cells(made, measure.name, [down.name, across.name])
    means = [cell.estimate.mean for cell in found.values()]
    low, high = min(means, default=0.0), max(means, default=1.0)
    ramp = Ramp(low, high if high > low else low + 1.0, None, PAPER, BLUE)
    body = []
    for row in range(len(down.levels)):
        line = []
        for column in range(len(across.levels)):
            cell = found.get((row, column), EMPTY)
            colour = ramp.colour(cell.estimate.mean)
            paint = f"background:{css(colour)};color:{css(ink(colour))}"
            where = f"{down.name} = {down.text(row, unit=True)}, {across.name} = {across.text(column, unit=True)}"
            line.append(HeatCell(style.number(cell.estimate.mean), paint, f"{where}: {told(cell, measure.unit)}"))
        body.append((down.text(row), tuple(line)))
    return Heat(
        measure.title,
        across.title,
        down.title,
        tuple(across.text(level) for level in range(len(across.levels))),
        tuple(body),
        style.number(low),
        style.number(high),
        (css(PAPER), css(BLUE)),
    )


def told(cell: Cell, unit: str) -> str:
    """Write a cell with its interval, unit and number of runs.

    Parameters
    ----------
    cell : Cell
    unit : str

    Returns
    -------
    str
    """
    if not cell.runs:
        return "no value"
    half = cell.half
    spread = f" ± {style.number(half)}" if half > 0 else ""
    return f"{style.number(cell.estimate.mean)}{spread} {unit}".strip() + f", {cell.runs:,} run{_s(cell.runs)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


@dataclass(frozen=True, slots=True)
class Row:
    """A value of an axis: its cells as mean and half of the interval, and the number of runs."""

    level: str
    cells: tuple[tuple[str, str], ...]
    runs: int


@dataclass(frozen=True)
class Table:
    """Means of measures over the values of an axis.

    Attributes
    ----------
    title : str
        The axis with its unit.
    rows : tuple of Row
    left_out : int
        Further values.
    """

    title: str
    rows: tuple[Row, ...]
    left_out: int


def table(made: Measured, column: Column, measures: Sequence[str]) -> Table:
    """Return the means over all other axes and seeds, for each value of an axis.

    Parameters
    ----------
    made : Measured
    column : Column
    measures : sequence of str

    Returns
    -------
    Table
    """
    found = [cells(made, name, [column.name]) for name in measures]
    count = np.bincount(column.codes, minlength=len(column.levels))
    rows = [
        Row(
            column.text(level),
            tuple(_pair(one.get((level,), EMPTY)) for one in found),
            int(count[level]),
        )
        for level in range(min(len(column.levels), MOST_LEVELS))
    ]
    return Table(column.title, tuple(rows), max(0, len(column.levels) - MOST_LEVELS))


def whole(made: Measured, measures: Sequence[str]) -> Row:
    """Return the means over all runs.

    Parameters
    ----------
    made : Measured
    measures : sequence of str

    Returns
    -------
    Row
    """
    found = [cells(made, name, []).get((), EMPTY) for name in measures]
    return Row("all runs", tuple(_pair(cell) for cell in found), len(made.points))


def _pair(cell: Cell) -> tuple[str, str]:
    half = cell.half
    return style.number(cell.estimate.mean if cell.runs else None), style.number(half) if half > 0 else ""


def figure(made: Measured, column: Column, view: View) -> charts.Figure:
    """Draw measures over an axis, with a line for each value of another axis that has few values.

    Parameters
    ----------
    made : Measured
    column : Column
    view : View
        Its measures; lines are its series, or else another of its axes.

    Returns
    -------
    narrows.report.charts.Figure
        For paper, and without scripts.
    """
    few = [c for c in made.columns if c.name != column.name and 1 < len(c.levels) <= MOST_SERIES]
    wished = [name for name in (view.series, view.x, view.facet) if name is not None]
    by = next((made.column(name) for name in wished if name in {c.name for c in few}), None) or next(iter(few), None)
    levels = range(min(len(column.levels), MOST_LEVELS))
    numeric = column.numeric and len(column.levels) > 1
    places = np.array([column.levels[level] for level in levels] if numeric else levels, dtype=float)
    panels = []
    for name in view.measures:
        found = cells(made, name, [column.name] if by is None else [column.name, by.name])
        lines = [
            _line(found, by, group, places, numeric=numeric) for group in range(1 if by is None else len(by.levels))
        ]
        panels.append(charts.Panel(made.measures[name].title, tuple(lines)))
    seeds = len(made.seeds)
    colours = f", a colour for each value of {by.name}" if by is not None else ""
    spread = f" Bands and bars are 95 % intervals over the {seeds} seeds (Student)." if seeds > 1 else ""
    return charts.Figure(
        f"over-{''.join(letter if letter.isalnum() else '-' for letter in column.name)}",
        f"Over {column.name}",
        f"Means over all other axes and the seeds{colours}.{spread}",
        column.title,
        tuple(panels),
        ticks=() if numeric else tuple(column.text(level) for level in levels),
        x_log=numeric and column.log,
    )


def _line(
    found: dict[tuple[int, ...], Cell], by: Column | None, group: int, places: Any, *, numeric: bool
) -> charts.Line:
    line = [found.get((level,) if by is None else (level, group), EMPTY).estimate for level in range(len(places))]
    bounds = [(one.low, one.high) if one.n > 1 else (one.mean, one.mean) for one in line]
    return charts.Line(
        "mean" if by is None else f"{by.name} = {by.text(group, unit=True)}",
        places,
        np.array([one.mean for one in line], dtype=float),
        style.colour(group),
        dash=group // len(style.OKABE_ITO),
        low=np.array([low for low, _ in bounds], dtype=float),
        high=np.array([high for _, high in bounds], dtype=float),
        markers=not numeric,
        symbol=("circle", "square", "diamond")[group // len(style.OKABE_ITO) % 3],
    )
