"""Numbers in the tables of pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from narrows.report import style, tables

if TYPE_CHECKING:
    from narrows.stats import Estimate


def spread(estimate: Estimate, digits: int, scale: float = 1.0) -> tuple[str, str]:
    """Mean and half width of the interval; without one the mean has that many digits and the half width is empty."""
    half = estimate.half_width * scale
    if not half > 0:
        return style.number(estimate.mean * scale, digits), ""
    return tables.with_spread(estimate.mean * scale, half)


def change(percent: float | None) -> str:
    """Format a change in per cent with its sign.

    >>> change(-7.08), change(None)
    ('−7.1 %', '–')
    """
    return "–" if percent is None or math.isnan(percent) else f"{percent:+.1f} %".replace("-", "−")
