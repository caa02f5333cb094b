"""Metrics of a queue, its sub-queues and the link behind it over the whole run, from their rows of totals.

The formulas are in `narrows.metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.metrics import mean_ms, ratio, utilisation
from narrows.metrics.counts import counts, milliseconds
from narrows.metrics.row import MetricsRow

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMetrics(MetricsRow):
    """Metrics of a queue, and of the link behind it, over the whole run. In a mean over runs, every number is a mean.

    Attributes
    ----------
    name : str
        The direction of a link that it feeds: ``A->B``. Interface queue of a base station: ``ap->wlan``, or ``ap->w1``
        if each station has its own; of a station: ``w1->ap``.
    channel : str or None
        The 802.11 channel that it feeds; ``None`` for a queue in front of a wired link.
    utilisation : float or None
        Utilisation of the link behind it (`narrows.metrics.utilisation`), of 1. For an interface queue it is the bits
        that left it over those that the PHY's rate alone could carry. Preambles, contention, acknowledgements and the
        other stations take the rest, so it stays well below 1 on a saturated channel.
    arrived_packets : int
        Packets offered to the queue.
    forwarded_packets : int
        Packets that left for the link.
    forwarded_bytes : int
        IP bytes that left for the link.
    dropped_packets : int
        All drops of the queue: for want of room, by chance, and by rule.
    dropped_overflow : int
        Packets dropped because there was no room.
    dropped_early : int
        Packets dropped by chance.
    dropped_forced : int
        Packets dropped by rule.
    drop_ratio : float or None
        Drops over packets offered, of 1.
    corrupted_packets : int
        Packets lost on the link after the queue, or given up by 802.11 at a retry limit and not arrived.
    marked_packets : int
        Packets marked CE (RFC 3168).
    waiting_packets : int
        Packets still waiting at the end.
    delay_mean_ms : float or None
        Mean queueing delay, from arrival to the start of sending, of the packets that left, exact, ms.
    delay_p50_ms, delay_p95_ms, delay_p99_ms : float or None
        Percentile of the queueing delay, from a histogram (error below 0.8 %), ms.
    delay_max_ms : float or None
        Largest queueing delay of the packets that left, exact, ms.
    max_packets : int
        Largest queue length in packets.
    max_bytes : int
        Largest queue length in bytes.
    """

    name: str
    channel: str | None = None
    utilisation: float | None
    arrived_packets: float
    forwarded_packets: float
    forwarded_bytes: float
    dropped_packets: float
    dropped_overflow: float
    dropped_early: float
    dropped_forced: float
    drop_ratio: float | None
    corrupted_packets: float
    marked_packets: float
    waiting_packets: float
    delay_mean_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    delay_p99_ms: float | None = None
    delay_max_ms: float | None
    max_packets: float
    max_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SubqueueMetrics(MetricsRow):
    """Metrics of a sub-queue over the whole run: of disciplines that have several queues behind one limit.

    In a mean over runs, every number is a mean.

    Attributes
    ----------
    name : str
        The queue's name and the sub-queue's label: ``A->B/label``.
    arrived_packets, forwarded_packets, forwarded_bytes
        As for `QueueMetrics`.
    dropped_packets, dropped_overflow, dropped_early, dropped_forced, drop_ratio
        As for `QueueMetrics`.
    marked_packets, waiting_packets, delay_mean_ms, delay_p50_ms, delay_p95_ms, delay_max_ms
        As for `QueueMetrics`.
    delay_p99_ms : float or None
        99th percentile of the queueing delay, from a histogram (error below 0.8 %), ms.
    """

    name: str
    arrived_packets: float
    forwarded_packets: float
    forwarded_bytes: float
    dropped_packets: float
    dropped_overflow: float
    dropped_early: float
    dropped_forced: float
    drop_ratio: float | None
    marked_packets: float
    waiting_packets: float
    delay_mean_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    delay_p99_ms: float | None
    delay_max_ms: float | None


def queue_metrics(name: str, totals: Mapping[str, int | None], channel: str | None = None) -> QueueMetrics:
    """Compute the metrics of a queue from its row of totals.

    Parameters
    ----------
    name : str
        The queue's name: ``A->B``.
    totals : mapping
        Value by column of the engine's ``queue_totals``; ``None`` for "no value".
    channel : str or None
        The 802.11 channel that it feeds, if it is an interface queue.

    Returns
    -------
    QueueMetrics
    """
    return QueueMetrics(name=name, channel=channel, **queue_values(counts(totals), totals))


def queue_values(n: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the metrics of a queue, or columns of those of many queues (`narrows.metrics.columns`).

    Parameters
    ----------
    n, given : mapping
        As for `flow_values`, of ``queue_totals``.

    Returns
    -------
    dict
        Values by name, in declared order.
    """
    dropped = n["dropped_overflow"] + n["dropped_early"] + n["dropped_forced"]
    return {
        "utilisation": utilisation(n["forwarded_bytes"] - n["unsent_bytes"], n["capacity_bits"]),
        "arrived_packets": n["arrived_packets"],
        "forwarded_packets": n["forwarded_packets"],
        "forwarded_bytes": n["forwarded_bytes"],
        "dropped_packets": dropped,
        "dropped_overflow": n["dropped_overflow"],
        "dropped_early": n["dropped_early"],
        "dropped_forced": n["dropped_forced"],
        "drop_ratio": ratio(dropped, n["arrived_packets"]),
        "corrupted_packets": n["corrupted"],
        "marked_packets": n["marked"],
        "waiting_packets": n["waiting_packets"],
        "delay_mean_ms": mean_ms(n["delay_sum_ns"], n["delay_samples"]),
        "delay_p50_ms": milliseconds(given.get("delay_p50_ns")),
        "delay_p95_ms": milliseconds(given.get("delay_p95_ns")),
        "delay_p99_ms": milliseconds(given.get("delay_p99_ns")),
        "delay_max_ms": milliseconds(given.get("delay_max_ns")),
        "max_packets": n["max_packets"],
        "max_bytes": n["max_bytes"],
    }


def subqueue_metrics(name: str, totals: Mapping[str, int | None]) -> SubqueueMetrics:
    """Compute the metrics of a sub-queue from its row of totals.

    Parameters
    ----------
    name : str
        The queue's name and the sub-queue's label: ``A->B/label``.
    totals : mapping
        Value by column of the engine's ``subqueue_totals``; ``None`` for "no value".

    Returns
    -------
    SubqueueMetrics
    """
    n = counts(totals)
    dropped = n["dropped_overflow"] + n["dropped_early"] + n["dropped_forced"]
    return SubqueueMetrics(
        name=name,
        arrived_packets=n["arrived_packets"],
        forwarded_packets=n["forwarded_packets"],
        forwarded_bytes=n["forwarded_bytes"],
        dropped_packets=dropped,
        dropped_overflow=n["dropped_overflow"],
        dropped_early=n["dropped_early"],
        dropped_forced=n["dropped_forced"],
        drop_ratio=ratio(dropped, n["arrived_packets"]),
        marked_packets=n["marked"],
        waiting_packets=n["waiting_packets"],
        delay_mean_ms=mean_ms(n["delay_sum_ns"], n["delay_samples"]),
        delay_p50_ms=milliseconds(totals.get("delay_p50_ns")),
        delay_p95_ms=milliseconds(totals.get("delay_p95_ns")),
        delay_p99_ms=milliseconds(totals.get("delay_p99_ns")),
        delay_max_ms=milliseconds(totals.get("delay_max_ns")),
    )
