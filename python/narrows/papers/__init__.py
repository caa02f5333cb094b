"""Papers that Narrows reproduces, a package each: their scenario, their figures, and ours beside them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: Package of each paper by its name on the command line.
PAPERS: dict[str, str] = {
    "acns": "narrows.papers.acns",
    "agile-sd": "narrows.papers.agile_sd",
    "contest": "narrows.papers.contest",
    "ngwa": "narrows.papers.ngwa",
}

#: Package of the report that goes beyond a paper, by the paper; it offers `reproduce` with the same arguments.
BEYOND: dict[str, str] = {"ngwa": "narrows.papers.ngwa.beyond"}

#: Module that repeats a paper on this machine's own TCP stack, by the paper. Its `reproduce` takes besides `say`, a
#: callable or `None`, and tells it in a sentence how long it will take before it begins.
LIVE: dict[str, str] = {"acns": "narrows.papers.acns.live", "ngwa": "narrows.papers.ngwa.live"}

#: Papers whose live `reproduce` takes `at_once` besides: how many live runs at a time.
AT_ONCE: frozenset[str] = frozenset({"ngwa"})

#: Papers that are made of sweeps: their `reproduce` takes `watch`, `flows` and `page_only` besides.
SWEPT: frozenset[str] = frozenset({"agile-sd"})


def module(paper: str) -> ModuleType:
    """The package of a paper; it offers `reproduce(out, *, quick, runs, jobs, progress)`.

    Raises
    ------
    KeyError
        If there is no such paper.

    Examples
    --------
    >>> module("acns").__name__
    'narrows.papers.acns'
    """
    return import_module(PAPERS[paper])
