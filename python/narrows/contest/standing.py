"""A row of a contest's standings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.stats import Estimate


@dataclass(frozen=True, slots=True)
class Standing:
    """How a contestant did over the whole contest.

    Against the others each of them weighs alike. Harm is the median over them in each run: it has no lower bound (who
    gets next to nothing beside its own kind gains many times that beside others), so one pair could decide a mean.

    Attributes
    ----------
    label : str
    share : Estimate
        Its share against the others, in both slots.
    harm_done, harm_suffered : Estimate
        Harm (throughput, against own kind) that it did to the others, and that they did to it, in both slots.
    jain, total_mbps, utilisation, rtt_inflation, loss_ratio : Estimate
        Paired with its own kind.
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
