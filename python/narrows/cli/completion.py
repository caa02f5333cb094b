"""What shells complete: names of scenarios, congestion controls, queue disciplines and kernels, beside files.

Typer's scripts (``narrows --install-completion``) ask the command for the words that can follow. If there are none, the
shell completes names of files itself. So scenarios come with the files and folders that begin in the same way, and
anything with a ``/`` is left to the shell.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Words = list[tuple[str, str]]
"""Words with their meaning, which some shells show."""


def scenarios(incomplete: str) -> Words:
    """Return bundled scenarios, and scenario files and folders of this directory.

    Parameters
    ----------
    incomplete : str
        What is typed so far.

    Returns
    -------
    list of tuple
        Nothing where none of the bundled scenarios can be meant: shells then complete files.
    """
    found = _starting(incomplete, _bundled())
    return found + _files(incomplete) if found else []


def cases(incomplete: str) -> Words:
    """Return bundled sets of test cases, and scenario files and folders of this directory.

    Parameters
    ----------
    incomplete : str

    Returns
    -------
    list of tuple
        Nothing where none of the sets can be meant: shells then complete files.
    """
    from narrows.base import bundled

    root = bundled.cases()
    sets = [] if root is None else sorted(one.name for one in root.iterdir() if one.is_dir())
    found = _starting(incomplete, [(name, "bundled test cases") for name in sets])
    return found + _files(incomplete) if found else []


def results(incomplete: str) -> Words:
    """Return folders of this directory: those with results first.

    Parameters
    ----------
    incomplete : str

    Returns
    -------
    list of tuple
        Nothing below a folder: shells then complete files.
    """
    found = [] if "/" in incomplete else [name for name, what in _files(incomplete) if what == "folder"]
    held = [
        name for name in found if any((Path(name) / file).is_file() for file in ("summary.json", "comparison.json"))
    ]
    return [(name.rstrip("/"), "results") for name in held] + [(name, "folder") for name in found if name not in held]


def scenarios_and_results(incomplete: str) -> Words:
    """Return what `scenarios` and `results` return.

    Parameters
    ----------
    incomplete : str

    Returns
    -------
    list of tuple
    """
    held = results(incomplete)
    names = [name for name, what in held if what == "results"]
    found = [(name, what) for name, what in scenarios(incomplete) if name.rstrip("/") not in names]
    return found + [(name, what) for name, what in held if (name, what) not in found]


def _offering(words: Callable[[], Iterable[tuple[str, str]]], *, listed: bool = False) -> Callable[[str], Words]:
    """Return the function that completes one of some words, or with ``listed`` the last place of a list with commas."""

    def complete(incomplete: str) -> Words:
        return (_listed if listed else _starting)(incomplete, words())

    return complete


def _bundled() -> Words:
    from narrows.base import bundled

    return [(name, "bundled scenario") for name in bundled.scenarios()]


def _formats() -> Words:
    from narrows.export.values import FIGURES, FORMATS, PACKETS

    kinds = dict.fromkeys(FIGURES, "figures") | dict.fromkeys(PACKETS, "packets")
    return [(name, kinds.get(name, "tables")) for name in FORMATS]


def _kernels() -> Words:
    from narrows.kernels import cache

    with suppress(Exception):  # a cache that cannot be read has no names to offer
        found = [(kernel.release, kernel.name) for kernel in cache.kernels()]
        return [*found, *((name, release) for release, name in found)]
    return []


def _catalogue(kind: str) -> Words:
    import json

    from narrows import _core

    return [(entry["name"], entry["title"]) for entry in json.loads(_core.catalogue())[kind]]


def _starting(incomplete: str, words: Iterable[tuple[str, str]]) -> Words:
    return [(name, meaning) for name, meaning in words if name.startswith(incomplete)]


def _listed(incomplete: str, words: Iterable[tuple[str, str]]) -> Words:
    """Return words for the last place of a list with commas, each with what is before it."""
    before, comma, last = incomplete.rpartition(",")
    return [(f"{before}{comma}{name}", meaning) for name, meaning in _starting(last, words)]


def _files(incomplete: str) -> Words:
    found = []
    with suppress(OSError), os.scandir(Path()) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.name.startswith(incomplete) and not entry.name.startswith("."):
                if entry.is_dir():
                    found.append((f"{entry.name}/", "folder"))
                elif entry.name.endswith(".toml"):
                    found.append((entry.name, "file"))
    return found


controls = _offering(lambda: _catalogue("cc"), listed=True)
"""Congestion controls."""

queues = _offering(lambda: _catalogue("queues"), listed=True)
"""Queue disciplines."""

algorithms = _offering(lambda: [entry for kind in ("cc", "queues", "schemes", "phys") for entry in _catalogue(kind)])
"""Everything that ``narrows explain`` knows."""

scenario_lists = _offering(_bundled, listed=True)
"""Bundled scenarios."""

kernels = _offering(_kernels, listed=True)
"""The kernels at hand, by release and by name."""

papers = _offering(lambda: [(name, "paper") for name in ("acns", "agile-sd", "contest", "ngwa")])
"""The papers that ``narrows reproduce`` knows."""

export_formats = _offering(_formats, listed=True)
"""The formats of ``narrows export``."""
