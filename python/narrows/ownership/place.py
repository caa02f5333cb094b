"""Putting collected files in place so that a command killed at any moment leaves the old files or the new ones.

1. The list of the directory is replaced by one that has the old and the new files, and names the staging folder.
2. Each new file is renamed to its place. An existing file there that is not on the list stops this, and stays.
3. Old files without a successor are removed, then the list is replaced by one of the new files alone.

From the first step on, any process that opens the directory can do the rest (`finish`).
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from narrows.base import durable
from narrows.ownership import manifest
from narrows.ownership.manifest import MANIFEST, Manifest
from narrows.ownership.staging import LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.ownership.staging import Staging


class BlockedError(Exception):
    """Something that is not Narrows' exists where a file must be put.

    Parameters
    ----------
    name : str
        Relative to the directory.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def put(staging: Staging, directory: Path, kind: str, part: str, *, alone: bool) -> None:
    """Put the collected files into a directory, and list them there.

    Parameters
    ----------
    staging : Staging
    directory : pathlib.Path
        Created if it is missing; then it appears with all files at once.
    kind : str
        Kind of the directory, if it has no list yet.
    part : str
        Part that the files belong to.
    alone : bool
        Whether to remove all earlier files, not only those of the part.

    Raises
    ------
    BlockedError
        If something that is not Narrows' is in the way. Nothing was replaced if it was there before the call. If it
        appeared during the call, some files may have been replaced already.
    OSError
        If the file system refuses.
    """
    _sync_tree(staging.content)
    incoming = manifest.describe(staging.content, part)
    if not directory.exists():
        durable.write(staging.content / MANIFEST, Manifest(kind, incoming).dumps().encode())
        try:
            staging.content.rename(directory)
        except OSError as error:
            (staging.content / MANIFEST).unlink()
            if error.errno not in {errno.EEXIST, errno.ENOTEMPTY}:  # else another process created it meanwhile
                raise
        else:
            durable.sync(directory.parent)
            return
    with locked(directory):
        known = manifest.read(directory) or Manifest(kind)
        begun = replace(
            known, incoming=incoming, staging=os.path.relpath(staging.folder, directory), part=None if alone else part
        )
        _check(directory, begun)
        _list(staging, directory, begun)
        _carry_out(staging, directory, begun)


def finish(staging: Staging, directory: Path) -> None:
    """Finish putting files in place for a killed command.

    Parameters
    ----------
    staging : Staging
        Its folder, already taken over.
    directory : pathlib.Path

    Raises
    ------
    BlockedError, OSError
        As for `put`.
    """
    with locked(directory):
        begun = manifest.read(directory)
        if begun is not None and begun.staging is not None:
            _check(directory, begun, staging)
            _carry_out(staging, directory, begun)


def forget(directory: Path, known: Manifest) -> None:
    """Abandon the work of a killed command whose staging folder is gone: list the old and new files that exist.

    Parameters
    ----------
    directory : pathlib.Path
    known : Manifest
        Its list.

    Raises
    ------
    OSError
        If the list cannot be written.
    """
    there = {
        name: entry
        for listed in (known.files, known.incoming)
        for name, entry in listed.items()
        if entry.describes(directory / name)
    }
    durable.write(directory / MANIFEST, Manifest(known.kind, there).dumps().encode())


def _check(directory: Path, begun: Manifest, staging: Staging | None = None) -> None:
    for name in begun.incoming:
        if staging is None or os.path.lexists(staging.content / name):
            _may_replace(directory, begun, name)


def _may_replace(directory: Path, begun: Manifest, name: str) -> None:
    for parent in list(PurePosixPath(name).parents)[:-1]:
        folder = directory / parent
        if folder.is_symlink() or (os.path.lexists(folder) and not folder.is_dir()):
            raise BlockedError(str(parent))
    if os.path.lexists(directory / name) and not begun.owns(directory, name):
        raise BlockedError(name)


def _carry_out(staging: Staging, directory: Path, begun: Manifest) -> None:
    folders = {directory}
    for name in begun.incoming:
        source, target = staging.content / name, directory / name
        if os.path.lexists(source):
            _may_replace(directory, begun, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
            folders.update(directory / parent for parent in PurePosixPath(name).parents)
    gone = [
        name
        for name, entry in begun.files.items()
        if name not in begun.incoming and begun.part in {None, entry.part} and entry.describes(directory / name)
    ]
    for name in gone:
        (directory / name).unlink()
    _remove_empty(directory, gone)
    for folder in folders:
        with suppress(FileNotFoundError):
            durable.sync(folder)
    # Files that the user has changed meanwhile stay, but leave the list.
    kept = {
        name: entry
        for name, entry in begun.files.items()
        if name not in begun.incoming and begun.part not in {None, entry.part}
    }
    _list(staging, directory, Manifest(begun.kind, kept | begun.incoming))


def _list(staging: Staging, directory: Path, made: Manifest) -> None:
    """Replace the list through the staging folder, so that a kill leaves no other file in the directory."""
    path = staging.folder / LIST
    path.write_bytes(made.dumps().encode())
    durable.sync(path)
    path.replace(directory / MANIFEST)
    durable.sync(directory)


def _remove_empty(directory: Path, gone: list[str]) -> None:
    folders = {parent for name in gone for parent in PurePosixPath(name).parents} - {PurePosixPath(".")}
    for folder in sorted(folders, key=lambda one: -len(one.parts)):
        with suppress(OSError):
            (directory / folder).rmdir()


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Let one process at a time put files into a directory, or remove them.

    Parameters
    ----------
    directory : pathlib.Path
    """
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        durable.wait_for(descriptor)
        yield
    finally:
        os.close(descriptor)


def _sync_tree(root: Path) -> None:
    for folder, _, files in os.walk(root, topdown=False):
        for name in files:
            durable.sync(Path(folder) / name)
        durable.sync(Path(folder))
