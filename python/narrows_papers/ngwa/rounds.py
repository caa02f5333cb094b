"""Rates, triple duplicate ACKs and losses (the paper's sections 3.2 and 3.3): ten minutes of four flows, in 30 rounds.

Rounds differ in the random starts of the flows. Rates with intervals by batch means are from the first round, because
the paper's are from one run; counts are from all rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from narrows.metrics import jains_index, rate_over_time
from narrows.runs.simulated import Task
from narrows.stats import Estimate, batch_means, mean_ci
from narrows_papers.ngwa.arms import ARMS, FLOWS, scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.outcome import Run
    from narrows.stats import BatchMeans

ROUNDS = 30
"""Rounds of the full experiment, as in the paper."""

QUICK_ROUNDS = 2
"""Rounds in a quick experiment."""

BATCHES = 30
"""Number of batches, as in the paper."""

BIN_S = 1.0
"""Width of the bins whose rates are the observations, s."""

BYTES_PER_S = 125_000.0
"""Bytes per second in one Mb/s."""


@dataclass(frozen=True)
class Round:
    """Results of the four flows in one round, by flow.

    Attributes
    ----------
    arrived, delivered : tuple of float
        IP bytes per second that reached the receiver; payload bytes per second delivered in order, over the whole run.
    triples : tuple of float
        Duplicate ACKs received, counted from the third in a row on, as in the paper's counts of triple duplicate ACKs.
    series : tuple of float
        Only the third duplicate ACKs in a row: one for each series of three or more.
    lost, timeouts : tuple of float
        Packets with payload that a queue dropped; expiries of the retransmission timer.
    """

    arrived: tuple[float, ...]
    delivered: tuple[float, ...]
    triples: tuple[float, ...]
    series: tuple[float, ...]
    lost: tuple[float, ...]
    timeouts: tuple[float, ...]

    @property
    def jain(self) -> float:
        """Jain's index over the rates of the flows, from 1/4 to 1."""
        return jains_index(self.arrived) or 0.0


@dataclass(frozen=True)
class Rounds:
    """One arm over all its rounds.

    Attributes
    ----------
    rounds : tuple of Round
        In the order of their index.
    rates : mapping of str to BatchMeans
        Rates in the first round, bytes/s (IP bytes that arrived), by number of the flow and `total`.
    digests : tuple of str
        Digests of the runs.
    """

    rounds: tuple[Round, ...]
    rates: Mapping[str, BatchMeans]
    digests: tuple[str, ...] = ()

    def estimate(self, quantity: str) -> Estimate:
        """Mean over the rounds of a sum over the flows (`arrived`, `triples` ..) or of `jain`, with its interval."""
        return mean_ci(self.values(quantity))

    def values(self, quantity: str) -> list[float]:
        """The values that `estimate` averages, by round."""
        if quantity == "jain":
            return [one.jain for one in self.rounds]
        return [float(sum(getattr(one, quantity))) for one in self.rounds]

    def share(self, flows: Sequence[str], index: int = 0) -> float:
        """Share of these flows in the total of a round, the first by default, in [0, 1]."""
        rates = dict(zip(FLOWS, self.rounds[index].arrived, strict=True))
        return sum(rates[flow] for flow in flows) / sum(rates.values())


def tasks(rounds: int) -> list[Task]:
    """Return the runs: arm by arm, round by round. Only the first round of an arm is sampled."""
    plain = scenario()
    made = []
    for arm in ARMS:
        sampled = plain.with_overrides(dict(arm.overrides))
        silent = sampled.with_overrides({"sampling": "off"})
        made += [Task(sampled if index == 0 else silent, plain.seed, index) for index in range(rounds)]
    return made


def collect(made: Sequence[Run]) -> dict[str, Rounds]:
    """Sort the runs of `tasks` into their arms."""
    each = len(made) // len(ARMS)
    return {arm.name: _rounds(made[a * each : (a + 1) * each]) for a, arm in enumerate(ARMS)}


def _rounds(runs: Sequence[Run]) -> Rounds:
    return Rounds(tuple(map(_round, runs)), rates_of(runs[0]), tuple(run.digest for run in runs))


def _round(run: Run) -> Round:
    duration = run.scenario.duration_s
    return Round(
        arrived=tuple(flow.arrived_bytes / duration for flow in run.flows),
        delivered=tuple(flow.delivered_bytes / duration for flow in run.flows),
        triples=tuple(flow.later_duplicate_acks or 0.0 for flow in run.flows),
        series=tuple(flow.triple_duplicate_acks or 0.0 for flow in run.flows),
        lost=tuple(flow.lost_packets for flow in run.flows),
        timeouts=tuple(flow.timeouts or 0 for flow in run.flows),
    )


def rates_of(run: Run) -> dict[str, BatchMeans]:
    """Rates of each flow and of all together, with intervals by batch means; MSER-5 removes the warm-up."""
    frame = run.samples.frame("flow")
    series = {}
    for flow in FLOWS:
        rows = frame[frame["name"].astype(str) == f"flow{flow}"]
        series[flow] = rate_over_time(rows["time_s"], rows["arrived_bytes"], BIN_S)[1] * BYTES_PER_S
    series["total"] = np.sum([series[flow] for flow in FLOWS], axis=0)
    return {name: batch_means(values, batches=BATCHES) for name, values in series.items()}
