"""Limits of a sweep that apply unless the user lifts them: number of runs, and disk space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError, ScenarioError
from narrows.base.memory import shown as nbytes
from narrows.runs.estimate import free_bytes
from narrows.studies.sweep.columns import kept_metrics
from narrows.studies.sweep.store import SMALL_PARTS

if TYPE_CHECKING:
    from os import PathLike

    from narrows.studies.sweep.plan import Sweep

__all__ = ["MAX_RUNS", "check_room", "check_runs", "free_bytes", "nbytes", "room"]

MAX_RUNS: Final = 100_000
"""Largest number of runs of a sweep that is not declared large."""

_FOOTER: Final = 220
"""Upper bound of the bytes of metadata per column in a part (measured: 183 to 212)."""

_VALUE: Final = 0.7
"""Upper bound of the bytes per value (measured: 0.2 to 0.7; most columns do not apply to a row, and are null there)."""

_FIXED: Final = 16
"""Number of columns that are not metrics."""


def room(sweep: Sweep, runs: int) -> int:
    """Upper bound of the bytes that the rows of runs take on disk, including parts that wait to be merged.

    Parameters
    ----------
    sweep : Sweep
    runs : int
        Number of runs to execute.

    Returns
    -------
    int
    """
    width = _FIXED + len(sweep.columns) + len(kept_metrics(sweep.keep))
    rows = max((_rows(sweep, name) for name in sweep.bases), default=1)
    # Every 64 parts of one run are merged. At the end everything is written once more before the old parts are removed.
    parts = min(runs, SMALL_PARTS) + runs // SMALL_PARTS + 1
    return int(parts * width * _FOOTER + 2 * runs * rows * width * _VALUE)


def check_runs(sweep: Sweep) -> None:
    """Refuse a sweep of so many runs that it is likely a mistake.

    Parameters
    ----------
    sweep : Sweep

    Raises
    ------
    InputError
        States the number of runs and what is allowed.
    """
    if len(sweep.runs) > MAX_RUNS:
        message = (
            f"{sweep.path}: has {len(sweep.points):,} points and {len(sweep.runs):,} runs; allowed: {MAX_RUNS:,} runs, "
            "or more with --large (in Python: large=True)"
        )
        raise InputError(message)


def check_room(sweep: Sweep, directory: str | PathLike[str], runs: int) -> None:
    """Refuse a sweep that may not fit on the disk.

    Parameters
    ----------
    sweep : Sweep
    directory : path
        Directory of the sweep.
    runs : int
        Number of runs to execute.

    Raises
    ------
    InputError
        States the required space and what is allowed.
    """
    needed, free = room(sweep, runs), free_bytes(directory)
    if needed > free:
        message = (
            f"{directory}: {runs:,} runs take up to {nbytes(needed)}, and {nbytes(free)} are free; allowed: fewer "
            "runs, fewer metrics (keep), another disk, or --large (in Python: large=True)"
        )
        raise InputError(message)


def _rows(sweep: Sweep, name: str) -> int:
    """Rows of one run, from the first valid point of this scenario; the number hardly differs between points."""
    for index in range(min(len(sweep.points), 1000)):
        point = sweep.points[index]
        if point.base.name != name:
            continue
        try:
            resolved = point.scenario.resolved
        except ScenarioError:
            continue
        radio = sum(2 * len(channel.stations) + 2 for channel in resolved.wifi)
        return 1 + len(resolved.flows) + 2 * len(resolved.links) + radio
    return 1
