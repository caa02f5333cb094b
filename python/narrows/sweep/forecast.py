"""Estimating how long the rest of a sweep takes, from the runs that have ended.

Runs differ in cost: a small window delivers fewer packets, a fast link more. The run time is modelled as a product of
factors, one for each value on each axis, with a slope along numeric axes. The factors are fitted to the logarithms of
the observed times (ridge regression: a value that was never observed has the factor 1). All seeds of a point are
assumed to take the same time. Runs are executed in an order that covers all values of all axes early, so that a few
per cent of a sweep suffice to estimate the whole.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from narrows.sweep.axis import Axis
    from narrows.sweep.plan import Sweep, SweepRun

MOST_S: Final = 60.0
"""Time after which an estimate is made from whatever is known, s."""

_BALANCED: Final = 64
"""Number of runs whose order is chosen to cover the axes; the rest follows in random order."""

_CANDIDATES: Final = 32
_PROBES: Final = 32
_FEW: Final = 12
_LEAST_S: Final = 5.0
_RIDGE: Final = 0.1
"""Ridge parameter: variance of a run's logarithm around the model (0.3 squared) over the variance of a factor's (1)."""

_IMAGINED: Final = 4
_LEAST_SHARE: Final = 0.02
"""Completed share of a run from which it counts for the estimate of its total time."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of the time that runs take.

    Attributes
    ----------
    runs : int
        Number of runs to execute.
    seconds : float
        Wall-clock time, s.
    low, high : float
        Likely range of the wall-clock time (two standard errors of the fit), s.
    cpu_s : float
        Processor time of all processors, s.
    probes : int
        Number of points that the estimate is based on.
    nbytes : int
        Upper bound of the disk space of the rows, bytes.
    """

    runs: int
    seconds: float
    low: float
    high: float
    cpu_s: float
    probes: int
    nbytes: int


class Forecast:
    """Model of the run times of a sweep.

    Parameters
    ----------
    sweep : Sweep
    missing : sequence of SweepRun
        Runs to execute.
    workers : int
        Number of parallel runs.
    known : iterable of tuple
        Index of the point and seconds taken, for each run that was made before.
    """

    def __init__(
        self, sweep: Sweep, missing: Sequence[SweepRun], workers: int, known: Iterable[tuple[int, float]] = ()
    ) -> None:
        import numpy as np

        before = list(known)

        self.workers = workers
        """How many runs are made at the same time."""
        self._point = {run.address: run.point.index for run in missing}
        indexes = sorted({*self._point.values(), *(index for index, _ in before)})
        self._row = {index: row for row, index in enumerate(indexes)}
        self._features = _features(sweep.axes, [sweep.points[index].steps for index in indexes])
        self._left = np.zeros(len(indexes))
        for run in missing:
            self._left[self._row[run.point.index]] += 1
        self._sum = np.zeros(len(indexes))
        self._count = np.zeros(len(indexes))
        for index, seconds in before:
            self._sum[self._row[index]] += max(seconds, 1e-4)
            self._count[self._row[index]] += 1
        self.ended = len(before)
        """Runs that have ended, before and now."""

    def took(self, address: str, seconds: float | None) -> None:
        """Record that a run has ended.

        Parameters
        ----------
        address : str
        seconds : float or None
            Wall-clock time of the run, s; ``None`` if it failed.
        """
        row = self._row[self._point[address]]
        self._left[row] -= 1
        if seconds is None:
            return
        self._sum[row] += max(seconds, 1e-4)
        self._count[row] += 1
        self.ended += 1

    def estimate(self, running: Mapping[str, tuple[float, float]], seconds: float, nbytes: int) -> Estimate | None:
        """Estimate the time of the whole sweep.

        Parameters
        ----------
        running : mapping
            As for `left`.
        seconds : float
            Wall-clock time since the first run began, s.
        nbytes : int
            Disk space of the rows.

        Returns
        -------
        Estimate or None
            ``None`` if no run time is known yet.
        """
        rest = self.left(running)
        if rest is None:
            return None
        left, error, probes = rest
        spread = 2 * error * left / self.workers
        whole = seconds + left / self.workers
        return Estimate(
            runs=len(self._point),
            seconds=whole,
            low=max(seconds, whole - spread),
            high=whole + spread,
            cpu_s=left + seconds * self.workers,
            probes=probes,
            nbytes=nbytes,
        )

    def enough(self, seconds: float, left_s: float) -> bool:
        """Whether enough is known for an estimate.

        Parameters
        ----------
        seconds, left_s : float
            Wall-clock time since the first run began, and estimated remaining time, s.

        Returns
        -------
        bool
            True after 32 runs or half of all runs; or after 12 runs, if at least 5 s and a twentieth of the time have
            passed; in any case after a minute.
        """
        if self.ended >= min(_PROBES, len(self._point) / 2) or seconds >= MOST_S:
            return True
        return self.ended >= _FEW and seconds >= max(_LEAST_S, (seconds + left_s) / 20)

    def left(self, running: Mapping[str, tuple[float, float]]) -> tuple[float, float, int] | None:
        """Estimate the remaining time.

        Parameters
        ----------
        running : mapping
            Completed share and seconds so far of each run in progress, by address.

        Returns
        -------
        tuple or None
            Seconds of all processors together, their relative standard error, and the number of points with known
            times; ``None`` if no run time is known yet.
        """
        import numpy as np

        total, count = self._sum.copy(), self._count.copy()
        partial: list[tuple[int, float]] = []
        for address, (share, seconds) in running.items():
            if address not in self._point:  # its point is refused, and takes no time
                continue
            row = self._row[self._point[address]]
            partial.append((row, share))
            if share >= _LEAST_SHARE and not count[row]:
                total[row] += max(seconds, 1e-4) / share
                count[row] += 1
        seen = count > 0
        known = int(seen.sum())
        if not known:
            return None
        mean = np.divide(total, count, out=np.zeros_like(total), where=seen)
        predicted, deviation = _fitted(self._features, mean, seen)
        expected = np.where(seen, mean, predicted)
        rest = float(expected @ self._left) - sum(float(expected[row]) * share for row, share in partial)
        unseen = float(predicted[~seen] @ self._left[~seen])
        whole = max(float(expected @ self._left), 1e-9)
        return max(rest, 0.0), deviation / math.sqrt(known) * unseen / whole, known


def in_order(sweep: Sweep, missing: Sequence[SweepRun]) -> list[SweepRun]:
    """Order runs so that all values of all axes come early, and all points come before second seeds.

    Parameters
    ----------
    sweep : Sweep
    missing : sequence of SweepRun

    Returns
    -------
    list of SweepRun
        The same runs; the order is deterministic.
    """
    draw = random.Random(0)  # noqa: S311 - only an order, not a secret
    turn = {seed: i for i, seed in enumerate(sweep.seeds)}
    rest = list(missing)
    draw.shuffle(rest)
    rest.sort(key=lambda run: turn[run.seed])
    first = [run for run in rest if turn[run.seed] == turn[rest[0].seed]] if rest else []
    chosen: list[SweepRun] = []
    met: Counter[tuple[int, ...]] = Counter()
    while first and len(chosen) < _BALANCED:
        few = first if len(first) <= _CANDIDATES else draw.sample(first, _CANDIDATES)
        best = min(few, key=lambda run: _met(met, run.point.steps))
        first.remove(best)
        chosen.append(best)
        met.update(_pairs(best.point.steps))
    taken = {run.index for run in chosen}
    return chosen + [run for run in rest if run.index not in taken]


def _pairs(steps: tuple[int, ...]) -> list[tuple[int, ...]]:
    single = [(axis, step) for axis, step in enumerate(steps)]
    return [*single, *((*a, *b) for i, a in enumerate(single) for b in single[i + 1 :])]


def _met(met: Mapping[tuple[int, ...], int], steps: tuple[int, ...]) -> int:
    return sum(met.get(key, 0) * (4 if len(key) == 2 else 1) for key in _pairs(steps))


def _features(axes: Sequence[Axis], steps: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
    """Feature matrix: a constant column, a column for each value of each axis, and one along each numeric axis."""
    import numpy as np

    chosen = np.array(steps, dtype=np.int64).reshape(len(steps), len(axes))
    blocks = [np.ones((len(steps), 1))]
    for number, axis in enumerate(axes):
        if len(axis) == 1:
            continue
        if len(axis) <= 256:
            blocks.append(np.eye(len(axis))[chosen[:, number]])
        along = _numbers(axis)
        if along is not None:
            blocks.append(along[chosen[:, number]][:, None])
    return np.hstack(blocks)


def _numbers(axis: Axis) -> NDArray[np.float64] | None:
    """Logarithms of an axis's values with mean 0 and deviation 1, if all are numbers or start with one."""
    import numpy as np

    found = []
    for value in axis.values:
        label = next(iter(value.labels.values()))
        match = re.match(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)", str(label))
        if match is None or isinstance(label, bool):
            return None
        found.append(float(match[1]))
    least = min((value for value in found if value > 0), default=1.0)
    logs = np.log(np.array([value if value > 0 else least / 10 for value in found]))
    spread = float(logs.std())
    return None if spread == 0 else np.asarray((logs - logs.mean()) / spread)


def _fitted(
    features: NDArray[np.float64], mean: NDArray[np.float64], seen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """Expected seconds of every point, and the standard deviation of the logarithms around them."""
    import numpy as np

    known = features[seen]
    logs = np.log(mean[seen])
    centre = float(logs.mean())
    normal = known.T @ known + _RIDGE * np.eye(features.shape[1])
    weights = np.linalg.solve(normal, known.T @ (logs - centre))
    inside = known @ weights
    freedom = float(np.trace(np.linalg.solve(normal, known.T @ known)))
    spare = max(len(logs) - freedom, 1.0)
    # A few runs always fit well, so add four imaginary runs with a squared error of 0.25, typical of unlike points.
    misses = float(np.square(logs - centre - inside).sum())
    deviation = math.sqrt((misses + _IMAGINED * 0.25) / (spare + _IMAGINED))
    # The mean of logarithms gives the geometric mean; correct it by the observed times (Duan 1983).
    smearing = float(mean[seen].sum() / np.exp(centre + inside).sum())
    low, high = float(logs.min()) - 1, float(logs.max()) + 1
    return np.exp(np.clip(centre + features @ weights, low, high)) * smearing, deviation
