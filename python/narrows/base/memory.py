"""How much more memory this process may take, how much of it samples may take, and where further samples go."""

from __future__ import annotations

import functools
import os
import re
import resource
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARE: Final = 0.75
"""Share of the free memory that may be taken by default."""

_SAMPLES: Final = 0.25
"""Share of the allowed memory that packed samples may take; further samples go to a temporary file."""

_MOST_SAMPLES: Final = 10**9
"""Bytes of samples above which a file is as good as memory."""

_LEAST: Final = 64_000_000
"""Estimates up to this many bytes are never refused."""

_UNITS: Final = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class _State:
    """The memory limit of this process, and what follows from it."""

    most: int | None = None
    budget: _core.Budget | None = None
    directory: Path | None = None


def allow(most: int | str | None) -> None:
    """Set how much memory this process may take in all; by default three quarters of the free memory.

    Parameters
    ----------
    most : int, str or None
        Bytes, or a size such as ``"8 GB"``; ``None`` for the default.

    Raises
    ------
    InputError
        If it is not a size.
    """
    _State.most = size(most) if isinstance(most, str) else most
    _State.budget = None


def size(text: str) -> int:
    """Read a size.

    Parameters
    ----------
    text : str
        A number and a unit: B, kB, MB, GB or TB.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    InputError
        If it is not a size.

    Examples
    --------
    >>> size("8 GB"), size("500MB"), size("1.5 kB")
    (8000000000, 500000000, 1500)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]?B?)\s*", text)
    if match is None or match[2] not in _UNITS or float(match[1]) == 0:
        message = f"{text}: is not a size; allowed: a number and a unit (B, kB, MB, GB, TB), such as 8 GB"
        raise InputError(message)
    return int(float(match[1]) * _UNITS[match[2]])


def shown(nbytes: float) -> str:
    """Write a size.

    Parameters
    ----------
    nbytes : float

    Returns
    -------
    str

    Examples
    --------
    >>> shown(512), shown(25_300), shown(3.2e9)
    ('512 B', '25 kB', '3.2 GB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if nbytes < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.1f} {unit}" if nbytes < 10 and unit != "B" else f"{nbytes:.0f} {unit}"


def left() -> int:
    """Return the number of bytes that may still be taken.

    Returns
    -------
    int
        The limit of `allow` less what this process already has; without a limit, three quarters of the free memory.
        Free memory respects the system, the control group and the limits of the process (``ulimit -v``).
    """
    if _State.most is None:
        return int(SHARE * free())
    return max(0, min(_State.most - _resident(), free()))


def free() -> int:
    """Return the number of bytes that this process could get from the system now.

    Returns
    -------
    int
    """
    known = [_system(), *_control_groups()]
    for limit, taken in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            known.append(soft - _status(taken))
    return max(0, min(known))


def check(nbytes: float, what: str, allowed: str) -> None:
    """Refuse something that needs more memory than may be taken.

    Parameters
    ----------
    nbytes : float
        Estimate.
    what : str
        What needs the memory.
    allowed : str
        What to do instead.

    Raises
    ------
    InputError
        With the estimate and the bound.
    """
    most = max(left(), _LEAST)
    if nbytes > most:
        message = (
            f"{what}: takes about {shown(nbytes)} of memory, and {shown(most)} may be taken; allowed: {allowed}, "
            "or more memory (--max-memory)"
        )
        raise InputError(message)


def never_refused(nbytes: float) -> bool:
    """Whether `check` accepts an estimate however little memory is left.

    Parameters
    ----------
    nbytes : float
        Estimate.

    Returns
    -------
    bool
    """
    return nbytes <= _LEAST


def budget() -> _core.Budget:
    """Return the memory budget for samples, shared by all runs.

    Returns
    -------
    narrows._core.Budget
        The same one until `allow` is called again.
    """
    if _State.budget is None:
        _State.budget = _core.Budget(samples_bytes())
    return _State.budget


def samples_bytes() -> int:
    """Return the number of bytes that packed samples may take in memory.

    Returns
    -------
    int
    """
    return min(int(_SAMPLES * left()), _MOST_SAMPLES)


def spill_directory() -> Path:
    """Return the directory for samples that do not stay in memory.

    Returns
    -------
    pathlib.Path
        The directory of `spilling_into`, else ``$TMPDIR``, else ``/var/tmp``, which unlike ``/tmp`` is not in memory.
    """
    return disk_directory() if _State.directory is None else _State.directory


def disk_directory() -> Path:
    """Return a directory for temporary files that may be large.

    Returns
    -------
    pathlib.Path
        ``$TMPDIR``, else ``/var/tmp``, which unlike ``/tmp`` is not in memory.
    """
    usual = _usual() if "TMPDIR" not in os.environ else None
    return Path(tempfile.gettempdir()) if usual is None else usual


@functools.cache
def _usual() -> Path | None:
    usual = Path("/var/tmp")  # noqa: S108 - the file has no name there
    return usual if usual.is_dir() and os.access(usual, os.W_OK | os.X_OK) else None


@contextmanager
def spilling_into(directory: Path | None) -> Iterator[None]:
    """Write samples that do not stay in memory beside the results that they belong to.

    Parameters
    ----------
    directory : pathlib.Path or None
        On the disk of the results; ``None`` changes nothing.

    Yields
    ------
    None
    """
    before = _State.directory
    _State.directory = directory or before
    try:
        yield
    finally:
        _State.directory = before


def _resident() -> int:
    return _status("VmRSS")


def _status(key: str) -> int:
    """Read a field of /proc/self/status, in bytes; 0 if it is missing."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    return 0


def _system() -> int:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    # Other systems do not report free memory: take half of the physical memory.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _control_groups() -> list[int]:
    """Return what the limits of this process's control groups leave it (version 2, and memory of version 1)."""
    found = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "memory"):
                root = Path("/sys/fs/cgroup") / controllers
                names = (
                    ("memory.limit_in_bytes", "memory.usage_in_bytes")
                    if controllers
                    else ("memory.max", "memory.current")
                )
                group = root / path.lstrip("/")
                for folder in (group, *group.parents):
                    with suppress(OSError, ValueError):
                        most, used = (int((folder / name).read_text(encoding="ascii")) for name in names)
                        found.append(most - used + _reclaimable(folder))
                    if folder == root:
                        break
    return found


def _reclaimable(group: Path) -> int:
    """Return the bytes of cached files that count as used but are freed on demand."""
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            key, _, value = line.partition(" ")
            if key in ("inactive_file", "total_inactive_file"):
                return int(value)
    return 0
