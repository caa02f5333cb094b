"""Papers that Narrows reproduces, a package for each: scenarios, and our figures next to the published ones."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: Directory of the templates of all pages.
TEMPLATES = Path(__file__).resolve().parent / "templates"

#: Package of each paper, by its name on the command line.
PAPERS: dict[str, str] = {
    "acns": "narrows_papers.acns",
    "agile-sd": "narrows_papers.agile_sd",
    "contest": "narrows_papers.contest",
    "ngwa": "narrows_papers.ngwa",
}

#: Package of the report that goes beyond a paper, by paper; it offers `reproduce` with the same arguments.
BEYOND: dict[str, str] = {"ngwa": "narrows_papers.ngwa.beyond"}

#: Module that repeats a paper on this machine's own TCP stack, by paper. Its `reproduce` also takes `say`, a callable
#: or `None`, which it calls before it begins with a sentence about how long it will take.
LIVE: dict[str, str] = {"acns": "narrows_papers.acns.live", "ngwa": "narrows_papers.ngwa.live"}

#: Papers whose live `reproduce` also takes `at_once`: the number of parallel live runs.
AT_ONCE: frozenset[str] = frozenset({"ngwa"})

#: Papers that consist of sweeps: their `reproduce` also takes `watch`, `flows` and `page_only`.
SWEPT: frozenset[str] = frozenset({"agile-sd"})


def module(paper: str) -> ModuleType:
    """Return the package of a paper.

    It offers `reproduce(out, *, quick, runs, jobs, dask, progress, watch)` and `estimate(*, quick, runs, jobs, dask)`.

    Raises
    ------
    KeyError
        If the paper is unknown.

    Examples
    --------
    >>> module("acns").__name__
    'narrows_papers.acns'
    """
    return import_module(PAPERS[paper])
