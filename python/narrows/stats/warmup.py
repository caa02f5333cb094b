"""The end of a run's warm-up by the MSER-5 rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

LEAST_GROUPS: Final = 10
"""Fewest groups of observations that `warmup_mser` accepts."""

_TAIL: Final = 5
"""Groups at the end excluded as truncation points: the error of so few is small by chance (Hoad et al. 2010)."""


def series(values: ArrayLike) -> NDArray[np.float64]:
    """Return the observations of one run as an array, or report what is wrong with them.

    Parameters
    ----------
    values : array
        Observations in order of time.

    Returns
    -------
    array
        Of 64-bit floats, one-dimensional.

    Raises
    ------
    ValueError
        If the values are not one-dimensional, or one of them is NaN or infinite: a gap cannot be left out, because the
        values before and after it would become neighbours.
    """
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        message = f"values have {array.ndim} dimensions; allowed: 1, the series of one run"
        raise ValueError(message)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        message = f"values[{bad[0]}] is {array[bad[0]]}; allowed: finite numbers, without gaps"
        raise ValueError(message)
    return array


def warmup_mser(values: ArrayLike, batch: int = 5) -> int | None:
    r"""Length of the warm-up of a run by MSER-m, with m = 5 MSER-5.

    The observations are averaged in groups of m, :math:`Z_1 \dots Z_n`; those left over at the end are ignored. The
    warm-up is the first d groups, with d such that the standard error of the mean of the others is least:

    .. math:: d = \arg\min_j \frac{1}{(n - j)^2} \sum_{i=j+1}^{n} (Z_i - \bar Z_{n,j})^2

    Parameters
    ----------
    values : array
        Observations of one run in order, equally spaced.
    batch : int
        Observations m per group.

    Returns
    -------
    int or None
        Number of observations to leave out at the beginning, a multiple of m. ``None`` if the minimum lies in the
        second half of the run: the run is too short, or does not settle.

    Raises
    ------
    ValueError
        If there are fewer than 10 groups, a value is NaN or infinite, or m is not positive.

    Notes
    -----
    White (1997), "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6),
    introduced the rule; White, Cobb and Spratt (2000), "A comparison of five steady-state truncation heuristics for
    simulation", WSC 2000, compare it with others and use m = 5; both reject a minimum in the second half. The last five
    groups are excluded as in Hoad, Robinson and Davies (2010), "Automating warm-up length estimation", Journal of the
    Operational Research Society 61(9). Even without a warm-up the rule may leave out some observations, by chance.

    Examples
    --------
    >>> warmup_mser([100.0] * 10 + [1.0, 2.0] * 50)
    10
    >>> warmup_mser([1.0, 2.0] * 50)
    0
    >>> print(warmup_mser(range(100)))  # grows to the end
    None
    """
    array = series(values)
    if batch < 1:
        message = f"batch is {batch}; allowed: a positive number of observations"
        raise ValueError(message)
    groups = array.size // batch
    if groups < LEAST_GROUPS:
        message = f"there are {array.size} values; needed: at least {LEAST_GROUPS * batch}, to detect the warm-up"
        raise ValueError(message)
    found = _truncation(array[: groups * batch].reshape(groups, batch).mean(axis=1).tolist())
    return found * batch if 2 * found <= groups else None


def _truncation(means: list[float]) -> int:
    """Return the index of the first group to keep; the smallest of several minima.

    Sums of squares are accumulated backwards from the end, group by group (Welford 1962), so that a series that is
    constant after its warm-up has an error of exactly zero from there on.
    """
    best, found = math.inf, 0
    centre = squares = 0.0
    for kept, value in enumerate(reversed(means), start=1):
        step = value - centre
        centre += step / kept
        squares += step * (value - centre)
        error = squares / kept**2
        if kept > _TAIL and error <= best:
            best, found = error, len(means) - kept
    return found
