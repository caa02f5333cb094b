"""Estimates as text: a value with half of its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from narrows.base.format import decimals, interval, number

if TYPE_CHECKING:
    from narrows.stats import Estimate


def signed_text(estimate: Estimate, scale: float = 1.0) -> str:
    """Format a difference with its sign and half of its interval.

    Parameters
    ----------
    estimate : Estimate
    scale : float
        Factor from the estimate's unit to the unit shown.

    Returns
    -------
    str

    Examples
    --------
    >>> from narrows.stats import Estimate
    >>> signed_text(Estimate(1.25, 1, 1.5, 3, 0.1)), signed_text(Estimate(-0.00001, -1, 1, 3, 1))
    ('+1.25 ±0.25', '0 ±1.000')
    """
    value = estimate.mean * scale
    if math.isnan(value) or not value:
        return interval_text(estimate, scale)
    text = f"{value:+,.{decimals(value)}f}"
    return f"{text if text.strip('+-0.') else '0'} {_spread(estimate, scale)}".rstrip()


def interval_text(estimate: Estimate, scale: float = 1.0) -> str:
    """Format an estimate with half of its interval.

    Parameters
    ----------
    estimate : Estimate
    scale : float
        Factor from the estimate's unit to the unit shown.

    Returns
    -------
    str
    """
    return f"{number(estimate.mean * scale)} {_spread(estimate, scale)}".rstrip()


def _spread(estimate: Estimate, scale: float) -> str:
    """Half of an interval; empty if there is no interval or no variation."""
    half = estimate.half_width * scale
    return "" if half == 0 or math.isnan(estimate.mean) else interval(half, estimate.mean * scale)
