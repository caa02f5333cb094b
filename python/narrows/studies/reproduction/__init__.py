"""Reproducing papers: the only place that calls the package `narrows_papers`, when a paper is asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from narrows.execution.forecast import Estimate
    from narrows.execution.job import ProgressHook
    from narrows.studies.reproduction.request import Watch
    from narrows.studies.reproduction.result import Reproduction


def papers() -> list[str]:
    """Name the papers that can be reproduced.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> "acns" in papers()
    True
    """
    from narrows_papers import PAPERS

    return sorted(PAPERS)


def reproduce(
    paper: str,
    out: str | PathLike[str] | None = None,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    pair: tuple[str, str] | None = None,
    beyond: bool = False,
    live: bool = False,
    live_jobs: int | None = None,
    flows: int | None = None,
    page_only: bool = False,
    progress: ProgressHook | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
    force: bool = False,
) -> Reproduction:
    """Repeat a paper's experiments and compare the published results with the measured ones.

    Parameters
    ----------
    paper : str
        Such as ``acns``; see `papers`.
    out : path, optional
        Directory for the page, the figures and the numbers; ``results/<paper>`` by default.
    quick : bool
        Fewer runs, for a first look.
    runs : int, optional
        Runs per arm; by default the number that the paper's module chooses.
    jobs : int, optional
        How many run at the same time; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the simulations instead of this process.
    pair : two names, optional
        For a paper that compares variants in pairs: run only this pair, starting with the first; into
        ``results/<paper>-<first>-<second>`` by default.
    beyond : bool
        For a paper that has one: write the report on questions that it leaves for further study, instead of its own
        experiments; into ``results/<paper>-beyond`` by default.
    live : bool
        For a paper that supports it: run on this machine's own TCP stack, in real time, beside the simulator; into
        ``results/<paper>-live`` by default.
    live_jobs : int, optional
        With `live`, for a paper whose runs may be made side by side: how many at a time; one by default.
    flows : int, optional
        For a paper made of sweeps: how many flows share the link.
    page_only : bool
        For a paper made of sweeps: write its page from the existing runs, and run nothing.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    watch : callable, optional
        Shows the progress of each set of runs; for a paper made of sweeps in place of `progress`.
    say : callable, optional
        With `live`: called with a sentence that says how long it will take, before it begins.
    force : bool
        Whether the directory may hold files that are not Narrows'; they are kept.

    Returns
    -------
    Reproduction
        Cells (published beside measured), claims, and paths of the written files.

    Raises
    ------
    InputError
        If there is no such paper, a number is out of range, or the paper has no such pair or no such report.
    LiveError
        With `live`, if this machine cannot do it; nothing is written then.
    RunError
        If a run, or writing, failed.
    Interrupted
        On Ctrl-C; finished runs are kept, beside the directory in ``NAME.runs`` if the paper is not made of a contest
        or of sweeps, and the same call continues.
    """
    from narrows_papers.frame import reproduce as frame

    asked = Request(
        quick=quick,
        runs=runs,
        jobs=jobs,
        dask=dask,
        pair=pair,
        beyond=beyond,
        live=live,
        live_jobs=live_jobs,
        flows=flows,
        page_only=page_only,
        progress=progress,
        watch=watch,
        say=say,
    )
    return frame.reproduce(paper, out, asked, force=force)


def estimate(
    paper: str,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    beyond: bool = False,
    flows: int | None = None,
) -> Estimate:
    """Estimate how long a reproduction takes, by making some of its runs, a minute at most for each set of runs.

    Parameters
    ----------
    paper, quick, runs, jobs, dask, beyond, flows
        As for `reproduce`.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError, RunError
        As for `reproduce`.
    """
    from narrows_papers.frame import reproduce as frame

    return frame.estimate(paper, Request(quick=quick, runs=runs, jobs=jobs, dask=dask, beyond=beyond, flows=flows))
