"""Common operations on the metrics of flows, queues, routers, stations and channels: rows of numbers with a name."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from narrows.base.errors import InputError
from narrows.metrics.datagrams import DatagramMetrics
from narrows.metrics.flows import FlowMetrics
from narrows.metrics.impairments import ImpairmentMetrics
from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
from narrows.metrics.routers import RouterMetrics
from narrows.metrics.stations import ChannelMetrics, StationMetrics
from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
from narrows.stats import mean_ci

if TYPE_CHECKING:
    from collections.abc import Sequence

AnyRow = (
    FlowMetrics
    | QueueMetrics
    | RouterMetrics
    | ChannelMetrics
    | SubqueueMetrics
    | TransferMetrics
    | PlaybackMetrics
    | DatagramMetrics
    | ImpairmentMetrics
)
"""A row of metrics; a station's row is a channel's with two more fields of text."""

Row = TypeVar(
    "Row",
    FlowMetrics,
    QueueMetrics,
    RouterMetrics,
    ChannelMetrics,
    StationMetrics,
    SubqueueMetrics,
    TransferMetrics,
    PlaybackMetrics,
    DatagramMetrics,
    ImpairmentMetrics,
)

WORDS: Final = ("name", "cc", "channel", "role")
"""Fields of metrics that are not numbers."""


def numeric(row: AnyRow) -> list[str]:
    """Name the metrics of a row that are numbers.

    Parameters
    ----------
    row : FlowMetrics, QueueMetrics, RouterMetrics, ChannelMetrics or StationMetrics

    Returns
    -------
    list of str
        In declared order.
    """
    return [field.name for field in fields(row) if field.name not in WORDS]


def mean_row(rows: Sequence[Row]) -> Row:
    """Average rows over runs, metric by metric; runs in which a metric has no value are left out.

    Parameters
    ----------
    rows : sequence
        One row per run, of the same flow, queue, router, station or channel; at least one.

    Returns
    -------
    FlowMetrics, QueueMetrics, RouterMetrics, ChannelMetrics or StationMetrics
        As in `rows`.
    """
    first = rows[0]
    values: dict[str, Any] = {field.name: getattr(first, field.name) for field in fields(first) if field.name in WORDS}
    for metric in numeric(first):
        estimate = mean_ci(getattr(row, metric) for row in rows)
        values[metric] = estimate.mean if estimate.n else None
    return type(first)(**values)


def named(rows: Sequence[Row], name: str, what: str) -> Row:
    """Find a row by its name.

    Parameters
    ----------
    rows : sequence
        Rows to search.
    name, what : str
        The name; what kind of thing it names, for the message.

    Returns
    -------
    FlowMetrics, QueueMetrics, RouterMetrics, ChannelMetrics or StationMetrics
        As in `rows`.

    Raises
    ------
    InputError
        If there is no row of that name.
    """
    for row in rows:
        if row.name == name:
            return row
    message = f"{what} is {name!r}; allowed: {', '.join(row.name for row in rows) or 'none here'}"
    raise InputError(message)
