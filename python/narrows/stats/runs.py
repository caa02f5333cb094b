"""Means with Student's intervals over independent runs, and paired differences of two arms."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CONFIDENCE = 0.95
"""Default confidence level of intervals."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over runs with its confidence interval.

    Attributes
    ----------
    mean : float
        Arithmetic mean; NaN without values.
    low, high : float
        Ends of the interval; NaN with fewer than two values.
    n : int
        Number of values.
    sd : float
        Sample standard deviation (n - 1); NaN with fewer than two values.
    """

    mean: float
    low: float
    high: float
    n: int
    sd: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval, as shown after ±."""
        return (self.high - self.low) / 2


def present_values(values: Iterable[float | int | None]) -> list[float]:
    """Leave out ``None`` and NaN: runs in which a metric has no value.

    Parameters
    ----------
    values : iterable of float or None

    Returns
    -------
    list of float
        In the order given.
    """
    return [float(value) for value in values if value is not None and not math.isnan(value)]


def mean_ci(values: Iterable[float | int | None], confidence: float = CONFIDENCE) -> Estimate:
    r"""Mean and Student-t confidence interval of a metric over independent runs.

    .. math:: \bar x \pm t_{n-1,\,(1+c)/2} \; s / \sqrt n

    Parameters
    ----------
    values : iterable of float or None
        One value per run; ``None`` and NaN ("no value") are left out.
    confidence : float
        Confidence level c, in (0, 1).

    Returns
    -------
    Estimate
        In the unit of the values.

    Raises
    ------
    ValueError
        If the confidence level is not in (0, 1).

    Notes
    -----
    Student (1908), "The probable error of a mean". Runs are independent because each has random streams of its own.
    The interval assumes that means of runs are approximately normal.

    Examples
    --------
    >>> e = mean_ci([1, 2, 3, 4, 5])
    >>> f"{e.mean:.1f} [{e.low:.3f}, {e.high:.3f}]"
    '3.0 [1.037, 4.963]'
    >>> mean_ci([7]).low
    nan
    """
    if not 0 < confidence < 1:
        message = f"confidence is {confidence}; allowed: a number between 0 and 1"
        raise ValueError(message)
    present = present_values(values)
    n = len(present)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, math.nan)
    if n == 1:
        return Estimate(present[0], math.nan, math.nan, 1, math.nan)
    if min(present) == max(present):  # exactly equal, not only up to rounding
        return Estimate(present[0], present[0], present[0], n, 0.0)
    mean = math.fsum(present) / n
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - 1))
    half = t_quantile(n - 1, confidence) * sd / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n, sd)


@lru_cache(1024)
def t_quantile(degrees: float, confidence: float) -> float:
    """Student's t of a two-sided interval: the quantile at (1 + confidence) / 2.

    Parameters
    ----------
    degrees : float
        Degrees of freedom; need not be whole.
    confidence : float
        In (0, 1).

    Returns
    -------
    float

    Examples
    --------
    >>> round(t_quantile(4, 0.95), 3)
    2.776
    """
    from scipy import special  # what scipy.stats.t.ppf calls; it loads in a third of the time

    return float(special.stdtrit(degrees, (1 + confidence) / 2))


def two_sided_p(t: float, degrees: float) -> float:
    """Probability of a Student's t at least this far from zero.

    Parameters
    ----------
    t : float
    degrees : float
        Degrees of freedom; need not be whole.

    Returns
    -------
    float

    Examples
    --------
    >>> round(two_sided_p(-2.776, 4), 3)
    0.05
    """
    from scipy import special  # what scipy.stats.t.sf calls, in a fiftieth of its time

    return float(2 * special.stdtr(degrees, -abs(t)))


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample (divisor n - 1).

    Parameters
    ----------
    values : sequence of float
        At least two.

    Returns
    -------
    float
        In the unit of the values.

    Examples
    --------
    >>> deviation([1.0, 3.0])
    1.4142135623730951
    """
    return statistics.stdev(values)


def further_mean(values: Sequence[float], runs: int, confidence: float = CONFIDENCE) -> float:
    """Return half of the prediction interval of the mean of further runs, around the mean of these (Student).

    Parameters
    ----------
    values : sequence of float
        Of runs under different seeds; at least two.
    runs : int
        Number of further runs.
    confidence : float
        Share of all cases in which the further mean lies in the interval.

    Returns
    -------
    float
        In the unit of the values.

    Examples
    --------
    >>> round(further_mean([1.0, 2.0, 3.0], 1), 3)
    4.968
    """
    count = len(values)
    return t_quantile(count - 1, confidence) * deviation(values) * math.sqrt(1 / runs + 1 / count)


def sum_of_independent(estimates: Iterable[Estimate]) -> Estimate:
    """Add means that were measured independently of each other, with the interval of the sum.

    Variances of independent errors add up, and so do the squares of half widths.

    Parameters
    ----------
    estimates : iterable of Estimate
        All at one confidence level.

    Returns
    -------
    Estimate
        Its `n` is the smallest of theirs; NaN if one of them has no mean, or no interval.

    Notes
    -----
    If each mean has n values, Student's quantile is used here with n - 1 degrees of freedom. Welch and Satterthwaite
    (1946, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2(6)) allow up to that
    number times the number of estimates, so the interval is never too narrow.

    Examples
    --------
    >>> e = sum_of_independent([Estimate(10, 7, 13, 30, 8), Estimate(20, 16, 24, 30, 11)])
    >>> e.mean, e.low, e.high
    (30.0, 25.0, 35.0)
    """
    parts = list(estimates)
    mean = math.fsum(one.mean for one in parts)
    half = math.sqrt(math.fsum(one.half_width**2 for one in parts))
    sd = math.sqrt(math.fsum(one.sd**2 for one in parts))
    return Estimate(mean, mean - half, mean + half, min((one.n for one in parts), default=0), sd)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Change between two arms that ran with the same seeds.

    Attributes
    ----------
    difference : Estimate
        Mean of treatment minus baseline, run by run, with its interval.
    baseline, treatment : Estimate
        The arms separately, over the pairs.
    percent : Estimate
        The difference in per cent of the baseline's mean: mean and ends of `difference` divided by that mean, which is
        treated as exact; NaN if it is zero.
    p_value : float
        Of the paired t-test for no change; NaN with fewer than two pairs.
    """

    difference: Estimate
    baseline: Estimate
    treatment: Estimate
    percent: Estimate
    p_value: float


