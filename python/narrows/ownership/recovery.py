"""Finishing what killed commands left in a directory, and reading the list of a directory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.ownership import manifest, place
from narrows.ownership.place import BlockedError
from narrows.ownership.staging import Staging, has_owner

if TYPE_CHECKING:
    from os import PathLike

    from narrows.ownership.manifest import Manifest

_WAIT_S: Final = 10.0
"""Longest wait for another process that writes into the directory, s."""


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
                    f"{directory / error.name}: was not written by Narrows and blocks a result, which is kept in "
                    f"{staging.content}; allowed: move it away"
                )
                raise InputError(message) from None
            staging.discard()
        elif time.monotonic() > end:
            message = f"{directory}: another process is writing there; allowed: wait until it has ended"
            raise InputError(message)
        else:
            time.sleep(0.05)


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
