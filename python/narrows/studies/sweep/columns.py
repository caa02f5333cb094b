"""The columns of a sweep's data set: one tidy table for runs and for all their parts that have metrics."""

from __future__ import annotations

import functools
import operator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from narrows.metrics.flows import FlowMetrics
from narrows.metrics.queues import QueueMetrics
from narrows.metrics.routers import RouterMetrics
from narrows.metrics.stations import ChannelMetrics, StationMetrics
from narrows.outcome.rows import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Row = tuple[tuple[str, ...], tuple[Any, ...]]
    """A row of the data set: its columns, which all rows of a kind share, and their values."""

KINDS: Final[dict[str, type]] = {
    "flow": FlowMetrics,
    "queue": QueueMetrics,
    "router": RouterMetrics,
    "station": StationMetrics,
    "channel": ChannelMetrics,
}
"""The class of metrics for each value of the column ``kind``, other than ``run``."""

IDENTITY: Final = ("seed", "address")
"""Columns of every row, after the columns of the axes."""

RUN: Final = ("status", "error", "digest", "cpu_s", "wall_s", "events", "packets")
"""Columns of the row of a run."""

NAMES: Final = ("name", "flow_cc", "channel", "role")
"""Columns that identify the subject of a row: name, a flow's congestion control, a station's channel and role."""

INTEGERS: Final = ("seed", "events", "packets")
TEXTS: Final = ("kind", "address", "status", "error", "digest", *NAMES)

_WORDS: Final = {"cc": "flow_cc", "channel": "channel", "role": "role"}
"""Columns of words about the subject, by attribute of the metrics."""

RUN_METRICS: Final = ("jain",)
"""Metrics of a run as a whole."""


@functools.cache
def metrics_of(kind: str) -> tuple[str, ...]:
    """Return the names of the metrics for a kind of row.

    Parameters
    ----------
    kind : str
        ``run``, or one of `KINDS`.

    Returns
    -------
    tuple of str
        In declared order.

    Examples
    --------
    >>> metrics_of("queue")[0], metrics_of("run")
    ('utilisation', ('jain',))
    """
    if kind == "run":
        return RUN_METRICS
    return tuple(field.name for field in fields(KINDS[kind]) if field.name not in WORDS)


def all_metrics() -> list[str]:
    """Return the names of all metrics, each once.

    Returns
    -------
    list of str
        Metrics of runs first, then kind by kind.
    """
    return list(dict.fromkeys(metric for kind in ("run", *KINDS) for metric in metrics_of(kind)))


def reserved() -> set[str]:
    """Return the column names that no axis may have.

    Returns
    -------
    set of str
    """
    return {"kind", *IDENTITY, *RUN, *NAMES, *KINDS, *all_metrics()}


def kept_metrics(keep: Iterable[str] | None) -> list[str]:
    """Return the names of the metrics in a data set.

    Parameters
    ----------
    keep : iterable of str or None
        Metrics to keep; all by default.

    Returns
    -------
    list of str
        In declared order.
    """
    wanted = None if keep is None else set(keep)
    return [metric for metric in all_metrics() if wanted is None or metric in wanted]


@functools.cache
def _reader(kind: str) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the columns of a kind of row, and what reads the values of all but the first from the metrics."""
    there = {field.name for field in fields(KINDS[kind])}
    words = {word: column for word, column in _WORDS.items() if word in there}
    columns = ("kind", "name", *words.values(), *metrics_of(kind))
    return columns, operator.attrgetter("name", *words, *metrics_of(kind))


def row_of(kind: str, metrics: Any) -> Row:
    """Convert metrics to a row without labels.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    metrics : FlowMetrics, QueueMetrics, RouterMetrics, StationMetrics or ChannelMetrics

    Returns
    -------
    Row
    """
    columns, read = _reader(kind)
    return columns, (kind, *read(metrics))
