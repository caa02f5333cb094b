"""The page of a contest: matrices, standings, every pair, definitions, and how to repeat the contest."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from narrows import _core, ownership
from narrows.base.errors import InputError
from narrows.report import network, render, topology
from narrows.studies.contest import export, figures, heat, rows, series, text
from narrows.studies.contest.contestant import Contestant
from narrows.studies.contest.measures import MEASURES
from narrows.studies.contest.plan import SAMPLING

if TYPE_CHECKING:
    from narrows.model.scenario import Scenario
    from narrows.ownership import Target
    from narrows.studies.contest.plan import Order, Plan
    from narrows.studies.contest.result import Contest, Place

PAGE: Final = "report.html"
SUMMARY: Final = "contest.json"
CELLS: Final = "cells.csv"
SCENARIO: Final = "scenario.toml"

_GROUPS: Final[tuple[tuple[str, tuple[tuple[str, Place], ...]], ...]] = (
    ("Who gets how much", (("share", "first"), ("jain", "first"), ("tpp_mbps", "first"), ("tpp_mbps", "second"))),
    ("Who harms whom", (("harm", "first"), ("harm", "second"), ("harm_rtt", "first"), ("harm_rtt", "second"))),
    (
        "What it does to delay and loss",
        (("rtt_inflation", "first"), ("rtt_inflation", "second"), ("loss_ratio", "first"), ("loss_ratio", "second")),
    ),
    ("Against being alone", (("harm_solo", "first"), ("harm_solo", "second"))),
)


_DRAWN: Final = ("share", "jain", "tpp_mbps", "harm", "rtt_inflation", "loss_ratio")
"""Measures whose heat maps are also written as files."""


def write(contest: Contest, directory: Target) -> Path:
    """Write page, figures and numbers atomically; they replace existing ones.

    Parameters
    ----------
    contest : Contest
    directory : path or Claim
        Created if missing.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If the directory cannot be made, or holds something else.
    RunError
        If writing failed.
    """
    held = ownership.claim(directory, kind=ownership.CONTEST)
    with ownership.staged(held, part="page", alone=False) as folder:
        fill(contest, folder)
    return Path(held.named) / PAGE


def fill(contest: Contest, folder: Path) -> None:
    """Write page, figures and numbers into an existing directory.

    Parameters
    ----------
    contest : Contest
    folder : pathlib.Path
        A directory such as `narrows.ownership.staged` yields.

    Raises
    ------
    OSError
        If writing fails.
    """
    render.write_text(folder / CELLS, export.cells_csv(contest))
    render.write_text(folder / SUMMARY, export.dumps(contest))
    render.write_text(folder / SCENARIO, contest.plan.scenario.to_file())
    write_page(contest, folder / PAGE)


def write_page(contest: Contest, path: Path) -> Path:
    """Write only the page, with ``figures/`` next to it as PNG and SVG.

    Parameters
    ----------
    contest : Contest
    path : pathlib.Path
        Path of the page.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    OSError
        If writing fails.
    """
    figures.write(drawn_maps(contest), path.parent / "figures")
    return render.write_text(path, page(contest))


def drawn_maps(contest: Contest) -> list[heat.Map]:
    """Return the heat maps that are also written as files.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    list of narrows.studies.contest.heat.Map
    """
    return [one for _, maps in _maps(contest, contest.plan.orders[0]) for one in maps if one.measure.key in _DRAWN]


def page(contest: Contest) -> str:
    """Render the page.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    str
        HTML without external files.
    """
    plan = contest.plan
    resolved = plan.scenario.resolved
    drawn = network.of(plan.scenario)
    standings = contest.standings()
    return render.page(
        "contest.html.j2",
        title=f"{plan.scenario.title}: a contest – Narrows",
        version=_core.version(),
        scenario_title=plan.scenario.title,
        description=resolved.description or "",
        labels=plan.headings,
        slots=[slot.name for slot in plan.slots],
        runs=plan.runs,
        lead=text.lead(contest, standings),
        notes=text.notes(contest),
        cards=text.cards(standings),
        standings=[rows.standing(one) for one in standings],
        parts=[
            {
                "order": order,
                "title": "" if len(plan.orders) == 1 else text.ORDERS[order],
                "groups": _maps(contest, order),
                "pairs": [rows.pair(contest, a, b, order) for a in plan.labels for b in plan.labels],
                "curves": _curves(contest, order),
            }
            for order in plan.orders
        ],
        cell_rem=_cell_width(len(plan.labels)),
        curve_rem=max(2.6, min(7.5, 60.0 / len(plan.labels))),
        topology_svg=Markup(topology.to_svg(drawn, f"Topology of {plan.scenario.title}")),  # noqa: S704 - escaped there
        flow_rows=network.flow_rows(resolved),
        definitions=[(one.title, one.unit, one.formula) for one in contest.measures()],
        behaviours=text.behaviours(plan.criteria),
        method=text.method(plan),
        limits=text.limits(),
        sources=text.SOURCES,
        command=command(plan),
        pair_command=pair_command(plan),
        identity=_identity(contest),
        scenario_toml=plan.scenario.to_toml(),
    )


def command(plan: Plan) -> str | None:
    """Return the command that runs the same contest.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    str or None
        ``None`` if contestants or settings cannot be expressed on the command line.
    """
    try:
        sayable = all(Contestant.parse(one.label) == one for one in plan.contestants)
    except InputError:
        sayable = False
    if not sayable or plan.orders != ("as_is",):
        return None
    parts = ["narrows", "contest", "--cc", ",".join(plan.labels), "--on", plan.scenario.path]
    parts += ["--runs", str(plan.runs), "--seed", str(plan.seed), "--window", str(plan.window)]
    parts += ["--slots", ",".join(slot.name for slot in plan.slots)]
    parts += [] if plan.has_solo else ["--no-solo"]
    return shlex.join([*parts, *_settings(plan.scenario)])


def _settings(scenario: Scenario) -> list[str]:
    """Overrides as command-line options, without those that every contest sets."""
    given = {path: value for path, value in scenario.overrides.items() if (path, value) != ("sampling", SAMPLING)}
    return [word for path, value in given.items() for word in ("--set", f"{path}={value}")]


def pair_command(plan: Plan) -> str:
    """Return the command that runs only the first pair of different contestants, for a closer look.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    str
    """
    match = plan.matches[min(1, len(plan.contestants) - 1)]
    parts = ["narrows", "run", plan.scenario.path, "--seed", str(plan.seed), "--runs", str(plan.runs)]
    parts += _settings(match.scenario)
    return shlex.join([*parts, "-o", "pair"]) + " && narrows report pair"


def _maps(contest: Contest, order: Order) -> list[tuple[str, list[heat.Map]]]:
    own = {one.key for one in contest.measures()}
    return [
        (
            title,
            [
                heat.make(contest, key, *text.map_title(MEASURES[key], place), place, order)
                for key, place in maps
                if key in own
            ],
        )
        for title, maps in _GROUPS
        if any(key in own for key, _ in maps)
    ]


def _cell_width(count: int) -> float:
    """Width of a heat map cell, rem: two maps fit side by side up to ten contestants, one map up to thirty."""
    return max(1.75, min(3.1, 27.0 / count)) if count <= 10 else max(1.75, min(2.9, 58.0 / count))


def _curves(contest: Contest, order: Order) -> list[tuple[str, list[dict[str, Any]]]]:
    drawings = series.matrix(contest, order)
    made = []
    for heading, row, line in zip(contest.plan.headings, contest.plan.labels, drawings, strict=True):
        cells = []
        for column, svg in zip(contest.plan.labels, line, strict=True):
            time = contest.estimate("equilibrium_s", row, column, "first", order)
            reached = f"; in balance {time.mean:.1f} s after the later start" if time.n else ""
            cells.append(
                {
                    "svg": Markup(svg),  # noqa: S704 - numbers only
                    "code": text.code(contest, row, column, order),
                    "title": f"{row}, then {column}: {text.behaviour(contest, row, column, order)}{reached}",
                }
            )
        made.append((heading, cells))
    return made


def _scenario(scenario: Scenario) -> str:
    return scenario.name if scenario.name == scenario.path else f"{scenario.name}, {scenario.path}"


def _identity(contest: Contest) -> list[tuple[str, str]]:
    plan = contest.plan
    facts = [
        ("Scenario", _scenario(plan.scenario)),
        ("Slots", " and ".join(slot.name for slot in plan.slots)),
        ("Runs", f"{plan.runs} of each of {len(plan.matches)} matches: {plan.total}"),
        ("Seed", f"{plan.seed}; run i of every match draws from the streams of ({plan.seed}, i)"),
        ("Window", f"{plan.window.start_s:g} s to {plan.window.end_s:g} s of {plan.scenario.duration_s:g} s"),
        ("Version", _core.version()),
    ]
    if plan.scenario.overrides:
        facts.append(("Overrides", ", ".join(f"{key} = {value}" for key, value in plan.scenario.overrides.items())))
    return facts
