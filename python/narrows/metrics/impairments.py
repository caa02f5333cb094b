"""Counters of the impairments of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.metrics.row import MetricsRow

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpairmentMetrics(MetricsRow):
    """What the impairments of a direction of a link did to packets. In a mean over runs, every number is a mean.

    Attributes
    ----------
    name : str
        The direction, as its queue is named.
    duplicated : int
        Copies that went onto the wire.
    reordered : int
        Packets that arrived after one that was sent later (RFC 4737, section 3).
    held : int
        Packets held at the far end for a burst (``aggregation``).
    decimated : int
        Pure ACKs that decimation dropped; also among the queue's forced drops.
    acks_lost : int
        Pure ACKs lost on the link (``ack_loss``); also among the queue's corrupted packets.
    outage_drops : int
        Packets that an outage dropped; also among the queue's forced drops.
    """

    name: str
    duplicated: float
    reordered: float
    held: float
    decimated: float
    acks_lost: float
    outage_drops: float


def impairment_metrics(name: str, totals: Mapping[str, int | None]) -> ImpairmentMetrics:
    """Name the counters of a direction.

    Parameters
    ----------
    name : str
        The direction, as its queue is named.
    totals : mapping
        Value by column of the engine's ``impairment_totals``.

    Returns
    -------
    ImpairmentMetrics
    """
    return ImpairmentMetrics(
        name=name,
        duplicated=totals.get("duplicated") or 0,
        reordered=totals.get("reordered") or 0,
        held=totals.get("held") or 0,
        decimated=totals.get("decimated") or 0,
        acks_lost=totals.get("acks_lost") or 0,
        outage_drops=totals.get("outage_drops") or 0,
    )
