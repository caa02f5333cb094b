"""Lines, points and number formats that the sections share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style, tables
from narrows.report.charts import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from narrows.stats import Estimate

NARROW = 0.005
"""Half intervals below this fraction of the mean are not printed: the mean is rounded to more than that."""

SMALL = 0.001
"""Smaller values are shown as below this bound: four bytes in a minute are not a rate."""

Look = tuple[str, int, str]
"""Colour, dash and symbol of an arm, the same in all figures."""


def points(name: str, x: Sequence[float], estimates: Sequence[Estimate], look: Look, *, in_legend: bool) -> Line:
    """Points with their 95 % intervals."""
    colour, _, symbol = look
    y, low, high = _columns(estimates)
    return Line(
        name,
        np.asarray(x, dtype=np.float64),
        y,
        colour,
        low=low,
        high=high,
        markers=True,
        symbol=symbol,
        in_legend=in_legend,
    )


def sweep(name: str, x: Sequence[float], estimates: Sequence[Estimate], look: Look, *, in_legend: bool) -> Line:
    """A line, and a band of its 95 % intervals around it."""
    colour, dash, _ = look
    y, low, high = _columns(estimates)
    return Line(name, np.asarray(x, dtype=np.float64), y, colour, dash=dash, low=low, high=high, in_legend=in_legend)


def beside(count: int, index: int, width: float = 0.5) -> float:
    """Offset of the `index`-th of `count` points from their common position.

    >>> [beside(3, i) for i in range(3)]
    [-0.25, 0.0, 0.25]
    """
    return 0.0 if count < 2 else (index / (count - 1) - 0.5) * width


def _columns(
    estimates: Sequence[Estimate],
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None]:
    y = np.array([one.mean for one in estimates], dtype=np.float64)
    low = np.array([one.low for one in estimates], dtype=np.float64)
    high = np.array([one.high for one in estimates], dtype=np.float64)
    if not np.isfinite(low).any():
        return y, None, None
    # No drawn quantity can be negative, so intervals are cut at zero.
    return y, np.maximum(np.where(np.isfinite(low), low, y), 0.0), np.where(np.isfinite(high), high, y)


def told(estimate: Estimate, digits: int = 3) -> str:
    """Format a mean with half of its 95 % interval, for a table.

    >>> from narrows.stats import mean_ci
    >>> told(mean_ci([4.1, 4.2, 4.3])), told(mean_ci([0.0, 0.0])), told(mean_ci([3.14159])), told(mean_ci([]))
    ('4.20 ± 0.25', '0', '3.14', '–')
    """
    if math.isnan(estimate.mean):
        return "–"
    half = estimate.half_width
    if math.isnan(half) or half == 0 or half < NARROW * abs(estimate.mean):
        return plain(estimate.mean, digits)
    mean, spread = tables.with_spread(estimate.mean, half)
    return f"{mean} ± {spread}"


def plain(value: float, digits: int = 3) -> str:
    """Format a number for a text or a table; NaN gives a dash.

    >>> plain(0.0), plain(3.14159), plain(math.nan), plain(47530.0), plain(5.82e-07)
    ('0', '3.14', '–', '47,500', '<0.001')
    """
    return f"<{SMALL:g}" if 0 < value < SMALL else style.number(value, digits)


def share(value: float) -> str:
    """Format a share in per cent, without decimals from 10 on, unless it would be rounded up to 100 %.

    >>> share(35.7), share(4.26), share(0.0), share(99.6), share(99.98)
    ('36 %', '4.3 %', '0 %', '99.6 %', '100 %')
    """
    if math.isnan(value):
        return "–"
    size = abs(value)
    if 99.5 <= size < 99.95:
        return f"{value:.1f} %"
    return f"{value:.0f} %" if size >= 10 or value == 0 else f"{value:.2g} %"


def alike(values: Sequence[float], tolerance: float) -> bool:
    """Whether values differ by at most a fraction of the largest, and none of them is NaN.

    >>> alike([1.0, 1.04], 0.05), alike([1.0, 1.2], 0.05), alike([0.0, 0.0], 0.05)
    (True, False, True)
    """
    if not values or any(math.isnan(value) for value in values):
        return False
    return max(values) - min(values) <= tolerance * max(abs(value) for value in values)


def most(values: Sequence[float]) -> float:
    """The largest value that is not NaN; NaN if there is none."""
    present = [value for value in values if not math.isnan(value)]
    return max(present, default=math.nan)


def least(values: Sequence[float]) -> float:
    """The smallest value that is not NaN; NaN if there is none."""
    present = [value for value in values if not math.isnan(value)]
    return min(present, default=math.nan)


def times(value: float, base: float) -> float:
    """Ratio of a value to `base`; infinite if `base` is zero.

    >>> times(3.0, 2.0), times(1.0, 0.0)
    (1.5, inf)
    """
    return value / base if base else math.inf
