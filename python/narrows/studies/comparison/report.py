"""The page of a comparison: differences between two outcomes, over time and in numbers, and the conditions of both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from narrows.outcome.conditions import table as conditions_table
from narrows.report import charts, network, render, style, tables, topology
from narrows.studies.comparison import overlays

if TYPE_CHECKING:
    from os import PathLike

    from narrows.stats import Estimate
    from narrows.studies.comparison import Compared, Comparison, Subject

_HEADLINE = ("throughput_mbps", "rtt_mean_ms")


@dataclass(frozen=True)
class Row:
    """A measure of a flow or queue: both arms, their difference, and the difference in per cent."""

    title: str
    unit: str
    cells: tuple[tables.Cell, ...]
    apart: bool


@dataclass(frozen=True)
class Group:
    """The rows of one flow or queue, under its name."""

    name: str
    about: str
    rows: tuple[Row, ...]


def write(made: Comparison, out: str | PathLike[str]) -> Path:
    """Write the page, and ``figures/`` beside it as PNG and SVG.

    Parameters
    ----------
    made : Comparison
    out : path
        A directory, in which the page is named ``report.html``; or the page itself, ending in ``.html``.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    OSError
        If the page or the figures cannot be written.
    """
    page = Path(out)
    if page.suffix != ".html":
        page = page / "report.html"
    folder = page.parent / "figures"
    resolved = made.scenario.resolved
    drawn = network.of(made.scenario)
    topology.write_figures(drawn, folder, made.scenario.title)
    queues = made.telling_queues
    first, second = made.arms
    text = render.page(
        "comparison.html.j2",
        title=f"{made.scenario.title} – {first.label} and {second.label} – Narrows",
        version=first.outcome.version,
        scenario_title=made.scenario.title,
        description=resolved.description or "",
        labels=(first.label, second.label),
        colours=overlays.COLOURS,
        doubts=made.doubts,
        lead=lead(made),
        several=made.has_intervals,
        flow_groups=[group(subject, subject.cc or "UDP") for subject in made.flows] + _together(made),
        transfer_groups=[group(one, "transfers") for one in made.transfers]
        + [group(one, "video") for one in made.playbacks]
        + [group(one, "datagrams") for one in made.datagrams],
        queue_groups=[group(queue, "queue") for queue in queues],
        queues_hidden=len(made.queues) - len(queues),
        charts=charts.draw(overlays.all_figures(made, [queue.name for queue in queues]), folder),
        conditions=_conditions(made),
        topology_svg=Markup(topology.to_svg(drawn, f"Topology of {made.scenario.title}")),  # noqa: S704 - escaped there
        flows=network.flow_rows(resolved),
        workloads=network.workload_rows(resolved),
        identity=_identity(made),
        command=_command(made),
        scenario_toml=made.scenario.to_toml(),
        definitions=tables.DEFINITIONS,
    )
    return render.write_text(page, text)


def lead(made: Comparison) -> str:
    """Describe in one sentence how far apart both arms are.

    Parameters
    ----------
    made : Comparison

    Returns
    -------
    str
    """
    parts = []
    for key, words in zip(_HEADLINE, ("mean throughput", "mean round-trip time"), strict=True):
        found = [(abs(one.difference.percent.mean), flow, one) for flow in made.flows if (one := flow.of(key))]
        found = [entry for entry in found if not math.isnan(entry[0])]
        if not found:
            continue
        _, flow, one = max(found, key=lambda entry: entry[0])
        where = f" (flow {flow.name}, the furthest)" if len(made.flows) > 1 else ""
        parts.append(f"{words}{where} by {_signed(one.difference.percent)}")
    first, second = (arm.label for arm in made.arms)
    counts = " and ".join(_runs(len(arm.outcome.runs), arm.label) for arm in made.arms)
    told = (
        f"{second.capitalize()} differs from {first} in {' and in '.join(parts)}" if parts else "Nothing was measured"
    )
    return f"{told}. There are {counts}."


def _runs(count: int, label: str) -> str:
    return f"{count} {label} run{'' if count == 1 else 's'}"


def _signed(percent: Estimate) -> str:
    """Write a percentage with its sign and, if it has one, its interval."""
    mean, low, high = map(style.signed, (percent.mean, percent.low, percent.high))
    if math.isnan(percent.half_width) or percent.half_width == 0:
        return f"{mean} %"
    return f"{mean} % (95 % interval {low} to {high})"


def group(subject: Subject, about: str) -> Group:
    """Return the rows of a flow, a queue or a class of transfers.

    Parameters
    ----------
    subject : Subject
    about : str
        What the page writes beside its name.

    Returns
    -------
    Group
        Without counts that are zero in both outcomes.
    """
    return Group(
        subject.name.replace("->", " → "), about, tuple(_row(one) for one in subject.compared if not one.never)
    )


def _together(made: Comparison) -> list[Group]:
    return [] if made.together is None else [group(made.together, "together")]


def _row(one: Compared) -> Row:
    measure = one.measure
    column = tables.Column(measure.key, measure.title, measure.unit, measure.scale, measure.is_count)
    made = one.difference
    return Row(
        measure.title,
        measure.unit,
        (
            tables.cell(one.first, column),
            tables.cell(one.second, column),
            tables.with_sign(tables.cell(made.difference, column), made.difference.mean),
            tables.with_sign(tables.cell(made.percent, tables.Column("", "", "%")), made.percent.mean),
        ),
        apart=made.difference.low > 0 or made.difference.high < 0,
    )


def _conditions(made: Comparison) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the rows of conditions by label of the arm; simulated arms are left out."""
    rows = [(arm.label, conditions_table(run.conditions for run in arm.outcome.runs)) for arm in made.arms]
    return [(label, listed) for label, listed in rows if listed]


def _identity(made: Comparison) -> list[tuple[str, str]]:
    rows = [("Scenario", made.scenario.name), ("Duration", style.duration(made.scenario.duration_s))]
    if made.scenario.overrides:
        rows.append(("Overrides", ", ".join(f"{key} = {value}" for key, value in made.scenario.overrides.items())))
    for arm in made.arms:
        label = arm.label.capitalize()
        rows += [
            (f"{label}: seed, runs", f"{arm.outcome.seed}, {len(arm.outcome.runs)}"),
            (f"{label}: digest", arm.outcome.digest),
        ]
    return [*rows, ("Version", made.first.outcome.version)]


def _command(made: Comparison) -> str:
    runs = len(made.second.outcome.runs)
    from narrows.studies.comparison.directory import folder_name

    parts = ["narrows run", f"{folder_name(made.first.label)}/scenario.toml", "--both"]
    return " ".join([*parts, *([f"--runs {runs}"] if runs > 1 else [])])
