"""One pair over time: throughput and cwnd of both flows, as in the paper's figures 2 to 11."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel
from narrows.runs.simulated import Task
from narrows.studies.contest import measure
from narrows.studies.reproduction.result import Curve
from narrows_papers.contest import evaluation, experiment, measured
from narrows_papers.contest.variants import SEGMENT_BYTES, variant
from narrows_papers.frame.execute import Runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.contest import Plan
    from narrows.outcome import Run
    from narrows.report.series import Series
    from narrows.studies.contest.plan import Match
    from narrows.studies.reproduction.result import Cell
    from narrows_papers.contest.measured import Meeting

BIN_S = 0.5
"""Width of the bins of throughput, s; the paper states times to half a second."""

FIGURES: dict[tuple[str, str], str] = {
    ("Illinois", "Vegas"): "figures 2 and 3",
    ("Vegas", "Compound"): "figures 4 and 5",
    ("Westwood", "Hybla"): "figures 6 and 7",
    ("Reno", "Cubic"): "figures 8 and 9",
    ("Compound", "Cubic"): "figures 10 and 11",
}
"""The paper's figures of each pair."""


@dataclass(frozen=True)
class Duel:
    """The runs of a pair in one of the sets, with all samples.

    Attributes
    ----------
    of : str
        Name of the set.
    plan : Plan
        Defines how the pair is measured.
    runs : tuple of Run
        One run per seed.
    meeting : Meeting
        Measurements of the runs.
    """

    of: str
    plan: Plan
    runs: tuple[Run, ...]
    meeting: Meeting

    @property
    def names(self) -> tuple[str, str]:
        """Names of the first and the second starter."""
        return self.meeting.first, self.meeting.second


def runs(wanted: Sequence[tuple[str, str, str]], seeds: int) -> Runs[list[Duel]]:
    """Return the runs of pairs, whose samples are kept.

    Parameters
    ----------
    wanted : sequence of (set, first, second)
        Names of variants as printed in the tables.
    seeds : int
        Number of seeds of each pair.
    """
    planned = [(of, *_plan(of, first, second, seeds)) for of, first, second in wanted]
    tasks = [Task(match.scenario, plan.seed, run) for _, plan, match in planned for run in range(seeds)]

    def collect(made: list[Run]) -> list[Duel]:
        found = []
        for i, (of, plan, match) in enumerate(planned):
            own = tuple(made[i * seeds : (i + 1) * seeds])
            (meeting,) = measured.collect(measure.record(plan, match, run) for run in own).values()
            found.append(Duel(of, plan, own, meeting))
        return found

    return Runs("pairs", tasks, collect)


def _plan(of: str, first: str, second: str, runs: int) -> tuple[Plan, Match]:
    both = [variant(name) for name in dict.fromkeys((first, second))]
    plan = experiment.plan(of, both, runs=runs, orders=("as_is",))
    return plan, next(one for one in plan.matches if (one.first, one.second) == (first, second))


def curves(duel: Duel) -> tuple[list[Series], list[Series]]:
    """Throughput (Mb/s, in bins) and cwnd (segments) of both flows over time, in the first run."""
    frame = duel.runs[0].samples.frame("flow")
    by_name = series.by_name(frame)
    parts = [by_name[slot.name][0] for slot in duel.plan.slots]
    edges = series.bins(duel.runs[0].scenario.duration_s, BIN_S)
    rates = [series.rate_series([part], "arrived_bytes", edges) for part in parts]
    windows = [series.raw_series(part, "cwnd_bytes", 1 / SEGMENT_BYTES) for part in parts]
    return rates, windows


def labels(duel: Duel) -> tuple[str, str]:
    """Labels of the two flows, with their position if both are the same variant."""
    first, second = duel.names
    return (first, second) if first != second else (f"{first}, first", f"{second}, second")


def figure_name(duel: Duel) -> str:
    """Name of the figure of a pair in one of the sets."""
    return "-".join(("pair", duel.of, *duel.names)).lower()


def figure(duel: Duel, *, wide: bool = False) -> Figure:
    """Figure with throughput at the top and cwnd at the bottom."""
    rates, windows = curves(duel)
    both = labels(duel)

    def lines(rows: Sequence[Series], *, step: bool, legend: bool) -> tuple[Line, ...]:
        return tuple(
            Line(name, row.x, row.y, style.colour(i), step=step, in_legend=legend)
            for i, (name, row) in enumerate(zip(both, rows, strict=True))
        )

    first, second = duel.names
    where = FIGURES.get((first, second)) if duel.of == "limited" else None
    scenario = duel.runs[0].scenario
    starts = [flow.start_ns / 1e9 for flow in scenario.resolved.flows]
    stops = [flow.stop_ns / 1e9 for flow in scenario.resolved.flows]
    begin, end = experiment.WINDOW_S
    return Figure(
        figure_name(duel),
        f"{first} against {second}" + (f" (the paper's {where})" if where else ""),
        f"{experiment.SET_TITLES[duel.of]}. Throughput is what arrived, in bins of {BIN_S:g} s; the first run. "
        f"Dotted: {second} starts at {starts[1]:g} s, {first} stops at {stops[0]:g} s; TPP is measured from "
        f"{begin:g} to {end:g} s.",
        "Time (s)",
        (
            Panel("Throughput (Mb/s)", lines(rates, step=False, legend=True)),
            Panel("cwnd (segments)", lines(windows, step=True, legend=False)),
        ),
        marks=((starts[1], ""), (begin, ""), (end, ""), (stops[0], "")),
        panel_in=1.25,
        x_range=(0.0, scenario.duration_s),
        width_in=style.PAGE_IN if wide else style.COLUMN_IN,
    )


def cells(duels: Sequence[Duel]) -> list[Cell]:
    """TPP of both flows in sets that the paper does not have."""
    return [cell for duel in duels for cell in evaluation.alone({duel.names: duel.meeting}, dict.fromkeys(duel.names))]


def terminal(duel: Duel) -> list[Curve]:
    """The curves of the figure, for a terminal."""
    rates, windows = curves(duel)
    both = labels(duel)
    title = experiment.SET_TITLES[duel.of]
    return [
        Curve(f"{title}: throughput", "Mb/s", tuple((n, s.x, s.y) for n, s in zip(both, rates, strict=True))),
        Curve(f"{title}: cwnd", "segments", tuple((n, s.x, s.y) for n, s in zip(both, windows, strict=True))),
    ]
