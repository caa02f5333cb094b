"""Estimating a sweep by executing some of its runs without storing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.execution import backend, pilot
from narrows.studies.sweep import bounds
from narrows.studies.sweep.scale import scales

if TYPE_CHECKING:
    from narrows.execution.forecast import Estimate
    from narrows.studies.sweep.plan import Sweep


def estimate(
    sweep: Sweep, *, jobs: int | None = None, dask: str | None = None, budget_s: float | None = None
) -> Estimate:
    """Estimate how long all runs of a sweep take; `narrows.execution.forecast` describes the method.

    Parameters
    ----------
    sweep : Sweep
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster.
    budget_s : float, optional
        Wall-clock time to spend, s; by default until enough is known, a minute at most.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        If ``jobs`` is out of range, or the cluster cannot be used.
    ScenarioError
        If the scenario of every point is refused.
    """
    points = [point for point in sweep.points if point.refusal is None]
    if not points and sweep.points[0].refusal is not None:
        raise sweep.points[0].refusal
    wanted = {point.index for point in points}
    runs = list({run.address: run for run in sweep.runs if run.point.index in wanted}.values())
    return pilot.estimate(
        runs,
        scales(sweep),
        backend.choose(jobs, dask),
        budget_s=budget_s,
        failed=lambda record: record.status != "ok",
        nbytes=bounds.room(sweep, len(runs)),
    )
