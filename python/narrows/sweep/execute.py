"""Executing the missing runs of a sweep, and storing each run when it ends."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import interruption
from narrows.errors import InputError, Interrupted
from narrows.outcome import Batch
from narrows.sweep import bounds, forecast, table
from narrows.sweep.local import Backend, threads
from narrows.sweep.result import SweepResult
from narrows.sweep.store import Store
from narrows.sweep.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from narrows.ownership import Target
    from narrows.sweep.plan import Sweep, SweepRun
    from narrows.sweep.record import Record

    SweepHook = Callable[["Progress"], None]
    """Called about ten times a second, on the calling thread."""

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sweep.

    Attributes
    ----------
    done, total : int
        Runs that are stored safely, including kept ones, and runs of the whole sweep.
    kept : int
        Runs that were already there.
    failed : int
        Runs that failed in this execution.
    fraction : float
        Completed share of the work of this execution, including parts of runs in progress; in [0, 1].
    seconds : float
        Wall-clock time since the first run began, s.
    left_s : float or None
        Estimated remaining time, from the runs so far, s; ``None`` until an estimate is possible.
    estimate : Estimate or None
        Estimate of the whole, made once, when a few per cent of the work are done; ``None`` before.
    """

    done: int
    total: int
    kept: int
    failed: int
    fraction: float
    seconds: float
    left_s: float | None
    estimate: forecast.Estimate | None


class SweepInterrupted(Interrupted):
    """Ctrl-C during a sweep: running runs were stopped; finished ones are kept if there is a directory.

    Parameters
    ----------
    sweep : Sweep
    done : int
        Number of stored runs.
    directory : path or None
        Directory of the stored runs.
    """

    def __init__(self, sweep: Sweep, done: int, directory: str | PathLike[str] | None) -> None:
        scenario = next(point for point in sweep.points if point.refusal is None).scenario
        super().__init__(Batch(scenario=scenario, seed=sweep.seeds[0], runs=()), len(sweep.runs))
        rest = "nothing is kept without a directory" if directory is None else "the same command goes on from there"
        self.done = done
        self.directory = directory
        self.args = (f"interrupted: {done:,} of {self.asked:,} runs had finished; {rest}",)


def execute(
    sweep: Sweep,
    directory: Target | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: SweepHook | None = None,
    large: bool = False,
) -> SweepResult:
    """Execute all missing runs of a sweep.

    Parameters
    ----------
    sweep : Sweep
    directory : path or Claim, optional
        Where finished runs are stored, and where existing ones are found. By default runs are kept in memory only.
    jobs : int, optional
        Number of parallel runs; by default the number of processors. Results do not depend on it.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    progress : callable, optional
        Called before the first run, then about ten times per second.
    large : bool
        Whether to allow more than 100,000 runs, or more than seems to fit on the disk.

    Returns
    -------
    SweepResult
        Includes failed runs: see its ``failures``.

    Raises
    ------
    InputError
        If an argument is out of range, the directory cannot be used, or the sweep is too large.
    ScenarioError
        If the scenario of every point is refused.
    RunError
        If finished runs cannot be stored, for example because the disk is full.
    SweepInterrupted
        On Ctrl-C.
    """
    if not large:
        bounds.check_runs(sweep)
    _check_points(sweep)
    with ExitStack() as stack:
        backend = _backend(jobs, dask)
        stack.callback(backend.stop)
        store = None if directory is None else stack.enter_context(Store(directory, sweep))
        plan = _plan(sweep)
        there = {} if store is None else store.load()
        missing = [runs[0] for key, runs in plan.items() if there.get(key) != "ok"]
        if directory is not None and not large:
            bounds.check_room(sweep, directory, len(missing))
        job = _Job(sweep, plan, store, forecast.in_order(sweep, missing), backend)
        begin = time.monotonic()
        try:
            job.work(progress)
            return job.result(directory, time.monotonic() - begin)
        except KeyboardInterrupt:
            job.stop()
            raise SweepInterrupted(sweep, job.done, directory) from None
        except BaseException:
            job.stop()
            raise


def _check_points(sweep: Sweep) -> None:
    """Refuse a sweep if every point is refused, before anything is written: then the sweep file is wrong."""
    refusal = None
    for point in sweep.points:
        refusal = point.refusal
        if refusal is None:
            return
    if refusal is not None:
        raise refusal


def _plan(sweep: Sweep) -> dict[str, list[SweepRun]]:
    """Group runs by content address: points with the same scenario share an address, and run once."""
    plan: dict[str, list[SweepRun]] = {}
    for run in sweep.runs:
        plan.setdefault(run.address, []).append(run)
    return plan


def _backend(jobs: int | None, dask: str | None) -> Backend:
    if dask is None:
        return threads(jobs)
    if jobs is not None:
        message = "--jobs and --dask exclude each other: the workers of a cluster say how many runs they take"
        raise InputError(message)
    from narrows.sweep.cluster import Cluster

    return Cluster(dask)


