"""Comparing queue disciplines with one call, for notebooks and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.aqm.execute import execute
from narrows.studies.aqm.plan import make
from narrows.studies.aqm.result import Aqm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from narrows.execution.work import Hook
    from narrows.model.scenario import Override
    from narrows.ownership import Target


def run(
    queues: Iterable[str] | None = None,
    scenarios: Iterable[str | PathLike[str]] | None = None,
    *,
    runs: int = 10,
    seed: int = 1,
    overrides: Mapping[str, Override] | None = None,
    out: Target | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Hook | None = None,
) -> Aqm:
    """Run every queue discipline on every scenario.

    Parameters
    ----------
    queues, scenarios, runs, seed, overrides
        As for `narrows.studies.aqm.make`.
    out : path, optional
        Where records are stored as runs end; runs that are already there are not repeated.
    jobs, dask, progress
        As for `narrows.studies.aqm.execute`.

    Returns
    -------
    Aqm

    Raises
    ------
    InputError
        If an argument, a scenario or the directory cannot be used.
    RunError
        If a run failed.
    AqmInterrupted
        On Ctrl-C.
    """
    plan = make(queues, scenarios, runs=runs, seed=seed, overrides=overrides)
    return Aqm(plan, execute(plan, out, jobs=jobs, dask=dask, progress=progress))
