"""Estimating how long the rest of a set of jobs takes, from the jobs that have ended.

Jobs differ in cost: a small window delivers fewer packets, a fast link more. The time of a job is modelled as a product
of factors, one for each value on each axis of the set, with a slope along numeric axes. The factors are fitted to the
logarithms of the observed times (ridge regression: a value that was never observed has the factor 1). All jobs of a
point, such as its seeds, are assumed to take the same time. Jobs are executed in an order that covers all values of all
axes early, so that a few per cent of a set suffice to estimate the whole.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from narrows.execution.job import Job

J = TypeVar("J", bound="Job[Any]")

MOST_S: Final = 60.0
"""Time after which an estimate is made from whatever is known, s."""

_BALANCED: Final = 64
"""Number of jobs whose order is chosen to cover the axes; the rest follows in random order."""

_CANDIDATES: Final = 32
_PROBES: Final = 32
_FEW: Final = 12
_LEAST_S: Final = 5.0
_RIDGE: Final = 0.1
"""Ridge parameter: variance of a run's logarithm around the model (0.3 squared) over the variance of a factor's (1)."""

_MOST_VALUES: Final = 256
"""Largest number of values on an axis that have a factor each."""

_IMAGINED: Final = 4
_LEAST_SHARE: Final = 0.02
"""Completed share of a run from which it counts for the estimate of its total time."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis of a set of jobs, as the forecast sees it.

    Attributes
    ----------
    length : int
        Number of values.
    along : tuple of float or None
        A number for each value if all values are numbers or begin with one, at or above 0.
    """

    length: int
    along: tuple[float, ...] | None = None


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
    """Model of the times of a set of jobs.

    Parameters
    ----------
    axes : sequence of Scale
        Axes of the set.
    missing : sequence of Job
        Jobs to execute.
    workers : int
        Number of parallel jobs.
    known : iterable of tuple
        Steps of a job that was made before, and seconds that it took.
    """

    def __init__(
        self,
        axes: Sequence[Scale],
        missing: Sequence[Job[Any]],
        workers: int,
        known: Iterable[tuple[tuple[int, ...], float]] = (),
    ) -> None:
        import numpy as np

        before = list(known)

        self.workers = workers
        """How many jobs are executed in parallel."""
        self._point = {job.key: job.steps for job in missing}
        points = sorted({*self._point.values(), *(steps for steps, _ in before)})
        self._row = {steps: row for row, steps in enumerate(points)}
        self._features = _features(axes, points)
        self._left = np.zeros(len(points))
        for job in missing:
            self._left[self._row[job.steps]] += 1
        self._sum = np.zeros(len(points))
        self._count = np.zeros(len(points))
        for steps, seconds in before:
            self._sum[self._row[steps]] += max(seconds, 1e-4)
            self._count[self._row[steps]] += 1
        self.ended = len(before)
        """Jobs that have ended, before and now."""

    def took(self, key: str, seconds: float | None) -> None:
        """Record that a job has ended; a job that is not part of the forecast is ignored.

        Parameters
        ----------
        key : str
        seconds : float or None
            Wall-clock time of the job, s; ``None`` if it failed.
        """
        if key not in self._point:
            return
        row = self._row[self._point[key]]
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
        for key, (share, seconds) in running.items():
            if key not in self._point:  # its scenario is refused, and takes no time
                continue
            row = self._row[self._point[key]]
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


def in_order(missing: Sequence[J]) -> list[J]:
    """Order jobs so that all values of all axes come early, and all points come before second turns.

    Parameters
    ----------
    missing : sequence of Job

    Returns
    -------
    list of Job
        The same jobs; the order is deterministic.
    """
    draw = random.Random(0)  # noqa: S311 - only an order, not a secret
    rest = list(missing)
    draw.shuffle(rest)
    rest.sort(key=lambda job: job.turn)
    first = [job for job in rest if job.turn == rest[0].turn] if rest else []
    chosen: list[J] = []
    met: Counter[tuple[int, ...]] = Counter()
    while first and len(chosen) < _BALANCED:
        few = range(len(first)) if len(first) <= _CANDIDATES else draw.sample(range(len(first)), _CANDIDATES)
        place = min(few, key=lambda place: _met(met, first[place].steps))
        best = first.pop(place)
        chosen.append(best)
        met.update(_pairs(best.steps))
    taken = {job.key for job in chosen}
    return chosen + [job for job in rest if job.key not in taken]


def _pairs(steps: tuple[int, ...]) -> list[tuple[int, ...]]:
    single = [(axis, step) for axis, step in enumerate(steps)]
    return [*single, *((*a, *b) for i, a in enumerate(single) for b in single[i + 1 :])]


def _met(met: Mapping[tuple[int, ...], int], steps: tuple[int, ...]) -> int:
    return sum(met.get(key, 0) * (4 if len(key) == 2 else 1) for key in _pairs(steps))


def _features(axes: Sequence[Scale], points: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
    """Feature matrix: a constant column, a column for each value of each axis, and one along each numeric axis."""
    import numpy as np

    chosen = np.array(points, dtype=np.int64).reshape(len(points), len(axes))
    blocks = [np.ones((len(points), 1))]
    for number, axis in enumerate(axes):
        if axis.length == 1:
            continue
        if axis.length <= _MOST_VALUES:
            blocks.append(np.eye(axis.length)[chosen[:, number]])
        along = None if axis.along is None else _logarithms(axis.along)
        if along is not None:
            blocks.append(along[chosen[:, number]][:, None])
    return np.hstack(blocks)


def _logarithms(values: Sequence[float]) -> NDArray[np.float64] | None:
    """Logarithms of an axis's values with mean 0 and deviation 1; ``None`` if they are all equal."""
    import numpy as np

    least = min((value for value in values if value > 0), default=1.0)
    logs = np.log(np.array([value if value > 0 else least / 10 for value in values]))
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
