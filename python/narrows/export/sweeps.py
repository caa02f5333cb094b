"""Tables and figures of sweeps: the rows of the data set by kind, and means over each axis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from narrows.export import drawings, tables
from narrows.export.columns import meanings
from narrows.export.printing import SPREAD
from narrows.export.values import Contents, Printed, Rows, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.studies.sweep.measured import Column, Measured
    from narrows.studies.sweep.result import SweepResult

TITLES: Final = {
    "run": "Runs: axes, seed, state and measures of the whole run",
    "flow": "Flows of every run",
    "queue": "Queues of every run",
    "router": "Routers of every run",
    "station": "802.11 stations of every run",
    "channel": "802.11 channels of every run",
}
"""Title of the table of each kind of row."""


def contents(made: SweepResult) -> Contents:
    """Return what a sweep has to export.

    Parameters
    ----------
    made : SweepResult

    Returns
    -------
    Contents
    """
    from narrows.studies.sweep import page
    from narrows.studies.sweep.directory import marker

    name = "sweep" if made.directory is None else str(marker(made.directory).get("name"))
    measured, _, view = page.viewed(made)
    listed = (*_data(made), *_effects(made), *_axes(measured, view.measures))
    return Contents("sweep", name, listed, drawings.of_figures(page.drawn_figures(measured, view)))


def _data(made: SweepResult) -> Iterable[Table]:
    for kind, title in TITLES.items():
        if len(made.frame(kind)):
            yield Table(f"{kind}s", title, partial(_rows, made, kind))


def _rows(made: SweepResult, kind: str) -> Rows:
    from narrows.studies.sweep import columns

    frame = made.frame(kind)
    docs = dict.fromkeys(made.axes, "Value of the axis.")
    if kind in columns.KINDS:
        docs |= meanings(columns.KINDS[kind])
        docs[kind] = f"Name of the {kind}."
    return tables.of_frame(frame.dropna(axis="columns", how="all"), docs)


EFFECTS: Final = {
    "measure": "The measure: a column of runs, flows or queues.",
    "axis": "The axis.",
    "share": "Share of the measure's variance between runs that the axis explains, of 1.",
    "low": "Value of the axis with the smallest mean.",
    "high": "Value of the axis with the largest mean.",
    "low_mean": "The smallest mean, in the unit of the measure.",
    "high_mean": "The largest mean, in the unit of the measure.",
    "difference": "The largest mean minus the smallest, paired by seed.",
    "difference_low": "Lower end of the simultaneous 95 % interval of the difference; empty with one seed.",
    "difference_high": "Upper end of the simultaneous 95 % interval of the difference; empty with one seed.",
}
"""Meaning of the columns of effects."""


def _effects(made: SweepResult) -> Iterable[Table]:
    if made.axes:
        yield Table("effects", "Axes by their effect on each measure", lambda: tables.of_frame(made.effects(), EFFECTS))


def _axes(made: Measured, measures: Sequence[str]) -> Iterable[Table]:
    for column in made.columns if measures else ():
        name = "".join(letter if letter.isalnum() else "-" for letter in column.name)
        yield Table(f"over-{name}", f"Means over {column.name}", printed=partial(_printed, made, column, measures))


def _printed(made: Measured, column: Column, measures: Sequence[str]) -> Printed:
    from narrows.studies.sweep import shown

    table = shown.table(made, column, measures)
    units = [made.measures[name].unit for name in measures]
    heads = [(_plain(name, unit), unit) for name, unit in zip(measures, units, strict=True)]
    rows = tuple(
        (row.level, *(f"{value} ± {spread}" if spread else value for value, spread in row.cells), str(row.runs))
        for row in table.rows
    )
    spread = any(spread for row in table.rows for _, spread in row.cells)
    return Printed(((column.name, column.unit or ""), *heads, ("Runs", "")), rows, SPREAD if spread else "")


def _plain(metric: str, unit: str) -> str:
    """Return a metric's name in words, without the unit at its end.

    >>> _plain("rtt_mean_ms", "ms"), _plain("jain", "")
    ('Rtt mean', 'Jain')
    """
    words = (metric.rpartition("_")[0] if unit and "_" in metric else metric).replace("_", " ")
    return words[:1].upper() + words[1:]
