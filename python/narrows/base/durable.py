"""Files that survive a power loss, and locks that the system releases when a process is killed."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def sync(path: Path) -> None:
    """Force a file, or the entries of a directory, to disk.

    Parameters
    ----------
    path : pathlib.Path

    Raises
    ------
    OSError
        If the system cannot.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write(path: Path, content: bytes | memoryview) -> None:
    """Write a file as `writing` does.

    Parameters
    ----------
    path : pathlib.Path
        Replaced if it exists.
    content : bytes

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    with writing(path) as file:
        view = memoryview(content).cast("B")
        while view:
            view = view[os.write(file.fileno(), view) :]


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all, and survives a power loss once the block has ended.

    The content is written to a temporary name in the same directory and forced to disk before it is renamed. Then the
    directory is forced to disk too, so that the new name is not lost.

    Parameters
    ----------
    path : pathlib.Path
        Replaced if it exists.

    Yields
    ------
    file
        Open for writing.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync(path.parent)


def locked(file: IO[bytes]) -> bool:
    """Take a lock on an open file; the system releases it when the process ends, however it ends.

    Parameters
    ----------
    file : file
        Keep it open as long as the lock must hold.

    Returns
    -------
    bool
        False if another process has it. True also where the system or the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # not a Unix: concurrent writers of one directory are not prevented there
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def wait_for(descriptor: int) -> None:
    """Take a lock on an open file or directory, waiting for the process that holds it.

    Parameters
    ----------
    descriptor : int
        Closing it releases the lock.
    """
    try:
        import fcntl
    except ImportError:
        return
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
