"""Values of a row of totals: counts without a value as 0, and times in the units of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.metrics import NS_PER_MS
from narrows.metrics.arithmetic import quotient

if TYPE_CHECKING:
    from collections.abc import Mapping


def counts(totals: Mapping[str, int | None]) -> dict[str, int]:
    """Return the values by column; 0 for "no value"."""
    return {key: value or 0 for key, value in totals.items()}


def milliseconds(value_ns: float | None) -> float | None:
    """Return a time in ms, or a column of times; ``None``, or NaN in a column, for "no value"."""
    return quotient(value_ns, NS_PER_MS)
