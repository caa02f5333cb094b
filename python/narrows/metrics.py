"""Metrics: pure functions of what was counted, each with its formula, unit and source.

The functions take plain numbers and never ask which world made them. `flow_metrics` and `queue_metrics` apply them to a
row of totals. Rates are in Mb/s (10^6 bits per second) and count whole IP packets unless they say otherwise. A metric
without a value (no round-trip time was measured, say) is ``None``.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NS_PER_S = 1_000_000_000
_NS_PER_MS = 1_000_000


def rate_mbps(nbytes: float, time_ns: float) -> float | None:
    """Mean rate: R = 8 b / t.

    Parameters
    ----------
    nbytes : float
        Bytes b.
    time_ns : float
        Time t, ns.

    Returns
    -------
    float or None
        Mb/s; ``None`` if no time passed.

    Examples
    --------
    >>> rate_mbps(1_250_000, 1_000_000_000)
    10.0
    """
    return None if time_ns <= 0 else nbytes * 8 * 1000 / time_ns


def active_ns(start_ns: int, stop_ns: int, finished_ns: int | None = None) -> int:
    """Time in which a flow could send: from its start to its end.

    Parameters
    ----------
    start_ns, stop_ns : int
        When the application started; when it stopped or the run ended, ns.
    finished_ns : int or None
        When a bounded transfer was complete, ns.

    Returns
    -------
    int
        ns, never negative.

    Examples
    --------
    >>> active_ns(5, 105), active_ns(5, 105, 55), active_ns(200, 105)
    (100, 50, 0)
    """
    return max(0, (stop_ns if finished_ns is None else finished_ns) - start_ns)


def throughput_mbps(arrived_bytes: int, active: int) -> float | None:
    """Throughput: IP bytes of the data direction that reached the receiving host, over the active time.

    T = 8 arrived / active. Retransmissions that arrive count, as on the wire; RFC 5166, section 2.1.

    Parameters
    ----------
    arrived_bytes : int
        IP bytes, headers included.
    active : int
        See `active_ns`, ns.

    Returns
    -------
    float or None
        Mb/s.
    """
    return rate_mbps(arrived_bytes, active)


def throughput_max_mbps(max_bin_bytes: int) -> float | None:
    """Maximum throughput: the most IP bytes that arrived in one bin of one second.

    T_max = 8 max_k B_k / 1 s, with bins from the start of the run.

    Parameters
    ----------
    max_bin_bytes : int
        IP bytes in the fullest bin.

    Returns
    -------
    float or None
        Mb/s.

    Examples
    --------
    >>> throughput_max_mbps(125_000)
    1.0
    """
    return rate_mbps(max_bin_bytes, NS_PER_S)


def goodput_mbps(delivered_bytes: int, active: int) -> float | None:
    """Goodput: payload that was delivered in order to the application, over the active time.

    G = 8 delivered / active; RFC 5166, section 2.1: no headers, nothing twice.

    Parameters
    ----------
    delivered_bytes : int
        Payload bytes.
    active : int
        See `active_ns`, ns.

    Returns
    -------
    float or None
        Mb/s.
    """
    return rate_mbps(delivered_bytes, active)


def mean_ms(sum_ns: int, count: int) -> float | None:
    """Arithmetic mean of measured times.

    Parameters
    ----------
    sum_ns : int
        Exact sum, ns.
    count : int
        Number of measurements.

    Returns
    -------
    float or None
        ms; ``None`` without measurements.

    Examples
    --------
    >>> mean_ms(30_000_000, 2)
    15.0
    """
    return None if count == 0 else sum_ns / count / _NS_PER_MS


def ratio(part: float, whole: float) -> float | None:
    """Share of a part in a whole; ``None`` if there is no whole.

    Parameters
    ----------
    part, whole : float
        In the same unit.

    Returns
    -------
    float or None
        Of 1.

    Examples
    --------
    >>> ratio(1, 4), ratio(0, 0)
    (0.25, None)
    """
    return None if whole == 0 else part / whole


def utilisation(forwarded_bytes: int, capacity_bits: int) -> float | None:
    """Utilisation of a link: what left for it over what it could have sent.

    U = 8 forwarded / capacity; RFC 5166, section 2.1.1. The capacity counts the link's changes of rate.

    Parameters
    ----------
    forwarded_bytes : int
        IP bytes that left the queue for the link.
    capacity_bits : int
        Bits that the link could have sent over the run.

    Returns
    -------
    float or None
        Of 1.
    """
    return ratio(forwarded_bytes * 8, capacity_bits)


def jains_index(values: Iterable[float | None]) -> float | None:
    r"""Jain's fairness index.

    .. math:: J = \frac{(\sum x_i)^2}{n \sum x_i^2}

    Parameters
    ----------
    values : iterable of float
        What each flow got, in one unit; ``None`` is left out.

    Returns
    -------
    float or None
        From 1/n (one has everything) to 1 (all have the same); ``None`` if there is nothing to share out.

    Notes
    -----
    Jain, Chiu and Hawe (1984), "A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems", DEC-TR-301; RFC 5166, section 2.3.

    Examples
    --------
    >>> jains_index([5, 5, 5]), jains_index([1, 0, 0, 0])
    (1.0, 0.25)
    """
    shares = [value for value in values if value is not None]
    peak = max((abs(value) for value in shares), default=0.0)
    if peak == 0:
        return None
    scaled = [value / peak for value in shares]  # so that no square overflows or vanishes
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(value * value for value in scaled))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowMetrics:
    """What became of a flow over its whole life. Units are in the names; `narrows.definitions` has the formulas."""

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
    retransmitted_packets: float
    retransmitted_bytes: float
    timeouts: float
    fast_retransmits: float
    ecn_reductions: float
    spurious: float
    rtt_samples: float
    rtt_mean_ms: float | None
    rtt_min_ms: float | None
    rtt_p50_ms: float | None
    rtt_p95_ms: float | None
    rtt_p99_ms: float | None
    rtt_max_ms: float | None
    commands_normal: float
    commands_freeze: float
    commands_fallback: float
    transactions: float
    finished_s: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMetrics:
    """What became of a queue, and of the link behind it, over the whole run. `narrows.definitions` has the formulas."""

    name: str
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
    delay_max_ms: float | None
    max_packets: float
    max_bytes: float

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return asdict(self)




def flow_metrics(name: str, cc: str | None, totals: Mapping[str, int | None]) -> FlowMetrics:
    """Metrics of a flow from its row of totals.

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
    n = _counts(totals)
    active = active_ns(n["start_ns"], n["stop_ns"], totals.get("finished_ns"))
    return FlowMetrics(
        name=name,
        cc=cc,
        start_s=n["start_ns"] / NS_PER_S,
        active_s=active / NS_PER_S,
        throughput_mbps=throughput_mbps(n["arrived_bytes"], active),
        throughput_max_mbps=throughput_max_mbps(n["max_bin_bytes"]),
        goodput_mbps=goodput_mbps(n["delivered_bytes"], active),
        sent_bytes=n["sent_bytes"],
        sent_packets=n["sent_packets"],
        arrived_bytes=n["arrived_bytes"],
        arrived_packets=n["arrived_packets"],
        delivered_bytes=n["delivered_bytes"],
        lost_packets=n["lost_packets"],
        loss_ratio=ratio(n["lost_packets"], n["sent_packets"]),
        retransmitted_packets=n["retransmitted_packets"],
        retransmitted_bytes=n["retransmitted_bytes"],
        timeouts=n["timeouts"],
        fast_retransmits=n["fast_retransmits"],
        ecn_reductions=n["ecn_reductions"],
        spurious=n["spurious"],
        rtt_samples=n["rtt_samples"],
        rtt_mean_ms=mean_ms(n["rtt_sum_ns"], n["rtt_samples"]),
        rtt_min_ms=_ms(totals.get("rtt_min_ns")),
        rtt_p50_ms=_ms(totals.get("rtt_p50_ns")),
        rtt_p95_ms=_ms(totals.get("rtt_p95_ns")),
        rtt_p99_ms=_ms(totals.get("rtt_p99_ns")),
        rtt_max_ms=_ms(totals.get("rtt_max_ns")),
        commands_normal=n["commands_normal"],
        commands_freeze=n["commands_freeze"],
        commands_fallback=n["commands_fallback"],
        transactions=n["transactions"],
        finished_s=_seconds(totals.get("finished_ns")),
    )


