"""Metrics: pure functions of what was counted, with formula, unit and source.

This package hands on the functions of `formulas`. `flows` and `queues` apply them to flows and queues, `stations` to
802.11 stations and channels, `routers` to router agents.
"""

from __future__ import annotations

from narrows.metrics.formulas import (
    NO_CWND,
    NS_PER_MS,
    NS_PER_S,
    active_ns,
    airtime_ratio,
    failure_ratio,
    goodput_mbps,
    jains_index,
    mean_ms,
    mean_over_time,
    mpdus_per_frame,
    rate_mbps,
    rate_over_time,
    ratio,
    retry_ratio,
    throughput_max_mbps,
    throughput_mbps,
    utilisation,
)

__all__ = [
    "NO_CWND",
    "NS_PER_MS",
    "NS_PER_S",
    "active_ns",
    "airtime_ratio",
    "failure_ratio",
    "goodput_mbps",
    "jains_index",
    "mean_ms",
    "mean_over_time",
    "mpdus_per_frame",
    "rate_mbps",
    "rate_over_time",
    "ratio",
    "retry_ratio",
    "throughput_max_mbps",
    "throughput_mbps",
    "utilisation",
]
