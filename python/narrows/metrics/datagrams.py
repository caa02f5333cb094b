"""Metrics of flows of datagrams: one-way delays, their variation, order, and frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.metrics.formulas import NS_PER_MS, mean_ms, ratio
from narrows.metrics.row import MetricsRow

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagramMetrics(MetricsRow):
    """What the datagrams of a UDP flow measured. In a mean over runs, every number is a mean.

    Attributes
    ----------
    name : str
        The flow.
    arrived_packets : int
        Datagrams that arrived, once each.
    delay_mean_ms, delay_min_ms, delay_max_ms : float or None
        One-way delay between the applications: mean, smallest or largest, exact, ms.
    delay_p50_ms, delay_p95_ms, delay_p99_ms : float or None
        Percentile of the one-way delay, from a histogram (error below 0.8 %), ms.
    jitter_ms : float or None
        Interarrival jitter at the end of the run (RFC 3550, section 6.4.1), ms.
    late_packets : int
        Datagrams that arrived after one that was sent later.
    duplicate_packets : int
        Datagrams that arrived again.
    frames : int or None
        Frames sent; ``None`` for flows without frames.
    complete_frames : int or None
        Frames of which every datagram arrived; ``None`` for flows without frames.
    incomplete_ratio : float or None
        Frames that are not complete over frames sent, of 1.
    frame_delay_p50_ms, frame_delay_p95_ms, frame_delay_p99_ms : float or None
        Percentile of the delay of complete frames, from sending to the arrival of the last datagram, ms.
    """

    name: str
    arrived_packets: float
    delay_mean_ms: float | None
    delay_min_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    delay_p99_ms: float | None
    delay_max_ms: float | None
    jitter_ms: float | None
    late_packets: float
    duplicate_packets: float
    frames: float | None
    complete_frames: float | None
    incomplete_ratio: float | None
    frame_delay_p50_ms: float | None
    frame_delay_p95_ms: float | None
    frame_delay_p99_ms: float | None


def datagram_metrics(name: str, totals: Mapping[str, int | None]) -> DatagramMetrics:
    """Compute the metrics of a flow of datagrams.

    Parameters
    ----------
    name : str
        The flow.
    totals : mapping
        Value by column of the engine's ``datagram_totals``; ``None`` for "no value".

    Returns
    -------
    DatagramMetrics
    """
    frames, complete = totals.get("frames"), totals.get("complete_frames")

    def ms(key: str) -> float | None:
        value = totals.get(key)
        return None if value is None else value / NS_PER_MS

    return DatagramMetrics(
        name=name,
        arrived_packets=totals.get("delay_samples") or 0,
        delay_mean_ms=mean_ms(totals.get("delay_sum_ns") or 0, totals.get("delay_samples") or 0),
        delay_min_ms=ms("delay_min_ns"),
        delay_p50_ms=ms("delay_p50_ns"),
        delay_p95_ms=ms("delay_p95_ns"),
        delay_p99_ms=ms("delay_p99_ns"),
        delay_max_ms=ms("delay_max_ns"),
        jitter_ms=ms("jitter_ns"),
        late_packets=totals.get("late_packets") or 0,
        duplicate_packets=totals.get("duplicate_packets") or 0,
        frames=frames,
        complete_frames=complete,
        incomplete_ratio=None if frames is None or complete is None else ratio(frames - complete, frames),
        frame_delay_p50_ms=ms("frame_delay_p50_ns"),
        frame_delay_p95_ms=ms("frame_delay_p95_ns"),
        frame_delay_p99_ms=ms("frame_delay_p99_ns"),
    )
