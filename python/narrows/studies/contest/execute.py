"""Running a contest: parallel runs, each reduced to a record and stored as soon as it ends."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows import ownership
from narrows.execution import pilot
from narrows.execution.backend import choose
from narrows.execution.forecast import Scale, in_order
from narrows.execution.job import Job, Parcel
from narrows.execution.work import Progress, Set, Work, WorkInterrupted
from narrows.outcome import Batch
from narrows.runs import simulated as runs
from narrows.store.journal import Journal
from narrows.studies.contest import measure
from narrows.studies.contest.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows import _core
    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Hook
    from narrows.ownership import Target
    from narrows.studies.contest.plan import Match, Plan

__all__ = ["ContestInterrupted", "Executed", "MatchRun", "Progress", "estimate", "execute", "scales"]


class ContestInterrupted(WorkInterrupted):
    """Ctrl-C during a contest."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The records of a contest.

    Attributes
    ----------
    records : tuple of Record
        Match by match in the plan's order, and by run within a match.
    kept : int
        Number of records that were already there, whose runs were not repeated.
    foreign : int
        Number of records in the directory of another plan, engine or measure; they were not changed.
    """

    records: tuple[Record, ...]
    kept: int
    foreign: int


@dataclass(frozen=True, slots=True)
class MatchRun(Job[Record]):
    """One run of a match.

    Attributes
    ----------
    plan : Plan
    match : Match
    run : int
        Index of the run.
    """

    plan: Plan
    match: Match
    run: int

    @property
    def key(self) -> str:
        """Content address of the record."""
        return self.plan.key(self.match, self.run)

    @property
    def steps(self) -> tuple[int, ...]:
        """Positions of the contestants, with 0 for a silent slot, and of the order."""
        labels = (None, *self.plan.labels)
        return (
            labels.index(self.match.first),
            labels.index(self.match.second),
            self.plan.orders.index(self.match.order),
        )

    @property
    def turn(self) -> int:
        """Index of the run, so that the records cover every pair early if the contest is interrupted."""
        return self.run

    def make(self, gauge: _core.Progress) -> Record:
        """Make the run and measure it."""
        made = runs.make(runs.Task(self.match.scenario, self.plan.seed, self.run), gauge)
        return measure.record(self.plan, self.match, made)

    def parcel(self) -> Parcel:
        """Return the run as it travels to a worker, which returns the record."""
        # As bytes, because the scenario is parsed when they are read, which must not be before the worker knows the
        # congestion controls written in Python.
        content = pickle.dumps((replace(self.plan, matches=(self.match,)), self.match))
        return Parcel(_remote, (content, self.run), self.match.scenario.own_controls())


def _remote(content: bytes, run: int, gauge: _core.Progress) -> Record:
    plan, match = pickle.loads(content)  # noqa: S301 - `MatchRun.parcel` made it, in the process that has the cluster
    return MatchRun(plan, match, run).make(gauge)


def scales(plan: Plan) -> list[Scale]:
    """Return the axes of a contest for the forecast: first and second contestant, and the order.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    list of Scale
    """
    return [Scale(1 + len(plan.labels)), Scale(1 + len(plan.labels)), Scale(len(plan.orders))]


def estimate(
    plan: Plan, *, jobs: int | None = None, dask: str | None = None, budget_s: float | None = None
) -> Estimate:
    """Estimate how long all runs of a contest take, by executing some of them without storing them.

    Parameters
    ----------
    plan : Plan
    jobs, dask
        As for `execute`.
    budget_s : float, optional
        Wall-clock time to spend, s; by default until enough is known, a minute at most.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        As for `execute`.
    RunError
        If a run failed.
    """
    return pilot.estimate(_jobs(plan), scales(plan), choose(jobs, dask), budget_s=budget_s)


def execute(
    plan: Plan,
    directory: Target | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Hook | None = None,
) -> Executed:
    """Execute all missing runs of a contest.

    Parameters
    ----------
    plan : Plan
    directory : path or Claim, optional
        Where records are stored as runs end, and where existing ones are found. By default they are kept in memory
        only.
    jobs : int, optional
        Number of parallel runs; by default the number of processors. Records do not depend on it.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    progress : callable, optional
        Called before the first run, then about ten times per second.

    Returns
    -------
    Executed

    Raises
    ------
    InputError
        If an argument is out of range, or the directory or the cluster cannot be used.
    RunError
        If a run failed, or its record could not be stored; the other runs are stopped.
    ContestInterrupted
        On Ctrl-C.
    """
    wanted = {job.key: job for job in _jobs(plan)}
    with ExitStack() as stack:
        backend = choose(jobs, dask)
        stack.callback(backend.stop)
        store = None if directory is None else stack.enter_context(Journal(directory, Record, ownership.CONTEST))
        records = {} if store is None else store.read(wanted)
        kept = len(records)

        def commit(made: Mapping[str, Record]) -> None:
            if store is not None:
                store.append(list(made.values()))
            records.update(made)

        work = Work(
            Set(
                missing=in_order([job for key, job in wanted.items() if key not in records]),
                axes=scales(plan),
                total=plan.total,
                kept=kept,
                commit=commit,
            ),
            backend,
        )
        try:
            work.run(progress)
        except KeyboardInterrupt:
            nothing = Batch(scenario=plan.scenario, seed=plan.seed, runs=())
            raise ContestInterrupted(nothing, work.done, plan.total, directory) from None
    ordered = tuple(records[plan.key(match, run)] for match in plan.matches for run in range(plan.runs))
    return Executed(ordered, kept, 0 if store is None else store.foreign)


def _jobs(plan: Plan) -> list[MatchRun]:
    return [MatchRun(plan, match, run) for run in range(plan.runs) for match in plan.matches]
