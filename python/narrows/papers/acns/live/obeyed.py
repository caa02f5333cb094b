"""Whether commands are obeyed: how many came, and what the congestion window did, from the samples of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from narrows.outcome import Run


@dataclass(frozen=True)
class Course:
    """What a window did over a run.

    Attributes
    ----------
    falls : int
        How often a sample is below the one before.
    still_s : float
        Longest time for which it stood still, s.
    """

    falls: int
    still_s: float


def course(run: Run, flow: str) -> Course | None:
    """The course of a flow's congestion window.

    Parameters
    ----------
    run : Run
    flow : str

    Returns
    -------
    Course or None
        `None` where it was not sampled.
    """
    frame = run.samples.frame("flow")
    rows = frame[frame["name"].astype(str) == flow].sort_values("time_s", kind="stable")
    cwnd = rows["cwnd_bytes"].to_numpy(dtype=np.float64, na_value=math.nan)
    known = np.isfinite(cwnd)
    return of(rows["time_s"].to_numpy(dtype=np.float64)[known], cwnd[known]) if known.any() else None


def of(time_s: NDArray[np.float64], cwnd: NDArray[np.float64]) -> Course:
    """The course of a window that was sampled.

    Parameters
    ----------
    time_s, cwnd : array
        At least one sample, in order of time.

    Returns
    -------
    Course

    Examples
    --------
    >>> of(np.array([0.0, 1.0, 2.0, 5.0, 6.0]), np.array([1.0, 2.0, 2.0, 2.0, 1.0]))
    Course(falls=1, still_s=5.0)
    """
    steps = np.diff(cwnd)
    changes = np.flatnonzero(steps) + 1
    # A value holds until the sample at which another is seen, or until the last sample.
    begins = time_s[np.concatenate(([0], changes))]
    ends = time_s[np.concatenate((changes, [cwnd.size - 1]))]
    return Course(int(np.count_nonzero(steps < 0)), float((ends - begins).max()))


def courses(runs: Iterable[Run], flow: str) -> list[Course]:
    """The courses of a flow's window in those runs in which it was sampled.

    Parameters
    ----------
    runs : iterable of Run
    flow : str

    Returns
    -------
    list of Course
    """
    return [found for run in runs if (found := course(run, flow)) is not None]
