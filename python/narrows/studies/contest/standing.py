"""A row in a contest's standings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.stats import Estimate


@dataclass(frozen=True, slots=True)
class Standing:
    """The results of a contestant over the whole contest.

    All opponents have the same weight. Harm is the median over opponents in each run: it has no lower bound (a flow
    that gets almost nothing beside its own kind gains many times that beside others), so one pair could dominate a
    mean.

    Attributes
    ----------
    label : str
    share : Estimate
        Share of the throughput against the others, in both slots.
    harm_done, harm_suffered : Estimate
        Harm to throughput, relative to the own kind, done to the others and suffered from them, in both slots.
    jain, total_mbps, utilisation, rtt_inflation, loss_ratio : Estimate
        Measured when paired with its own kind.
    """

    label: str
    share: Estimate
    harm_done: Estimate
    harm_suffered: Estimate
    jain: Estimate
    total_mbps: Estimate
    utilisation: Estimate
    rtt_inflation: Estimate
    loss_ratio: Estimate
