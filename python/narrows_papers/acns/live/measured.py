"""Running the experiments: live first, one run after the other, then simulated."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows import ownership
from narrows.base.errors import Interrupted
from narrows.outcome import Batch
from narrows.runs.simulated import Task, run_all
from narrows.store.archive import Archive
from narrows.studies.comparison.make import run_live
from narrows_papers.acns.evaluation import ARMS, Evaluation
from narrows_papers.acns.live import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.execution.job import ProgressHook
    from narrows.model.scenario import Scenario
    from narrows.outcome import Run
    from narrows.outcome.conditions import Conditions
    from narrows.ownership import Target
    from narrows.studies.reproduction.request import Request

WORLDS: Final = ("simulated", "live")
"""Names of simulated and live results, in the order in which they are shown."""

LIVE_SHARE: Final = 0.95
"""Share of the progress bar for the live runs."""


@dataclass(frozen=True)
class World:
    """The simulated or live results of both scenarios, with and without ACNS."""

    evaluation: Evaluation
    demonstration: Evaluation

    @property
    def parts(self) -> tuple[tuple[str, Batch], ...]:
        """Every arm with its name, in the order of the page."""
        named = (("evaluation", self.evaluation), ("demonstration", self.demonstration))
        return tuple((f"{name} {TITLES[arm]}", part.arm(arm)) for name, part in named for arm in ARMS)


UNASKED: Final = "no segment asked a router for a command, so that this is a run without ACNS"
"""Reason not to trust a run with ACNS whose hosts did not take part."""

TITLES: Final = {"without": "without ACNS", "acns": "with ACNS"}


@dataclass(frozen=True)
class Measured:
    """Simulated and live results.

    Attributes
    ----------
    simulated, live : World
    quick : bool
        Whether it was a quick experiment.
    """

    simulated: World
    live: World
    quick: bool

    def world(self, name: str) -> World:
        """Return the simulated or the live results by name."""
        return self.simulated if name == "simulated" else self.live

    @property
    def conditions(self) -> tuple[Conditions, ...]:
        """Conditions of every live run."""
        found = (run.conditions for _, batch in self.live.parts for run in batch.runs)
        return tuple(one for one in found if one is not None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust live runs, a sentence each that names the run."""
        doubted = [f"{name}, {doubt}" for name, batch in self.live.parts for doubt in batch.doubts]
        treated = (
            (name, run)
            for name, batch in self.live.parts
            for run in batch.runs
            if run.scenario.resolved.schemes.get("acns")
        )
        # Without requests, the numbers would be those of a network without ACNS, labelled as ACNS.
        return (*doubted, *(f"{name}, run {run.index}: {UNASKED}" for name, run in treated if not _asked(run)))


def _asked(run: Run) -> bool:
    return any(router.asked for router in run.routers)


def run(asked: Request, keep: Target | None = None) -> Measured:
    """Run both scenarios with and without ACNS, live and simulated.

    The live arm that demands most of the machine comes first, so that missing features are reported at once.

    Parameters
    ----------
    asked : Request
        With `quick` shorter runs; `runs` live runs per arm; `jobs` simulations at a time.
    keep : path or Claim, optional
        Directory in which finished live runs are kept, and where existing ones are found.

    Returns
    -------
    Measured

    Raises
    ------
    LiveError
        If live runs are not available on this machine.
    Interrupted
        On Ctrl-C; finished live runs are kept in `keep`.
    RunError
        If a run failed.
    """
    quick, runs = asked.quick, plan.RUNS if asked.runs is None else asked.runs
    small, large = plan.demonstrated(quick=quick), plan.evaluated(quick=quick)
    if asked.say is not None:
        asked.say(plan.estimate(quick=quick, runs=runs))
    order = [small, plan.without(small), large, plan.without(large)]
    with nullcontext() if keep is None else Archive(keep, ownership.UNFINISHED) as store:
        demonstrated, shown, evaluated, compared = _live(order, runs, asked.progress, store)
    live = World(Evaluation(compared, evaluated), Evaluation(shown, demonstrated))
    many = plan.QUICK_SIMULATED_RUNS if quick else plan.SIMULATED_RUNS
    # The demonstration has no randomness, so one simulation of each arm is enough.
    counts = [1, 1, many, many]
    tasks = [Task(scenario, scenario.seed, i) for scenario, n in zip(order, counts, strict=True) for i in range(n)]
    made = run_all(tasks, jobs=asked.jobs, progress=_part(asked.progress, LIVE_SHARE, 1.0))
    demonstrated, shown, evaluated, compared = _split(made, counts)
    return Measured(World(Evaluation(compared, evaluated), Evaluation(shown, demonstrated)), live, quick)


def _live(order: Sequence[Scenario], runs: int, progress: ProgressHook | None, store: Archive | None) -> list[Batch]:
    whole = sum(scenario.duration_s for scenario in order)
    made: list[Batch] = []
    begin = 0.0
    for scenario in order:
        share = LIVE_SHARE * scenario.duration_s / whole
        try:
            outcome = run_live(scenario, runs, _part(progress, begin, begin + share), store)
        except Interrupted as interruption:
            done = sum(len(batch.runs) for batch in made) + len(interruption.finished.runs)
            asked = runs * len(order)
            kept = (
                "nothing is kept of them"
                if store is None
                else "they are kept, and the same command continues from there"
            )
            message = f"interrupted: {done} of {asked} live runs had finished; {kept}"
            raise Interrupted(interruption.finished, asked, message) from None
        made.append(Batch(scenario=scenario, seed=outcome.seed, runs=outcome.runs))
        begin += share
    return made


def _split(made: Sequence[Run], counts: Sequence[int]) -> list[Batch]:
    batches, begin = [], 0
    for count in counts:
        part = made[begin : begin + count]
        batches.append(Batch(scenario=part[0].scenario, seed=part[0].seed, runs=tuple(part)))
        begin += count
    return batches


def _part(progress: ProgressHook | None, begin: float, end: float) -> ProgressHook | None:
    """Map the progress of a part to progress of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress(begin + fraction * (end - begin))
