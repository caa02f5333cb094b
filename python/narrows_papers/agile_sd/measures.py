"""What is computed of a run while its samples are there, and kept beside its metrics.

This file alone is part of the content address of runs: with another one they are made again. So nothing else stands
here.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from narrows.metrics import jains_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from narrows.outcome import Run

SEGMENT_BYTES = 960
"""Payload of a packet of 1000 bytes: what the paper's figures call a packet."""

REACHED = 1500
"""Packets: the window of a full path, 1 Gb/s for 12 ms; the maximum that the paper's figure 10(a) shows."""

SHORTEST_S = 1.0
"""A time with the same flows that is shorter than this says nothing of how they share."""


def of_run(run: Run) -> dict[str, float | None]:
    """Window of the first flow, and fairness while flows share.

    Parameters
    ----------
    run : Run
        With samples.

    Returns
    -------
    dict
        ``reached_s``, time when cwnd of the first flow was first `REACHED` packets, s, or none; ``peak_packets`` and
        ``median_packets`` of its cwnd; ``shared_jain``, Jain's index of what flows got in each stretch of time with the
        same flows, two or more, as a mean over time, or none.
    """
    times, window = cwnd(run)
    reached = np.flatnonzero(window >= REACHED)
    return {
        "reached_s": float(times[reached[0]]) if reached.size else None,
        "peak_packets": float(window.max()) if window.size else None,
        "median_packets": float(np.median(window)) if window.size else None,
        "shared_jain": shared_jain(run),
    }


def with_trace(run: Run) -> dict[str, float | None]:
    """The same, and cwnd of the first flow at every sample: a column ``cwnd_at_T`` for each time, in packets."""
    times, window = cwnd(run)
    return of_run(run) | {f"cwnd_at_{at:.1f}": float(value) for at, value in zip(times, window, strict=True)}


def cwnd(run: Run) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, s, and cwnd, packets, of the first flow while it is there."""
    times, values = _series(run, run.flows[0].name, "cwnd_bytes")
    there = np.isfinite(values)
    return times[there], values[there] / SEGMENT_BYTES


def shared_jain(run: Run) -> float | None:
    """Jain's index over the flows of each stretch with the same two or more of them, weighted by its length."""
    ends = {flow.name: (flow.start_s, flow.start_s + flow.active_s) for flow in run.flows}
    changes = sorted({time for both in ends.values() for time in both})
    arrived = {name: _series(run, name, "arrived_bytes") for name in ends}
    weighted: list[tuple[float, float]] = []
    for begin, end in itertools.pairwise(changes):
        there = [name for name, (start, stop) in ends.items() if start <= begin and stop >= end]
        if len(there) < 2 or end - begin < SHORTEST_S:
            continue
        got = [_between(*arrived[name], begin, end) for name in there]
        index = jains_index(got)
        if index is not None:
            weighted.append((index, end - begin))
    whole = sum(length for _, length in weighted)
    return sum(index * length for index, length in weighted) / whole if whole > 0 else None


def _series(run: Run, name: str, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    frame = run.samples.frame("flow")
    rows = frame[frame["name"].astype(str) == name]
    return rows["time_s"].to_numpy(dtype=np.float64), rows[column].to_numpy(dtype=np.float64)


def _between(times: NDArray[np.float64], total: NDArray[np.float64], begin: float, end: float) -> float:
    """Growth of a running total from one time to another."""
    there = np.isfinite(total)
    low, high = np.interp([begin, end], times[there], total[there], left=0.0)
    return float(high - low)