def queue_metrics(name: str, totals: Mapping[str, int | None]) -> QueueMetrics:
    """Metrics of a queue from its row of totals.

    Parameters
    ----------
    name : str
        The queue's name: ``A->B``.
    totals : mapping
        Value by column of the engine's ``queue_totals``; ``None`` for "no value".

    Returns
    -------
    QueueMetrics
    """
    n = _counts(totals)
    dropped = n["dropped_overflow"] + n["dropped_early"] + n["dropped_forced"]
    return QueueMetrics(
        name=name,
        utilisation=utilisation(n["forwarded_bytes"], n["capacity_bits"]),
        arrived_packets=n["arrived_packets"],
        forwarded_packets=n["forwarded_packets"],
        forwarded_bytes=n["forwarded_bytes"],
        dropped_packets=dropped,
        dropped_overflow=n["dropped_overflow"],
        dropped_early=n["dropped_early"],
        dropped_forced=n["dropped_forced"],
        drop_ratio=ratio(dropped, n["arrived_packets"]),
        corrupted_packets=n["corrupted"],
        marked_packets=n["marked"],
        waiting_packets=n["waiting_packets"],
        delay_mean_ms=mean_ms(n["delay_sum_ns"], n["delay_samples"]),
        delay_p50_ms=_ms(totals.get("delay_p50_ns")),
        delay_p95_ms=_ms(totals.get("delay_p95_ns")),
        delay_max_ms=_ms(totals.get("delay_max_ns")),
        max_packets=n["max_packets"],
        max_bytes=n["max_bytes"],
    )


def _counts(totals: Mapping[str, int | None]) -> dict[str, int]:
    return {key: value or 0 for key, value in totals.items()}


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / _NS_PER_MS


def _seconds(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / NS_PER_S


def fairness(flows: Iterable[FlowMetrics]) -> float | None:
    """Jain's index over the throughput of the flows that have a congestion control.

    UDP is left out: nobody shares out what it takes.

    Parameters
    ----------
    flows : iterable of FlowMetrics

    Returns
    -------
    float or None
        See `jains_index`.
    """
    return jains_index(flow.throughput_mbps for flow in flows if flow.cc is not None)
