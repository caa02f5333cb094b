"""The arithmetic of a validation: means over seeds, relative differences, medians, and what small changes give."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from narrows.stats.runs import deviation, further_mean
from narrows.studies.linux.description import JUDGED
from narrows.studies.linux.record import MEASURES, SAMPLE_S
from narrows.studies.validation.compare import distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.studies.linux.record import Record, Trace


@dataclass(frozen=True, slots=True)
class Side:
    """A flow on one side, over all seeds.

    Attributes
    ----------
    means, deviations : mapping
        Mean and standard deviation of each measure by key; ``None`` without a value, and of one run.
    cwnd : ndarray
        Mean congestion window over time.
    first : ndarray
        Congestion window over time under the first seed.
    """

    means: Mapping[str, float | None]
    deviations: Mapping[str, float | None]
    cwnd: Trace
    first: Trace

    @classmethod
    def of(cls, records: Sequence[Record], flow: int) -> Side:
        """Average a flow over runs.

        Parameters
        ----------
        records : sequence of Record
            At least one.
        flow : int
            Index of the flow.

        Returns
        -------
        Side
        """
        flows = [one.flows[flow] for one in records]
        length = min(len(one.cwnd) for one in flows)
        means: dict[str, float | None] = {}
        deviations: dict[str, float | None] = {}
        for measure in MEASURES:
            values = [value for one in flows if (value := one.values[measure.key]) is not None]
            means[measure.key] = fmean(values) if values else None
            deviations[measure.key] = deviation(values) if len(values) > 1 else None
        return cls(
            means=means,
            deviations=deviations,
            cwnd=np.mean([one.cwnd[:length] for one in flows], axis=0),
            first=flows[0].cwnd[:length],
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """A flow of a scenario under one variant, simulated and on one kernel.

    Attributes
    ----------
    variant, scenario, kernel, flow : str
        Names.
    flows, starts : int
        Number of flows of the scenario, and of seeds on each side.
    ours, theirs : Side
        Simulated, and on Linux.
    """

    variant: str
    scenario: str
    kernel: str
    flow: str
    flows: int
    starts: int
    ours: Side
    theirs: Side

    @property
    def where(self) -> str:
        """Scenario, and the flow if there are several."""
        return self.scenario if self.flows == 1 else f"{self.scenario}, {self.flow}"

    @property
    def distance(self) -> float:
        """Distance of the windows over time; see `narrows.studies.validation.compare.distance`."""
        return distance(self.ours.cwnd, self.theirs.cwnd, SAMPLE_S)

    def difference(self, key: str) -> float | None:
        """Return simulated minus Linux, relative to Linux.

        Parameters
        ----------
        key : str
            Key of the measure.

        Returns
        -------
        float or None
            ``None`` if a side has no value, or Linux has zero.
        """
        return relative(self.ours.means[key], self.theirs.means[key])

    def beyond(self, limit: float) -> tuple[str, ...]:
        """Return the keys of judged measures whose difference is beyond a limit."""
        return tuple(key for key in JUDGED if abs(self.difference(key) or 0.0) > limit)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A variant on one kernel, over the flows of all scenarios.

    Attributes
    ----------
    variant, kernel : str
    medians : mapping
        Median of the absolute relative differences by key; ``None`` without a value.
    distance : float
        Median distance of the windows.
    flows : int
        Number of flows compared.
    """

    variant: str
    kernel: str
    medians: Mapping[str, float | None]
    distance: float
    flows: int

    def missed(self, targets: Mapping[str, float]) -> tuple[str, ...]:
        """Return the keys of measures whose median is beyond its target.

        Parameters
        ----------
        targets : mapping
            Targets by key.

        Returns
        -------
        tuple of str
        """
        return tuple(key for key, target in targets.items() if (self.medians[key] or 0.0) > target)


def relative(value: float | None, reference: float | None) -> float | None:
    """Return the relative difference of two values.

    Parameters
    ----------
    value, reference : float or None

    Returns
    -------
    float or None
        ``None`` if one is missing or the reference is zero.

    Examples
    --------
    >>> relative(12.5, 10.0), relative(1.0, 0.0), relative(None, 1.0)
    (0.25, None, None)
    """
    return None if value is None or not reference else value / reference - 1


def pairs(
    variant: str, scenario: str, kernel: str, ours: Sequence[Record], theirs: Sequence[Record]
) -> tuple[Pair, ...]:
    """Compare the flows of a scenario.

    Parameters
    ----------
    variant, scenario, kernel : str
        Names.
    ours, theirs : sequence of Record
        Runs under the same seeds.

    Returns
    -------
    tuple of Pair
        A pair per flow.
    """
    names = [one.name for one in ours[0].flows]
    return tuple(
        Pair(variant, scenario, kernel, name, len(names), len(theirs), Side.of(ours, flow), Side.of(theirs, flow))
        for flow, name in enumerate(names)
    )


def verdict(variant: str, kernel: str, all_pairs: Iterable[Pair]) -> Verdict | None:
    """Summarise a variant on a kernel.

    Parameters
    ----------
    variant, kernel : str
    all_pairs : iterable of Pair
        Only those of the variant and the kernel count.

    Returns
    -------
    Verdict or None
        ``None`` if there is none.
    """
    own = [one for one in all_pairs if (one.variant, one.kernel) == (variant, kernel)]
    if not own:
        return None
    medians: dict[str, float | None] = {}
    for measure in MEASURES:
        found = [abs(share) for one in own if (share := one.difference(measure.key)) is not None]
        medians[measure.key] = median(found) if found else None
    return Verdict(variant, kernel, medians, median(one.distance for one in own), len(own))


def spread(values: Sequence[float], runs: int) -> float:
    """Return how far the mean of a few further runs is from the mean of these, in 95 % of all cases.

    It is half of the prediction interval of a mean (Student), for runs that differ in small changes alone.

    Parameters
    ----------
    values : sequence of float
        Of runs under different seeds; at least two.
    runs : int
        Number of further runs.

    Returns
    -------
    float

    Examples
    --------
    >>> round(spread([9.0, 10.0, 11.0, 10.0], 1), 2)
    2.91
    """
    return further_mean(values, runs)
