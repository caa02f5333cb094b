"""The page of a contrast: verdict, what differs, charts of all results over each other, and every difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.outcome.conditions import table as conditions_table
from narrows.report import charts, render, style, tables
from narrows.studies.comparison.values import ALL
from narrows.studies.contrast import shown, table, words
from narrows.studies.contrast.metrics import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from narrows.report.values import Figure
    from narrows.studies.comparison.comparison import Arm
    from narrows.studies.contrast.contrast import Contrast, Row
    from narrows.studies.contrast.differences import Difference


MOST_OBJECTS: Final = 40
"""Objects of each kind that the page has; of more, those that changed most."""

MOST_ROWS: Final = 400
"""Rows of other metrics that the page has; more are in the CSV alone."""


@dataclass(frozen=True)
class Part:
    """A result's cells in a row: its value, the difference from the baseline, absolute and in per cent, and marks."""

    cells: tuple[tables.Cell, ...]
    beyond: bool
    survives: bool


@dataclass(frozen=True)
class Line:
    """A metric: title, unit, the baseline's value, and a part for each further result."""

    title: str
    unit: str
    baseline: tables.Cell
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Group:
    """The metrics of one object, under its name."""

    name: str
    about: str
    lines: tuple[Line, ...]


def write(made: Contrast, drawn: Sequence[Figure], out: Path) -> Path:
    """Write the page, and ``figures/`` beside it as PNG and SVG.

    Parameters
    ----------
    made : Contrast
    drawn : sequence of Figure
        Its figures.
    out : pathlib.Path
        A directory, in which the page is named ``report.html``.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    OSError
        If the page or the figures cannot be written.
    """
    labels = [arm.label for arm in made.arms]
    chief, _ = shown.rows(made, every=False, most=MOST_OBJECTS)
    listed = {(row.kind, row.name) for row in chief}
    every, _ = shown.rows(made, every=True)
    rest = [row for row in every if (row.kind, row.name) in listed and row not in chief]
    title = f"{', '.join(labels[1:])} against {labels[0]}"
    text = render.page(
        "contrast.html.j2",
        title=f"{title} – Narrows",
        version=_core.version(),
        heading=title,
        labels=labels,
        colours=[style.colour(place) for place in range(len(labels))],
        doubts=made.doubts,
        verdicts=[
            # A value stays on one line with its interval and unit.
            [one.replace(" ±", "\u00a0±").replace(" %)", "\u00a0%)") for one in words.verdict(made, index)]
            for index in range(len(made.against))
        ],
        results=[_result(arm) for arm in made.arms],
        differs=[_differs(made, index) for index in range(len(made.against))],
        multiple=words.multiple(made),
        chief=_groups(made, chief),
        rest=_groups(made, rest if len(rest) <= MOST_ROWS else []),
        unlisted=len(every) - len(chief) - (len(rest) if len(rest) <= MOST_ROWS else 0),
        tests=made.tests,
        marked=made.beyond,
        charts=charts.draw(drawn, out / "figures"),
        conditions=_conditions(made),
        definitions=tables.DEFINITIONS,
    )
    return render.write_text(out / "report.html", text)


def _result(arm: Arm) -> tuple[str, ...]:
    outcome = arm.outcome
    told = table.kernel(arm)
    return (
        outcome.scenario.title,
        style.duration(outcome.scenario.duration_s),
        table.world(arm) if told is None else f"{table.world(arm)}, Linux {told}",
        str(len(outcome.runs)),
        str(outcome.seed),
        outcome.version,
        outcome.digest[:16],
    )


def _differs(made: Contrast, index: int) -> dict[str, object]:
    changes = made.against[index].changes
    return {
        "label": made.arms[index + 1].label,
        "facts": shown.facts(made, index),
        "changes": [one for one in changes if not one.follows],
        "following": [one for one in changes if one.follows],
        "unmatched": [(only, KINDS[kind], names) for only, kind, names in shown.unmatched(made, index)],
    }


def _groups(made: Contrast, rows: Sequence[Row]) -> list[Group]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.kind, row.name), []).append(row)
    return [
        Group(
            name.replace("->", " → "),
            shown.about(made, listed[0]) or ("" if name == ALL else KINDS[kind]),
            tuple(_line(row) for row in listed),
        )
        for (kind, name), listed in found.items()
    ]


def _line(row: Row) -> Line:
    measure = row.measure
    column = tables.Column(measure.key, measure.title, measure.unit, measure.scale, measure.is_count)

    def part(place: int, one: Difference) -> Part:
        cells = (
            tables.cell(row.estimates[place + 1], column),
            tables.with_sign(tables.cell(one.difference, column), one.difference.mean),
            tables.with_sign(tables.cell(one.percent, tables.Column("", "", "%")), one.percent.mean),
        )
        return Part(cells, one.beyond, one.survives)

    return Line(
        measure.title,
        measure.unit,
        tables.cell(row.estimates[0], column),
        tuple(part(place, one) for place, one in enumerate(row.differences)),
    )


def _conditions(made: Contrast) -> list[tuple[str, list[tuple[str, str]]]]:
    rows = [(arm.label, conditions_table(run.conditions for run in arm.outcome.runs)) for arm in made.arms]
    return [(label, listed) for label, listed in rows if listed]
