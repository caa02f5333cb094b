"""Differences of two independent arms: Welch's interval, absolute and relative."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.stats.runs import CONFIDENCE, Estimate, mean_ci, t_quantile, two_sided_p

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between two arms whose runs are independent of each other.

    Attributes
    ----------
    difference : Estimate
        Mean of the treatment minus mean of the baseline, with Welch's interval; without ends if an arm has fewer than
        two values. `n` is that of the smaller arm, `sd` the standard error of the difference.
    baseline, treatment : Estimate
        The arms separately.
    percent : Estimate
        The difference in per cent of the baseline's mean, with an interval that accounts for the error of that mean;
        NaN if it is zero.
    p_value : float
        Of Welch's t-test for equal means; NaN without an interval.
    """

    difference: Estimate
    baseline: Estimate
    treatment: Estimate
    percent: Estimate
    p_value: float


def welch_difference(
    baseline: Iterable[float | int | None],
    treatment: Iterable[float | int | None],
    confidence: float = CONFIDENCE,
) -> Difference:
    r"""Difference of the means of two sets of independent runs, which may differ in number and spread.

    .. math:: \bar y - \bar x \pm t_\nu \sqrt{u + v}, \quad u = s_x^2 / m, \; v = s_y^2 / n, \quad
        \nu = \frac{(u + v)^2}{u^2 / (m - 1) + v^2 / (n - 1)}

    Parameters
    ----------
    baseline, treatment : iterable of float or None
        One value per run; ``None`` and NaN ("no value") are left out.
    confidence : float
        Confidence level, in (0, 1).

    Returns
    -------
    Difference

    Raises
    ------
    ValueError
        If the confidence level is not in (0, 1).

    Notes
    -----
    Welch (1947), "The generalization of Student's problem when several different population variances are involved",
    Biometrika 34. The relative difference is that of a ratio of means, r = y / x - 1, whose variance is to first order
    (v + (y / x)^2 u) / x^2 (the delta method), with degrees of freedom by the same rule. An arm that never varies, such
    as simulated runs without randomness, contributes nothing to either.

    Examples
    --------
    >>> d = welch_difference([10, 12, 11], [15, 18, 16, 17])
    >>> f"{d.difference.mean:.2f} [{d.difference.low:.2f}, {d.difference.high:.2f}], {d.percent.mean:+.1f} %"
    '5.50 [3.27, 7.73], +50.0 %'
    """
    first, second = mean_ci(baseline, confidence), mean_ci(treatment, confidence)
    apart = second.mean - first.mean
    known = first.n > 1 and second.n > 1
    u, v = (one.sd / math.sqrt(one.n) if known else math.nan for one in (first, second))  # standard errors
    absolute = _estimate(apart, (u, first.n), (v, second.n), confidence)
    percent = Estimate(math.nan, math.nan, math.nan, absolute.n, math.nan)
    if first.n and first.mean != 0:
        scale, ratio = 100 / first.mean, second.mean / first.mean
        parts = (abs(u * ratio * scale), first.n), (abs(v * scale), second.n)
        percent = _estimate(apart * scale, *parts, confidence)
    return Difference(absolute, first, second, percent, _p_value(apart, (u, first.n), (v, second.n)))


def _estimate(mean: float, first: tuple[float, int], second: tuple[float, int], confidence: float) -> Estimate:
    """Return a difference with its interval, from the standard error of each mean and its number of values."""
    error = math.hypot(first[0], second[0])
    half = error if error == 0 or not math.isfinite(error) else t_quantile(_freedom(first, second), confidence) * error
    return Estimate(mean, mean - half, mean + half, min(first[1], second[1]), error)


def _freedom(first: tuple[float, int], second: tuple[float, int]) -> float:
    """Degrees of freedom by Welch and Satterthwaite."""
    (u, m), (v, n) = first, second
    share = (u / math.hypot(u, v)) ** 2
    return 1 / (share**2 / (m - 1) + (1 - share) ** 2 / (n - 1))


def _p_value(apart: float, first: tuple[float, int], second: tuple[float, int]) -> float:
    error = math.hypot(first[0], second[0])
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if apart == 0 else 0.0
    return two_sided_p(apart / error, _freedom(first, second))
