"""What a reproduction is asked for: which report of a paper, how much of it, and how its runs are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from narrows.execution.job import ProgressHook
    from narrows.studies.sweep import Progress, Sweep

    Watch = Callable[[Sweep | str, Path], AbstractContextManager[Callable[[Progress], None]]]
    """Shows the progress of runs: takes the sweep, or what is run in words, and the directory of the output; the hook
    that it yields takes the progress."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments of `narrows.reproduce`, which explains them, besides the paper and its directory."""

    quick: bool = False
    runs: int | None = None
    jobs: int | None = None
    dask: str | None = None
    pair: tuple[str, str] | None = None
    beyond: bool = False
    live: bool = False
    live_jobs: int | None = None
    flows: int | None = None
    page_only: bool = False
    progress: ProgressHook | None = None
    watch: Watch | None = None
    say: Callable[[str], None] | None = None


def command(paper: str, *, quick: bool, runs: int | None) -> str:
    """Return the command line for the page: `narrows reproduce` with the options that affect the result.

    Parameters
    ----------
    paper : str
        Name of the paper, with its options.
    quick : bool
        Whether it was a quick experiment.
    runs : int or None
        Number of runs if given.

    Examples
    --------
    >>> command("ngwa --beyond", quick=True, runs=3)
    'narrows reproduce ngwa --beyond --quick --runs 3'
    """
    return (
        f"narrows reproduce {paper}" + (" --quick" if quick else "") + (f" --runs {runs}" if runs is not None else "")
    )
