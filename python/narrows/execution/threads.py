"""Executing jobs on threads of this process; the engine releases the interpreter's lock while it runs."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.execution.job import Done

if TYPE_CHECKING:
    from narrows.execution.job import Job

_POLL_S: Final = 0.1

_RING_S: Final = 0.02
"""Shortest time between two calls of a thread that has more jobs, s. Waking the thread that waits for each job would
take longer than a short job; it looks by itself when its wait ends."""


class Threads:
    """Threads that execute jobs one after the other.

    Ctrl-C may reach the calling thread anywhere, even inside a lock's own code, and would leave that lock in a bad
    state. So that thread takes no locks: it waits on queues written in C, which nothing interrupts half-way.

    Parameters
    ----------
    jobs : int
        Largest number of threads; one is started for each job until there are so many.
    """

    def __init__(self, jobs: int) -> None:
        self.workers = jobs
        """How many jobs are executed in parallel."""
        self._todo: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._ended: deque[Done[Any]] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._gauges: dict[str, tuple[_core.Progress, float]] = {}
        self._stopped = False
        self._threads: list[Thread] = []

    def submit(self, job: Job[Any]) -> None:
        """Begin to execute a job, after those submitted before."""
        self._todo.put(job)
        if len(self._threads) < self.workers:
            thread = Thread(target=self._work, name=f"narrows_{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def get(self, timeout_s: float) -> Done[Any] | None:
        """Wait for the next job that ends; ``None`` if none has ended, at the latest after that time."""
        if timeout_s > 0 and not self._ended:
            with suppress(Empty):
                self._bell.get(timeout=timeout_s)
        with suppress(IndexError):
            return self._ended.popleft()
        return None

    def running(self) -> dict[str, tuple[float, float]]:
        """Completed share and elapsed time (s) of each job in progress, by key."""
        now = time.perf_counter()
        return {key: (gauge.fraction(), now - begun) for key, (gauge, begun) in self._gauges.copy().items()}

    def stop(self) -> None:
        """Stop the jobs in progress, drop the others, and wait until that is done."""
        self._stopped = True
        for gauge, _ in self._gauges.copy().values():
            gauge.stop()
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            while thread.ident is not None and thread.is_alive():
                thread.join(_POLL_S)

    def _is_stopped(self) -> bool:
        return self._stopped

    def _work(self) -> None:
        told = time.perf_counter()
        while (job := self._todo.get()) is not None and not self._is_stopped():
            gauge, begun = _core.Progress(), time.perf_counter()
            self._gauges[job.key] = gauge, begun
            if self._is_stopped():  # `stop` sets the flag before it looks for gauges, so one of the two sees the other
                return
            result, error = None, None
            try:
                result = job.make(gauge)
            except BaseException as failure:  # noqa: BLE001 - `Done.value` raises it on the thread that waits
                error = failure
            self._gauges.pop(job.key, None)
            now = time.perf_counter()
            if not (self._is_stopped() and isinstance(error, _core.Stopped)):
                self._ended.append(Done(job, result, error, now - begun))
            if now - told >= _RING_S or self._todo.empty():
                self._bell.put(None)
                told = now
