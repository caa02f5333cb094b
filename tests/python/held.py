"""Commands that wait between two runs until a file exists, so that no signal comes too late on a fast machine."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_HOLD: Final = """
import os, threading, time
from narrows.runs import simulated

def wrapped(converted, turn, begun):
    def held(task, gauge, convert):
        with turn:
            begun.append(task)
            waits = len(begun) > {free}
        while waits and not os.path.exists({gate!r}):
            gauge.check()
            time.sleep(0.01)
        return converted(task, gauge, convert)

    return held

if simulated.converted.__name__ != "held":  # Dask imports what it preloads twice
    simulated.converted = wrapped(simulated.converted, threading.Lock(), [])
"""


def hold(free: int, gate: Path) -> str:
    """Return a program that lets a process make so many runs; others wait for the file, and can be stopped."""
    return _HOLD.format(free=free, gate=str(gate))


def narrows(free: int, gate: Path) -> list[str]:
    """Return the start of a `narrows` command that makes so many runs; others wait for the file."""
    return [sys.executable, "-c", hold(free, gate) + "from narrows.cli import main; main()"]


@contextmanager
def started(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a command with pipes for what it prints; it does not outlive the block, whatever fails there."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env, cwd=cwd) as process:
        try:
            yield process
        finally:
            process.kill()
