"""Reproducing papers: finds a paper by name and hands over to its module in `narrows.papers`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from narrows.errors import InputError

if TYPE_CHECKING:
    from os import PathLike

    from narrows.papers.reproduction import Reproduction
    from narrows.runs import ProgressHook


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
    from narrows.papers import PAPERS

    return sorted(PAPERS)


def reproduce(
    paper: str,
    out: str | PathLike[str] | None = None,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
) -> Reproduction:
    """Repeat a paper's experiments and set what was published beside what is measured.

    Parameters
    ----------
    paper : str
        Such as ``acns``; see `papers`.
    out : path, optional
        Directory for the page, the figures and the numbers; ``results/<paper>`` by default.
    quick : bool
        Fewer runs, for a first look.
    runs : int, optional
        Runs per arm; the paper's module knows how many by default.
    jobs : int, optional
        How many at the same time; as many as there are processors by default.
    progress : callable, optional
        Called with the share of the work that is done, in [0, 1].

    Returns
    -------
    Reproduction
        Cells (published beside measured), claims, and paths of what was written.

    Raises
    ------
    InputError
        If there is no such paper, or a number is out of range.
    RunError
        If a run, or writing, failed.
    """
    known = papers()
    if paper not in known:
        message = f"paper is {paper!r}; allowed: {', '.join(known)}"
        raise InputError(message)
    for what, number in (("runs", runs), ("jobs", jobs)):
        if number is not None and number < 1:
            message = f"{what} is {number}; allowed: 1 or more"
            raise InputError(message)
    from narrows.papers import module

    target = Path("results") / paper if out is None else Path(out)
    made: Reproduction = module(paper).reproduce(target, quick=quick, runs=runs, jobs=jobs, progress=progress)
    return made
