"""Metrics of many flows or queues as columns, by the formulas of `narrows.metrics.flows` and `narrows.metrics.queues`.

The values are those that Python's integers give, to the last bit. Both divisions are correctly rounded, and a column
of floats holds integers below 2^53 exactly. Where an operand could be larger, the metrics are computed row by row with
Python's integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from narrows.metrics.flows import flow_values
from narrows.metrics.queues import queue_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

_VALUES: Final[Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]]] = {
    "flow": flow_values,
    "queue": queue_values,
}

_NONE: Final = 2**64 - 1
"""The engine's "no value"."""

_MOST: Final = 2**51
"""Totals from here on are computed row by row: a sum of three smaller ones is below 2^53."""

_MOST_BYTES: Final = 2**53 // 8000
"""The same for bytes: a rate multiplies them by 8,000."""


def columns(kind: str, names: Sequence[str], totals: bytes) -> dict[str, NDArray[np.float64]]:
    """Compute the metrics of flows or queues.

    Parameters
    ----------
    kind : str
        ``flow`` or ``queue``.
    names : sequence of str
        Columns of the totals.
    totals : bytes
        Values row by row, as `narrows._core.Result.totals` returns them.

    Returns
    -------
    dict
        Columns by metric; NaN where a metric has no value.
    """
    import numpy as np

    table = np.frombuffer(totals, dtype="<u8").reshape(-1, len(names)).T
    there = table != _NONE
    counts = np.where(there, table, 0)
    if not _exact(names, counts):
        rows = [_values(kind, dict(zip(names, row, strict=True))) for row in table.T.tolist()]
        return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
    n = dict(zip(names, counts.astype(np.int64), strict=True))
    given = dict(zip(names, np.where(there, table, np.nan), strict=True))
    size = table.shape[1]
    return {
        name: np.full(size, np.nan) if values is None else np.asarray(values, dtype=np.float64)
        for name, values in _VALUES[kind](n, given).items()
    }


def _exact(names: Sequence[str], table: NDArray[np.uint64]) -> bool:
    """Whether all operands of the formulas, and their products and sums, are integers below 2^53."""
    most = [_MOST_BYTES if name.endswith("_bytes") else _MOST for name in names]
    return all(bool((column < bound).all()) for column, bound in zip(table, most, strict=True))


def _values(kind: str, totals: Mapping[str, int]) -> dict[str, Any]:
    """Compute the metrics of one flow or queue with Python's integers."""
    given = {name: None if value == _NONE else value for name, value in totals.items()}
    return _VALUES[kind]({name: value or 0 for name, value in given.items()}, given)
