"""How long the rest of a sweep takes, from the runs that have ended.

Runs differ in cost: a slow window delivers fewer packets, a fast link more. So the time of a run is taken to be a
product of factors, one for each value on each axis, with a slope along axes of numbers; the factors are fitted to the
logarithms of what was seen (ridge regression: a value that was never seen has the factor 1). A point that was run under
one seed is taken to cost the same under the others. Runs are made in an order that meets all values of all axes early,
so that a few per cent of a sweep tell the whole.
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
"""After so long an estimate is made of whatever is known, s."""

_BALANCED: Final = 64
"""How many runs are chosen with care before the rest comes in any order."""

_CANDIDATES: Final = 32
_PROBES: Final = 32
_FEW: Final = 12
_LEAST_S: Final = 5.0
_RIDGE: Final = 0.1
"""Variance of a run's logarithm around its factors (0.3 squared) over that of a factor's (1)."""

_IMAGINED: Final = 4
_LEAST_SHARE: Final = 0.02
"""Share of a run that has to be over before it tells how long the whole takes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long runs take.

    Attributes
    ----------
    runs : int
        How many are to be made.
    seconds : float
        On the clock, s.
    low, high : float
        Where the true value should lie (two standard errors of the fit), s.
    cpu_s : float
        Over all processors, s.
    probes : int
        Runs that the estimate rests on.
    nbytes : int
        Room that the rows take at most, bytes.
    """

    runs: int
    seconds: float
    low: float
    high: float
    cpu_s: float
    probes: int
    nbytes: int


class Forecast:
    """What is known of the time that runs take.

    Parameters
    ----------
    sweep : Sweep
    missing : sequence of SweepRun
        Runs that are to be made.
    workers : int
        How many at the same time.
    known : iterable of tuple
        Index of the point, and seconds that it took, of runs that were made before.
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
        """Take note of a run that has ended.

        Parameters
        ----------
        address : str
        seconds : float or None
            What it took, on the clock, s; ``None`` if it failed.
        """
        row = self._row[self._point[address]]
        self._left[row] -= 1
        if seconds is None:
            return
        self._sum[row] += max(seconds, 1e-4)
        self._count[row] += 1
        self.ended += 1

    def estimate(self, running: Mapping[str, tuple[float, float]], seconds: float, nbytes: int) -> Estimate | None:
        """Estimate the whole.

        Parameters
        ----------
        running : mapping
            As for `left`.
        seconds : float
            Since the first run began, on the clock, s.
        nbytes : int
            Room that the rows take.

        Returns
        -------
        Estimate or None
            ``None`` before anything is known.
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
        """Whether what is known will do for an estimate.

        Parameters
        ----------
        seconds, left_s : float
            Since the first run began, and what is left, on the clock, s.

        Returns
        -------
        bool
            After 32 runs or half of all; sooner, after 12, when they took a twentieth of the time; in any case after a
            minute.
        """
        if self.ended >= min(_PROBES, len(self._point) / 2) or seconds >= MOST_S:
            return True
        return self.ended >= _FEW and seconds >= max(_LEAST_S, (seconds + left_s) / 20)

    def left(self, running: Mapping[str, tuple[float, float]]) -> tuple[float, float, int] | None:
        """Estimate the rest.

        Parameters
        ----------
        running : mapping
            Share done and seconds so far of runs under way, by address.

        Returns
        -------
        tuple or None
            Seconds of all processors together, their relative standard error, and how many points they rest on;
            ``None`` before anything is known.
        """
        import numpy as np

        total, count = self._sum.copy(), self._count.copy()
        partial: list[tuple[int, float]] = []
        for address, (share, seconds) in running.items():
            if address not in self._point:  # of a refused point: it takes no time
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
    """Put runs into an order that meets all values of all axes early, and all points before second seeds.

    Parameters
    ----------
    sweep : Sweep
    missing : sequence of SweepRun

    Returns
    -------
    list of SweepRun
        The same runs; the order is the same every time.
    """
    draw = random.Random(0)  # noqa: S311 - an order, no secret
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
    """A column for all, one for each value of each axis, and one along each axis of numbers."""
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
    """Values of an axis as logarithms with mean 0 and deviation 1, if they are numbers or start with one."""
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
    """Expected seconds of every point, and the standard deviation of the logarithm around them."""
    import numpy as np

    known = features[seen]
    logs = np.log(mean[seen])
    centre = float(logs.mean())
    normal = known.T @ known + _RIDGE * np.eye(features.shape[1])
    weights = np.linalg.solve(normal, known.T @ (logs - centre))
    inside = known @ weights
    freedom = float(np.trace(np.linalg.solve(normal, known.T @ known)))
    spare = max(len(logs) - freedom, 1.0)
    # A few runs fit themselves: four more are imagined that miss by half, as unlike points do.
    misses = float(np.square(logs - centre - inside).sum())
    deviation = math.sqrt((misses + _IMAGINED * 0.25) / (spare + _IMAGINED))
    # Logarithms have their mean at the geometric one: set right by what was seen (Duan 1983).
    smearing = float(mean[seen].sum() / np.exp(centre + inside).sum())
    low, high = float(logs.min()) - 1, float(logs.max()) + 1
    return np.exp(np.clip(centre + features @ weights, low, high)) * smearing, deviation
