"""One pair over time: throughput and cwnd of both flows, as the paper's figures 2 to 11 show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.contest import measure
from narrows.papers.contest import evaluation, experiment
from narrows.papers.contest.measured import Meeting, collect
from narrows.papers.contest.variants import SEGMENT_BYTES, variant
from narrows.papers.reproduction import Curve
from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel
from narrows.runs import Task, run_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.contest import Plan
    from narrows.contest.plan import Match
    from narrows.outcome import Run
    from narrows.papers.reproduction import Cell
    from narrows.report.series import Series
    from narrows.runs import ProgressHook

BIN_S = 0.5
"""Width of the bins of throughput, s: the paper tells times to half a second."""

FIGURES: dict[tuple[str, str], str] = {
    ("Illinois", "Vegas"): "figures 2 and 3",
    ("Vegas", "Compound"): "figures 4 and 5",
    ("Westwood", "Hybla"): "figures 6 and 7",
    ("Reno", "Cubic"): "figures 8 and 9",
    ("Compound", "Cubic"): "figures 10 and 11",
}
"""Where the paper draws a pair."""


@dataclass(frozen=True)
class Duel:
    """A pair in one of the sets, with all samples.

    Attributes
    ----------
    of : str
        The set.
    plan : Plan
        How it is measured.
    runs : tuple of Run
        One per seed.
    meeting : Meeting
        What is measured of them.
    """

    of: str
    plan: Plan
    runs: tuple[Run, ...]
    meeting: Meeting

    @property
    def names(self) -> tuple[str, str]:
        """The first and the second starter."""
        return self.meeting.first, self.meeting.second


def duels(
    wanted: Sequence[tuple[str, str, str]],
    runs: int,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
) -> list[Duel]:
    """Run pairs and keep their samples.

    Parameters
    ----------
    wanted : sequence of (set, first, second)
        Names of variants as the tables print them.
    runs : int
        Seeds of each.
    jobs : int, optional
        How many runs at the same time.
    progress : callable, optional
        Called with the share of the work that is done, in [0, 1].
    """
    planned = [(of, *_plan(of, first, second, runs)) for of, first, second in wanted]
    tasks = [Task(match.scenario, plan.seed, run) for _, plan, match in planned for run in range(runs)]
    made = run_all(tasks, jobs=jobs, progress=progress)
    found = []
    for i, (of, plan, match) in enumerate(planned):
        own = tuple(made[i * runs : (i + 1) * runs])
        (meeting,) = collect(measure.record(plan, match, run) for run in own).values()
        found.append(Duel(of, plan, own, meeting))
    return found


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
    """What the two flows are called: with where they start, if they are the same variant."""
    first, second = duel.names
    return (first, second) if first != second else (f"{first}, first", f"{second}, second")


def figure(duel: Duel, *, wide: bool = False) -> Figure:
    """Throughput above, cwnd below."""
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
    starts = [flow["start_ns"] / 1e9 for flow in scenario.resolved["flows"]]
    stops = [flow["stop_ns"] / 1e9 for flow in scenario.resolved["flows"]]
    begin, end = experiment.WINDOW_S
    return Figure(
        f"pair-{duel.of}-{first}-{second}".lower(),
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
    """TPP of both flows of sets that the paper does not have."""
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
