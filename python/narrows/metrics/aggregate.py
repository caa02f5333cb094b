"""Metrics of all flows of a run together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from narrows.metrics import NS_PER_S, jains_index, rate_mbps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.metrics.flows import FlowMetrics

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
