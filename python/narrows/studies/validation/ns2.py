"""Running ns-2: the program, its environment, and a run that can be stopped at once."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError, RunError
from narrows.studies.validation.description import script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows import _core

_POLL_S: Final = 0.1

_LONGEST_S: Final = 600.0
"""Time after which a run is aborted, s."""


def environment(fill: int) -> dict[str, str]:
    """Return the environment under which glibc fills ns-2's fresh memory.

    ns-2.35 reads members of its agents before it initialises them. With a fixed fill, these reads always give the same
    values. glibc fills what `malloc` returns with the complement of ``MALLOC_PERTURB_``, but not what its thread cache
    returns, so the cache is turned off.

    Parameters
    ----------
    fill : int
        0 to 254; 255 would turn filling off.

    Returns
    -------
    dict
    """
    return os.environ | {"MALLOC_PERTURB_": str(fill ^ 0xFF), "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def find() -> str:
    """Find ns-2.

    Returns
    -------
    str
        Path of the program.

    Raises
    ------
    InputError
        If ns-2 is not installed.
    """
    found = shutil.which("ns") or shutil.which("ns2")
    if found is None:
        message = (
            "ns-2 is not installed; allowed: a program `ns` or `ns2` in the PATH, such as Debian's package ns2 brings"
        )
        raise InputError(message)
    return found


@functools.cache
def identity() -> str:
    """Return SHA-256 of ns-2's program and of the script that it runs.

    Returns
    -------
    str
        Hexadecimal.
    """
    digest = hashlib.sha256(Path(find()).read_bytes())
    digest.update(script().read_bytes())
    return digest.hexdigest()


def run(arguments: Sequence[str], fill: int, gauge: _core.Progress) -> str:
    """Run ``pair.tcl``.

    Parameters
    ----------
    arguments : sequence of str
        Of the script.
    fill : int
        Value of each byte of memory that ns-2 allocates.
    gauge : narrows._core.Progress
        Can stop the run.

    Returns
    -------
    str
        The line of JSON that the script printed.

    Raises
    ------
    RunError
        If it failed, or did not end in time.
    narrows._core.Stopped
        If it was stopped through the gauge.
    """
    command = [find(), str(script()), *arguments]
    begun = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(fill)
    ) as process:
        try:
            said = _said(process, command, begun, gauge)
        except BaseException:
            process.kill()
            raise
    begin = said.rfind('{"version"')
    if process.returncode != 0 or begin < 0:
        message = f"{' '.join(command)}: failed with exit code {process.returncode}: {said.strip()[-300:]}"
        raise RunError(message)
    return said[begin:]


def _said(process: subprocess.Popen[str], command: Sequence[str], begun: float, gauge: _core.Progress) -> str:
    """Return what a process wrote, looking at the gauge in short steps."""
    while True:
        gauge.check()
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_POLL_S)[1]
        if time.monotonic() - begun > _LONGEST_S:
            message = f"{' '.join(command)}: did not end within {_LONGEST_S:g} s"
            raise RunError(message)
