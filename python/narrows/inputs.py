"""Text that users hand in: from regular files, pipes and standard input, and not more than a bound."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from narrows import memory
from narrows.errors import InputError

if TYPE_CHECKING:
    from os import PathLike

MOST_BYTES: Final = 64_000_000
"""Most bytes of a file: a million flows, which is as many as there may be, each a table of its own, fit in."""

STANDARD_INPUT: Final = "-"
"""Stands for standard input where a file is asked for."""

_TREE: Final = 210
"""Bytes of memory that a byte of TOML takes at most while it is read (measured: 41 for flows, 207 for dotted keys)."""

_STANDARD_INPUTS: Final = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def text(path: str | PathLike[str], what: str) -> str:
    """Read a file of a user's.

    Parameters
    ----------
    path : path
        A regular file or a pipe, or ``-`` for standard input.
    what : str
        What it should be, for messages: ``a scenario in TOML``.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If it cannot be read, is no such file, is longer than 64 MB or than memory takes, or is no text in UTF-8.
    """
    try:
        raw = _read(path, what)
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path}: is not text in UTF-8 (byte {error.start}); allowed: {what}"
        raise InputError(message) from None
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}; allowed: {what}"
        raise InputError(message) from None


def _read(path: str | PathLike[str], what: str) -> bytes:
    name = os.fspath(path)
    if name == STANDARD_INPUT or name in _STANDARD_INPUTS:
        with open(sys.stdin.fileno(), "rb", closefd=False) as standard:
            return _bounded(standard, path, what)
    # Opened without waiting, so that what is no file is refused before anything is read of it.
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        message = f"{path}: is a directory; allowed: {what}"
        raise InputError(message)
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        message = f"{path}: is neither a regular file nor a pipe; allowed: {what}"
        raise InputError(message)
    with Path(path).open("rb") as file:
        return _bounded(file, path, what)


def _bounded(file: IO[bytes], path: str | PathLike[str], what: str) -> bytes:
    raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        message = f"{path}: is longer than {memory.shown(MOST_BYTES)}; allowed: {what} of at most that length"
        raise InputError(message)
    memory.check(
        _TREE * len(raw), f"{path}: reading its {memory.shown(len(raw))}", "a shorter file (copies, shorthands)"
    )
    return raw
