"""Metrics of flows and queues, from the rows of totals that every run keeps.

The formulas are in `narrows.metrics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from narrows.metrics import (
    NS_PER_MS,
    NS_PER_S,
    active_ns,
    goodput_mbps,
    jains_index,
    mean_ms,
    rate_mbps,
    ratio,
    throughput_max_mbps,
    throughput_mbps,
    utilisation,
)
from narrows.metrics.arithmetic import quotient

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowMetrics:
    """Metrics of a flow over its whole life. In a mean over runs, every number is a mean.

    Counters of the end points are ``None`` if they are unavailable: a kernel does not count everything.

    Attributes
    ----------
    name : str
        The flow.
    cc : str or None
        Its congestion control; ``None`` for UDP.
    start_s : float
        When it started, s.
    active_s : float
        How long it could send, from its start to its end (`narrows.metrics.active_ns`), s.
    throughput_mbps, throughput_max_mbps, goodput_mbps : float or None
        `throughput_mbps`, `throughput_max_mbps`, `goodput_mbps`.
    sent_bytes : int
        Payload bytes that left the sender, retransmissions included.
    sent_packets : int
        Segments or datagrams with payload that left the sender, retransmissions included.
    arrived_bytes : int
        IP bytes of packets with payload that reached the receiving host.
    arrived_packets : int
        Packets with payload that reached the receiving host.
    delivered_bytes : int
        Payload bytes delivered in order to the application.
    lost_packets : int
        Packets with payload that queues dropped or links corrupted.
    loss_ratio : float or None
        Lost packets over sent packets, of 1.
    retransmitted_packets : int or None
        Segments with payload that were sent again.
    retransmitted_bytes : int or None
        Payload bytes that were sent again.
    timeouts : int or None
        Expiries of the retransmission timer (RFC 6298).
    fast_retransmits : int or None
        Entries into fast recovery (RFC 5681, 6582, 6675).
    triple_duplicate_acks : int or None
        Third duplicate ACKs in a row that the sender received, including those that move the window. They indicate loss
        or reordering even if no fast recovery follows. ``None`` in results of versions that did not count them.
    later_duplicate_acks : int or None
        Duplicate ACKs in a row from the third on (the counter above counts only the third ones); ``None`` likewise.
    ecn_reductions : int or None
        Reductions of the window on an ECN echo (RFC 3168).
    spurious : int or None
        Reductions of the window that were undone because nothing was lost.
    rtt_samples : int
        Round-trip times measured at the sender.
    rtt_mean_ms : float or None
        Mean of the round-trip times measured at the sender, exact, ms.
    rtt_min_ms : float or None
        Smallest round-trip time measured at the sender, exact, ms.
    rtt_p50_ms, rtt_p95_ms, rtt_p99_ms : float or None
        Percentile of the round-trip times by nearest rank, from a histogram (error below 0.8 %), ms.
    rtt_max_ms : float or None
        Largest round-trip time measured at the sender, exact, ms.
    commands_normal, commands_freeze, commands_fallback : int
        Commands of this kind that the sender received from a network-assisted scheme.
    window_options : int or None
        Segments whose NGWA option gave the receiver a window. ``None`` in results of versions that did not count them.
    window_options_ignored : int or None
        Segments whose malformed NGWA options the receiver ignored; ``None`` likewise.
    transactions : int
        Requests answered in full.
    finished_s : float or None
        When the last byte of a bounded transfer was delivered, s.
    aborted_s : float or None
        When an end gave up after ``max_retries`` timeouts in a row, or the connection was reset, s.
    """

    name: str
    cc: str | None
    start_s: float
    active_s: float
    throughput_mbps: float | None
    throughput_max_mbps: float | None
    goodput_mbps: float | None
    sent_bytes: float
    sent_packets: float
    arrived_bytes: float
    arrived_packets: float
    delivered_bytes: float
    lost_packets: float
    loss_ratio: float | None
    retransmitted_packets: float | None
    retransmitted_bytes: float | None
    timeouts: float | None
    fast_retransmits: float | None
    triple_duplicate_acks: float | None = None
    later_duplicate_acks: float | None = None
    ecn_reductions: float | None
    spurious: float | None
    rtt_samples: float
    rtt_mean_ms: float | None
    rtt_min_ms: float | None
    rtt_p50_ms: float | None
    rtt_p95_ms: float | None
    rtt_p99_ms: float | None
    rtt_max_ms: float | None
    commands_normal: float | None
    commands_freeze: float | None
    commands_fallback: float | None
    window_options: float | None = None
    window_options_ignored: float | None = None
    transactions: float
    finished_s: float | None
    aborted_s: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMetrics:
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

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubqueueMetrics:
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

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return {name: getattr(self, name) for name in self.__slots__}


def flow_metrics(name: str, cc: str | None, totals: Mapping[str, int | None]) -> FlowMetrics:
    """Compute the metrics of a flow from its row of totals.

    Parameters
    ----------
    name : str
        The flow's name.
    cc : str or None
        Its congestion control; ``None`` for UDP.
    totals : mapping
        Value by column of the engine's ``flow_totals``; ``None`` for "no value".

    Returns
    -------
    FlowMetrics
    """
    return FlowMetrics(name=name, cc=cc, **flow_values(_counts(totals), totals))


def flow_values(n: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the metrics of a flow, or columns of those of many flows (`narrows.metrics.columns`).

    Parameters
    ----------
    n : mapping
        Value by column of the engine's ``flow_totals``; 0 for "no value".
    given : mapping
        The same; ``None``, or NaN in a column, for "no value".

    Returns
    -------
    dict
        Values by name, in declared order.
    """
    active = active_ns(n["start_ns"], n["stop_ns"], given.get("finished_ns"))
    return {
        "start_s": n["start_ns"] / NS_PER_S,
        "active_s": active / NS_PER_S,
        "throughput_mbps": throughput_mbps(n["arrived_bytes"], active),
        "throughput_max_mbps": throughput_max_mbps(n["max_bin_bytes"]),
        "goodput_mbps": goodput_mbps(n["delivered_bytes"], active),
        "sent_bytes": n["sent_bytes"],
        "sent_packets": n["sent_packets"],
        "arrived_bytes": n["arrived_bytes"],
        "arrived_packets": n["arrived_packets"],
        "delivered_bytes": n["delivered_bytes"],
        "lost_packets": n["lost_packets"],
        "loss_ratio": ratio(n["lost_packets"], n["sent_packets"]),
        "retransmitted_packets": given.get("retransmitted_packets"),
        "retransmitted_bytes": given.get("retransmitted_bytes"),
        "timeouts": given.get("timeouts"),
        "fast_retransmits": given.get("fast_retransmits"),
        "triple_duplicate_acks": given.get("triple_duplicate_acks"),
        "later_duplicate_acks": given.get("later_duplicate_acks"),
        "ecn_reductions": given.get("ecn_reductions"),
        "spurious": given.get("spurious"),
        "rtt_samples": n["rtt_samples"],
        "rtt_mean_ms": mean_ms(n["rtt_sum_ns"], n["rtt_samples"]),
        "rtt_min_ms": _ms(given.get("rtt_min_ns")),
        "rtt_p50_ms": _ms(given.get("rtt_p50_ns")),
        "rtt_p95_ms": _ms(given.get("rtt_p95_ns")),
        "rtt_p99_ms": _ms(given.get("rtt_p99_ns")),
        "rtt_max_ms": _ms(given.get("rtt_max_ns")),
        "commands_normal": given.get("commands_normal"),
        "commands_freeze": given.get("commands_freeze"),
        "commands_fallback": given.get("commands_fallback"),
        "window_options": given.get("window_options"),
        "window_options_ignored": given.get("window_options_ignored"),
        "transactions": n["transactions"],
        "finished_s": _seconds(given.get("finished_ns")),
        "aborted_s": _seconds(given.get("aborted_ns")),
    }


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
    return QueueMetrics(name=name, channel=channel, **queue_values(_counts(totals), totals))


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
        "delay_p50_ms": _ms(given.get("delay_p50_ns")),
        "delay_p95_ms": _ms(given.get("delay_p95_ns")),
        "delay_p99_ms": _ms(given.get("delay_p99_ns")),
        "delay_max_ms": _ms(given.get("delay_max_ns")),
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
    n = _counts(totals)
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
        delay_p50_ms=_ms(totals.get("delay_p50_ns")),
        delay_p95_ms=_ms(totals.get("delay_p95_ns")),
        delay_p99_ms=_ms(totals.get("delay_p99_ns")),
        delay_max_ms=_ms(totals.get("delay_max_ns")),
    )


