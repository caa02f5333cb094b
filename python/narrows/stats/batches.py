"""The method of batch means: a confidence interval for the mean of one long run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from narrows.stats.runs import CONFIDENCE, Estimate, mean_ci
from narrows.stats.warmup import series, warmup_mser

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

BATCHES: Final = 30
"""Default number of batches: more than 30 hardly narrow the interval (Schmeiser 1982)."""

LEAST_BATCHES: Final = 10
"""Fewest batches: with fewer the interval widens fast (Schmeiser 1982), and the tests of assumptions lose power."""

LEVEL: Final = 0.05
"""Level of the tests of assumptions: where an assumption holds, its test warns for one series in twenty."""

_ROUNDING: Final = 1e-12
"""Batch means whose difference is below this share of their size differ only by rounding."""


@dataclass(frozen=True, slots=True)
class BatchMeans:
    """Mean of one run with its interval, and warnings about the interval's assumptions.

    Attributes
    ----------
    estimate : Estimate
        Mean over the batches with its interval, in the unit of the values; its `n` is the number of batches.
    means : tuple of float
        Mean of each batch, in order of time.
    batch_size : int
        Observations per batch.
    warmup : int
        Observations left out at the beginning as warm-up.
    remainder : int
        Observations left out after the warm-up so that all batches are equally long; fewer than the number of batches.
    settled : bool
        False if MSER-5 found no end of the warm-up in the first half of the run; `warmup` is then that half. A warm-up
        given by the caller is not checked.
    autocorrelation : float
        Of the batch means, at lag 1; 0 if they are all equal.
    p_value : float
        Of von Neumann's test that the batch means are independent, against positive correlation.
    independent : bool
        Whether that test does not reject independence (`p_value` of 0.05 or more). Negative correlation makes the
        interval too wide rather than too narrow, and counts as independent here.
    normal_p_value : float
        Of Shapiro and Wilk's test that the batch means are normal.
    warnings : tuple of str
        Assumptions that do not hold, one sentence each; empty if the tests find nothing wrong.
    """

    estimate: Estimate
    means: tuple[float, ...]
    batch_size: int
    warmup: int
    remainder: int
    settled: bool
    autocorrelation: float
    p_value: float
    independent: bool
    normal_p_value: float
    warnings: tuple[str, ...]


def batch_means(
    values: ArrayLike,
    *,
    batches: int = BATCHES,
    confidence: float = CONFIDENCE,
    warmup: int | Literal["mser"] | None = "mser",
) -> BatchMeans:
    r"""Mean of one run with a confidence interval by the method of batch means.

    Neighbouring values of a run are correlated, so Student's interval over them would be far too narrow. After the
    warm-up is removed, the run is cut into k equal batches, long enough that their means :math:`Y_j` are approximately
    independent and normal. Student's interval is then computed from these means:

    .. math:: \bar Y \pm t_{k-1,\,(1+c)/2} \; s_Y / \sqrt k

    Parameters
    ----------
    values : array
        Observations of one run in order, equally spaced, such as rates in bins (`narrows.metrics.rate_over_time`).
    batches : int
        Number k of batches, at least 10.
    confidence : float
        Confidence level c, in (0, 1).
    warmup : int, "mser" or None
        Number of observations to leave out at the beginning; ``"mser"``: the number that `warmup_mser` finds; ``None``:
        0. If MSER-5 finds no end of the warm-up, the first half is left out, with a warning.

    Returns
    -------
    BatchMeans
        With the tests of the assumptions: `warnings` lists those that do not hold. The interval is computed anyway.

    Raises
    ------
    ValueError
        If there are too few values, a value is NaN or infinite, or an argument is out of range.

    Notes
    -----
    Method and assumptions: Law (2015), *Simulation Modeling and Analysis*, section 9.5.3. Number of batches: Schmeiser
    (1982), "Batch size effects in the analysis of simulation output", Operations Research 30(3), finds 10 to 30 enough
    for any run. Size of batches, correlation of their means and convergence to the normal distribution: Chien (1994),
    "Batch size selection for the batch means method", WSC 1994.

    *Stationary*: the warm-up is left out, see `warmup_mser`, and so are observations that do not fill a batch.

    *Independent*: with :math:`V = \sum (Y_{j+1} - Y_j)^2 / \sum (Y_j - \bar Y)^2` (von Neumann 1941, "Distribution of
    the ratio of the mean square successive difference to the variance", Annals of Mathematical Statistics 12(4)),
    :math:`(1 - V/2) \sqrt{(k^2-1)/(k-2)}` is approximately standard normal if the means are independent (Young 1941,
    "On randomness in ordered sequences", the same 12(3)), and large if they are positively correlated; as in Fishman
    (1978), "Grouping observations in digital simulation", Management Science 24(5). With 30 means the test detects a
    correlation of 0.3 in less than half of the runs (0.5: in four of five), so passing it does not prove independence.

    *Normal*: Shapiro and Wilk (1965), "An analysis of variance test for normality", Biometrika 52.

    Examples
    --------
    >>> import numpy as np
    >>> rates = 5 + np.random.default_rng(1).normal(size=3000)
    >>> made = batch_means(rates, warmup=0)
    >>> e = made.estimate
    >>> f"{e.mean:.2f} ± {e.half_width:.2f} over {e.n} batches of {made.batch_size}"
    '5.00 ± 0.04 over 30 batches of 100'
    >>> made.independent, made.warnings
    (True, ())
    >>> drifting = batch_means(np.cumsum(rates - 5), warmup=0)
    >>> drifting.independent, drifting.warnings[0]
    (False, 'the batch means are correlated (lag 1: 0.79): the interval is too narrow')
    """
    array = series(values)
    if batches < LEAST_BATCHES:
        message = f"batches is {batches}; allowed: {LEAST_BATCHES} or more"
        raise ValueError(message)
    dropped, settled = _warmup(array, warmup)
    left = array.size - dropped
    if left < batches:
        message = (
            f"there are {array.size} values, {left} without the warm-up of {dropped}; "
            f"needed: at least {batches} without it, one per batch"
        )
        raise ValueError(message)
    size, remainder = divmod(left, batches)
    kept = array[dropped + remainder :]
    # Relative to the first value, the batch means of a constant series are exactly equal.
    means = kept[0] + (kept - kept[0]).reshape(batches, size).mean(axis=1)
    autocorrelation, p_value, normal = _checks(means)
    return BatchMeans(
        estimate=mean_ci(means.tolist(), confidence),
        means=tuple(means.tolist()),
        batch_size=size,
        warmup=dropped,
        remainder=remainder,
        settled=settled,
        autocorrelation=autocorrelation,
        p_value=p_value,
        independent=p_value >= LEVEL,
        normal_p_value=normal,
        warnings=_warnings(settled, dropped, autocorrelation, p_value, normal),
    )


def _warmup(array: NDArray[np.float64], warmup: int | str | None) -> tuple[int, bool]:
    """Return the number of observations to leave out, and whether the warm-up is known to end there."""
    if warmup == "mser":
        found = warmup_mser(array)
        return (array.size // 2, False) if found is None else (found, True)
    if warmup is None:
        return 0, True
    if isinstance(warmup, str) or warmup < 0:
        message = f"warmup is {warmup!r}; allowed: a number of observations, 'mser' or None"
        raise ValueError(message)
    return warmup, True


def _checks(means: NDArray[np.float64]) -> tuple[float, float, float]:
    """Lag-1 autocorrelation, p-value of von Neumann's ratio against a positive one, and of Shapiro and Wilk's test."""
    import numpy as np
    from scipy import stats

    spread = float(np.ptp(means))
    if spread <= _ROUNDING * float(np.abs(means).max()):
        return 0.0, 1.0, 1.0
    deviations = (means - means.mean()) / spread  # scaled so that no square underflows
    whole = float(np.sum(deviations**2))
    ratio = float(np.sum(np.diff(deviations) ** 2)) / whole
    score = (1 - ratio / 2) * math.sqrt((means.size**2 - 1) / (means.size - 2))
    autocorrelation = float(np.sum(deviations[:-1] * deviations[1:])) / whole
    return autocorrelation, float(stats.norm.sf(score)), float(stats.shapiro(deviations).pvalue)


def _warnings(settled: bool, dropped: int, autocorrelation: float, p_value: float, normal: float) -> tuple[str, ...]:
    said = []
    if not settled:
        said.append(
            "no end of the warm-up was found in the first half of the run: "
            f"it is too short or does not settle, and its first {dropped} observations were left out"
        )
    if p_value < LEVEL:
        said.append(f"the batch means are correlated (lag 1: {autocorrelation:.2f}): the interval is too narrow")
    if normal < LEVEL:
        said.append(f"the batch means are not normal (Shapiro-Wilk: p = {normal:.2g}): the interval is approximate")
    return tuple(said)
