"""The transmission window over time (the paper's section 3.1): flows join every 15 s, two leave at 120 s.

The transmission window is the sender's min(cwnd, rwnd) of the flow that lasts from beginning to end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from narrows.runs.simulated import Task
from narrows_papers.ngwa.arms import BY_NAME, DIVIDED, scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.scenario import Override
    from narrows.outcome import Run

Array = NDArray[np.float64]

ARMS: tuple[str, ...] = ("newreno", *DIVIDED)
"""Arms in the paper's figure 3."""

OVERRIDES: dict[str, Override] = {
    "duration": "180 s",
    "sampling": "100 ms",
    "start_jitter": "0 s",
    "flows[1].start": "15 s",
    "flows[2].start": "30 s",
    "flows[3].start": "45 s",
    "flows[2].stop": "120 s",
    "flows[3].stop": "120 s",
}
"""Overrides of the scenario for this experiment: starts and stops of flows, 3 minutes, finer samples."""

MARKS = (15.0, 30.0, 45.0, 120.0)
"""Times at which flows join, and at which two leave, s."""

STAGES: dict[str, tuple[int, float, float]] = {
    "one": (1, 5.0, 15.0),
    "two": (2, 20.0, 30.0),
    "three": (3, 35.0, 45.0),
    "four": (4, 60.0, 120.0),
    "two-again": (2, 140.0, 180.0),
}
"""Number of active flows, and the time range of the level: after the window settles, before the next change, s."""


@dataclass(frozen=True)
class Window:
    """The transmission window of one arm over time.

    Attributes
    ----------
    time_s, value : array
        Times of the samples, s; min(cwnd, rwnd), bytes.
    lost : float
        Packets that all flows of the run lost, including losses at joins and leaves.
    digest : str
        Digest of the run.
    """

    time_s: Array
    value: Array
    lost: float = 0.0
    digest: str = ""

    def between(self, begin: float, end: float) -> Array:
        """Samples after `begin` up to `end`, s."""
        return self.value[(self.time_s > begin) & (self.time_s <= end)]

    def level(self, stage: str) -> float:
        """Median in a stage, bytes.

        Examples
        --------
        >>> made = Window(np.array([21.0, 22.0, 23.0]), np.array([10.0, 12.0, 90.0]))
        >>> made.level("two")
        12.0
        """
        return float(np.median(self.between(*STAGES[stage][1:])))

    def variation(self, stage: str) -> float:
        """Coefficient of variation in a stage: standard deviation over mean, %."""
        part = self.between(*STAGES[stage][1:])
        return float(100 * part.std() / part.mean())

    def first(self, level: float, *, above: bool, since: float = 0.0) -> float | None:
        """Time of the first sample after `since` above `level`, or below it if not `above`, s; `None` if there is none.

        Examples
        --------
        >>> made = Window(np.array([1.0, 2.0, 3.0]), np.array([10.0, 90.0, 20.0]))
        >>> made.first(50.0, above=True), made.first(50.0, above=False, since=2.0), made.first(99.0, above=True)
        (2.0, 3.0, None)
        """
        beyond = self.value > level if above else self.value < level
        found = np.flatnonzero(beyond & (self.time_s > since))
        return float(self.time_s[found[0]]) if found.size else None

    def settled(self, begin: float, level: float, tolerance: float = 0.05) -> float | None:
        """Time after `begin` from which the window stays within `tolerance` of `level`, s; `None` if it never does.

        Examples
        --------
        >>> made = Window(np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 50.0, 100.0, 101.0]))
        >>> made.settled(1.0, 100.0)
        2.0
        """
        after = self.time_s > begin
        outside = np.flatnonzero(np.abs(self.value[after] - level) > tolerance * level)
        times = self.time_s[after]
        first = 0 if not outside.size else int(outside[-1]) + 1
        return float(times[first] - begin) if first < times.size else None


def formula(flows: int) -> float:
    """Window from the paper's equation 3, bytes: 0.98 of the queue divided by the number of flows, at most W_max.

    Examples
    --------
    >>> formula(2), formula(1)
    (47530.0, 64000.0)
    """
    made = scenario().resolved
    queue = next(link.forward.queue for link in made.links if (link.a, link.b) == ("r1", "r2"))
    most = min(flow.tcp.settings["recv_buffer_bytes"] for flow in made.flows if flow.tcp)
    return float(min(made.schemes["ngwa"]["flow_factor"] * (queue.limit_bytes or 0) / flows, most))


def tasks(run: int = 0) -> list[Task]:
    """Return the runs with a number, from which the seed follows; one per arm of `ARMS`."""
    plain = scenario()
    return [Task(plain.with_overrides({**BY_NAME[arm].overrides, **OVERRIDES}), plain.seed, run) for arm in ARMS]


def collect(made: Sequence[Run]) -> dict[str, Window]:
    """Windows by arm, from the runs of `tasks`."""
    return {arm: _window(run) for arm, run in zip(ARMS, made, strict=True)}


def _window(run: Run) -> Window:
    frame = run.samples.frame("flow")
    rows = frame[frame["name"].astype(str) == "flow1"]
    cwnd, rwnd = (rows[name].to_numpy(dtype=np.float64, na_value=np.inf) for name in ("cwnd_bytes", "rwnd_bytes"))
    window = np.minimum(cwnd, rwnd)
    time = rows["time_s"].to_numpy(dtype=np.float64)
    known = np.isfinite(window)
    lost = sum(flow.lost_packets for flow in run.flows)
    return Window(time[known], window[known], lost, run.digest)