class _Job:
    """The missing runs of a sweep, and their progress."""

    def __init__(
        self,
        sweep: Sweep,
        plan: Mapping[str, Sequence[SweepRun]],
        store: Store | None,
        missing: Sequence[SweepRun],
        backend: Backend,
    ) -> None:
        self._sweep = sweep
        self._plan = plan
        self._store = store
        self._missing = missing
        self._backend = backend
        self._made: list[Record] = []
        self._kept = len(sweep.runs) - sum(len(plan[run.address]) for run in missing)
        self.done = self._kept
        """Runs that are there."""
        self._ended = 0
        self._failed = 0
        buildable = [run for run in missing if run.point.refusal is None]
        walls = {} if store is None else store.walls
        known = [(runs[0].point.index, walls[key]) for key, runs in plan.items() if key in walls]
        self._forecast = forecast.Forecast(sweep, buildable, backend.workers, known)
        self._room = bounds.room(sweep, len(missing))
        self._estimate: forecast.Estimate | None = None
        self._looked = (0.0, 0.0)
        self._fitting = 0.0
        self._writer: Writer | None = None
        self._begin = time.monotonic()

    def work(self, progress: SweepHook | None) -> None:
        """Execute the missing runs; returns when all of them are stored safely."""
        self._begin = told = time.monotonic()
        if progress is not None:
            progress(self._state())
        if self._missing:
            self._writer = Writer(self._commit)
            self._backend.start(self._missing)
        while self._ended < len(self._missing):  # in short steps, so that Ctrl-C takes effect at once
            interruption.check()
            record = self._backend.get(_POLL_S)
            if record is not None:
                self._put(record)
            self._take()
            now = time.monotonic()
            if progress is not None and now - told >= _POLL_S:
                progress(self._state())
                told = now
        if self._writer is not None:
            self._writer.close()
        if progress is not None:
            progress(self._state())

    def stop(self) -> None:
        """Stop the runs in progress; finished ones are still committed."""
        self._backend.stop()
        if self._writer is not None:
            with suppress(Exception):
                while (record := self._backend.get(0)) is not None:
                    self._writer.put(record)
            self._writer.close()
            with suppress(Exception):
                self._take()

    def result(self, directory: str | PathLike[str] | None, seconds: float) -> SweepResult:
        """Return the result of all runs, and compact the directory."""
        layout = table.Layout.of(self._sweep)
        if self._store is not None:
            self._store.compact(self._plan)
            rows = self._store.table()
        else:
            rows = table.from_records(self._made, layout)
        return SweepResult(
            table=table.ordered(rows, self._plan, layout),
            axes=tuple(layout.axes),
            directory=None if directory is None else Path(directory),
            asked=len(self._sweep.runs),
            kept=self._kept,
            made=self._ended,
            seconds=seconds,
            broken=0 if self._store is None else self._store.broken,
        )

    def _commit(self, records: Sequence[Record]) -> None:
        if self._store is not None:
            self._store.append(records, self._plan)
        else:
            self._made += records

    def _put(self, record: Record) -> None:
        if self._writer is not None:
            self._writer.put(record)
        if self._plan[record.address][0].point.refusal is None:
            self._forecast.took(record.address, record.wall_s if record.status == "ok" else None)

    def _take(self) -> None:
        for record in self._writer.safe() if self._writer is not None else ():
            self._ended += 1
            self._failed += record.status == "failed"
            self.done += len(self._plan[record.address])

    def _state(self) -> Progress:
        seconds = time.monotonic() - self._begin
        looked, left_s = self._looked
        # Fitting takes milliseconds, longer for large sweeps. Limit it to a fiftieth of the time, and to once a second
        # after the estimate is made.
        if seconds - looked >= max(50 * self._fitting, _POLL_S if self._estimate is None else 1) or not left_s:
            running = self._backend.running()
            rest = self._forecast.left(running)
            self._fitting = time.monotonic() - self._begin - seconds
            if rest is not None:
                left_s = rest[0] / self._backend.workers
                self._looked = (seconds, left_s)
                if self._estimate is None and self._forecast.enough(seconds, left_s):
                    self._estimate = self._forecast.estimate(running, seconds, self._room)
        elif left_s:
            left_s = max(0.0, left_s - (seconds - looked))
        known = self._looked[0] > 0
        over = self._ended == len(self._missing)
        fraction = 1.0 if over else seconds / (seconds + left_s) if known else 0.0
        return Progress(
            done=self.done,
            total=len(self._sweep.runs),
            kept=self._kept,
            failed=self._failed,
            fraction=fraction,
            seconds=seconds,
            left_s=0.0 if over else left_s if known else None,
            estimate=self._estimate,
        )
