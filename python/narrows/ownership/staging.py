"""Hidden folders in which commands collect their output, and how to tell live folders from those of killed commands.

A folder holds ``owner.json``, which is locked as long as its process lives, and ``content/``. The name alone proves
nothing: a folder without ``owner.json`` is not Narrows'.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from narrows.base import durable

OWNER: Final = "owner.json"
CONTENT: Final = "content"
LIST: Final = "list.json"
"""File in which a list is written before it replaces that of the directory."""

_INSIDE: Final = re.compile(r"\.narrows\.[0-9a-f]{8}\.partial")
_WHAT: Final = "narrows staging"
_OPEN: Final[set[Path]] = set()
"""Folders that this process has open; needed on file systems without locks."""
_YOUNG_S: Final = 10.0
"""How long a folder without an owner may belong to a process that is just creating it, s."""


class Staging:
    """A staging folder of this process.

    Parameters
    ----------
    folder : pathlib.Path
    file : file
        ``owner.json``, open and locked.
    """

    def __init__(self, folder: Path, file: IO[bytes]) -> None:
        self.folder = folder
        self._file = file
        _OPEN.add(folder)

    @classmethod
    def make(cls, directory: Path) -> Self:
        """Create a staging folder for a directory: inside it, or beside it if the directory does not exist yet.

        Parameters
        ----------
        directory : pathlib.Path
            Its parent exists.

        Returns
        -------
        Staging

        Raises
        ------
        OSError
            If it cannot be created; nothing is left behind.
        """
        inside = directory.is_dir()
        where, name = (directory, "narrows") if inside else (directory.parent, directory.name)
        folder = where / f".{name}.{secrets.token_hex(4)}.partial"
        folder.mkdir()
        try:
            file = (folder / OWNER).open("xb", buffering=0)
        except OSError:
            folder.rmdir()
            raise
        durable.locked(file)
        made = cls(folder, file)
        try:
            file.write(json.dumps(_identity(directory.name), indent=1).encode() + b"\n")
            made.content.mkdir()
        except BaseException:
            made.discard()
            raise
        return made

    @classmethod
    def seize(cls, folder: Path) -> Self | None:
        """Take over the staging folder of a process that has ended.

        Parameters
        ----------
        folder : pathlib.Path

        Returns
        -------
        Staging or None
            ``None`` if it is not a staging folder, or its process lives.
        """
        try:
            if folder.is_symlink() or (folder / OWNER).is_symlink():
                return None
            file = (folder / OWNER).open("rb", buffering=0)
        except OSError:
            return None
        try:
            owner = json.loads(file.read())
            dead = owner["what"] == _WHAT and durable.locked(file) and not _lives(folder, owner)
        except (OSError, ValueError, KeyError, TypeError):
            dead = False
        if dead:
            return cls(folder, file)
        file.close()
        return None

    @property
    def content(self) -> Path:
        """The folder that collects the files."""
        return self.folder / CONTENT

    def discard(self) -> None:
        """Remove the folder, except for files that this module did not put there."""
        shutil.rmtree(self.content, ignore_errors=True)
        for name in (LIST, OWNER):
            with suppress(OSError):
                (self.folder / name).unlink()
        with suppress(OSError):
            self.folder.rmdir()
        self.release()

    def release(self) -> None:
        """Release the lock, and keep the folder."""
        _OPEN.discard(self.folder)
        with suppress(OSError):
            self._file.close()


def inside(directory: Path) -> list[Path]:
    """List the folders in a directory whose names are those of staging folders.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    list of Path
    """
    return _matching(directory, _INSIDE)


def is_one(folder: Path) -> bool:
    """Return whether a folder is a staging folder, of a live process or a dead one.

    Parameters
    ----------
    folder : pathlib.Path

    Returns
    -------
    bool
    """
    return has_owner(folder) or _unfinished(folder)


def has_owner(folder: Path) -> bool:
    """Return whether a folder declares itself a staging folder.

    Parameters
    ----------
    folder : pathlib.Path

    Returns
    -------
    bool
    """
    try:
        if folder.is_symlink() or (folder / OWNER).is_symlink():
            return False
        return bool(json.loads((folder / OWNER).read_bytes())["what"] == _WHAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def sweep_up(directory: Path) -> None:
    """Remove the staging folders that killed commands left for a directory.

    Parameters
    ----------
    directory : pathlib.Path
        Need not exist.
    """
    beside = re.compile(rf"\.{re.escape(directory.name)}\.[0-9a-f]{{8}}\.partial")
    for folder in [*inside(directory), *_matching(directory.parent, beside)]:
        found = Staging.seize(folder)
        if found is not None:
            found.discard()
        elif _unfinished(folder) and time.time() - folder.lstat().st_mtime > _YOUNG_S:
            with suppress(OSError):
                (folder / OWNER).unlink(missing_ok=True)
                folder.rmdir()


def _matching(where: Path, pattern: re.Pattern[str]) -> list[Path]:
    try:
        return sorted(path for path in where.iterdir() if pattern.fullmatch(path.name) and not path.is_symlink())
    except OSError:
        return []


def _unfinished(folder: Path) -> bool:
    """Return whether a folder is empty or holds only an empty ``owner.json``: its process was killed creating it."""
    try:
        there = list(folder.iterdir())
        return all(path.name == OWNER and not path.is_symlink() and path.lstat().st_size == 0 for path in there)
    except OSError:
        return False


def _identity(name: str) -> dict[str, Any]:
    return {
        "what": _WHAT,
        "directory": name,
        "host": platform.node(),
        "boot": _boot(),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
    }


def _lives(folder: Path, owner: dict[str, Any]) -> bool:
    """Return whether the owner of a folder lives, as far as this host can tell; file systems may have no locks."""
    if owner["host"] != platform.node():
        return True
    if owner["boot"] != _boot():
        return False
    if owner["pid"] == os.getpid():
        return folder in _OPEN
    started = _started(int(owner["pid"]))
    return started is not None and started == owner["started"]


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _started(pid: int) -> str | None:
    """Return a process's start time as the kernel gives it; ``None`` without such a process or without ``/proc``."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        state, started = fields[0], fields[19]
    except (OSError, IndexError):
        return None
    return None if state in "ZX" else started
