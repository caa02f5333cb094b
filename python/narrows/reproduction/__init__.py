"""Reproducing papers: finds a paper by name and calls its package in `narrows_papers`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.errors import InputError
from narrows.ownership import RESULTS, claim

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from os import PathLike
    from types import ModuleType

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Watch as NamedWatch
    from narrows.ownership import Claim
    from narrows.reproduction.result import Reproduction
    from narrows.runs import ProgressHook
    from narrows.sweep import Progress, Sweep

    Watch = Callable[[Sweep | str, Path], AbstractContextManager[Callable[[Progress], None]]]
    """Shows the progress of runs: takes the sweep, or what is run in words, and the directory of the output; the hook
    that it yields takes the progress."""

MAX_FLOWS = 100
"""Most flows that may share the link of a paper's scenario."""


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
    known = papers()
    if paper not in known:
        message = f"paper is {paper!r}; allowed: {', '.join(known)}"
        raise InputError(message)
    for what, number in (("runs", runs), ("jobs", jobs), ("live_jobs", live_jobs)):
        if number is not None and number < 1:
            message = f"{what} is {number}; allowed: 1 or more"
            raise InputError(message)
    from narrows_papers import AT_ONCE, SWEPT, module

    if (flows is not None or page_only) and paper not in SWEPT:
        message = f"paper {paper!r} is not made of sweeps; allowed with flows or page: {', '.join(sorted(SWEPT))}"
        raise InputError(message)
    if flows is not None and not 2 <= flows <= MAX_FLOWS:
        message = f"flows is {flows}; allowed: 2 to {MAX_FLOWS}"
        raise InputError(message)
    _one_of(pair=pair is not None, beyond=beyond, live=live)
    if live_jobs is not None and not (live and paper in AT_ONCE):
        message = f"live_jobs is {live_jobs}; allowed with live of: {', '.join(sorted(AT_ONCE))}"
        raise InputError(message)
    package = module(paper)
    if beyond:
        package = _beyond(paper)
        target = _claimed(package, out or Path("results") / f"{paper}-beyond", force)
        extended: Reproduction = package.reproduce(
            target, quick=quick, runs=runs, jobs=jobs, dask=dask, progress=progress, watch=_named(watch, target)
        )
        return extended
    if live:
        if dask is not None:
            message = f"dask is {dask!r}; allowed with live: none, because live runs are made on this machine"
            raise InputError(message)
        package = _live(paper)
        target = _claimed(package, out or Path("results") / f"{paper}-live", force)
        beside: dict[str, object] = {} if live_jobs is None else {"at_once": live_jobs}
        real: Reproduction = package.reproduce(
            target, quick=quick, runs=runs, jobs=jobs, progress=progress, say=say, **beside
        )
        return real
    if pair is not None:
        named = "-".join((paper, *pair)).lower().replace(" ", "")
        chosen = claim(out or Path("results") / named, force=force)
        return _pair(
            paper,
            package,
            chosen,
            pair,
            runs=1 if quick and runs is None else runs,
            jobs=jobs,
            dask=dask,
            progress=progress,
            watch=_named(watch, chosen),
        )
    target = _claimed(package, out or Path("results") / paper, force)
    more: dict[str, object] = {"watch": _named(watch, target)}
    if paper in SWEPT:
        more = {"watch": watch, "page_only": page_only} | ({} if flows is None else {"flows": flows})
    made: Reproduction = package.reproduce(
        target, quick=quick, runs=runs, jobs=jobs, dask=dask, progress=progress, **more
    )
    return made


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
    known = papers()
    if paper not in known:
        message = f"paper is {paper!r}; allowed: {', '.join(known)}"
        raise InputError(message)
    from narrows_papers import module

    package = _beyond(paper) if beyond else module(paper)
    more: dict[str, object] = {} if flows is None else {"flows": flows}
    made: Estimate = package.estimate(quick=quick, runs=runs, jobs=jobs, dask=dask, **more)
    return made


def _named(watch: Watch | None, out: Claim) -> NamedWatch | None:
    """Return what shows sets of runs by their names."""
    return None if watch is None else lambda what: watch(what, Path(out))


def _claimed(package: ModuleType, out: str | PathLike[str], force: bool) -> Claim:
    """Claim the output directory of a package's report, before anything runs."""
    return claim(out, kind=getattr(package, "KIND", RESULTS), force=force)


def _one_of(**asked: bool) -> None:
    """Refuse requests for reports that exclude each other."""
    named = [name for name, given in asked.items() if given]
    if len(named) > 1:
        message = f"{' and '.join(named)} are given; allowed: one of them"
        raise InputError(message)


def _live(paper: str) -> ModuleType:
    """Return the module that repeats a paper on the machine's own TCP stack."""
    from narrows_papers import LIVE

    if paper not in LIVE:
        message = f"paper {paper!r} is not made live; allowed with live: {', '.join(sorted(LIVE)) or 'none'}"
        raise InputError(message)
    return import_module(LIVE[paper])


def _beyond(paper: str) -> ModuleType:
    """Return the package of a paper's report on open questions."""
    from narrows_papers import BEYOND

    if paper not in BEYOND:
        message = f"paper {paper!r} has nothing beyond it; allowed with beyond: {', '.join(sorted(BEYOND))}"
        raise InputError(message)
    return import_module(BEYOND[paper])


def _pair(
    paper: str,
    package: ModuleType,
    out: Claim,
    pair: tuple[str, str],
    *,
    runs: int | None,
    jobs: int | None,
    dask: str | None,
    progress: ProgressHook | None,
    watch: NamedWatch | None,
) -> Reproduction:
    if not hasattr(package, "reproduce_pair"):
        from narrows_papers import module

        having = ", ".join(name for name in papers() if hasattr(module(name), "reproduce_pair"))
        message = f"paper {paper!r} has no pairs; allowed with a pair: {having}"
        raise InputError(message)
    made: Reproduction = package.reproduce_pair(
        out, pair, runs=runs, jobs=jobs, dask=dask, progress=progress, watch=watch
    )
    return made
