"""Running a contest with one call, for notebooks and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.contest.execute import execute
from narrows.studies.contest.plan import make
from narrows.studies.contest.result import Contest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from narrows.execution.work import Hook
    from narrows.model.scenario import Override, Scenario
    from narrows.ownership import Target
    from narrows.studies.contest.contestant import Contestant
    from narrows.studies.contest.plan import Plan

SCENARIO = "contest-wired"
"""Default scenario of a contest."""


def run(
    contestants: Iterable[str | Contestant],
    scenario: str | PathLike[str] | Scenario = SCENARIO,
    *,
    runs: int = 5,
    seed: int | None = None,
    slots: Sequence[str] | None = None,
    window: tuple[float, float] | None = None,
    overrides: Mapping[str, Override] | None = None,
    solo: bool = True,
    out: Target | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Hook | None = None,
) -> Contest:
    """Run every ordered pair of contestants, and each contestant alone.

    Parameters
    ----------
    contestants, scenario, runs, seed, slots, window, overrides, solo
        As for `narrows.contest.make`.
    out : path, optional
        Where records are stored as runs end; runs that are already there are not repeated.
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster.
    progress : callable, optional
        As for `narrows.contest.execute`.

    Returns
    -------
    Contest

    Raises
    ------
    InputError
        If an argument, the scenario or the directory cannot be used.
    RunError
        If a run failed.
    ContestInterrupted
        On Ctrl-C.

    Examples
    --------
    >>> made = run(["reno"], "dumbbell-cubic", runs=1, overrides={"duration": "14 s"}, solo=False)
    >>> made.estimate("harm", "reno", "reno").mean
    0.0
    """
    plan = make(
        scenario,
        contestants,
        runs=runs,
        seed=seed,
        slots=slots,
        window=window,
        overrides=overrides,
        solo=solo,
    )
    return hold(plan, out, jobs=jobs, dask=dask, progress=progress)


def hold(
    plan: Plan,
    out: Target | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Hook | None = None,
) -> Contest:
    """Run a planned contest.

    Parameters
    ----------
    plan : Plan
    out, jobs, dask, progress
        As for `narrows.contest.execute`.

    Returns
    -------
    Contest
    """
    made = execute(plan, out, jobs=jobs, dask=dask, progress=progress)
    return Contest(plan, made.records, made.kept, made.foreign)
