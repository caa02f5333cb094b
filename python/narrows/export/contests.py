"""Tables and figures of contests: every pair, the standings, every run, and the heat maps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from narrows.export import drawings, tables, tikz
from narrows.export.printing import SPREAD
from narrows.export.values import Contents, Drawing, Printed, Rows, Table

if TYPE_CHECKING:
    from narrows.studies.contest import Contest
    from narrows.studies.contest.heat import Map
    from narrows.studies.contest.rows import Shown

CELLS: Final = {
    "first": "The contestant in the first slot.",
    "second": "The contestant in the second slot.",
    "order": "as_is, or swapped: the contestants' flows have changed places.",
    "slot": "The slot whose flow is measured; both for a measure of the pair.",
    "measure": "The measure; the table measures defines it.",
    "unit": "Unit of the numbers; empty for shares and indices, which are of 1.",
    "mean": "Mean over the runs.",
    "low": "Lower end of the 95 % confidence interval of the mean.",
    "high": "Upper end of the 95 % confidence interval of the mean.",
    "n": "Runs with a value.",
}
"""Meaning of the columns of the table of pairs."""

MEASURES: Final = {
    "measure": "Name of the measure in the table cells.",
    "title": "Name for readers.",
    "unit": "Unit.",
    "of": "flow or pair.",
    "definition": "Formula and source.",
}
"""Meaning of the columns of the list of measures."""


def contents(made: Contest) -> Contents:
    """Return what a contest has to export.

    Parameters
    ----------
    made : Contest

    Returns
    -------
    Contents
    """
    from narrows.report import network
    from narrows.studies.contest import page, rows

    scenario = made.plan.scenario
    listed = (
        Table("cells", "Every pair and measure", lambda: tables.of_frame(made.table(), CELLS)),
        Table(
            "standings",
            "Standings",
            partial(_standings, made),
            lambda: _printed("Contestant", rows.standing_rows(made)),
        ),
        Table("measures", "Measures and their definitions", partial(_measures, made)),
        Table("pairs", "Pairs: first slot, second slot", printed=lambda: _printed("Pair", rows.pair_rows(made))),
    )
    maps = tuple(_drawing(one) for one in page.drawn_maps(made))
    drawn = drawings.of_network(network.of(scenario), scenario.title)
    return Contents("contest", scenario.name, listed, (*maps, drawn))


def _measures(made: Contest) -> Rows:
    import pandas as pd

    rows = [(one.key, one.title, one.unit, one.of, one.formula) for one in made.measures()]
    return tables.of_frame(pd.DataFrame(rows, columns=pd.Index(list(MEASURES))), MEASURES)


def _standings(made: Contest) -> Rows:
    import pyarrow as pa

    measures = {
        "share": "share of the throughput against the others, in both slots",
        "harm_done": "harm done to the others' throughput, relative to their own kind; the median over the others",
        "harm_suffered": "harm suffered from the others; the median over the others",
        "jain": "Jain's index with its own kind",
        "total_mbps": "throughput of both flows with its own kind, Mb/s",
        "utilisation": "utilisation with its own kind",
        "rtt_inflation": "mean round-trip time over the smallest, with its own kind",
        "loss_ratio": "lost packets over sent packets, with its own kind",
    }
    rows: list[dict[str, Any]] = []
    for one in made.standings():
        row: dict[str, Any] = {"label": one.label}
        for name in measures:
            estimate = getattr(one, name)
            row |= {name: tables.finite(estimate.mean), f"{name}_ci": tables.finite(estimate.half_width)}
        rows.append(row)
    docs = {"label": "The contestant."}
    for name, words in measures.items():
        docs |= {name: f"Mean over the runs: {words}.", f"{name}_ci": "Half of its 95 % confidence interval."}
    types = [(name, pa.string() if name == "label" else pa.float64()) for name in docs]
    return tables.of_arrow(pa.Table.from_pylist(rows, schema=pa.schema(types)), docs)


def _printed(what: str, shown: tuple[list[tuple[str, str]], list[tuple[str, list[Shown]]]]) -> Printed:
    heads, rows = shown
    spread = any(cell.spread for _, cells in rows for cell in cells)
    return Printed(
        ((what, ""), *heads),
        tuple(
            (name, *(f"{cell.value} ± {cell.spread}" if cell.spread else cell.value for cell in cells))
            for name, cells in rows
        ),
        SPREAD if spread else "",
    )


def _drawing(one: Map) -> Drawing:
    from narrows.studies.contest import figures

    def paint(style: str) -> tuple[str, str]:
        background, ink = (part.partition(":")[2] for part in style.split(";"))
        return background, ink

    def written(width_in: float) -> str:
        cells = [[(cell.text, *paint(cell.style)) for cell in row] for row in one.rows]
        return tikz.matrix(one.title, one.labels, cells, _fitting(one, width_in))

    return Drawing(
        one.key, one.title, one.caption, lambda width_in: figures.draw(one, _fitting(one, width_in)), written
    )


def _fitting(one: Map, width_in: float) -> float:
    """Return the width, or a page's if a column would make the numbers in the cells too small."""
    from narrows.report.style import PAGE_IN

    side = (width_in - 1.4) / len(one.labels)
    return width_in if side * 19 >= drawings.LEAST_TEXT_PT else max(width_in, PAGE_IN)
