"""Running an evaluation: look by look, in parallel, each run stored as a record as soon as it ends."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from narrows import ownership
from narrows.base.errors import InputError, LiveError, RunError
from narrows.execution.backend import choose, processors
from narrows.execution.forecast import Scale, in_order
from narrows.execution.job import Job, Parcel
from narrows.execution.work import Set, Work, WorkInterrupted
from narrows.outcome import Batch
from narrows.runs import live
from narrows.runs import simulated as runs
from narrows.store.journal import Journal
from narrows.studies.evaluate import reference
from narrows.studies.evaluate.decide import Decision, decide, failed, over_budget, unmade
from narrows.studies.evaluate.live import in_a_line
from narrows.studies.evaluate.measures import measured
from narrows.studies.evaluate.progress import OPEN, Clock
from narrows.studies.evaluate.record import Record
from narrows.studies.evaluate.result import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from narrows import _core
    from narrows.execution.work import Hook, Progress, Watch
    from narrows.outcome import Run
    from narrows.ownership import Target
    from narrows.studies.evaluate.plan import Arm, Plan, Row


LIVE_JOBS: Final = 3
"""Live runs at a time for each processor; the conditions of a run tell when that is too many."""

COUNT_S: Final = 5.0
"""Interval between counts of decided rows within a look, s."""

TRIES: Final = 3
"""How often a live run is made until it can be trusted."""


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
    def weight(self) -> float:
        """Expected cost: the duration of a live run, s; simulated ones cost about the same."""
        return self.arm.scenario.duration_s if self.arm.world else 1.0

    @property
    def turn(self) -> int:
        """Position of the seed, so that the records cover every row early if the evaluation is interrupted."""
        return self.seed - self.first

    def make(self, gauge: _core.Progress) -> Record:
        """Make the run and measure it; if the control raises, hangs or sets a bad window, the record has the error."""
        if self.arm.world:
            return self._live(gauge)
        try:
            made = runs.make(runs.Task(self.arm.scenario, self.seed), gauge)
        except RunError as error:
            return self.lost(str(error))
        return self._record(made)

    def _live(self, gauge: _core.Progress) -> Record:
        """Make the run on this machine; if a step fails or the machine is too slow, the run is doubtful."""
        try:
            made = live.make(self.arm.scenario, self.seed, gauge)
        except LiveError as error:
            return replace(self.lost(""), error=None, doubts=(in_a_line(error),))
        return replace(self._record(made), doubts=tuple(made.doubts))

    def _record(self, made: Run) -> Record:
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
        Number of parallel runs; by default the number of processors, and three times as many for live runs, which wait
        most of the time. Verdicts of simulated runs do not depend on it.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    watch : callable, optional
        Shows the progress: its hook gets an `EvaluationProgress`.
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
    if plan.world:
        if dask is not None:
            message = "--live with --dask: live runs are made on this machine; allowed: without --dask"
            raise InputError(message)
        jobs = LIVE_JOBS * processors() if jobs is None else jobs
    with ExitStack() as stack:
        store = None if directory is None else stack.enter_context(Journal(directory, Record, ownership.EVALUATION))
        shown = None if watch is None else stack.enter_context(watch(plan.control))
        work = _Looks(plan, store, directory, _Means(jobs, dask, shown))
        work.clock.deadline = None if budget_s is None else time.monotonic() + budget_s
        work.stored = stored and not plan.world
        return work.run()


@dataclass(frozen=True, slots=True)
class _Means:
    """How runs are executed."""

    jobs: int | None
    dask: str | None
    shown: Hook | None


class _Looks:
    """An evaluation in progress."""

    def __init__(self, plan: Plan, store: Journal[Record] | None, directory: Target | None, means: _Means) -> None:
        self._plan = plan
        self._store = store
        self._directory = directory
        self._means = means
        self._arms = {arm.identity: arm for row in plan.rows if not row.inapplicable for arm in row.arms}
        every = {arm.key(seed) for arm in self._arms.values() for seed in range(plan.seed, plan.seed + plan.looks[-1])}
        kept = {} if store is None else store.read(every)
        self._records = {key: one for key, one in kept.items() if not one.doubts}  # doubtful ones are made again
        self._stored = reference.Stored(plan)
        self._decided = 0
        self._open: list[Row] = []
        self._look = 0
        self._counted_at = time.monotonic()
        self.made = 0
        self.clock = Clock(sum(not row.inapplicable for row in plan.rows))
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
            if number == 0 and not self._plan.world:
                first = [replace(row, cubic=None, alone=None) for row in open_rows]
                over = self._make(first, 1, "first seed", self._later(open_rows, -1))
                # A control that fails under one seed is not asked again: one that hangs would take its limit each time.
                decisions |= {
                    row.name: failed(row, self._records, self._plan.seed) for row in open_rows if self._has_failed(row)
                }
                open_rows = [row for row in open_rows if row.name not in decisions]
                self._decided = len(decisions)
                note = self._take_stored(open_rows, look) if self.stored and not over else ""
            what = f"look {number + 1} of {len(self._plan.looks)}, {look} seeds"
            over = over or self._make(open_rows, look, what, self._later(open_rows, number))
            for row in open_rows:
                decisions[row.name] = self._judged(row, look, over=over)
            self._decided = sum(not _is_open(decisions[row.name]) for row in self._plan.rows if not row.inapplicable)
            if over:
                break
        return Evaluation.of(self._plan, decisions, note or self._doubted(), self.made)

    def _count(self) -> None:
        """Count rows whose runs of this look are all there and decide them; every `COUNT_S` seconds."""
        if time.monotonic() - self._counted_at < COUNT_S or self._look not in self._plan.looks:
            return
        self._counted_at = time.monotonic()
        ready = [row for row in self._open if not row.inapplicable and not any(self._missing([row], self._look, 0))]
        new = sum(not _is_open(decide(self._plan, row, self._look, self._records)) for row in ready)
        self.clock.decided = max(self.clock.decided, self._decided + new)

    def _doubted(self) -> str:
        """Say how many live runs are left out, and why."""
        doubtful = [one for one in self._records.values() if one.doubts]
        if not doubtful:
            return ""
        why = Counter(doubt for one in doubtful for doubt in one.doubts).most_common(1)[0][0]
        return f"{len(doubtful)} of {len(self._records)} live runs are doubtful and left out, most often because {why}"

    def _later(self, rows: Sequence[Row], number: int) -> float:
        """Expected work of the looks after one, if each leaves open the part `OPEN` of the rows."""
        rest = 0.0
        looks = (0, *self._plan.looks)
        for place in range(number + 1, len(self._plan.looks)):
            missing = self._missing(rows, looks[place + 1], looks[place])
            rest += OPEN ** (place - max(number, 0)) * sum(job.weight for job in missing)
        return rest

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
            self._execute(jobs, "stored runs of CUBIC repeated", self._later(rows, -1))
        except _BudgetOver:
            return ""
        if not self._stored.confirmed([(arm, seed, self._records[arm.key(seed)]) for arm, seed in probes]):
            return self._stored.reason
        return ""

    def _make(self, rows: list[Row], look: int, what: str, later: float) -> bool:
        """Make the runs of a look, doubtful live ones again; returns whether the budget ended."""
        self._open, self._look = rows, look
        try:
            for again in range(TRIES):
                jobs = list(self._missing(rows, look, 0, doubtful=again > 0))
                self._execute(jobs, f"{what}, doubtful runs again" if again else what, later)
        except _BudgetOver:
            return True
        return False

    def _missing(self, rows: Sequence[Row], look: int, begin: int, *, doubtful: bool = False) -> Iterator[ArmRun]:
        """The runs of seeds from ``begin`` to a look that are not there; with ``doubtful`` those that are doubtful."""
        arms = {arm.identity: arm for row in rows if not row.inapplicable for arm in row.arms}
        for place, arm in enumerate(arms.values()):
            for seed in range(self._plan.seed + begin, self._plan.seed + look):
                key = arm.key(seed)
                kept = self._records.get(key)
                if kept is None and (stored := self._stored.find(arm, seed)) is not None:
                    kept = self._records[key] = stored
                if kept is None or (doubtful and kept.doubts):
                    yield ArmRun(arm, seed, place, self._plan.seed)

    def _execute(self, jobs: list[ArmRun], what: str, later: float) -> None:
        if not jobs:
            return

        def commit(made: Mapping[str, Record]) -> None:
            if self._store is not None:
                self._store.append(list(made.values()))
            self._records.update(made)
            self.made += len(made)

        axes = [Scale(max(job.place for job in jobs) + 1)]
        backend = choose(self._means.jobs, self._means.dask)
        # A live run takes as long as its scenario lasts.
        known = [(job.steps, job.weight) for job in jobs if job.arm.world]
        what_is_run = Set(missing=in_order(jobs), axes=axes, total=len(jobs), kept=0, commit=commit, known=known)
        work = Work(what_is_run, backend)
        self.clock.begin(what, self._decided, sum(job.weight for job in jobs), later)

        def tell(state: Progress) -> None:
            if self._means.shown is not None:
                self._count()
                self._means.shown(self.clock.tell(state))
            if self.clock.deadline is not None and time.monotonic() > self.clock.deadline:
                raise _BudgetOver

        try:
            work.run(tell)
        except KeyboardInterrupt:
            nothing = Batch(scenario=jobs[0].arm.scenario, seed=self._plan.seed, runs=())
            raise EvaluationInterrupted(nothing, work.done, len(jobs), self._directory) from None
        finally:
            backend.stop()


def _is_open(decision: Decision | None) -> bool:
    return decision is None or decision.verdict == "undecided"
