"""Estimating a sweep by executing some of its runs without storing them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from narrows import interruption
from narrows.sweep import bounds, forecast
from narrows.sweep.local import threads

if TYPE_CHECKING:
    from narrows.sweep.plan import Sweep

_POLL_S = 0.1


def estimate(sweep: Sweep, *, jobs: int | None = None, budget_s: float | None = None) -> forecast.Estimate:
    """Estimate how long all runs of a sweep take; `narrows.sweep.forecast` describes the method.

    Parameters
    ----------
    sweep : Sweep
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    budget_s : float, optional
        Wall-clock time to spend, s; by default until enough is known, a minute at most.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        If ``jobs`` is out of range.
    ScenarioError
        If the scenario of every point is refused.
    """
    backend = threads(jobs)
    points = [point for point in sweep.points if point.refusal is None]
    if not points and sweep.points[0].refusal is not None:
        raise sweep.points[0].refusal
    wanted = {point.index for point in points}
    runs = list({run.address: run for run in sweep.runs if run.point.index in wanted}.values())
    known = forecast.Forecast(sweep, runs, backend.workers)
    backend.start(forecast.in_order(sweep, runs))
    begin = time.monotonic()
    room = bounds.room(sweep, len(runs))
    made = forecast.Estimate(len(runs), 0.0, 0.0, 0.0, 0.0, 0, room)
    ended = 0
    try:
        while ended < len(runs):
            interruption.check()
            record = backend.get(_POLL_S)
            if record is not None:
                ended += 1
                known.took(record.address, record.wall_s if record.status == "ok" else None)
            seconds = time.monotonic() - begin
            now = known.estimate(backend.running(), seconds, room)
            if now is not None:
                made = now
                if budget_s is None and known.enough(seconds, made.seconds - seconds):
                    break
            if seconds >= (forecast.MOST_S if budget_s is None else budget_s):
                break
    finally:
        backend.stop()
    return made
