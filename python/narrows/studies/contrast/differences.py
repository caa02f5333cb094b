"""How a result is compared with the baseline, and the difference of one metric with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from narrows.stats import Estimate, paired_difference, welch_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.comparison.comparison import Arm
    from narrows.studies.contrast.changes import Change

Method = Literal["paired", "welch", "none", "same"]
"""Intervals of differences: paired by seed; Welch's; none, with one run or with runs that are all the same; or none
because both results are the same to the bit."""

LEVEL: Final = 0.05
"""Largest adjusted p-value of a difference that is marked."""


@dataclass(frozen=True, slots=True)
class Against:
    """How a result is compared with the baseline.

    Attributes
    ----------
    method : {"paired", "welch", "none", "same"}
        See `Method`.
    reason : str
        Why, in words that follow the method.
    changes : tuple of Change
        Settings of the scenario that differ.
    """

    method: Method
    reason: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of a metric from the baseline.

    Attributes
    ----------
    difference : narrows.stats.Estimate
        Result minus baseline, in the unit of the metric's name; without ends if there is no interval.
    percent : narrows.stats.Estimate
        The same in per cent of the baseline's mean; NaN if that is zero.
    p_value : float
        Of the test for no difference; NaN without one.
    p_adjusted : float
        The same after the correction for the number of metrics compared, `narrows.stats.adjusted_p`.
    """

    difference: Estimate
    percent: Estimate
    p_value: float
    p_adjusted: float = math.nan

    @property
    def beyond(self) -> bool:
        """Whether the 95 % interval leaves zero out."""
        return self.difference.low > 0 or self.difference.high < 0

    @property
    def survives(self) -> bool:
        """Whether the difference remains after the correction for the number of metrics."""
        return self.p_adjusted <= LEVEL


def against(baseline: Arm, arm: Arm, changes: tuple[Change, ...]) -> Against:
    """Choose how a result is compared with the baseline.

    Parameters
    ----------
    baseline, arm : Arm
        With at least one run each.
    changes : tuple of Change
        What differs between their scenarios.

    Returns
    -------
    Against
        Paired if both are simulated, have the same seeds and run numbers, and differ in no random input. The engine
        gives each component random numbers of its own, by seed, run, component and purpose, so such runs share
        whatever is random.
    """
    first, second = baseline.outcome, arm.outcome
    if [run.digest for run in first.runs] == [run.digest for run in second.runs]:
        return Against("same", "every sample and total is the same", changes)
    for one in (baseline, arm):
        count = len(one.outcome.runs)
        if count < 2:
            return Against("none", f"{one.label} has one run: its spread is unknown", changes)
        if len({run.digest for run in one.outcome.runs}) == 1:
            return Against("none", f"the {count} runs of {one.label} are the same: nothing in them is random", changes)
    if any(run.conditions is not None for one in (first, second) for run in one.runs):
        return Against("welch", "runs of a real machine share no random numbers", changes)
    if [(run.seed, run.index) for run in first.runs] != [(run.seed, run.index) for run in second.runs]:
        return Against("welch", "the seeds or numbers of runs differ", changes)
    random = next((change for change in changes if change.is_random), None)
    if random is not None:
        return Against("welch", f"a random input differs: {random.path}", changes)
    return Against("paired", "both have the same seeds", changes)


def difference(how: Against, baseline: Sequence[float | None], values: Sequence[float | None]) -> Difference:
    """Estimate the difference of one metric from the baseline.

    Parameters
    ----------
    how : Against
    baseline, values : sequence of float or None
        A value per run; ``None`` is "no value".

    Returns
    -------
    Difference

    Notes
    -----
    Where nothing varies, Student's test has no meaning and there is no interval. The p-value is then that of the sign
    test for pairs, 2 / 2^n, or of Fisher's permutation test for separated values, 2 / C(m + n, m); there is no test
    where nothing differs either.

    Examples
    --------
    >>> made = difference(Against("paired", "", ()), [10, 12, 11], [15, 18, 16])
    >>> round(made.difference.mean, 2), made.beyond, round(made.p_value, 3)
    (5.33, True, 0.004)
    >>> difference(Against("welch", "", ()), [0, 0, 0], [1, 1, 1]).p_value
    0.1
    """
    made = (paired_difference if how.method == "paired" else welch_difference)(baseline, values)
    if how.method in ("none", "same"):
        return Difference(_bare(made.difference), _bare(made.percent), math.nan)
    constant = made.baseline.sd == 0 and made.treatment.sd == 0
    if (constant or made.difference.sd == 0) and made.difference.n > 1:
        m, n = made.baseline.n, made.treatment.n
        ways = 2**n if how.method == "paired" else math.comb(m + n, m)
        p_value = math.nan if made.difference.mean == 0 else min(1.0, 2 / ways)
        return Difference(_bare(made.difference), _bare(made.percent), p_value)
    return Difference(made.difference, made.percent, made.p_value)


def _bare(estimate: Estimate) -> Estimate:
    """Return an estimate without an interval."""
    return replace(estimate, low=math.nan, high=math.nan)
