"""Running an evaluation: look by look, in parallel, each run stored as a record as soon as it ends."""

from __future__ import annotations

import pickle
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows import ownership
from narrows.base.errors import RunError
from narrows.execution.backend import choose
from narrows.execution.forecast import Scale, in_order
from narrows.execution.job import Job, Parcel
from narrows.execution.work import Set, Work, WorkInterrupted
from narrows.outcome import Batch
from narrows.runs import simulated as runs
from narrows.store.journal import Journal
from narrows.studies.evaluate import reference
from narrows.studies.evaluate.decide import Decision, decide, failed, over_budget, unmade
from narrows.studies.evaluate.measures import measured
from narrows.studies.evaluate.record import Record
from narrows.studies.evaluate.result import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows import _core
    from narrows.execution.work import Progress, Watch
    from narrows.ownership import Target
    from narrows.studies.evaluate.plan import Arm, Plan, Row


class EvaluationInterrupted(WorkInterrupted):
    """Ctrl-C during an evaluation."""


class _BudgetOver(Exception):  # noqa: N818 - no error: it ends the runs in progress
    """The time that was allowed has passed."""


@dataclass(frozen=True, slots=True)
class ArmRun(Job[Record]):
    """A run of an arm.

    Attributes
    ----------
    arm : Arm
    seed : int
    place : int
        Position of the arm in the set, for the forecast.
    first : int
        The first seed of the evaluation.
    """

    arm: Arm
    seed: int
    place: int
    first: int

    @property
    def key(self) -> str:
        """Content address of the record."""
        return self.arm.key(self.seed)

    @property
    def steps(self) -> tuple[int, ...]:
        """Position of the arm."""
        return (self.place,)

    @property
    def turn(self) -> int:
        """Position of the seed, so that the records cover every row early if the evaluation is interrupted."""
        return self.seed - self.first

    def make(self, gauge: _core.Progress) -> Record:
        """Make the run and measure it; if the control raises, hangs or sets a bad window, the record has the error."""
        try:
            made = runs.make(runs.Task(self.arm.scenario, self.seed), gauge)
        except RunError as error:
            return self.lost(str(error))
        values = measured(made, self.arm.network, self.arm.tested)
        return Record(key=self.key, network=self.arm.network.name, seed=self.seed, digest=made.digest, values=values)

    def lost(self, error: str) -> Record:
        """Return the record of a run that failed."""
        return Record(key=self.key, network=self.arm.network.name, seed=self.seed, digest="", values={}, error=error)

    def parcel(self) -> Parcel:
        """Return the run as it travels to a worker, which returns the record."""
        return Parcel(_remote, (pickle.dumps(self.arm), self.seed), self.arm.scenario.own_controls())


def _remote(content: bytes, seed: int, gauge: _core.Progress) -> Record:
    arm: Arm = pickle.loads(content)  # noqa: S301 - `ArmRun.parcel` made it, in the process that has the cluster
    return ArmRun(arm, seed, 0, seed).make(gauge)


def execute(
    plan: Plan,
    directory: Target | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    watch: Watch | None = None,
    budget_s: float | None = None,
    stored: bool = True,
) -> Evaluation:
    """Execute the missing runs of an evaluation, look by look, and judge its rows.

    Parameters
    ----------
    plan : Plan
    directory : path or Claim, optional
        Where records are stored as runs end, and where existing ones are found. By default they are kept in memory
        only.
    jobs : int, optional
        Number of parallel runs; by default the number of processors. Verdicts do not depend on it.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    watch : callable, optional
        Shows the progress of each look.
    budget_s : float, optional
        Time after which no more runs are made, s; rows that are not decided by then stay undecided.
    stored : bool
        Whether stored runs of CUBIC may be used; see `narrows.studies.evaluate.reference`.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If an argument is out of range, or the directory or the cluster cannot be used.
    RunError
        If a record could not be stored.
    EvaluationInterrupted
        On Ctrl-C.
    """
    with ExitStack() as stack:
        store = None if directory is None else stack.enter_context(Journal(directory, Record, ownership.EVALUATION))
        work = _Looks(plan, store, directory, _Means(jobs, dask, watch))
        work.deadline = None if budget_s is None else time.monotonic() + budget_s
        work.stored = stored
        return work.run()


@dataclass(frozen=True, slots=True)
class _Means:
    """How runs are executed."""

    jobs: int | None
    dask: str | None
    watch: Watch | None


