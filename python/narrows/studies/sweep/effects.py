r"""Which axis of a sweep has the largest effect on a measure.

The share of an axis is its main effect's part of the variance between runs, as in the analysis of variance of a full
crossing (Fisher 1925): correlation ratio, or eta squared (Pearson 1905), with equal weights for all points (Yates's
unweighted means, 1934), so that failed runs do not shift it:

.. math:: \sigma^2 = \operatorname{Var}_p(\bar y_p) + \operatorname{mean}_p(\operatorname{Var}_s(y_{ps})), \qquad
    \eta_A^2 = \operatorname{Var}_a(\bar y_a) / \sigma^2

with the mean :math:`\bar y_p` of point p over its seeds, and the mean :math:`\bar y_a` over the points with value a of
axis A. The rest of the variance between points are interactions: effects of axes that depend on other axes. The
variance within points is that between seeds. In a full crossing without missing points all parts add up to one.

The range of an axis is the difference between the values with the largest and the smallest mean, paired by seed, with a
simultaneous 95 % interval: Student's over the seeds, with the level of each of the k (k - 1) / 2 pairs of k values
divided by their number (Bonferroni), because the pair is chosen by the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from narrows.stats import CONFIDENCE, Estimate, mean_ci
from narrows.studies.sweep.cells import by_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from narrows.studies.sweep.measured import Column, Measured


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an axis on a measure.

    Attributes
    ----------
    columns : tuple of str
        Columns of the axis; several if they change together.
    share : float
        Part of the variance between runs, 0 to 1.
    low, high : str
        Values of the axis with the smallest and the largest mean, with unit.
    low_mean, high_mean : float
        Their means over all points with that value.
    difference : Estimate
        ``high`` less ``low``, paired by seed; without an interval if there is one seed.
    """

    columns: tuple[str, ...]
    share: float
    low: str
    high: str
    low_mean: float
    high_mean: float
    difference: Estimate

    @property
    def name(self) -> str:
        """The columns in one text."""
        return ", ".join(self.columns)

    @property
    def alone(self) -> bool:
        """Whether one value of the axis alone has results, so that there is nothing to compare."""
        return self.low == self.high

    @property
    def sure(self) -> bool:
        """Whether the interval of the difference leaves zero out."""
        return self.difference.n > 1 and self.difference.low > 0


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of all axes on a measure.

    Attributes
    ----------
    measure : str
    axes : tuple of Effect
        Largest share first.
    interactions : float
        Part of the variance between points that no axis explains alone; contains that between seeds if there is one.
    seeds : float
        Part of the variance within points.
    complete : bool
        Whether every point has a value; otherwise shares of different axes may overlap.
    """

    measure: str
    axes: tuple[Effect, ...]
    interactions: float
    seeds: float
    complete: bool

    @property
    def largest(self) -> Effect | None:
        """The axis with the largest share, if any axis has several values."""
        return self.axes[0] if self.axes else None


def effects(made: Measured, measure: str) -> Effects:
    """Compare the effects of all axes with several values on a measure.

    Parameters
    ----------
    made : Measured
    measure : str
        One of its measures.

    Returns
    -------
    Effects
    """
    values = made.measures[measure].values
    there = np.isfinite(values)
    points = made.points[there]
    count = np.bincount(points, minlength=made.asked_points)
    full = count > 0
    means = _means(points, values[there], made.asked_points)
    within = _means(points, (values[there] - means[points]) ** 2, made.asked_points)
    between = float(np.var(means[full])) if full.any() else 0.0
    noise = float(np.mean(within[full])) if full.any() else 0.0
    total = between + noise
    found = [_effect(made, columns, values, means, full, total) for columns in _axes(made)]
    ranked = sorted(found, key=lambda one: -one.share)
    main = sum(one.share for one in ranked)
    return Effects(
        measure,
        tuple(ranked),
        max(0.0, between / total - main) if total > 0 else 0.0,
        noise / total if total > 0 else 0.0,
        complete=bool(full.all()),
    )


def _means(groups: NDArray[np.int64], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    count = np.bincount(groups, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(groups, weights=values, minlength=size) / count


def _axes(made: Measured) -> list[list[Column]]:
    """Group columns by axis, leaving out axes with one value."""
    groups: dict[str, list[Column]] = {}
    for column in made.columns:
        groups.setdefault(column.axis, []).append(column)
    return [group for group in groups.values() if any(len(column.levels) > 1 for column in group)]


def _effect(
    made: Measured,
    columns: list[Column],
    values: NDArray[np.float64],
    means: NDArray[np.float64],
    full: NDArray[np.bool_],
    total: float,
) -> Effect:
    codes = np.zeros(len(values), dtype=np.int64)
    for column in columns:
        codes = codes * len(column.levels) + column.codes
    steps, codes = np.unique(codes, return_inverse=True)
    step_of = np.zeros(len(means), dtype=np.int64)
    step_of[made.points] = codes
    chosen = step_of[full]
    by_step = _means(chosen, means[full], len(steps))
    weights = np.bincount(chosen, minlength=len(steps))
    known = weights > 0
    centre = np.average(by_step[known], weights=weights[known])
    variance = float(np.average((by_step[known] - centre) ** 2, weights=weights[known]))
    low, high = int(np.nanargmin(by_step)), int(np.nanargmax(by_step))
    if low == high:  # all means are equal, or there is one
        high = int(np.flatnonzero(known)[-1])
    seeded, _ = by_seed(values, codes, made)
    pairs = max(1, int(known.sum()) * (int(known.sum()) - 1) // 2)
    differences = (seeded[high] - seeded[low]).tolist()
    return Effect(
        columns=tuple(column.name for column in columns),
        share=variance / total if total > 0 else 0.0,
        low=_text(columns, int(steps[low])),
        high=_text(columns, int(steps[high])),
        low_mean=float(by_step[low]),
        high_mean=float(by_step[high]),
        difference=mean_ci(differences, 1 - (1 - CONFIDENCE) / pairs),
    )


def _text(columns: list[Column], step: int) -> str:
    texts = []
    for column in reversed(columns):
        step, level = divmod(step, len(column.levels))
        texts.append(column.text(level, unit=True))
    return ", ".join(reversed(texts))
