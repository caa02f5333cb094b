"""Deciding before a command begins whether it may write into a directory."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.ownership import manifest
from narrows.ownership.manifest import MANIFEST, RESULTS
from narrows.ownership.recovery import settle
from narrows.ownership.staging import inside, is_one, sweep_up

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

_NAMED: Final = 3
"""How many files an error message names."""

_TOP: Final = (
    MANIFEST,
    "scenario.toml",
    "summary.json",
    "samples.parquet",
    "state.parquet",
    "comparison.json",
    "cells.csv",
    "report.html",
    "contest.json",
    "sweep.json",
    "sweep.toml",
    "runs.jsonl",
)
"""Names of files that commands write: a user's file with such a name blocks the command, even with ``--force``."""


@dataclass(frozen=True)
class Claim:
    """A directory that a command may write into.

    Attributes
    ----------
    directory : pathlib.Path
        Absolute; it need not exist.
    named : str
        As the user named it, for messages.
    kind : str
        What it holds, or will hold; see `narrows.ownership.manifest`.
    force : bool
        Whether the directory may hold files that are not Narrows'; they are kept.
    fresh : bool
        Whether the directory did not exist when it was claimed.
    """

    directory: Path
    named: str
    kind: str
    force: bool = False
    fresh: bool = False

    def __fspath__(self) -> str:
        """Return the directory as the user named it."""
        return self.named

    def within(self, name: str, kind: str) -> Claim:
        """Claim a folder of the directory that has its own list.

        Parameters
        ----------
        name : str
            Relative to the directory.
        kind : str

        Returns
        -------
        Claim

        Raises
        ------
        InputError
            As for `claim`.
        """
        return claim(Path(self.named) / name, kind=kind, force=self.force)

    def withdraw(self) -> None:
        """Remove the directory if it holds nothing but an empty list."""
        known = manifest.read(self.directory)
        if known is None or known.files or known.staging is not None:
            return
        grown = [path for path in self.directory.iterdir() if path.name != MANIFEST]
        growing = manifest.GROWING.get(known.kind)
        if growing is not None and all(growing.fullmatch(one.name) and _is_empty_file(one) for one in grown):
            with suppress(OSError):
                for path in [*grown, self.directory / MANIFEST]:
                    path.unlink()
                if self.fresh:
                    self.directory.rmdir()

    def make(self) -> None:
        """Create the directory with an empty list, unless it already has a list.

        Raises
        ------
        InputError, RunError
            As for `staged`.
        """
        from narrows.ownership.writing import staged

        if manifest.read(self.directory) is None:
            with staged(self, part="list", alone=False):
                pass


Target = str | os.PathLike[str] | Claim
"""Where a command writes; a path is claimed without ``--force``."""


def claim(
    directory: str | PathLike[str],
    *,
    kind: str = RESULTS,
    force: bool = False,
    inputs: Iterable[str | PathLike[str]] = (),
) -> Claim:
    """Decide whether a command may write into a directory, before it does anything else.

    Leftovers of killed commands there are finished or removed. Nothing else is changed.

    Parameters
    ----------
    directory : path
        A new directory, an empty one, or one that holds files of Narrows.
    kind : str
        Kind of directory that the command makes.
    force : bool
        Whether the directory may hold other files; they are kept as they are.
    inputs : iterable of path
        Files that the command reads; the command is refused if it would replace one.

    Returns
    -------
    Claim

    Raises
    ------
    InputError
        If the directory may not be used.
    """
    if isinstance(directory, Claim):
        return directory
    wanted = Path(os.path.abspath(directory))  # noqa: PTH100 - resolve() would follow a link at the end
    made = Claim(wanted, str(directory), kind, force, fresh=not wanted.exists())
    try:
        if wanted.is_symlink():
            message = f"{directory}: is a symbolic link to {os.readlink(wanted)}; allowed: the directory itself"  # noqa: PTH115
            raise InputError(message)
        if wanted.exists() and not wanted.is_dir():
            message = f"{directory}: is a file; allowed: a new directory, an empty one, or one with results"
            raise InputError(message)
        settle(wanted)
        sweep_up(wanted)
        if wanted.is_dir():
            _decide(made, list(inputs))
    except OSError as error:
        message = f"{directory}: cannot be examined: {error.strerror or error}"
        raise InputError(message) from None
    return made


def _decide(made: Claim, inputs: list[str | PathLike[str]]) -> None:
    known = manifest.read(made.directory)
    stagings = frozenset(path.name for path in inside(made.directory) if is_one(path))
    strange = manifest.foreign(made.directory, known, stagings)
    if known is not None and known.kind != made.kind:
        message = f"{made.named}: holds a directory of another kind ({known.kind}); allowed here: {made.kind}"
        raise InputError(message)
    if strange and not made.force:
        message = (
            f"{made.named}: holds something other than {_what(made.kind)} and is left unchanged: {_some(strange)}; "
            "allowed: another directory, or --force, which replaces what Narrows wrote and keeps the rest"
        )
        if known is None and "summary.json" in strange:
            message += "; results of a version that kept no list of its files count as yours"
        raise InputError(message)
    blocked = [name for name in strange if name.rstrip("/") in _TOP]
    if blocked:
        message = (
            f"{made.named}: {_some(blocked)} was not written by Narrows, or has been changed since, and has the name "
            "of a file that is to be written; allowed: another directory, or move it away"
        )
        raise InputError(message)
    owned = {os.path.realpath(made.directory / name) for name in (known.files if known is not None else ())}
    for given in inputs:
        if os.path.realpath(given) in owned:
            message = (
                f"{made.named}: holds {given}, an input of this command that would be replaced; "
                "allowed: another directory"
            )
            raise InputError(message)


def _what(kind: str) -> str:
    return kind if kind in {manifest.RESULTS, manifest.PAGES} else f"a {kind}"


def _some(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def page(path: Path, mark: str | None = None) -> None:
    """Refuse to replace a page that Narrows did not write.

    Parameters
    ----------
    path : pathlib.Path
    mark : str, optional
        Text that every page by Narrows contains. Without it, the list of the directory decides.

    Raises
    ------
    InputError
        If the file is the user's.
    """
    if not os.path.lexists(path):
        return
    ours = False
    if mark is None:
        settle(path.parent)
        known = manifest.read(path.parent)
        ours = known is not None and known.owns(path.parent, path.name)
    elif path.is_file() and not path.is_symlink():
        ours = mark in path.read_text(encoding="utf-8", errors="replace")
    if not ours:
        message = (
            f"{path}: was not written by Narrows, or has been changed since, and is left unchanged; "
            "allowed: another name, or move it away"
        )
        raise InputError(message)


def changed(directory: str | PathLike[str]) -> list[str]:
    """Name the files of a directory that are no longer as Narrows wrote them.

    Parameters
    ----------
    directory : path

    Returns
    -------
    list of str
        Files of its list that were changed or removed; if there are none and its kind grows, ``a record``; without a
        list, ``a file``.
    """
    root = Path(directory)
    known = manifest.read(root)
    if known is None:
        return ["a file"]
    growing = ["a record"] if known.kind in manifest.GROWING else []
    return [name for name, entry in known.files.items() if not entry.describes(root / name)] or growing


def parts(directory: str | PathLike[str]) -> dict[str, str]:
    """Return which step wrote each file of a directory.

    Parameters
    ----------
    directory : path

    Returns
    -------
    dict
        Steps by path relative to the directory; empty without a list.
    """
    known = manifest.read(Path(directory))
    return {} if known is None else {name: entry.part for name, entry in known.files.items()}


def _is_empty_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.lstat().st_size == 0
