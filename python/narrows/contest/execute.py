"""Running a contest: parallel runs, each reduced to a record and stored as soon as it ends."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from narrows import _core, interruption, ownership, runs
from narrows.contest import measure
from narrows.contest.record import Record
from narrows.contest.store import Store
from narrows.errors import InputError, Interrupted
from narrows.outcome import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from os import PathLike

    from narrows.contest.plan import Match, Plan
    from narrows.ownership import Target

    ContestHook = Callable[["Progress"], None]
    """Called about ten times a second, on the calling thread."""

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a contest.

    Attributes
    ----------
    done, total : int
        Finished runs, including kept ones, and runs of the whole contest.
    kept : int
        Runs that were already there.
    fraction : float
        Completed share of the missing runs, including parts of runs in progress; in [0, 1].
    per_s : float
        Runs that ended per second; 0 before the first one.
    """

    done: int
    total: int
    kept: int
    fraction: float
    per_s: float


class ContestInterrupted(Interrupted):
    """Ctrl-C during a contest: running runs were stopped; finished ones are kept if there is a directory.

    Parameters
    ----------
    plan : Plan
    done : int
        Number of finished runs.
    directory : path or None
        Directory of the stored runs.
    """

    def __init__(self, plan: Plan, done: int, directory: str | PathLike[str] | None) -> None:
        super().__init__(Batch(scenario=plan.scenario, seed=plan.seed, runs=()), plan.total)
        rest = "nothing is kept without a directory" if directory is None else "the same command goes on from there"
        self.done = done
        self.args = (f"interrupted: {done} of {plan.total} runs had finished; {rest}",)


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


def execute(
    plan: Plan,
    directory: Target | None = None,
    *,
    jobs: int | None = None,
    progress: ContestHook | None = None,
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
    progress : callable, optional
        Called about ten times per second.

    Returns
    -------
    Executed

    Raises
    ------
    InputError
        If ``jobs`` is out of range or the directory cannot be used.
    RunError
        If a run failed, or its record could not be stored; the other runs are stopped.
    ContestInterrupted
        On Ctrl-C.
    """
    workers = runs.processors() if jobs is None else jobs
    if not 1 <= workers <= 4096:
        message = f"jobs is {jobs}; allowed: 1 to 4096"
        raise InputError(message)
    # Run by run, not match by match, so that the records cover every pair early if the contest is interrupted.
    wanted = {plan.key(match, run): (match, run) for run in range(plan.runs) for match in plan.matches}
    with ExitStack() as stack:
        store = None if directory is None else stack.enter_context(Store(directory, Record, ownership.CONTEST))
        records = {} if store is None else store.read(wanted)
        kept = len(records)
        missing = [(match, run) for key, (match, run) in wanted.items() if key not in records]
        pool = _Pool(plan, store, records)
        try:
            pool.work(missing, workers, progress)
        except KeyboardInterrupt:
            pool.stop()
            raise ContestInterrupted(plan, len(records), directory) from None
        except BaseException:
            pool.stop()
            raise
    ordered = tuple(records[plan.key(match, run)] for match in plan.matches for run in range(plan.runs))
    return Executed(ordered, kept, 0 if store is None else store.foreign)


class _Pool:
    """Threads that run matches; the engine releases the interpreter's lock while it runs."""

    def __init__(self, plan: Plan, store: Store[Record] | None, records: dict[str, Record]) -> None:
        self._plan = plan
        self._store = store
        self._records = records
        self._kept = len(records)
        self._running: set[_core.Progress] = set()
        self._gauges: list[_core.Progress] = []
        self._pool: ThreadPoolExecutor | None = None

    def work(self, missing: Sequence[tuple[Match, int]], workers: int, progress: ContestHook | None) -> None:
        if not missing:
            return
        self._gauges = [_core.Progress() for _ in missing]
        self._pool = ThreadPoolExecutor(max_workers=min(workers, len(missing)), thread_name_prefix="contest")
        finished: SimpleQueue[Future[None]] = SimpleQueue()
        for (match, run), gauge in zip(missing, self._gauges, strict=True):
            self._pool.submit(self._make, match, run, gauge).add_done_callback(finished.put)
        begin = told = time.monotonic()
        pending = len(missing)
        while pending:  # in short steps, so that Ctrl-C takes effect at once
            interruption.check()
            with suppress(Empty):
                finished.get(timeout=_POLL_S).result()
                pending -= 1
            now = time.monotonic()
            if progress is not None and (not pending or now - told >= _POLL_S):
                progress(self._state(len(missing) - pending, now - begin))
                told = now
        self._pool.shutdown()

    def stop(self) -> None:
        for gauge in self._gauges:
            gauge.stop()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _make(self, match: Match, run: int, gauge: _core.Progress) -> None:
        self._running.add(gauge)
        try:
            made = runs.make(runs.Task(match.scenario, self._plan.seed, run), gauge)
            record = measure.record(self._plan, match, made)
            if self._store is not None:
                self._store.append(record)
            self._records[record.key] = record
        finally:
            self._running.discard(gauge)

    def _state(self, ended: int, seconds: float) -> Progress:
        parts = sum(gauge.fraction() for gauge in tuple(self._running))
        return Progress(
            done=self._kept + ended,
            total=self._plan.total,
            kept=self._kept,
            fraction=min(1.0, (ended + parts) / len(self._gauges)),
            per_s=ended / seconds if seconds > 0 else 0.0,
        )