def paired_values(
    baseline: Iterable[float | int | None], treatment: Iterable[float | int | None]
) -> list[tuple[float, float]]:
    """Pair the runs of two arms; a pair with a missing value is left out.

    Parameters
    ----------
    baseline, treatment : iterable of float or None
        One value per run, in the same order of runs.

    Returns
    -------
    list of (float, float)

    Raises
    ------
    ValueError
        If the arms have different numbers of runs.
    """
    before, after = list(baseline), list(treatment)
    if len(before) != len(after):
        message = f"the arms have {len(before)} and {len(after)} runs; allowed: as many in both"
        raise ValueError(message)
    return [
        (float(b), float(a))
        for b, a in zip(before, after, strict=True)
        if b is not None and a is not None and not math.isnan(b) and not math.isnan(a)
    ]


def paired_difference(
    baseline: Iterable[float | int | None],
    treatment: Iterable[float | int | None],
    confidence: float = CONFIDENCE,
) -> PairedDifference:
    """Difference of two arms over runs with equal seeds, with a confidence interval.

    Parameters
    ----------
    baseline, treatment : iterable of float or None
        One value per run, in the same order of runs; a pair with a missing value is left out.
    confidence : float
        Confidence level, in (0, 1).

    Returns
    -------
    PairedDifference

    Raises
    ------
    ValueError
        If the arms have different numbers of runs.

    Notes
    -----
    The interval is Student's t over the differences (a paired t-test). Common random numbers remove what the arms
    share; Law (2015), *Simulation Modeling and Analysis*, section 10.2.

    Examples
    --------
    >>> d = paired_difference([10, 12, 11], [15, 18, 16])
    >>> f"{d.difference.mean:.2f} [{d.difference.low:.2f}, {d.difference.high:.2f}], {d.percent.mean:+.1f} %"
    '5.33 [3.90, 6.77], +48.5 %'
    """
    pairs = paired_values(baseline, treatment)
    difference = mean_ci((a - b for b, a in pairs), confidence)
    base = mean_ci((b for b, _ in pairs), confidence)
    scale = 100 / base.mean if base.n and base.mean != 0 else math.nan
    low, high = difference.low * scale, difference.high * scale
    low, high = (low, high) if scale > 0 else (high, low)
    percent = Estimate(difference.mean * scale, low, high, difference.n, difference.sd * abs(scale))
    return PairedDifference(
        difference=difference,
        baseline=base,
        treatment=mean_ci((a for _, a in pairs), confidence),
        percent=percent,
        p_value=_paired_p(difference),
    )


def _paired_p(difference: Estimate) -> float:
    if difference.n < 2:
        return math.nan
    if difference.sd == 0:
        return 1.0 if difference.mean == 0 else 0.0
    return two_sided_p(difference.mean / (difference.sd / math.sqrt(difference.n)), difference.n - 1)


def signed_rank_p(baseline: Iterable[float | int | None], treatment: Iterable[float | int | None]) -> float:
    """p-value of Wilcoxon's signed-rank test for no change between two arms with the same seeds.

    It uses only the ranks of the differences, so a single outlier cannot decide the result.

    Parameters
    ----------
    baseline, treatment : iterable of float or None
        As for `paired_difference`.

    Returns
    -------
    float
        Two-sided; 1 if no run changed, NaN without pairs.

    Raises
    ------
    ValueError
        If the arms have different numbers of runs.

    Notes
    -----
    Wilcoxon (1945), "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), by `scipy.stats.wilcoxon`;
    pairs without a difference are left out, as he did. The test assumes that differences are distributed symmetrically.
    With n pairs the p-value is at least 2 / 2^n: five seeds never come below 0.05, six can.

    Examples
    --------
    >>> signed_rank_p([10, 12, 11, 10, 11, 13], [15, 18, 16.5, 12, 19, 14])
    0.03125
    >>> signed_rank_p([1, 2], [1, 2])
    1.0
    """
    pairs = paired_values(baseline, treatment)
    if not pairs:
        return math.nan
    differences = [after - before for before, after in pairs if after != before]
    if not differences:
        return 1.0
    from scipy import stats

    return float(stats.wilcoxon(differences).pvalue)
