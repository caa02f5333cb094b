"""Metrics of a flow over its whole life, from the row of totals that every run keeps of it.

The formulas are in `narrows.metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.metrics import (
    NS_PER_S,
    active_ns,
    goodput_mbps,
    mean_ms,
    ratio,
    throughput_max_mbps,
    throughput_mbps,
)
from narrows.metrics.arithmetic import quotient
from narrows.metrics.counts import counts, milliseconds
from narrows.metrics.row import MetricsRow

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowMetrics(MetricsRow):
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
    return FlowMetrics(name=name, cc=cc, **flow_values(counts(totals), totals))


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
        "rtt_min_ms": milliseconds(given.get("rtt_min_ns")),
        "rtt_p50_ms": milliseconds(given.get("rtt_p50_ns")),
        "rtt_p95_ms": milliseconds(given.get("rtt_p95_ns")),
        "rtt_p99_ms": milliseconds(given.get("rtt_p99_ns")),
        "rtt_max_ms": milliseconds(given.get("rtt_max_ns")),
        "commands_normal": given.get("commands_normal"),
        "commands_freeze": given.get("commands_freeze"),
        "commands_fallback": given.get("commands_fallback"),
        "window_options": given.get("window_options"),
        "window_options_ignored": given.get("window_options_ignored"),
        "transactions": n["transactions"],
        "finished_s": _seconds(given.get("finished_ns")),
        "aborted_s": _seconds(given.get("aborted_ns")),
    }


def _seconds(value_ns: float | None) -> float | None:
    return quotient(value_ns, NS_PER_S)
