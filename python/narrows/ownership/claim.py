"""Deciding before a command begins whether it may write into a directory, and writing there when it ends."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.errors import InputError, RunError
from narrows.ownership import manifest, place
from narrows.ownership.manifest import MANIFEST, PAGES, RESULTS, Manifest
from narrows.ownership.place import BlockedError
from narrows.ownership.staging import Staging, has_owner, inside, is_one, sweep_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

FULL: Final = (errno.ENOSPC, errno.EDQUOT)

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

_WAIT_S: Final = 10.0


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
        message = f"{directory}: cannot be looked at: {error.strerror or error}"
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
            f"{made.named}: holds something else than {_what(made.kind)} and is left as it is: {_some(strange)}; "
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
            message = f"{made.named}: holds {given}, which is read and would be replaced; allowed: another directory"
            raise InputError(message)


def _what(kind: str) -> str:
    return kind if kind in {manifest.RESULTS, manifest.PAGES} else f"a {kind}"


def _some(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def settle(directory: Path) -> Manifest | None:
    """Finish putting files in place for a killed command, and return the directory's list.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    Manifest or None
        ``None`` if the directory has no list.

    Raises
    ------
    InputError
        If it cannot be finished.
    OSError
        If the directory cannot be written.
    """
    end = time.monotonic() + _WAIT_S
    while True:
        known = manifest.read(directory)
        if known is None or known.staging is None:
            return known
        folder = directory / known.staging
        if not has_owner(folder):
            place.forget(directory, known)
            continue
        staging = Staging.seize(folder)
        if staging is not None:
            try:
                place.finish(staging, directory)
            except BlockedError as error:
                staging.release()
                message = (
                    f"{directory / error.name}: was not written by Narrows and stands where a result goes that lies in "
                    f"{staging.content}; allowed: move it away"
                )
                raise InputError(message) from None
            staging.discard()
        elif time.monotonic() > end:
            message = f"{directory}: another process is writing there; allowed: wait until it has ended"
            raise InputError(message)
        else:
            time.sleep(0.05)


@contextmanager
def staged(target: Target, *, part: str = RESULTS, alone: bool = True, rescue: bool = True) -> Iterator[Path]:
    """Write into a directory: all files appear together, or none do.

    The block fills a hidden folder. If it succeeds, everything is forced to disk and put in place; if it raises,
    nothing is left behind.

    Parameters
    ----------
    target : path or Claim
        A path is claimed first, and missing parent directories are created.
    part : str
        The step that writes; it replaces its own earlier files.
    alone : bool
        Whether it replaces the files of all steps.
    rescue : bool
        Whether to write into another directory if a file that is not Narrows' is in the way.

    Yields
    ------
    pathlib.Path
        The folder to write into.

    Raises
    ------
    InputError
        If the directory cannot be created, or may not be used.
    RunError
        If writing failed, for example because the disk is full.
    """
    held = target if isinstance(target, Claim) else claim(target)
    made: list[Path] = []
    try:
        made = _make_parents(held.directory.parent)
        staging = Staging.make(held.directory)
    except OSError as error:
        _remove_empty(made)
        kind = RunError if error.errno in FULL else InputError
        message = f"{held.named}: cannot be written: {error.strerror or error}"
        raise kind(message) from None
    try:
        yield staging.content
        place.put(staging, held.directory, held.kind, part, alone=alone)
        staging.discard()
    except BlockedError as error:
        if rescue:
            raise _rescued(staging, held, error) from None
        staging.discard()
        message = f"{held.directory / error.name}: was not written by Narrows and is kept; allowed: move it away"
        raise InputError(message) from None
    except OSError as error:
        _give_up(staging, held, made)
        message = f"{held.named}: {part} cannot be written: {error.strerror or error}; the previous files are unchanged"
        raise RunError(message) from error
    except BaseException:
        _give_up(staging, held, made)
        raise


def _give_up(staging: Staging, held: Claim, made: list[Path]) -> None:
    """Remove the collected files. If putting them in place has begun, old files are partly gone: then finish it."""
    if _has_begun(staging, held.directory):
        with suppress(OSError, BlockedError):
            place.finish(staging, held.directory)
        if _has_begun(staging, held.directory):
            staging.release()
            return
    staging.discard()
    _remove_empty(made)


def _has_begun(staging: Staging, directory: Path) -> bool:
    known = manifest.read(directory)
    if known is None or known.staging is None:
        return False
    return Path(os.path.normpath(directory / known.staging)) == staging.folder


def _rescued(staging: Staging, held: Claim, error: BlockedError) -> RunError:
    """Save results in another directory if their own place was taken while they were made."""
    number = 2
    while os.path.lexists(held.directory.with_name(f"{held.directory.name}-{number}")):
        number += 1
    other = held.directory.with_name(f"{held.directory.name}-{number}")
    message = f"{held.named}: {error.name} was not written by Narrows and is kept; "
    try:
        place.put(staging, other, held.kind, RESULTS, alone=True)
    except (OSError, BlockedError) as failure:
        staging.release()
        return RunError(f"{message}what was to be written lies in {staging.content} ({failure})")
    staging.discard()
    return RunError(f"{message}what was to be written is in {other}")


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
            f"{path}: was not written by Narrows, or has been changed since, and is left as it is; "
            "allowed: another name, or move it away"
        )
        raise InputError(message)


@contextmanager
def adding(directory: str | PathLike[str], part: str) -> Iterator[Path]:
    """Add files to a directory that may hold anything; they replace the earlier files of the same part.

    Parameters
    ----------
    directory : path
        An existing directory.
    part : str

    Yields
    ------
    pathlib.Path
        The folder to write into.

    Raises
    ------
    InputError
        If a file that is not Narrows' has the name of a new file; nothing is changed then.
    RunError
        If writing failed.
    """
    wanted = Path(directory).absolute()
    known = found(wanted)
    sweep_up(wanted)
    held = Claim(wanted, str(directory), PAGES if known is None else known.kind, force=True)
    with staged(held, part=part, alone=False, rescue=False) as folder:
        yield folder


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


def found(directory: str | PathLike[str]) -> Manifest | None:
    """Read the list of a directory that the command only reads.

    Parameters
    ----------
    directory : path

    Returns
    -------
    Manifest or None

    Raises
    ------
    InputError
        If the work of a killed command there cannot be finished.
    """
    root = Path(directory)
    try:
        return settle(root)
    except OSError as error:
        message = (
            f"{directory}: was left unfinished by a killed command and cannot be written: {error.strerror or error}"
        )
        raise InputError(message) from None


def _is_empty_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.lstat().st_size == 0


def _make_parents(parent: Path) -> list[Path]:
    """Create a directory and its missing parents; return the created ones, the innermost last."""
    missing = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError:
        _remove_empty(made)
        raise
    return made


def _remove_empty(made: list[Path]) -> None:
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()
