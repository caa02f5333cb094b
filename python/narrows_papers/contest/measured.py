"""Our results for each pair: TPP of each starter, which flow keeps the link, and the time until the two share it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from narrows.contest import Criteria, classify
from narrows.stats import Estimate, mean_ci
from narrows_papers.contest.published import MEGABIT, Starter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narrows.contest import FlowRecord, Record
    from narrows.studies.contest.behaviour import Behaviour

PER_MBPS = 1e6 / MEGABIT
"""Factor from Mb/s to the paper's unit."""


WORDS: dict[Behaviour, str] = {
    "kept": "the first keeps the link",
    "relegated": "the second relegates the first",
    "shared": "they share the link",
}
"""The paper's three behaviours."""


@dataclass(frozen=True, slots=True)
class Once:
    """A run of a pair under one seed and in one order of slots.

    Attributes
    ----------
    run : int
        Index of the run.
    tpp_first, tpp_second : float
        TPP of the flow that starts first and of the one that starts second, Mibit/s.
    second_share : float or None
        Second starter's share of the throughput.
    equilibrium_s : float or None
        Time from the second flow's start until both have about the same throughput; `None` if that never lasts.
    """

    run: int
    tpp_first: float
    tpp_second: float
    second_share: float | None
    equilibrium_s: float | None


@dataclass(frozen=True)
class Meeting:
    """All runs of two variants, one of which starts first.

    Attributes
    ----------
    first, second : str
        Names, as printed in the tables.
    runs : tuple of Once
        Two for each seed, if both orders of slots were run.
    """

    first: str
    second: str
    runs: tuple[Once, ...]

    def tpp(self, of: Starter) -> Estimate:
        """TPP of one of the two flows, over the seeds; the two orders of slots of a seed are averaged first."""
        by_seed: dict[int, list[float]] = {}
        for one in self.runs:
            by_seed.setdefault(one.run, []).append(one.tpp_first if of == "first" else one.tpp_second)
        return mean_ci(math.fsum(values) / len(values) for values in by_seed.values())

    @property
    def seeds(self) -> int:
        """Number of seeds; the two orders of slots of one are not independent runs."""
        return len({one.run for one in self.runs})

    @property
    def second_share(self) -> float | None:
        """Second starter's mean share of the throughput."""
        shares = [one.second_share for one in self.runs if one.second_share is not None]
        return math.fsum(shares) / len(shares) if shares else None

    @property
    def behaviour(self) -> Behaviour | None:
        """The paper's behaviour of the pair, from the mean share."""
        return classify(self.second_share, Criteria())

    @property
    def equilibrium_s(self) -> float | None:
        """Median time to equilibrium over the runs, s; `None` if most runs have none, or the two do not share."""
        times = [one.equilibrium_s for one in self.runs if one.equilibrium_s is not None]
        if self.behaviour != "shared" or 2 * len(times) <= len(self.runs):
            return None
        return median(times)


def _once(record: Record) -> Once:
    ordered = record.flows if record.order == "as_is" else record.flows[::-1]
    first, second = ordered
    return Once(
        record.run,
        _tpp(first),
        _tpp(second),
        None if second is None else second.share,
        record.equilibrium_s,
    )


def _tpp(flow: FlowRecord | None) -> float:
    return 0.0 if flow is None or flow.tpp_mbps is None else flow.tpp_mbps * PER_MBPS


def collect(records: Iterable[Record]) -> dict[tuple[str, str], Meeting]:
    """Group the records of a contest by first and second starter.

    In a record with swapped starts, the variant in the second slot starts first. The network is the same for both
    slots.
    """
    runs: dict[tuple[str, str], list[Once]] = {}
    for one in records:
        if one.first is None or one.second is None:
            continue
        pair = (one.first, one.second) if one.order == "as_is" else (one.second, one.first)
        runs.setdefault(pair, []).append(_once(one))
    return {pair: Meeting(*pair, tuple(made)) for pair, made in runs.items()}


def value(meetings: Mapping[tuple[str, str], Meeting], first: str, second: str, of: Starter) -> Estimate | None:
    """TPP of one flow of a pair; `None` if the pair was not run."""
    found = meetings.get((first, second))
    return None if found is None else found.tpp(of)
