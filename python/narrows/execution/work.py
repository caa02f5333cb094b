"""Executing the missing jobs of a set, and handing each to a store when it ends."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from narrows.base.errors import Interrupted
from narrows.execution.forecast import Estimate, Forecast
from narrows.execution.job import R
from narrows.execution.loop import POLL_S, drive
from narrows.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from narrows.execution.backend import Backend
    from narrows.execution.forecast import Scale
    from narrows.execution.job import Done, Job
    from narrows.outcome import Batch

    Hook = Callable[["Progress"], None]
    """Called before the first job, then about ten times a second, on the calling thread."""

    Watch = Callable[[str], AbstractContextManager[Hook]]
    """Shows the progress of a set: takes what is executed, in words, and yields the hook."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a set of runs.

    Attributes
    ----------
    done, total : int
        Runs that are stored safely, including kept ones, and runs of the whole set.
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
    estimate: Estimate | None

    @property
    def per_s(self) -> float:
        """Runs that ended per second; 0 before the first one."""
        return (self.done - self.kept) / self.seconds if self.seconds > 0 else 0.0


class WorkInterrupted(Interrupted):
    """Ctrl-C during a set of runs: running ones were stopped; finished ones are kept if there is a directory.

    Parameters
    ----------
    finished : Batch
        An empty batch of the scenario: finished runs are in the directory.
    done, total : int
        Number of stored runs, and of all runs.
    directory : path or None
        Directory of the stored runs.
    """

    def __init__(self, finished: Batch, done: int, total: int, directory: str | PathLike[str] | None) -> None:
        super().__init__(finished, total)
        rest = "nothing is kept without a directory" if directory is None else "the same command continues from there"
        self.done = done
        self.directory = directory
        self.args = (f"interrupted: {done:,} of {total:,} runs had finished; {rest}",)


@dataclass(frozen=True, kw_only=True)
class Set(Generic[R]):
    """A set of jobs to execute, and what is known about it.

    Attributes
    ----------
    missing : sequence of Job
        Jobs to execute, in this order.
    axes : sequence of Scale
        Axes of the set, for the forecast.
    total, kept : int
        Runs of the whole set, and those that were already there.
    known : iterable of tuple
        Steps of runs that were made before, and the seconds that each took.
    commit : callable
        Writes results, by key of the job, on a thread of its own; when it returns they are stored safely.
    runs_of : callable
        How many runs of the set a job is: several if points have the same scenario.
    failed : callable
        Whether a result is that of a failed run.
    counts : callable
        Whether a job takes part in the forecast.
    nbytes : int
        Upper bound of the disk space of the missing runs.
    """

    missing: Sequence[Job[R]]
    axes: Sequence[Scale]
    total: int
    kept: int
    commit: Callable[[Mapping[str, R]], None]
    known: Iterable[tuple[tuple[int, ...], float]] = ()
    runs_of: Callable[[Job[R]], int] = lambda _: 1
    failed: Callable[[R], bool] = lambda _: False
    counts: Callable[[Job[R]], bool] = lambda _: True
    nbytes: int = 0


class Work(Generic[R]):
    """The execution of a set of jobs on a backend.

    Parameters
    ----------
    what : Set
    backend : Backend
        `run` stops it if anything is raised; otherwise its owner does.
    """

    def __init__(self, what: Set[R], backend: Backend) -> None:
        self._what = what
        self._backend = backend
        self.done = what.kept
        """Runs that are there."""
        self.made = 0
        """Jobs that were executed and whose results are stored."""
        self._failed = 0
        counted = [job for job in what.missing if what.counts(job)]
        self._forecast = Forecast(what.axes, counted, backend.workers, what.known)
        self._estimate: Estimate | None = None
        self._looked = (0.0, 0.0)
        self._fitting = 0.0
        self._writer: Writer[tuple[Job[R], R]] | None = None
        self._ended: list[tuple[Job[R], R]] = []
        self._begin = time.monotonic()

    def run(self, progress: Hook | None = None) -> None:
        """Execute the missing jobs; returns when the results of all are stored safely.

        Whatever it raises, the backend is stopped, and what had ended is stored.

        Parameters
        ----------
        progress : callable, optional

        Raises
        ------
        Exception
            What a job raised, or the store.
        KeyboardInterrupt
            On Ctrl-C.
        """
        try:
            self._run(progress)
        except BaseException:
            self._stop()
            raise

    def _run(self, progress: Hook | None) -> None:
        self._begin = time.monotonic()
        if progress is not None:
            progress(self._state())
        if self._what.missing:
            self._writer = Writer(lambda pairs: self._what.commit({job.key: result for job, result in pairs}))
            jobs = iter(self._what.missing)
            report = None if progress is None else lambda: progress(self._state())
            drive(self._backend, lambda: next(jobs, None), self._took, report=report, before=self._take)
            self._hand_over()
            self._writer.close()
            self._take()
        if progress is not None:
            progress(self._state())

    def _stop(self) -> None:
        """Stop the jobs in progress; finished ones are still stored."""
        self._backend.stop()
        if self._writer is None:
            return
        with suppress(Exception):
            while (done := self._backend.get(0)) is not None:
                if done.error is None:
                    self._ended.append((done.job, done.value()))
        self._hand_over()
        self._writer.close()
        with suppress(Exception):
            self._take()

    def _took(self, done: Done[R]) -> None:
        result = done.value()
        self._ended.append((done.job, result))
        self._forecast.took(done.job.key, None if self._what.failed(result) else done.seconds)

    def _hand_over(self) -> None:
        if self._writer is not None and self._ended:
            self._writer.put(self._ended)
            self._ended = []

    def _take(self) -> None:
        """Hand over what has ended since the last call, and count what has been stored."""
        self._hand_over()
        for job, result in self._writer.safe() if self._writer is not None else ():
            self.made += 1
            self._failed += self._what.failed(result)
            self.done += self._what.runs_of(job)

    def _state(self) -> Progress:
        seconds = time.monotonic() - self._begin
        looked, left_s = self._looked
        # Fitting takes milliseconds, longer for large sets. Limit it to a fiftieth of the time, and to once a second
        # after the estimate is made.
        if seconds - looked >= max(50 * self._fitting, POLL_S if self._estimate is None else 1) or not left_s:
            running = self._backend.running()
            rest = self._forecast.left(running)
            self._fitting = time.monotonic() - self._begin - seconds
            if rest is not None:
                left_s = rest[0] / self._backend.workers
                self._looked = (seconds, left_s)
                if self._estimate is None and self._forecast.enough(seconds, left_s):
                    self._estimate = self._forecast.estimate(running, seconds, self._what.nbytes)
        elif left_s:
            left_s = max(0.0, left_s - (seconds - looked))
        known = self._looked[0] > 0
        over = self.made == len(self._what.missing)
        fraction = 1.0 if over else seconds / (seconds + left_s) if known else 0.0
        return Progress(
            done=self.done,
            total=self._what.total,
            kept=self._what.kept,
            failed=self._failed,
            fraction=fraction,
            seconds=seconds,
            left_s=0.0 if over else left_s if known else None,
            estimate=self._estimate,
        )
