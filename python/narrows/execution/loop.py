"""The one loop that keeps a backend busy and waits for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from narrows.base import interruption

if TYPE_CHECKING:
    from collections.abc import Callable

    from narrows.execution.backend import Backend
    from narrows.execution.job import Done, Job

POLL_S: Final = 0.1
"""Longest time between two looks at the backend and at signals, and shortest time between two reports, s."""

AHEAD: Final = 4
"""Jobs per worker that are submitted and have not ended: enough to keep workers busy, few enough to keep track of."""

MOST_AHEAD: Final = 256
"""The same of short jobs, which together take no longer than `POLL_S`."""


def drive(
    backend: Backend,
    feed: Callable[[], Job[Any] | None],
    took: Callable[[Done[Any]], None],
    *,
    over: Callable[[], bool] = lambda: False,
    report: Callable[[], None] | None = None,
    before: Callable[[], None] | None = None,
) -> None:
    """Execute jobs until there are no more, in steps of `POLL_S`, so that Ctrl-C takes effect at once.

    It does not stop the backend, whatever it raises.

    Parameters
    ----------
    backend : Backend
    feed : callable
        Returns the next job; ``None`` if there is none at present. It is asked again after each job that ends.
    took : callable
        Takes each job that ended.
    over : callable
        Whether to leave although jobs are in progress.
    report : callable, optional
        Called about ten times a second, and at the end.
    before : callable, optional
        Called in every step.

    Raises
    ------
    KeyboardInterrupt
        If a signal asked this process to end.
    """
    pending, told, ahead = 0, time.monotonic(), AHEAD
    while True:
        interruption.check()
        if before is not None:
            before()
        if over():
            break
        while pending < ahead * backend.workers and (job := feed()) is not None:
            backend.submit(job)
            pending += 1
        if not pending:
            break
        done = backend.get(POLL_S)
        while done is not None:
            pending -= 1
            short = POLL_S / max(done.seconds, POLL_S / MOST_AHEAD)
            ahead = max(AHEAD, min(2 * ahead, int(short)))
            took(done)
            done = backend.get(0)
        now = time.monotonic()
        if report is not None and now - told >= POLL_S:
            report()
            told = now
    if report is not None:
        report()
