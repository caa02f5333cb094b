"""Text input of users: from regular files, pipes and standard input, up to a bounded size."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from narrows.base import memory
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from os import PathLike

MOST_BYTES: Final = 64_000_000
"""Largest size of a file, bytes. A million flows (the most allowed), each a table of its own, fit in."""

STANDARD_INPUT: Final = "-"
"""Stands for standard input in place of a file name."""

_TREE: Final = 210
"""Most bytes of memory that one byte of TOML takes while it is read (measured: 41 for flows, 207 for dotted keys)."""

_STANDARD_INPUTS: Final = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def text(path: str | PathLike[str], what: str) -> str:
    """Read a text file of the user's.

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
        If it cannot be read, is neither a file nor a pipe, exceeds 64 MB or the available memory, or is not UTF-8 text.
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
    # Checked before the file is opened, so that nothing is read from something that is neither a file nor a pipe.
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
