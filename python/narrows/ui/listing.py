"""Results below a directory, found by a walk of bounded length."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.store import results
from narrows.studies.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_DIRECTORIES: Final = 5_000
"""Directories that a walk reads."""

MOST_RESULTS: Final = 500
"""Results that a walk lists."""

DEEPEST: Final = 6
"""Levels below the top that a walk reads."""

_SHOWN: Final = ("run", "comparison", "sweep", "contest")
"""Kinds that are shown by more than their page."""

_SKIPPED: Final = frozenset({"node_modules", "target", "__pycache__", "figures", "pcap", "runs"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A directory of results.

    Attributes
    ----------
    name : str
        Relative to the top of the walk, or as the user named it.
    directory : pathlib.Path
    kind : {"run", "comparison", "sweep", "contest", "page"}
        What it holds: runs of a scenario, a simulated and a live arm, or something that is shown by its page alone.
    has_page : bool
        Whether it has a page, `report.html`.
    """

    name: str
    directory: Path
    kind: str
    has_page: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the entry for the page."""
        return {"name": self.name, "kind": self.kind, "page": self.has_page}


def entry(directory: Path, name: str) -> Entry | None:
    """Return what a directory holds, by the names of its files.

    Parameters
    ----------
    directory : pathlib.Path
    name : str

    Returns
    -------
    Entry or None
        ``None`` if it holds no results.
    """
    has_page = (directory / results.REPORT).is_file()
    kind = kind_of(directory)
    if kind in _SHOWN and (kind != "run" or (directory / results.SCENARIO).is_file()):
        return Entry(name, directory, kind, has_page)
    return Entry(name, directory, "page", has_page) if has_page else None


class Listing:
    """Results below a directory, and those that the user named.

    Parameters
    ----------
    top : pathlib.Path
        Where the walk begins.
    """

    def __init__(self, top: Path) -> None:
        self.top = top
        self._known: dict[str, Entry] = {}
        self._numbers: list[str] = []
        # Requests are answered by several threads.
        self._lock = threading.Lock()

    def add(self, found: Entry) -> None:
        """Add results.

        Parameters
        ----------
        found : Entry
        """
        with self._lock:
            if found.name not in self._known:
                self._numbers.append(found.name)
            self._known[found.name] = found

    def walk(self) -> tuple[list[Entry], bool]:
        """Look for results.

        Returns
        -------
        entries : list of Entry
            In the order of their names, those that the user named first.
        complete : bool
            Whether the walk reached everything within its depth.
        """
        with self._lock:
            known = list(self._known.values())
        named = [one for one in known if not _is_below(one, self.top)]
        found: list[Entry] = []
        read = 0
        whole: set[Path] = set()
        for directory in _directories(self.top, whole):
            read += 1
            if read > MOST_DIRECTORIES or len(found) >= MOST_RESULTS:
                break
            one = entry(directory, os.path.relpath(directory, self.top))
            if one is not None:
                found.append(one)
                self.add(one)
                if one.kind != "page" and directory != self.top:
                    whole.add(directory)
        complete = read <= MOST_DIRECTORIES and len(found) < MOST_RESULTS
        return [*named, *sorted(found, key=lambda one: one.name)], complete

    def get(self, name: str) -> Entry:
        """Return results by name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Entry

        Raises
        ------
        InputError
            If the list has no such entry.
        """
        if name not in self._known:
            message = f"{name}: is not in the list of results; allowed: an entry of the list"
            raise InputError(message)
        return self._known[name]

    def number(self, name: str) -> int:
        """Return the number of an entry, for addresses.

        Parameters
        ----------
        name : str

        Returns
        -------
        int
        """
        return self._numbers.index(name)

    def numbered(self, number: int) -> Entry | None:
        """Return an entry by its number; ``None`` if there is none.

        Parameters
        ----------
        number : int

        Returns
        -------
        Entry or None
        """
        return self._known[self._numbers[number]] if 0 <= number < len(self._numbers) else None


def _is_below(one: Entry, top: Path) -> bool:
    return one.directory.absolute().is_relative_to(top.absolute())


def _directories(top: Path, whole: set[Path]) -> Iterator[Path]:
    """Yield directories level by level, except those below `whole`; links are not followed, hidden ones not read."""
    level = [top]
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for directory in level:
            yield directory
            if directory in whole:
                continue
            try:
                with os.scandir(directory) as inside:
                    below += sorted(
                        Path(one.path)
                        for one in inside
                        if one.is_dir(follow_symlinks=False)
                        and not one.name.startswith(".")
                        and one.name not in _SKIPPED
                    )
            except OSError:
                continue
        level = below
