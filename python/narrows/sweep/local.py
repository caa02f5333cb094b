"""Running a sweep on threads of this process; the engine releases the interpreter's lock while it runs."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Protocol

from narrows import _core
from narrows import runs as engine_runs
from narrows.errors import InputError, ScenarioError
from narrows.sweep import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from narrows.sweep.plan import SweepRun
    from narrows.sweep.record import Record


class Backend(Protocol):
    """An executor of runs: this process, or a cluster."""

    @property
    def workers(self) -> int:
        """Number of runs that it executes in parallel."""

    def start(self, runs: Iterable[SweepRun]) -> None:
        """Begin to execute runs, in their order."""

    def get(self, timeout_s: float) -> Record | None:
        """Wait for the next finished run; ``None`` if none finished in that time."""

    def running(self) -> dict[str, tuple[float, float]]:
        """Completed share and elapsed time (s) of each run in progress, by content address."""

    def stop(self) -> None:
        """Stop the runs in progress; they yield no records."""


class Threads:
    """Threads that execute runs one after the other.

    Parameters
    ----------
    jobs : int
        Number of threads.
    """

    def __init__(self, jobs: int) -> None:
        self.workers = jobs
        """How many runs are made at the same time."""
        self._finished: SimpleQueue[Record | BaseException] = SimpleQueue()
        self._lock = Lock()
        self._gauges: dict[str, tuple[_core.Progress, float]] = {}
        self._stopped = False
        self._threads: list[Thread] = []
        self._runs: Iterator[SweepRun] = iter(())

    def start(self, runs: Iterable[SweepRun]) -> None:
        """Begin to execute runs, in their order."""
        self._runs = iter(runs)
        self._threads = [Thread(target=self._work, name=f"sweep-{i}", daemon=True) for i in range(self.workers)]
        for thread in self._threads:
            thread.start()

    def get(self, timeout_s: float) -> Record | None:
        """Wait for the next finished run; ``None`` if none finished in that time."""
        with suppress(Empty):
            found = self._finished.get(timeout=timeout_s)
            if isinstance(found, BaseException):
                raise found
            return found
        return None

    def running(self) -> dict[str, tuple[float, float]]:
        """Completed share and elapsed time (s) of each run in progress, by content address."""
        with self._lock:
            now = time.perf_counter()
            return {address: (gauge.fraction(), now - begun) for address, (gauge, begun) in self._gauges.items()}

    def stop(self) -> None:
        """Stop the runs in progress, and wait until they have stopped."""
        with self._lock:
            self._stopped = True
            for gauge, _ in self._gauges.values():
                gauge.stop()
        for thread in self._threads:
            thread.join()

    def _next(self) -> tuple[SweepRun, _core.Progress] | None:
        with self._lock:
            if self._stopped:
                return None
            run = next(self._runs, None)
            if run is None:
                return None
            gauge = _core.Progress()
            self._gauges[run.address] = gauge, time.perf_counter()
            return run, gauge

    def _work(self) -> None:
        while (taken := self._next()) is not None:
            run, gauge = taken
            try:
                self._finished.put(made(run, gauge))
            except _core.Stopped:
                return
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                self._finished.put(error)
                return
            finally:
                with self._lock:
                    self._gauges.pop(run.address, None)


def made(run: SweepRun, gauge: _core.Progress) -> Record:
    """Execute a run of a sweep, or record why it cannot be executed.

    Parameters
    ----------
    run : SweepRun
    gauge : narrows._core.Progress

    Returns
    -------
    Record
    """
    try:
        scenario = run.point.scenario
    except ScenarioError as error:
        return record.refused(run.address, run.seed, error)
    return record.make(scenario, run.seed, run.address, run.point.sweep.measure, gauge)


def threads(jobs: int | None) -> Threads:
    """Return threads that execute runs.

    Parameters
    ----------
    jobs : int, optional
        Number of threads; by default the number of processors.

    Returns
    -------
    Threads

    Raises
    ------
    InputError
        If the number is out of range.
    """
    workers = engine_runs.processors() if jobs is None else jobs
    if not 1 <= workers <= 4096:
        message = f"jobs is {jobs}; allowed: 1 to 4096"
        raise InputError(message)
    return Threads(workers)
