"""Writing into a claimed directory: all files of a step appear together, or none do."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError, RunError
from narrows.ownership import manifest, place
from narrows.ownership.claim import Claim, Target, claim
from narrows.ownership.manifest import PAGES, RESULTS
from narrows.ownership.place import BlockedError
from narrows.ownership.recovery import found
from narrows.ownership.staging import Staging, sweep_up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

FULL: Final = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of an exhausted quota."""


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
        return RunError(f"{message}the new results are in {staging.content} ({failure})")
    staging.discard()
    return RunError(f"{message}the new results are in {other}")


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
