"""Checking test cases with one call, for notebooks and scripts."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from narrows.execution.means import Means
from narrows.model.scenario import Scenario
from narrows.studies.check import files, plan
from narrows.studies.check.execute import execute
from narrows.studies.contest.contestant import Contestant, contestants

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.execution.job import ProgressHook
    from narrows.ownership import Target
    from narrows.studies.check.result import Check

Cases = str | PathLike[str] | Scenario
"""A file, a directory, the name of a bundled set, or a scenario."""


def check(
    cases: Cases | Iterable[Cases],
    cc: str | Contestant | Iterable[str | Contestant] | None = None,
    *,
    grid: str | None = None,
    select: str | None = None,
    seed: int | None = None,
    live: bool = False,
    out: Target | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
) -> Check:
    """Run test cases and judge their expectations.

    Parameters
    ----------
    cases : path, str, Scenario, or several
        Files, directories, names of bundled sets (``bbr``), or scenarios.
    cc : str, Contestant, or several, optional
        Controls for the flow under test, as `narrows.studies.contest.Contestant.parse` reads them; each file's own by
        default.
    grid, select, seed
        As for `narrows.studies.check.make`.
    live : bool
        Whether cases run on this machine's own TCP stack, one after another and in real time; needs root.
    out : path, optional
        Directory for the page, ``junit.xml`` and ``check.json``.
    jobs : int, optional
        Number of parallel runs; by default the number of processors. Results do not depend on it.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead.
    progress : callable, optional
        Called about ten times a second with the completed share of the work, in [0, 1].

    Returns
    -------
    Check

    Raises
    ------
    InputError
        If an argument cannot be used, or no case applies.
    ScenarioError
        If a case is refused.
    LiveError
        If this machine can run none of the cases live.
    CheckInterrupted
        On Ctrl-C.
    """
    several = [cases] if isinstance(cases, str | PathLike | Scenario) else list(cases)
    named: list[tuple[str, Scenario]] = []
    for one in several:
        named += [(one.name, one)] if isinstance(one, Scenario) else plan.load(files.find([one]).files)
    chosen = () if cc is None else contestants([cc] if isinstance(cc, str | Contestant) else cc)
    planned = plan.make(named, chosen, grid=grid, select=select, seed=seed, live=live)
    means = Means(jobs=jobs, dask=dask, progress=progress)
    made = execute(planned, means)
    if out is not None:
        made.report(out, Means(jobs=jobs, dask=dask))
    return made
