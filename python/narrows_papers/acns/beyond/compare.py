"""A question in the form that ACNS's have: cases of a scenario, each without ACNS, with it, and with our rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from narrows.model.scenario import Override
    from narrows.outcome import Run
    from narrows_papers.frame.beyond.draw import Look
    from narrows_papers.frame.beyond.window import Window

PAPER = "acns"
"""The paper whose questions these are."""

OFF, ACNS, GUARD = "off", "acns", "guard"

COLUMNS: dict[str, str] = {OFF: "without ACNS", ACNS: "ACNS", GUARD: "ACNS, our rule"}
"""The arms of each case, with titles. Our rule is `normal_only_losses = "base"`."""

CHANGES: dict[str, dict[str, Override]] = {
    OFF: {"acns.enabled": False},
    ACNS: {},
    GUARD: {"acns.normal_only_losses": "base"},
}
"""The overrides of each arm."""

LOOKS: dict[str, Look] = {
    OFF: (style.PUBLISHED_COLOUR, 0, "square"),
    ACNS: (style.colour(0), 0, "circle"),
    GUARD: (style.colour(2), 1, "diamond"),
}
"""Colour, dash and symbol of each arm."""

UNITS: dict[str, str] = {"goodput": "Mb/s", "lost": "packets", "rtt": "ms", "jain": ""}
"""Quantities that every question measures, over all flows."""

TITLES: dict[str, str] = {"goodput": "Goodput", "lost": "Lost", "rtt": "RTT", "jain": "Jain's index"}


@dataclass(frozen=True)
class Case:
    """A variant of the scenario: its title, and its overrides besides those of the arm."""

    title: str
    overrides: dict[str, Override] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A question: the network, its cases, and what is expected of them.

    Attributes
    ----------
    key, title, asks, setting : str
        As in `Question`.
    cases : mapping
        All cases by key.
    quick : sequence of str
        Keys of the cases of a quick experiment.
    begin_s, end_s : float
        The part of a run that is measured, s.
    claims, conclusion : callable
        Expectations, and paragraphs, from the results.
    axis : str
        Name of the cases' common property, for the figure.
    more : mapping
        Further quantities: unit and title by name.
    measure_more : callable or None
        Measures them.
    columns : sequence of str
        Arms of each case.
    scenario : str
        As in `Question`.
    """

    key: str
    title: str
    asks: str
    setting: str
    cases: Mapping[str, Case]
    quick: Sequence[str]
    begin_s: float
    end_s: float
    claims: Callable[[Results], tuple[Claim, ...]]
    conclusion: Callable[[Results], tuple[str, ...]]
    axis: str
    more: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    measure_more: Callable[[Window], Numbers] | None = None
    columns: Sequence[str] = tuple(COLUMNS)
    scenario: str = ""

    def question(self) -> Question:
        """Return the question that the report asks."""
        return Question(
            paper=PAPER,
            key=self.key,
            title=self.title,
            asks=self.asks,
            setting=self.setting,
            arms=self._arms,
            measure=self._measure,
            units=UNITS | {name: unit for name, (unit, _) in self.more.items()},
            section=self._section,
            seeds=SEEDS,
            scenario=self.scenario,
        )

    def _arms(self, quick: bool) -> list[Arm]:
        cases = {key: case for key, case in self.cases.items() if not quick or key in self.quick}
        return [
            Arm((key, column), case.overrides | CHANGES[column])
            for key, case in cases.items()
            for column in self.columns
        ]

    def _measure(self, run: Run) -> Numbers:
        at = Course(run).window(self.begin_s, self.end_s)
        flows = [flow.name for flow in run.scenario.resolved.flows if flow.tcp is not None]
        measured = {
            "goodput": at.goodput(*flows),
            "lost": at.lost(*flows),
            "rtt": at.rtt(*flows),
            "jain": at.jain(flows),
        }
        return measured | (self.measure_more(at) if self.measure_more else {})

    def _section(self, results: Results) -> Section:
        shown = {key: case for key, case in self.cases.items() if results.has((key, ACNS))}
        titles = TITLES | {name: title for name, (_, title) in self.more.items()}
        units = UNITS | {name: unit for name, (unit, _) in self.more.items()}
        heads = tuple(f"{titles[name]}, {unit}" if unit else titles[name] for name, unit in units.items())
        rows = tuple(
            (f"{case.title}; {COLUMNS[column]}", *(draw.told(results.of((key, column), name)) for name in units))
            for key, case in shown.items()
            for column in self.columns
        )
        return Section(
            self.conclusion(results),
            self.claims(results),
            (Table(self.axis, ("Arm", *heads), rows),),
            (self._figure(results, shown, units, titles),),
        )

    def _figure(
        self, results: Results, shown: Mapping[str, Case], units: Mapping[str, str], titles: Mapping[str, str]
    ) -> Figure:
        panels: list[Panel] = []
        # A question with many quantities of its own shows those.
        common = ("goodput", "lost", "rtt") if len(self.more) < MANY else ("rtt",)
        for name in (*self.more, *common):
            lines = []
            for i, column in enumerate(self.columns):
                x = [j + draw.beside(len(self.columns), i, 0.4) for j in range(len(shown))]
                estimates = [results.of((key, column), name) for key in shown]
                lines.append(draw.points(COLUMNS[column], x, estimates, LOOKS[column], in_legend=not panels))
            unit = f" ({units[name]})" if units[name] else ""
            panels.append(Panel(f"{titles[name]}{unit}", tuple(lines)))
        return Figure(
            self.key,
            self.title,
            "Means over the seeds with 95 % intervals.",
            self.axis,
            tuple(panels),
            ticks=tuple(case.title for case in shown.values()),
            panel_in=1.25,
            width_in=style.PAGE_IN,
        )


