"""Means over parts of a sweep, with intervals over its seeds.

A cell is a combination of values of some axes. The value of a seed in a cell is the mean of its runs there, over all
other axes. The value of the cell is the mean of its seeds' values, and its interval is Student's over them
(`narrows.stats.mean_ci`): runs of different seeds are independent, runs of one seed share their random numbers. So the
interval is the uncertainty of the mean, and has nothing of the differences between the points that are averaged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from narrows.stats import Estimate, mean_ci

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from narrows.studies.sweep.measured import Measured


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean over runs.

    Attributes
    ----------
    estimate : narrows.stats.Estimate
        Mean over seeds with its 95 % interval; `n` is the number of seeds.
    runs : int
        Runs that have a value.
    """

    estimate: Estimate
    runs: int

    @property
    def half(self) -> float:
        """Half of the interval; NaN without one."""
        return self.estimate.half_width if self.estimate.n > 1 else math.nan


EMPTY = Cell(mean_ci([]), 0)


def cells(made: Measured, measure: str, by: Sequence[str]) -> dict[tuple[int, ...], Cell]:
    """Average a measure over everything but some axes.

    Parameters
    ----------
    made : Measured
    measure : str
        One of its measures.
    by : sequence of str
        Columns of axes.

    Returns
    -------
    dict
        Cells by the indexes of their values on these axes; cells without a value are missing.
    """
    values = made.measures[measure].values
    chosen = [made.column(name) for name in by]
    groups = np.zeros(len(values), dtype=np.int64)
    for column in chosen:
        groups = groups * len(column.levels) + column.codes
    means, counts = by_seed(values, groups, made)
    found = {}
    for group, (row, count) in enumerate(zip(means, counts, strict=True)):
        runs = int(count.sum())
        if runs:
            place, rest = [], group
            for column in reversed(chosen):
                rest, level = divmod(rest, len(column.levels))
                place.append(level)
            found[tuple(reversed(place))] = Cell(mean_ci(row.tolist()), runs)
    return found


def by_seed(
    values: NDArray[np.float64], groups: NDArray[np.int64], made: Measured
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Average values by group and seed.

    Parameters
    ----------
    values, groups : numpy.ndarray
        A value, and the index of a group, per run.
    made : Measured

    Returns
    -------
    means, counts : numpy.ndarray
        Shape (groups, seeds); NaN without a value, and the numbers of values.
    """
    seeds = len(made.seeds)
    there = np.isfinite(values)
    place = (groups * seeds + made.seed_codes)[there]
    size = (int(groups.max(initial=-1)) + 1) * seeds
    counts = np.bincount(place, minlength=size)
    totals = np.bincount(place, weights=values[there], minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / counts
    return means.reshape(-1, seeds), counts.reshape(-1, seeds)
