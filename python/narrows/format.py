"""Numbers as people read them, in the terminal and in notebooks."""

from __future__ import annotations

import math

MISSING = "–"
"""Stands for "no value"."""


def number(value: float | None) -> str:
    """Write a number with three or more significant digits, and none that mean nothing.

    Parameters
    ----------
    value : float or None

    Returns
    -------
    str

    Examples
    --------
    >>> [number(x) for x in (None, 0, 7, 0.12345, 3.14159, 31.4159, 314.159, 31415.9, 0.000123)]
    ['–', '0', '7', '0.123', '3.14', '31.4', '314', '31,416', '0.000123']
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value):
        return f"{int(value):,}"
    size = abs(value)
    if size < 0.01:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(size))) if size >= 1 else 3
    return f"{value:,.{digits}f}"


def interval(half_width: float) -> str:
    """Write half the width of an interval; nothing where there is none.

    Parameters
    ----------
    half_width : float

    Returns
    -------
    str

    Examples
    --------
    >>> interval(0.25), interval(float("nan"))
    ('±0.250', '')
    """
    return "" if math.isnan(half_width) else f"±{number(half_width)}"
