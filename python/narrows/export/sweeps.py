"""Tables and figures of sweeps: the rows of the data set by kind, and means over each axis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from narrows.export import drawings, tables
from narrows.export.columns import meanings
from narrows.export.contents import Contents, Printed, Rows, Table
from narrows.export.printing import SPREAD

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    metrics = page.chosen(made)
    shown = [page.figure(made, axis, metrics) for axis in made.axes] if metrics else []
    return Contents("sweep", name, (*_data(made), *_axes(made, metrics)), drawings.of_figures(shown))


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


def _axes(made: SweepResult, metrics: list[str]) -> Iterable[Table]:
    for axis in made.axes if metrics else ():
        name = "".join(letter if letter.isalnum() else "-" for letter in axis)
        yield Table(f"over-{name}", f"Means over {axis}", printed=partial(_printed, made, axis, metrics))


def _printed(made: SweepResult, axis: str, metrics: list[str]) -> Printed:
    from narrows.export.columns import unit
    from narrows.studies.sweep import page

    table = page.table(made, axis, metrics)
    heads = ((axis, ""), *((_plain(metric), unit(metric) if unit(metric) != "1" else "") for metric in metrics))
    rows = tuple(
        (row.level, *(f"{value} ± {spread}" if spread else value for value, spread in row.cells), str(row.runs))
        for row in table.rows
    )
    spread = any(spread for row in table.rows for _, spread in row.cells)
    return Printed((*heads, ("Runs", "")), rows, SPREAD if spread else "")


def _plain(metric: str) -> str:
    """Return a metric's name in words, without the unit at its end."""
    from narrows.export.columns import unit

    stem = metric.rpartition("_")[0] if unit(metric) not in ("", "1") else metric
    words = stem.replace("_", " ")
    return words[:1].upper() + words[1:]
