"""Tables and figures of comparisons: the differences, both arms over each other, and the tables of each arm."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from narrows.export import drawings, runs, tables
from narrows.export.printing import SPREAD, text
from narrows.export.values import Contents, Printed, Rows, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.stats import Estimate
    from narrows.studies.comparison import Comparison, Subject

PARTS: Final = {
    "flows": "Flows: differences of both outcomes",
    "queues": "Queues: differences of both outcomes",
    "transfers": "Transfers: differences of both outcomes",
    "playbacks": "Video players: differences of both outcomes",
    "datagrams": "Datagrams: differences of both outcomes",
}
"""Titles of the printed tables, by the attribute of a comparison that has their subjects."""

_ESTIMATES: Final = ("first", "second", "difference", "percent")


def contents(made: Comparison) -> Contents:
    """Return what a comparison has to export.

    Parameters
    ----------
    made : Comparison

    Returns
    -------
    Contents
    """
    from narrows.report import network
    from narrows.studies.comparison import overlays
    from narrows.studies.comparison.directory import folder_name

    subjects = {part: getattr(made, part) for part in PARTS} | {"queues": tuple(made.telling_queues)}
    if made.together is not None:
        subjects["flows"] = (*subjects["flows"], made.together)
    printed = [
        Table(part, PARTS[part], printed=partial(_printed, made, listed)) for part, listed in subjects.items() if listed
    ]
    arms = [
        replace(table, name=f"{folder_name(arm.label)}/{table.name}", title=f"{table.title}: {arm.label}")
        for arm in made.arms
        for table in runs.tables_of(arm.outcome)
    ]
    drawn = overlays.all_figures(made, [queue.name for queue in made.telling_queues])
    return Contents(
        "comparison",
        made.scenario.name,
        (Table("differences", "Differences of both outcomes", partial(_rows, made)), *printed, *arms),
        (*drawings.of_figures(drawn), drawings.of_network(network.of(made.scenario), made.scenario.title)),
    )


def _rows(made: Comparison) -> Rows:
    import pyarrow as pa

    listed = [
        _row(part, subject, one)
        for part in PARTS
        for subject in (*getattr(made, part), *((made.together,) if part == "flows" and made.together else ()))
        for one in subject.compared
    ]
    docs = {
        "part": "What is compared: flows, queues, transfers, playbacks or datagrams.",
        "name": "The flow, queue or class of transfers; all flows is all of them together.",
        "cc": "Congestion control of a flow; empty for others.",
        "measure": "The measure; its name ends in the unit of the numbers.",
        "p_value": "Probability of such a difference by chance (Welch's t test); empty with fewer than two runs.",
    }
    told = {
        "first": f"the first outcome ({made.first.label})",
        "second": f"the second outcome ({made.second.label})",
        "difference": "the difference, second minus first",
        "percent": "the difference in per cent of the first",
    }
    for name, words in told.items():
        docs |= {
            f"{name}_mean": f"Mean of {words}.",
            f"{name}_low": f"Lower end of the 95 % confidence interval of {words}.",
            f"{name}_high": f"Upper end of the 95 % confidence interval of {words}.",
        }
    docs |= {"first_runs": "Runs of the first outcome.", "second_runs": "Runs of the second outcome."}
    schema = pa.schema([(name, _type(name)) for name in docs])
    return tables.of_arrow(pa.Table.from_pylist(listed, schema=schema), docs)


def _type(name: str) -> Any:
    import pyarrow as pa

    if name in ("part", "name", "cc", "measure"):
        return pa.string()
    return pa.int64() if name.endswith("_runs") else pa.float64()


def _row(part: str, subject: Subject, one: Any) -> dict[str, Any]:
    estimates: dict[str, Estimate] = {
        "first": one.first,
        "second": one.second,
        "difference": one.difference.difference,
        "percent": one.difference.percent,
    }
    row: dict[str, Any] = {"part": part, "name": subject.name, "cc": subject.cc, "measure": one.measure.key}
    for name, estimate in estimates.items():
        row |= {f"{name}_{end}": tables.finite(getattr(estimate, end)) for end in ("mean", "low", "high")}
    row |= {"first_runs": one.first.n, "second_runs": one.second.n}
    return row | {"p_value": tables.finite(one.difference.p_value)}


def _printed(made: Comparison, subjects: Sequence[Subject]) -> Printed:
    from narrows.studies.comparison.report import group

    rows: list[tuple[str, ...]] = []
    groups = [group(subject, "") for subject in subjects]
    for one in groups:
        rows.append((one.name,))
        for row in one.rows:
            title = f"{row.title} ({row.unit})" if row.unit else row.title
            rows.append((title, *(text(cell) for cell in row.cells)))
    first, second = (arm.label for arm in made.arms)
    spread = any(cell.spread for one in groups for row in one.rows for cell in row.cells)
    heads = (("Measure", ""), (first, ""), (second, ""), ("Difference", ""), ("Difference", "%"))
    return Printed(heads, tuple(rows), SPREAD if spread else "")
