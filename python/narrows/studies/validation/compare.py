"""The arithmetic of a validation: means over seeds, relative differences, and distances between windows over time."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from narrows.stats import mean_ci

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.studies.validation.description import Description, Explanation

Trace = NDArray[np.float64]
"""cwnd in segments, sampled at the same times in both simulators."""

AVERAGED_S = 5.0
"""Windows are averaged over this time before they are compared, so that sawteeth of different phase still compare."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Results of a flow in one run.

    Attributes
    ----------
    mbps : float
        Payload delivered from the flow's start to the end of the run, Mb/s.
    lost : float
        Data packets that the network lost.
    timeouts : float
        Expiries of the flow's retransmission timer.
    cwnd : ndarray
        Congestion window in segments, from the beginning of the run; 0 before the flow starts.
    """

    mbps: float
    lost: float
    timeouts: float
    cwnd: Trace


@dataclass(frozen=True, slots=True)
class Side:
    """A flow in one simulator, over all seeds.

    Attributes
    ----------
    mbps, mbps_sd : float
        Mean and standard deviation of the throughput; the deviation is 0 for a single run.
    lost, lost_sd : float
        Mean and standard deviation of lost packets.
    timeouts : float
        Mean number of timeouts.
    cwnd : ndarray
        Mean congestion window over time.
    first : ndarray
        Congestion window over time under the first seed.
    """

    mbps: float
    mbps_sd: float
    lost: float
    lost_sd: float
    timeouts: float
    cwnd: Trace
    first: Trace

    @classmethod
    def of(cls, runs: Sequence[Flow]) -> Side:
        """Average runs.

        Parameters
        ----------
        runs : sequence of Flow
            At least one.

        Returns
        -------
        Side
        """
        rates, losses = mean_ci(run.mbps for run in runs), mean_ci(run.lost for run in runs)
        length = min(len(run.cwnd) for run in runs)
        return cls(
            mbps=rates.mean,
            mbps_sd=rates.sd if len(runs) > 1 else 0.0,
            lost=losses.mean,
            lost_sd=losses.sd if len(runs) > 1 else 0.0,
            timeouts=fmean(run.timeouts for run in runs),
            cwnd=np.mean([run.cwnd[:length] for run in runs], axis=0),
            first=runs[0].cwnd[:length],
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A flow of a pair, in both simulators.

    Attributes
    ----------
    variant, network : str
        Names of the variant and of the network.
    flow : int
        Number of the flow, from 1.
    runs : int
        Number of seeds in each simulator.
    ours, theirs : Side
    difference : float
        Mean throughput in Narrows minus that in ns-2, relative to ns-2.
    distance : float
        Distance between the windows over time; see `distance`.
    explanation : Explanation or None
        If the difference is beyond the target, the explanation whose recorded range contains it, if any.
    allowed : float
        The target of the difference.
    held_out : bool
        Whether no range was fitted to this network.
    """

    variant: str
    network: str
    flow: int
    runs: int
    ours: Side
    theirs: Side
    difference: float
    distance: float
    explanation: Explanation | None
    allowed: float
    held_out: bool = False

    @property
    def beyond(self) -> bool:
        """Whether the difference is beyond the target."""
        return abs(self.difference) > self.allowed

    @property
    def unexplained(self) -> bool:
        """Whether the difference is beyond the target and unexplained, on a network that ranges were fitted to."""
        return self.beyond and not self.held_out and self.explanation is None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a variant over all networks.

    Attributes
    ----------
    variant : str
        Name of the variant.
    median, worst : float
        Of the absolute relative differences in mean throughput. Held-out networks count only if there are no others.
    where : str
        The network of the worst difference.
    losses : float
        Median of the absolute relative differences in lost packets, over flows with losses in ns-2.
    distance : float
        Median distance of the windows.
    compared, beyond, unexplained : int
        Numbers of flows compared, beyond the target, and beyond it without explanation.
    far : bool
        Whether the median is beyond its target; always false if medians are not judged.
    explanation : Explanation or None
        If the median is beyond its target, the explanation whose recorded median covers it, if any.
    """

    variant: str
    median: float
    worst: float
    where: str
    losses: float
    distance: float
    compared: int
    beyond: int
    unexplained: int
    far: bool
    explanation: Explanation | None


def relative(ours: float, theirs: float) -> float:
    """Difference relative to `theirs`; infinite if `theirs` is zero and `ours` is not.

    Examples
    --------
    >>> relative(1.1, 1.0), relative(0.0, 0.0), relative(1.0, 0.0)
    (0.10000000000000009, 0.0, inf)
    """
    if theirs == 0:
        return 0.0 if ours == 0 else float("inf")
    return (ours - theirs) / theirs


def distance(ours: Trace, theirs: Trace, sample_s: float) -> float:
    """Distance of two windows over time: the mean absolute difference of their moving averages, relative to their mean.

    Because of the moving average over `AVERAGED_S`, sawteeth that differ only in phase have a small distance. Zero
    means the same window at all times; one means a difference as large as the window itself.

    Parameters
    ----------
    ours, theirs : ndarray
        Sampled at the same times; the longer one is cut to the shorter. Time before either has a window is left out.
    sample_s : float
        Sampling interval, s.

    Returns
    -------
    float

    Examples
    --------
    >>> distance(np.full(100, 11.0), np.full(100, 10.0), 0.1)
    0.1
    """
    length = min(len(ours), len(theirs))
    begin = int(np.argmax((ours[:length] > 0) | (theirs[:length] > 0)))
    width = max(1, min(length - begin, round(AVERAGED_S / sample_s)))
    kernel = np.full(width, 1.0 / width)
    smooth = [np.convolve(trace[begin:length], kernel, mode="valid") for trace in (ours, theirs)]
    reference = float(np.mean(smooth[1]))
    return round(float(np.mean(np.abs(smooth[0] - smooth[1]))) / reference, 12) if reference > 0 else float("inf")


def compare(
    description: Description,
    variant: str,
    network: str,
    ours: Sequence[Sequence[Flow]],
    theirs: Sequence[Sequence[Flow]],
    sample_s: float,
) -> list[Comparison]:
    """Compare a pair, flow by flow.

    Parameters
    ----------
    description : Description
        Targets and explanations.
    variant, network : str
        Names of the variant and of the network.
    ours, theirs : sequence of sequence of Flow
        The flows of each run, in Narrows and in ns-2.
    sample_s : float
        Sampling interval of the windows, s.

    Returns
    -------
    list of Comparison
    """
    made = []
    for i, (mine, other) in enumerate(zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)):
        left, right = Side.of(mine), Side.of(other)
        difference = relative(left.mbps, right.mbps)
        held_out = any(one.name == network and one.held_out for one in description.networks)
        beyond = abs(difference) > description.worst_within
        made.append(
            Comparison(
                variant=variant,
                network=network,
                flow=i + 1,
                runs=len(mine),
                ours=left,
                theirs=right,
                difference=difference,
                distance=distance(left.cwnd, right.cwnd, sample_s),
                explanation=description.explain(variant, network, difference) if beyond else None,
                allowed=description.worst_within,
                held_out=held_out,
            )
        )
    return made


def verdict(description: Description, variant: str, comparisons: Iterable[Comparison]) -> Verdict:
    """Summarise a variant.

    Parameters
    ----------
    description : Description
        Targets and explanations.
    variant : str
        Name of the variant.
    comparisons : iterable of Comparison
        Comparisons of all variants; only those of this variant are used, at least one.

    Returns
    -------
    Verdict
    """
    every = [one for one in comparisons if one.variant == variant]
    own = [one for one in every if not one.held_out] or every
    worst = max(own, key=lambda one: abs(one.difference))
    losses = [abs(relative(one.ours.lost, one.theirs.lost)) for one in own if one.theirs.lost > 0]
    middle = median(abs(one.difference) for one in own)
    far = description.judged and middle > description.median_within
    return Verdict(
        variant=variant,
        median=middle,
        worst=abs(worst.difference),
        where=worst.network,
        losses=median(losses) if losses else 0.0,
        distance=median(one.distance for one in own),
        compared=len(own),
        beyond=sum(one.beyond for one in own),
        unexplained=sum(one.unexplained for one in own),
        far=far,
        explanation=description.explain_median(variant, middle) if far else None,
    )