def _counts(totals: Mapping[str, int | None]) -> dict[str, int]:
    return {key: value or 0 for key, value in totals.items()}


def _ms(value_ns: float | None) -> float | None:
    return quotient(value_ns, NS_PER_MS)


def _seconds(value_ns: float | None) -> float | None:
    return quotient(value_ns, NS_PER_S)


Counter = Literal["arrived_bytes", "delivered_bytes"]
"""The bytes that a rate counts: those of throughput, or those of goodput."""


def aggregate_mbps(flows: Iterable[FlowMetrics], counter: Counter = "arrived_bytes") -> float | None:
    """Compute the rate of all flows together: their bytes over the time from the first start to the last end.

    It is not the sum of the flows' own rates. Each of those is over the time in which that flow could send, so where
    flows come and go their sum exceeds what a link carries.

    Parameters
    ----------
    flows : iterable of FlowMetrics
        Of one run.
    counter : {"arrived_bytes", "delivered_bytes"}
        Which bytes: those of throughput or those of goodput.

    Returns
    -------
    float or None
        Mb/s; ``None`` if no time passed.

    Notes
    -----
    Aggregate throughput of RFC 5166, section 2.1.1.
    """
    listed = [flow for flow in flows if flow.active_s > 0]
    if not listed:
        return None
    begin = min(flow.start_s for flow in listed)
    end = max(flow.start_s + flow.active_s for flow in listed)
    return rate_mbps(math.fsum(getattr(flow, counter) for flow in listed), (end - begin) * NS_PER_S)


def fairness(flows: Iterable[FlowMetrics]) -> float | None:
    """Compute Jain's index over the throughput of the flows that have a congestion control.

    UDP is left out: no congestion control decides its share.

    Parameters
    ----------
    flows : iterable of FlowMetrics

    Returns
    -------
    float or None
        See `jains_index`.
    """
    return jains_index(flow.throughput_mbps for flow in flows if flow.cc is not None)
