"""Runs that are kept beside the output of a command until that is written, so that the same command continues there.

A page or a paper's reproduction is made of runs, and holds none of them. What has finished lies in a directory of its
own, ``NAME.runs`` beside the output, and is removed when the output is complete.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import ownership
from narrows.ownership.manifest import GROWING, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

SUFFIX = ".runs"


def beside(out: str | PathLike[str]) -> Path:
    """Return the directory of the runs of an output.

    Parameters
    ----------
    out : path
        A page or a directory.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> beside("docs/validation.md").as_posix(), beside("results/acns").as_posix()
    ('docs/validation.runs', 'results/acns.runs')
    """
    path = Path(out)
    return path.with_name((path.stem if path.suffix == ".md" else path.name) + SUFFIX)


@contextmanager
def kept(out: str | PathLike[str]) -> Iterator[ownership.Claim]:
    """Claim the directory of an output's runs, and remove it if the block succeeds.

    Parameters
    ----------
    out : path

    Yields
    ------
    Claim
        For a store.

    Raises
    ------
    InputError
        If the directory holds something else.
    """
    held = ownership.claim(beside(out), kind=ownership.UNFINISHED)
    missing = [parent for parent in held.directory.parents if not parent.exists()]
    try:
        yield held
    except BaseException:
        held.withdraw()
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()  # only where it is empty again
        raise
    _discard(held)


@contextmanager
def lasting(out: str | PathLike[str]) -> Iterator[ownership.Claim]:
    """Claim the directory of an output's runs, and keep it, so that a repeat makes only runs that have changed.

    Parameters
    ----------
    out : path

    Yields
    ------
    Claim
        For a store.

    Raises
    ------
    InputError
        If the directory holds something else.
    """
    held = ownership.claim(beside(out), kind=ownership.UNFINISHED)
    try:
        yield held
    finally:
        held.withdraw()  # only where it is empty


def _discard(held: ownership.Claim) -> None:
    """Remove the runs of a complete output; a file that Narrows did not write, and then the directory, stay."""
    ours = GROWING[ownership.UNFINISHED]
    with suppress(OSError):
        for path in held.directory.iterdir():
            if path.name == MANIFEST or (ours.fullmatch(path.name) and path.is_file() and not path.is_symlink()):
                path.unlink()
        held.directory.rmdir()
