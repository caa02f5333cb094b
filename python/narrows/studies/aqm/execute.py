"""Running a comparison of queue disciplines: parallel runs, each stored as a record as soon as it ends."""

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
from narrows.execution.work import Set, Work, WorkInterrupted
from narrows.outcome import Batch
from narrows.runs import simulated as runs
from narrows.store.journal import Journal
from narrows.studies.aqm.record import Record, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows import _core
    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Hook
    from narrows.ownership import Target
    from narrows.studies.aqm.plan import Cell, Plan


class AqmInterrupted(WorkInterrupted):
    """Ctrl-C during a comparison of queue disciplines."""


@dataclass(frozen=True, slots=True)
class CellRun(Job[Record]):
    """One run of a discipline on a scenario.

    Attributes
    ----------
    plan : Plan
    cell : Cell
    run : int
        Index of the run.
    """

    plan: Plan
    cell: Cell
    run: int

    @property
    def key(self) -> str:
        """Content address of the record."""
        return self.plan.key(self.cell, self.run)

    @property
    def steps(self) -> tuple[int, ...]:
        """Positions of the scenario and of the discipline."""
        return self.plan.scenarios.index(self.cell.scenario_label), self.plan.queues.index(self.cell.queue)

    @property
    def turn(self) -> int:
        """Index of the run, so that the records cover every cell early if the comparison is interrupted."""
        return self.run

    def make(self, gauge: _core.Progress) -> Record:
        """Make the run and measure it."""
        made = runs.make(runs.Task(self.cell.scenario, self.plan.seed, self.run), gauge)
        return measure(self.cell, self.key, self.run, made)

    def parcel(self) -> Parcel:
        """Return the run as it travels to a worker, which returns the record."""
        content = pickle.dumps((replace(self.plan, cells=(self.cell,)), self.cell))
        return Parcel(_remote, (content, self.run), self.cell.scenario.own_controls())


def _remote(content: bytes, run: int, gauge: _core.Progress) -> Record:
    plan, cell = pickle.loads(content)  # noqa: S301 - `CellRun.parcel` made it, in the process that has the cluster
    return CellRun(plan, cell, run).make(gauge)


def _scales(plan: Plan) -> list[Scale]:
    return [Scale(len(plan.scenarios)), Scale(len(plan.queues))]


def _jobs(plan: Plan) -> list[CellRun]:
    return [CellRun(plan, cell, run) for run in range(plan.runs) for cell in plan.cells]


def estimate(
    plan: Plan, *, jobs: int | None = None, dask: str | None = None, budget_s: float | None = None
) -> Estimate:
    """Estimate how long all runs take, by executing some of them without storing them.

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
    return pilot.estimate(_jobs(plan), _scales(plan), choose(jobs, dask), budget_s=budget_s)


def execute(
    plan: Plan,
    directory: Target | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Hook | None = None,
) -> tuple[Record, ...]:
    """Execute all missing runs of a comparison.

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
    tuple of Record
        Cell by cell in the plan's order, and by run within a cell.

    Raises
    ------
    InputError
        If an argument is out of range, or the directory or the cluster cannot be used.
    RunError
        If a run failed, or its record could not be stored; the other runs are stopped.
    AqmInterrupted
        On Ctrl-C.
    """
    wanted = {job.key: job for job in _jobs(plan)}
    with ExitStack() as stack:
        backend = choose(jobs, dask)
        stack.callback(backend.stop)
        store = None if directory is None else stack.enter_context(Journal(directory, Record, ownership.AQM))
        records = {} if store is None else store.read(wanted)

        def commit(made: Mapping[str, Record]) -> None:
            if store is not None:
                store.append(list(made.values()))
            records.update(made)

        missing = in_order([job for key, job in wanted.items() if key not in records])
        what = Set(missing=missing, axes=_scales(plan), total=plan.total, kept=len(records), commit=commit)
        work = Work(what, backend)
        try:
            work.run(progress)
        except KeyboardInterrupt:
            nothing = Batch(scenario=plan.cells[0].scenario, seed=plan.seed, runs=())
            raise AqmInterrupted(nothing, work.done, plan.total, directory) from None
    return tuple(records[plan.key(cell, run)] for cell in plan.cells for run in range(plan.runs))