SEEDS = 10
"""Runs of each arm."""

MANY = 3
"""Number of own quantities from which a figure leaves out those that every question has."""


def arms_of(results: Results, cases: Mapping[str, Case]) -> list[str]:
    """Keys of the cases that were run."""
    return [key for key in cases if results.has((key, ACNS))]


def each(results: Results, cases: Mapping[str, Case], name: str, columns: Sequence[str] = tuple(COLUMNS)) -> str:
    """Describe a quantity of every case that was run, arm by arm.

    >>> each(Results({("a", "acns"): ({"lost": 3.0},), ("a", "off"): ({"lost": 2.0},)}), {"a": Case("A")}, "lost",
    ...      (OFF, ACNS))
    'A: 2.00 → 3.00'
    """
    return "; ".join(
        f"{cases[key].title}: " + " → ".join(draw.told(results.of((key, column), name)) for column in columns)
        for key in arms_of(results, cases)
    )


def takes_losses(results: Results, cases: Mapping[str, Case], where: str) -> Claim:
    """Evaluate whether ACNS takes at least 90 % of the losses in every case."""
    held = all(
        results.mean((key, ACNS), "lost") <= 0.1 * results.mean((key, OFF), "lost") for key in arms_of(results, cases)
    )
    return Claim(f"ACNS takes at least 90 % of the losses{where}", held, each(results, cases, "lost") + " packets")


def sends_as_much(results: Results, cases: Mapping[str, Case], than: str) -> Claim:
    """Evaluate whether flows with ACNS deliver at least 99 % of what they deliver without it, in every case."""
    held = all(
        results.mean((key, ACNS), "goodput") >= 0.99 * results.mean((key, OFF), "goodput")
        for key in arms_of(results, cases)
    )
    return Claim(f"It sends at least 99 % of what {than} sends", held, each(results, cases, "goodput") + " Mb/s")


def shortens_trips(results: Results, cases: Mapping[str, Case]) -> Claim:
    """Evaluate whether mean round trips are shorter with ACNS, in every case."""
    held = all(results.mean((key, ACNS), "rtt") < results.mean((key, OFF), "rtt") for key in arms_of(results, cases))
    return Claim("It makes round trips shorter", held, each(results, cases, "rtt") + " ms")
