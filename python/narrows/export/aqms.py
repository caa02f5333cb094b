"""Tables and the figure of comparisons of queue disciplines."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Final

from narrows.export import grids, tables
from narrows.export.columns import meanings
from narrows.export.printing import SPREAD
from narrows.export.values import Contents, Drawing, Printed, Rows, Table

if TYPE_CHECKING:
    from narrows.studies.aqm.result import Results

TITLE: Final = "Mean queueing delay against goodput"
CAPTION: Final = (
    "For each discipline the mean over the runs, and the contour of one standard deviation. "
    "Better is up and to the right: the axis of delay is reversed."
)


def contents(made: Results) -> Contents:
    """Return what a comparison of queue disciplines has to export.

    Parameters
    ----------
    made : Results

    Returns
    -------
    Contents
    """
    from narrows.studies.aqm import figures

    printed = [
        Table(f"scenario-{label}", title, printed=partial(_printed, made, label))
        for label, title in made.scenarios.items()
    ]
    listed = (
        Table("cells", "Means by scenario and discipline", partial(_cells, made)),
        Table("runs", "Every run", partial(_runs, made)),
        *printed,
    )
    drawing = Drawing(
        figures.NAME,
        TITLE,
        CAPTION,
        partial(figures.draw, made),
        lambda width_in: grids.grid(figures.panels(made), figures.columns(width_in), width_in),
    )
    return Contents("aqm", "aqm", listed, (drawing,))


def _docs() -> dict[str, str]:
    from narrows.studies.aqm.record import Record

    return dict(meanings(Record))


def _cells(made: Results) -> Rows:
    frame = made.table()
    docs = _docs()
    docs |= {f"{name}_ci": "Half of the 95 % confidence interval." for name in docs}
    return tables.of_frame(frame, docs)


def _runs(made: Results) -> Rows:
    import pandas as pd

    from narrows.studies.aqm.record import Record

    names = [field.name for field in fields(Record) if field.name != "key"]
    rows = [[getattr(one, name) for name in names] for one in made.runs]
    return tables.of_frame(pd.DataFrame(rows, columns=pd.Index(names)), _docs())


def _printed(made: Results, scenario: str) -> Printed:
    from narrows.studies.aqm.page import HEADINGS, shown

    cells = [(queue, [shown(made.estimate(name, queue, scenario), name) for name in HEADINGS]) for queue in made.queues]
    heads = [(_title(title), unit) for title, unit, _, _ in HEADINGS.values()]
    return Printed(
        (("Discipline", ""), *heads),
        tuple((queue, *(f"{mean} ± {half}" if half else mean for mean, half in row)) for queue, row in cells),
        SPREAD if any(half for _, row in cells for _, half in row) else "",
    )


def _title(title: str) -> str:
    whole = {"delay, mean": "Delay mean", "50 %": "Delay 50 %", "95 %": "Delay 95 %", "99 %": "Delay 99 %"}
    return whole.get(title, "Delay max." if title == "largest" else title[:1].upper() + title[1:])
