"""Numbers formatted for people, in the terminal and in notebooks."""

from __future__ import annotations

import math

MISSING = "–"
"""Stands for "no value"."""

SMALL = 0.001
"""Smaller values are written as "<0.001": three decimals cannot show them."""


def number(value: float | None) -> str:
    """Write a number with three significant digits, at most three of them decimals.

    Parameters
    ----------
    value : float or None

    Returns
    -------
    str

    Examples
    --------
    >>> [number(x) for x in (None, 0, 7, 0.12345, 3.14159, 31.4159, 314.159, 31415.9, 0.000123)]
    ['–', '0', '7', '0.123', '3.14', '31.4', '314', '31,416', '<0.001']
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) < SMALL:
        return f"<{SMALL}" if value > 0 else f">-{SMALL}"
    return f"{value:,.{decimals(value)}f}"


def decimals(value: float) -> int:
    """Return the number of decimals that gives three significant digits, at most three.

    Parameters
    ----------
    value : float

    Returns
    -------
    int

    Examples
    --------
    >>> [decimals(x) for x in (0.5, 5.0, 50.0, 500.0, 5000.0)]
    [3, 2, 1, 0, 0]
    """
    size = abs(value)
    return max(0, 2 - math.floor(math.log10(size))) if size >= 1 else 3


def interval(half_width: float, mean: float | None) -> str:
    """Write half the width of an interval, with as many decimals as its mean; empty if there is no interval.

    Parameters
    ----------
    half_width : float
    mean : float or None
        Mean of the interval.

    Returns
    -------
    str

    Examples
    --------
    >>> interval(0.25, 12.5), interval(0.25, 1.25), interval(0.0004, 5.0), interval(float("nan"), 5.0)
    ('±0.2', '±0.25', '±0.00', '')
    """
    if math.isnan(half_width):
        return ""
    if mean is None or half_width == 0:
        return f"±{number(half_width)}"
    return f"±{half_width:,.{decimals(mean)}f}"


def clock(seconds: float) -> str:
    """Write a duration for people.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> clock(0.4), clock(48.2), clock(600), clock(5400), clock(200_000)
    ('0 s', '48 s', '10 min', '1 h 30 min', '2 d 7 h')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"
