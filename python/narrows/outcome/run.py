"""The outcome of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from narrows.metrics.aggregate import fairness
from narrows.metrics.stations import ChannelMetrics, StationMetrics, channel_metrics
from narrows.outcome.conditions import doubts
from narrows.outcome.outcome import Outcome
from narrows.outcome.transfers import Transfers

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.metrics.datagrams import DatagramMetrics
    from narrows.metrics.flows import FlowMetrics
    from narrows.metrics.impairments import ImpairmentMetrics
    from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
    from narrows.metrics.routers import RouterMetrics
    from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
    from narrows.model.scenario import Scenario
    from narrows.outcome.conditions import Conditions
    from narrows.outcome.samples import Samples


@dataclass(frozen=True, kw_only=True, repr=False)
class Run(Outcome):
    """One run: its scenario and its results.

    Attributes
    ----------
    scenario : Scenario
        The scenario as run.
    seed, index : int
        Seed, and index of the run under that seed.
    digest : str
        SHA-256 over everything the run yielded.
    version : str
        Version of the engine.
    events, packets : int
        Events handled; packets that arrived at a node, counted at every hop.
    flows, queues : tuple
        Metrics, in the scenario's order.
    samples : Samples
        Samples over time.
    routers : tuple
        Counters of the routers that run ACNS or NGWA; empty without such a scheme.
    stations : tuple
        Metrics of the stations of 802.11 channels: by channel, the base station first; empty without channels.
    subqueues : tuple
        Metrics of the sub-queues that a packet reached, queue by queue; empty where no discipline has sub-queues.
    transfers : Transfers
        The transfers of workloads, and the requests of flows: a row each.
    transfer_classes : tuple
        Their completion times and slow-downs, by workload or flow and by size class.
    playbacks : tuple
        What the video players of flows did.
    datagrams : tuple
        One-way delays and frames of UDP flows.
    impairments : tuple
        What the impairments of links did, direction by direction; empty without any.
    conditions : dict or None
        Which properties of the machine affected the results, and whether to trust them; see
        `narrows.outcome.conditions`. ``None`` for a simulated run: the same scenario and seed give the same results on
        any machine.
    captures : pathlib.Path or None
        Folder with the run's captured packets, a file per link and channel; see `narrows.packets`. ``None`` if packets
        were not captured.
    """

    scenario: Scenario
    seed: int
    index: int
    digest: str
    version: str
    events: int
    packets: int
    flows: tuple[FlowMetrics, ...]
    queues: tuple[QueueMetrics, ...]
    samples: Samples
    routers: tuple[RouterMetrics, ...] = ()
    stations: tuple[StationMetrics, ...] = ()
    subqueues: tuple[SubqueueMetrics, ...] = ()
    transfers: Transfers = field(default_factory=Transfers)
    transfer_classes: tuple[TransferMetrics, ...] = ()
    playbacks: tuple[PlaybackMetrics, ...] = ()
    datagrams: tuple[DatagramMetrics, ...] = ()
    impairments: tuple[ImpairmentMetrics, ...] = ()
    conditions: Conditions | None = None
    captures: Path | None = field(default=None, compare=False)

    @property
    def runs(self) -> tuple[Run, ...]:
        """A tuple of this run alone, so that code for batches also works on a run."""
        return (self,)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust the results, one sentence each; empty if they are trusted."""
        return doubts(self.conditions)

    @property
    def channels(self) -> tuple[ChannelMetrics, ...]:
        """Sums over the stations of each 802.11 channel; see `narrows.metrics.stations.channel_metrics`."""
        return channel_metrics(self.stations)

    @property
    def jain(self) -> float | None:
        """Jain's index over the throughput of the TCP flows; see `narrows.metrics.aggregate.fairness`."""
        return fairness(self.flows)

    def __repr__(self) -> str:
        """Return scenario, seed and digest."""
        return (
            f"<Run {self.index} of {self.scenario.name}: seed {self.seed}, {len(self.flows)} flows, {self.digest[:12]}>"
        )
