"""A question whose cases are each run in the same arms: without a scheme, with it, and in variants of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from narrows.model.scenario import Override
    from narrows.outcome import Run
    from narrows.studies.reproduction.result import Claim
    from narrows_papers.frame.beyond.draw import Look
    from narrows_papers.frame.beyond.window import Window

UNITS: dict[str, str] = {"goodput": "Mb/s", "lost": "packets", "rtt": "ms", "jain": ""}
"""Quantities that every question measures, over all TCP flows."""

TITLES: dict[str, str] = {"goodput": "Goodput", "lost": "Lost", "rtt": "RTT", "jain": "Jain's index"}

SEEDS = 10
"""Runs of each arm."""

MANY = 3
"""Number of own quantities from which a figure leaves out those that every question has."""


@dataclass(frozen=True)
class Arms:
    """The arms in which every case of a question is run.

    Attributes
    ----------
    paper : str
        Name of the paper.
    titles : mapping
        Title of each arm, in the order of tables.
    changes : mapping
        Overrides of each arm.
    looks : mapping
        Colour, dash and symbol of each arm.
    """

    paper: str
    titles: Mapping[str, str]
    changes: Mapping[str, Mapping[str, Override]]
    looks: Mapping[str, Look]


BY_KIND: dict[str, tuple[str, str]] = {
    "ours": ("Mb/s", "Flow with it"),
    "other": ("Mb/s", "Flow without"),
    "lost_ours": ("packets", "Lost, with"),
    "lost_other": ("packets", "Lost, without"),
}
"""Quantities of questions in which flows with the scheme, `ours`, meet flows without it, `other`: per flow."""


def by_kind(at: Window) -> Numbers:
    """Measure goodput and losses of a flow of either kind."""
    ours, other = at.course.flows("ours"), at.course.flows("other")
    return {
        "ours": at.goodput(*ours) / len(ours),
        "other": at.goodput(*other) / len(other),
        "lost_ours": at.lost(*ours) / len(ours),
        "lost_other": at.lost(*other) / len(other),
    }


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
    arms : Arms
        The arms of each case.
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
        Which of the arms are run; all by default.
    scenario : str
        As in `Question`.
    """

    arms: Arms
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
    columns: Sequence[str] = ()
    scenario: str = ""

    def question(self) -> Question:
        """Return the question that the report asks."""
        return Question(
            paper=self.arms.paper,
            key=self.key,
            title=self.title,
            asks=self.asks,
            setting=self.setting,
            arms=self._variants,
            measure=self._measure,
            units=UNITS | {name: unit for name, (unit, _) in self.more.items()},
            section=self._section,
            seeds=SEEDS,
            scenario=self.scenario,
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(self.columns or self.arms.titles)

    def _variants(self, quick: bool) -> list[Arm]:
        cases = {key: case for key, case in self.cases.items() if not quick or key in self.quick}
        return [
            Arm((key, column), case.overrides | dict(self.arms.changes[column]))
            for key, case in cases.items()
            for column in self._columns
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
        shown = {key: case for key, case in self.cases.items() if results.has((key, self._columns[-1]))}
        titles = TITLES | {name: title for name, (_, title) in self.more.items()}
        units = UNITS | {name: unit for name, (unit, _) in self.more.items()}
        heads = tuple(f"{titles[name]}, {unit}" if unit else titles[name] for name, unit in units.items())
        rows = tuple(
            (
                f"{case.title}; {self.arms.titles[column]}",
                *(draw.told(results.of((key, column), name)) for name in units),
            )
            for key, case in shown.items()
            for column in self._columns
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
            for i, column in enumerate(self._columns):
                x = [j + draw.beside(len(self._columns), i, 0.4) for j in range(len(shown))]
                estimates = [results.of((key, column), name) for key in shown]
                lines.append(
                    draw.points(self.arms.titles[column], x, estimates, self.arms.looks[column], in_legend=not panels)
                )
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