class _Looks:
    """An evaluation in progress."""

    def __init__(self, plan: Plan, store: Journal[Record] | None, directory: Target | None, means: _Means) -> None:
        self._plan = plan
        self._store = store
        self._directory = directory
        self._means = means
        self._arms = {arm.identity: arm for row in plan.rows if not row.inapplicable for arm in row.arms}
        every = {arm.key(seed) for arm in self._arms.values() for seed in range(plan.seed, plan.seed + plan.looks[-1])}
        self._records = {} if store is None else store.read(every)
        self._stored = reference.Stored(plan)
        self.made = 0
        self.deadline: float | None = None
        self.stored = True

    def run(self) -> Evaluation:
        """Make the looks, and judge."""
        decisions: dict[str, Decision] = {}
        note = ""
        for number, look in enumerate(self._plan.looks):
            open_rows = [row for row in self._plan.rows if _is_open(decisions.get(row.name))]
            if not open_rows:
                break
            over = False
            if number == 0:
                over = self._make([replace(row, cubic=None, alone=None) for row in open_rows], 1, "first seed")
                # A control that fails under one seed is not asked again: one that hangs would take its limit each time.
                decisions |= {
                    row.name: failed(row, self._records, self._plan.seed) for row in open_rows if self._has_failed(row)
                }
                open_rows = [row for row in open_rows if row.name not in decisions]
                note = self._take_stored(open_rows, look) if self.stored and not over else ""
            what = f"look {number + 1} of {len(self._plan.looks)}, {look} seeds"
            over = over or self._make(open_rows, look, what)
            for row in open_rows:
                decisions[row.name] = self._judged(row, look, over=over)
            if over:
                break
        return Evaluation.of(self._plan, decisions, note, self.made)

    def _has_failed(self, row: Row) -> bool:
        found = self._records.get(row.test.key(self._plan.seed))
        return not row.inapplicable and found is not None and found.error is not None

    def _judged(self, row: Row, look: int, *, over: bool) -> Decision:
        if not over or row.inapplicable:
            return decide(self._plan, row, look, self._records)
        complete = 0
        while complete < look and all(arm.key(self._plan.seed + complete) in self._records for arm in row.arms):
            complete += 1
        if complete == look:
            return over_budget(decide(self._plan, row, look, self._records), look)
        # Between two looks a row is not judged: its intervals are only valid at looks.
        earlier = [one for one in self._plan.looks if one <= complete]
        if earlier:
            return over_budget(decide(self._plan, row, earlier[-1], self._records), earlier[-1])
        return unmade(f"the budget ended after {complete} seeds")

    def _take_stored(self, rows: list[Row], look: int) -> str:
        """Take the stored runs of CUBIC if this engine repeats some of them."""
        probes = self._stored.probes([arm for row in rows if not row.inapplicable for arm in row.arms], look)
        missing = [(arm, seed) for arm, seed in probes if arm.key(seed) not in self._records]
        jobs = [ArmRun(arm, seed, 0, self._plan.seed) for arm, seed in missing]
        try:
            self._execute(jobs, "stored runs of CUBIC repeated")
        except _BudgetOver:
            return ""
        if not self._stored.confirmed([(arm, seed, self._records[arm.key(seed)]) for arm, seed in probes]):
            return self._stored.reason
        return ""

    def _make(self, rows: list[Row], look: int, what: str) -> bool:
        """Make the runs of a look; returns whether the budget ended."""
        arms = {arm.identity: arm for row in rows if not row.inapplicable for arm in row.arms}
        jobs = []
        for place, arm in enumerate(arms.values()):
            for seed in range(self._plan.seed, self._plan.seed + look):
                key = arm.key(seed)
                if key in self._records:
                    continue
                if (stored := self._stored.find(arm, seed)) is not None:
                    self._records[key] = stored
                    continue
                jobs.append(ArmRun(arm, seed, place, self._plan.seed))
        try:
            self._execute(jobs, f"{self._plan.control}: {what}")
        except _BudgetOver:
            return True
        return False

    def _execute(self, jobs: list[ArmRun], what: str) -> None:
        if not jobs:
            return

        def commit(made: Mapping[str, Record]) -> None:
            if self._store is not None:
                self._store.append(list(made.values()))
            self._records.update(made)
            self.made += len(made)

        axes = [Scale(max(job.place for job in jobs) + 1)]
        backend = choose(self._means.jobs, self._means.dask)
        work = Work(Set(missing=in_order(jobs), axes=axes, total=len(jobs), kept=0, commit=commit), backend)
        with ExitStack() as stack:
            stack.callback(backend.stop)
            watch = self._means.watch
            shown = None if watch is None else stack.enter_context(watch(what))

            def tell(state: Progress) -> None:
                if shown is not None:
                    shown(state)
                if self.deadline is not None and time.monotonic() > self.deadline:
                    raise _BudgetOver

            try:
                work.run(tell)
            except KeyboardInterrupt:
                nothing = Batch(scenario=jobs[0].arm.scenario, seed=self._plan.seed, runs=())
                raise EvaluationInterrupted(nothing, work.done, len(jobs), self._directory) from None


def _is_open(decision: Decision | None) -> bool:
    return decision is None or decision.verdict == "undecided"
