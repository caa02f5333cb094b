"""Files that are there after a power loss, and locks that a killed process gives back."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
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
    """Write a file that appears whole or not at all, and stays whatever happens after this has returned.

    The content goes to a temporary name in the same directory and is forced to disk before it gets its own name; then
    the directory is forced to disk, for a name that is not there is a file that is not there.

    Parameters
    ----------
    path : pathlib.Path
        Replaced if there is one.
    content : bytes

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            view = memoryview(content).cast("B")
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync(path.parent)


def locked(file: IO[bytes]) -> bool:
    """Take a lock on an open file; the system gives it back when the process ends, however it ends.

    Parameters
    ----------
    file : file
        Kept open as long as the lock shall hold.

    Returns
    -------
    bool
        False if another process has it. True too where the system or its file system knows no locks.
    """
    try:
        import fcntl
    except ImportError:  # not a Unix: whoever writes twice into one directory there gets what he asks for
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def wait_for(descriptor: int) -> None:
    """Take a lock on an open file or directory, and wait for the process that has it.

    Parameters
    ----------
    descriptor : int
        The lock ends when it is closed.
    """
    try:
        import fcntl
    except ImportError:
        return
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
