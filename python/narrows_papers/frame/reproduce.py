"""Making a report: finds it by what was asked for, claims its directory, makes its runs, and writes it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows.base.errors import InputError
from narrows.execution.means import Means
from narrows.ownership import RESULTS, claim, staged
from narrows.store import pending
from narrows_papers import PAPERS
from narrows_papers.frame.write import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Watch as NamedWatch
    from narrows.ownership import Claim
    from narrows.studies.reproduction.request import Request, Watch
    from narrows.studies.reproduction.result import Reproduction
    from narrows_papers import Paper
    from narrows_papers.frame.report import Report

MAX_FLOWS = 100
"""Most flows that may share the link of a paper's scenario."""


def reproduce(name: str, out: str | PathLike[str] | None, asked: Request, *, force: bool = False) -> Reproduction:
    """Make one of a paper's reports.

    Parameters
    ----------
    name : str
        Name of the paper.
    out : path or None
        Output directory; below ``results`` by default.
    asked : Request
        Which report, and how its runs are made.
    force : bool
        Whether the directory may hold files that are not Narrows'; they are kept.

    Returns
    -------
    Reproduction

    Raises
    ------
    InputError, LiveError, RunError, Interrupted
        As for `narrows.reproduce`.
    """
    paper = _paper(name)
    _check(paper, asked)
    report, folder = _chosen(paper, asked)
    return make(report, asked, claim(out or Path("results") / folder, kind=report.kind, force=force))


def estimate(name: str, asked: Request) -> Estimate:
    """Estimate how long a reproduction takes, by making some of its runs.

    Raises
    ------
    InputError, RunError
        As for `narrows.studies.reproduction.estimate`.
    """
    paper = _paper(name)
    _check_flows(paper, asked)
    return _chosen(paper, asked)[0].estimate(asked)


def make(report: Report[Any], asked: Request, out: Claim) -> Reproduction:
    """Make the missing runs of a report, and write it into a claimed directory."""
    means = Means(asked.jobs, asked.dask, None, _named(asked.watch, out), asked.progress)
    if report.kind != RESULTS:
        made = report.run(asked, means, out)
        with staged(out, part="page", alone=False) as folder:
            result = write(folder, report.contents(made, asked))
        return result.moved(folder, out)
    # The directory is opened first, so that an unwritable one is reported before the runs.
    with ExitStack() as stack:
        keep = stack.enter_context(pending.kept(out))
        folder = stack.enter_context(staged(out))
        made = report.run(asked, replace(means, keep=keep), out)
        result = write(folder, report.contents(made, asked))
    return result.moved(folder, out)


def _paper(name: str) -> Paper:
    if name not in PAPERS:
        message = f"paper is {name!r}; allowed: {', '.join(sorted(PAPERS))}"
        raise InputError(message)
    return PAPERS[name]


def _check(paper: Paper, asked: Request) -> None:
    """Reject numbers out of range, and options that the paper does not have or that exclude each other."""
    for what, number in (("runs", asked.runs), ("jobs", asked.jobs), ("live_jobs", asked.live_jobs)):
        if number is not None and number < 1:
            message = f"{what} is {number}; allowed: 1 or more"
            raise InputError(message)
    _check_flows(paper, asked)
    given = {"pair": asked.pair is not None, "beyond": asked.beyond, "live": asked.live}
    named = [name for name, one in given.items() if one]
    if len(named) > 1:
        message = f"{' and '.join(named)} are given; allowed: one of them"
        raise InputError(message)
    if named and (asked.flows is not None or asked.page_only):
        message = f"{named[0]} is given with flows or page; allowed: flows and page with the sweeps of the paper alone"
        raise InputError(message)
    if asked.live_jobs is not None and not (asked.live and paper.live_jobs):
        message = f"live_jobs is {asked.live_jobs}; allowed with live of: {_having(lambda one: one.live_jobs)}"
        raise InputError(message)
    if asked.live and asked.dask is not None:
        message = f"dask is {asked.dask!r}; allowed with live: none, because live runs are made on this machine"
        raise InputError(message)


def _check_flows(paper: Paper, asked: Request) -> None:
    flows = asked.flows
    if (flows is not None or asked.page_only) and not paper.swept:
        swept = _having(lambda one: one.swept)
        message = f"paper {paper.name!r} is not made of sweeps; allowed with flows or page: {swept}"
        raise InputError(message)
    if flows is not None and not 2 <= flows <= MAX_FLOWS:
        message = f"flows is {flows}; allowed: 2 to {MAX_FLOWS}"
        raise InputError(message)


def _chosen(paper: Paper, asked: Request) -> tuple[Report[Any], str]:
    """Return the report that was asked for, and the name of its directory."""
    module, folder = paper.report, paper.name
    lacking = ""
    if asked.beyond:
        module, folder = paper.beyond, f"{paper.name}-beyond"
    elif asked.live:
        module, folder = paper.live or "", f"{paper.name}-live"
        lacking = f"is not made live; allowed with live: {_having(lambda one: one.live)}"
    elif asked.pair is not None:
        module, folder = paper.pair or "", "-".join((paper.name, *asked.pair)).lower().replace(" ", "")
        lacking = f"has no pairs; allowed with a pair: {_having(lambda one: one.pair)}"
    if not module:
        message = f"paper {paper.name!r} {lacking}"
        raise InputError(message)
    report: Report[Any] = import_module(module).REPORT
    return report, folder


def _having(what: Callable[[Paper], object]) -> str:
    return ", ".join(sorted(one.name for one in PAPERS.values() if what(one)))


def _named(watch: Watch | None, out: Claim) -> NamedWatch | None:
    """Return what shows sets of runs by their names."""
    return None if watch is None else lambda what: watch(what, Path(out))
