"""Several tests at once: p-values that account for the number of tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def adjusted_p(p_values: Sequence[float]) -> list[float]:
    r"""Adjust p-values for their number by the method of Benjamini and Hochberg.

    With the p-values in ascending order, :math:`\tilde p_i = \min_{j \ge i} m \, p_j / j`.

    Parameters
    ----------
    p_values : sequence of float
        NaN where there was no test; it does not count.

    Returns
    -------
    list of float
        In the order given. Of the tests whose adjusted p-value is at most α, a share of at most α is expected to be
        false; if nothing differs at all, any is with a probability of at most α.

    Raises
    ------
    ValueError
        If a p-value is not between 0 and 1.

    Notes
    -----
    Benjamini and Hochberg (1995), "Controlling the false discovery rate", Journal of the Royal Statistical Society B
    57(1). It holds for tests that are independent or depend positively on each other (Benjamini and Yekutieli 2001,
    Annals of Statistics 29(4)); otherwise the level is approximate. `scipy.stats.false_discovery_control` gives the
    same and takes half a second to load.

    Examples
    --------
    >>> [round(p, 3) for p in adjusted_p([0.01, 0.04, 0.03, float("nan")])]
    [0.03, 0.04, 0.04, nan]
    """
    tested = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    adjusted = [math.nan] * len(p_values)
    if not tested:
        return adjusted
    wrong = next((p_values[i] for i in tested if not 0 <= p_values[i] <= 1), None)
    if wrong is not None:
        message = f"a p-value is {wrong}; allowed: 0 to 1"
        raise ValueError(message)
    import numpy as np

    count = len(tested)
    given = np.array([p_values[i] for i in tested])
    order = np.argsort(given, kind="stable")
    scaled = given[order] * (count / np.arange(1, count + 1))
    made = np.empty(count)
    made[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    for i, p in zip(tested, made.tolist(), strict=True):
        adjusted[i] = p
    return adjusted
