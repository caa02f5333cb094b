"""What a sweep may ask for without being asked back: runs, and room on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.errors import InputError, ScenarioError
from narrows.memory import shown as nbytes
from narrows.sweep.columns import kept_metrics
from narrows.sweep.store import SMALL_PARTS

if TYPE_CHECKING:
    from os import PathLike

    from narrows.sweep.plan import Sweep

__all__ = ["MAX_RUNS", "check_room", "check_runs", "free_bytes", "nbytes", "room"]

MAX_RUNS: Final = 100_000
"""Most runs of a sweep that was not said to be large."""

_FOOTER: Final = 220
"""Bytes that a part takes at most for each of its columns, beside its values (measured: 183 to 212)."""

_VALUE: Final = 0.7
"""Bytes that a value takes at most (measured: 0.2 to 0.7; most of a row's columns do not apply to it, and are null)."""

_FIXED: Final = 16
"""Columns that are no metrics."""


def room(sweep: Sweep, runs: int) -> int:
    """Bytes that the rows of runs take at most, parts that wait to be put together included.

    Parameters
    ----------
    sweep : Sweep
    runs : int
        How many are to be made.

    Returns
    -------
    int
    """
    width = _FIXED + len(sweep.columns) + len(kept_metrics(sweep.keep))
    rows = max((_rows(sweep, name) for name in sweep.bases), default=1)
    # Parts of one run each are put together by 64; everything is written once more at the end, before the rest goes.
    parts = min(runs, SMALL_PARTS) + runs // SMALL_PARTS + 1
    return int(parts * width * _FOOTER + 2 * runs * rows * width * _VALUE)


def check_runs(sweep: Sweep) -> None:
    """Refuse a sweep of more runs than anybody means by accident.

    Parameters
    ----------
    sweep : Sweep

    Raises
    ------
    InputError
        With how many there are, and what is allowed.
    """
    if len(sweep.runs) > MAX_RUNS:
        message = (
            f"{sweep.path}: has {len(sweep.points):,} points and {len(sweep.runs):,} runs; allowed: {MAX_RUNS:,} runs, "
            "or more with --large (in Python: large=True)"
        )
        raise InputError(message)


def check_room(sweep: Sweep, directory: str | PathLike[str], runs: int) -> None:
    """Refuse a sweep that the disk may not take.

    Parameters
    ----------
    sweep : Sweep
    directory : path
        Where it will be kept.
    runs : int
        How many are to be made.

    Raises
    ------
    InputError
        With how much it is, and what is allowed.
    """
    needed, free = room(sweep, runs), free_bytes(directory)
    if needed > free:
        message = (
            f"{directory}: {runs:,} runs take up to {nbytes(needed)}, and {nbytes(free)} are free; allowed: fewer "
            "runs, fewer metrics (keep), another disk, or --large (in Python: large=True)"
        )
        raise InputError(message)


def free_bytes(directory: str | PathLike[str]) -> int:
    """Room on the disk of a directory that need not exist yet.

    Parameters
    ----------
    directory : path

    Returns
    -------
    int
        Bytes.
    """
    path = Path(directory).absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def _rows(sweep: Sweep, name: str) -> int:
    """Rows of one run, by a point of this scenario that can be built; points hardly differ in them."""
    for index in range(min(len(sweep.points), 1000)):
        point = sweep.points[index]
        if point.base.name != name:
            continue
        try:
            resolved = point.scenario.resolved
        except ScenarioError:
            continue
        radio = sum(2 * len(channel["stations"]) + 2 for channel in resolved.get("wifi") or [])
        return 1 + len(resolved["flows"]) + 2 * len(resolved["links"]) + radio
    return 1
