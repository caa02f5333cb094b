"""Obedience to commands: the changes of the congestion window under them, from the samples of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from narrows.outcome import Run

KINDS: Final = ("normal", "freeze", "fallback")
"""Commands, by the names of the senders' counters."""


@dataclass(frozen=True)
class Course:
    """Changes of a congestion window over a run, from sample to sample.

    Attributes
    ----------
    falls : int
        Number of decreases.
    frozen, grew : int
        Number of steps between samples under freeze, and how many of them are increases.
    free, grew_free : int
        The same under normal.
    """

    falls: int
    frozen: int
    grew: int
    free: int
    grew_free: int


def course(run: Run, flow: str) -> Course | None:
    """Return the changes of a flow's congestion window.

    Parameters
    ----------
    run : Run
    flow : str

    Returns
    -------
    Course or None
        `None` if the window was not sampled.
    """
    frame = run.samples.frame("flow")
    rows = frame[frame["name"].astype(str) == flow].sort_values("time_s", kind="stable")
    cwnd, *heard = (
        rows[column].to_numpy(dtype=np.float64, na_value=math.nan)
        for column in ("cwnd_bytes", *(f"commands_{kind}" for kind in KINDS))
    )
    known = np.isfinite(cwnd)
    return of(cwnd[known], np.vstack(heard)[:, known]) if known.any() else None


def of(cwnd: NDArray[np.float64], heard: NDArray[np.float64]) -> Course:
    """Return the changes of a sampled window.

    A command applies from when it is counted to the next one. A real sender's counters are read slightly before or
    after its window, so steps next to one in which a command arrived are left out, and so are steps after one in which
    two kinds of commands arrived.

    Parameters
    ----------
    cwnd : array
        At least one sample, in order of time.
    heard : array
        A row of counts at the same samples for each of `KINDS`; no value if nothing counts commands.

    Returns
    -------
    Course

    Examples
    --------
    >>> counts = np.array([[0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]], dtype=float)
    >>> of(np.array([1.0, 2.0, 2.0, 2.0, 3.0, 1.0]), counts)
    Course(falls=1, frozen=3, grew=1, free=0, grew_free=0)
    """
    steps = np.diff(cwnd)
    came = np.diff(heard, axis=1) > 0
    quiet = ~came.any(axis=0)
    beside = np.pad(quiet, 1, constant_values=True)
    apart = beside[:-2] & quiet & beside[2:]
    found = {kind: [0, 0] for kind in KINDS}
    ruling: str | None = None
    for index, step in enumerate(steps):
        kinds = [kind for kind, new in zip(KINDS, came[:, index], strict=True) if new]
        if kinds:
            ruling = kinds[0] if len(kinds) == 1 else None
        elif ruling is not None and apart[index]:
            found[ruling][0] += 1
            found[ruling][1] += int(step > 0)
    return Course(int(np.count_nonzero(steps < 0)), *found["freeze"], *found["normal"])


def courses(runs: Iterable[Run], flow: str) -> list[Course]:
    """Return the changes of a flow's window in each run in which it was sampled.

    Parameters
    ----------
    runs : iterable of Run
    flow : str

    Returns
    -------
    list of Course
    """
    return [found for run in runs if (found := course(run, flow)) is not None]
