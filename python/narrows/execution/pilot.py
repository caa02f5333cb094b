"""Estimating how long a set of jobs takes, by executing some of them without storing their results."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from narrows.execution.forecast import MOST_S, Estimate, Forecast, in_order
from narrows.execution.loop import drive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.execution.backend import Backend
    from narrows.execution.forecast import Scale
    from narrows.execution.job import Done, Job


def estimate(
    jobs: Sequence[Job[Any]],
    axes: Sequence[Scale],
    backend: Backend,
    *,
    budget_s: float | None = None,
    failed: Callable[[Any], bool] = lambda _: False,
    nbytes: int = 0,
) -> Estimate:
    """Estimate how long jobs take; `narrows.execution.forecast` describes the method.

    Parameters
    ----------
    jobs : sequence of Job
    axes : sequence of Scale
        Axes of the set.
    backend : Backend
        It is stopped at the end.
    budget_s : float, optional
        Wall-clock time to spend, s; by default until enough is known, a minute at most.
    failed : callable
        Whether a result is that of a failed run.
    nbytes : int
        Upper bound of the disk space of the results.

    Returns
    -------
    Estimate
    """
    known = Forecast(axes, jobs, backend.workers)
    made = Estimate(len(jobs), 0.0, 0.0, 0.0, 0.0, 0, nbytes)
    ordered = iter(in_order(jobs))
    begin = time.monotonic()

    def took(done: Done[Any]) -> None:
        known.took(done.job.key, None if failed(done.value()) else done.seconds)

    def enough() -> bool:
        nonlocal made
        seconds = time.monotonic() - begin
        now = known.estimate(backend.running(), seconds, nbytes)
        made = made if now is None else now
        if now is not None and budget_s is None and known.enough(seconds, now.seconds - seconds):
            return True
        return seconds >= (MOST_S if budget_s is None else budget_s)

    try:
        drive(backend, lambda: next(ordered, None), took, over=enough)
    finally:
        backend.stop()
    return made


def total(parts: Sequence[Estimate]) -> Estimate:
    """Add estimates of sets that are executed one after the other.

    Parameters
    ----------
    parts : sequence of Estimate

    Returns
    -------
    Estimate
    """
    return Estimate(*(sum(getattr(part, field.name) for part in parts) for field in fields(Estimate)))
