"""Removing what Narrows wrote into a directory, and nothing else."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from narrows.base import durable
from narrows.ownership import manifest
from narrows.ownership.manifest import MANIFEST
from narrows.ownership.place import locked

if TYPE_CHECKING:
    from os import PathLike


def remove(directory: str | PathLike[str], first: str) -> list[str]:
    """Remove the listed files of a directory, its list, and the folders that are empty then.

    Parameters
    ----------
    directory : path
    first : str
        File that is removed before all others. Without it, a later call finds that a killed one has begun.

    Returns
    -------
    list of str
        What is left, relative to the directory: files that Narrows did not write, or that have changed since.

    Raises
    ------
    OSError
        If the directory cannot be written.
    """
    root = Path(directory)
    with locked(root):
        known = manifest.read(root)
        if known is not None:
            listed = known.files | known.incoming
            for name in sorted(listed, key=lambda one: one != first):
                if listed[name].describes(root / name):
                    (root / name).unlink()
                    if name == first:
                        durable.sync(root)
            (root / MANIFEST).unlink()
            folders = {parent for name in listed for parent in PurePosixPath(name).parents}
            for folder in sorted(folders, key=lambda one: -len(one.parts)):
                with suppress(OSError):
                    (root / folder).rmdir()
    return manifest.foreign(root, None) if root.exists() else []
