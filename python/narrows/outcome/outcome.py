"""Outcomes of one run or of several: metrics, samples, and ways to save and show them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from narrows import _core
from narrows.base.errors import InputError
from narrows.metrics.stations import ChannelMetrics, StationMetrics, channel_metrics
from narrows.metrics.totals import FlowMetrics, QueueMetrics, SubqueueMetrics, fairness
from narrows.outcome.conditions import doubts
from narrows.outcome.rows import WORDS, AnyRow, mean_row, named, numeric
from narrows.outcome.samples import Samples
from narrows.stats import Estimate, Reached, mean_ci

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from pathlib import Path

    from narrows.metrics.routers import RouterMetrics
    from narrows.model.scenario import Scenario
    from narrows.outcome.conditions import Conditions


Kind = Literal["flow", "queue", "router", "station", "channel"]
"""Kinds of objects with metrics, named like the methods that return them."""


def joint_digest(digests: Iterable[str]) -> str:
    """SHA-256 over the digests of runs, each in hexadecimal and followed by a newline.

    Parameters
    ----------
    digests : iterable of str
        In the order of the runs.

    Returns
    -------
    str
        In hexadecimal.

    Examples
    --------
    >>> joint_digest(["ab", "cd"])[:8]
    '5141648c'
    """
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


class Outcome:
    """Common base of `Run` and `Batch`: the same attributes, saved and shown the same way."""

    if TYPE_CHECKING:

        @property
        def runs(self) -> tuple[Run, ...]:
            """The runs, in the order of their index."""

        @property
        def flows(self) -> tuple[FlowMetrics, ...]:
            """Metrics of flows: of the run, or means over the runs."""

        @property
        def queues(self) -> tuple[QueueMetrics, ...]:
            """Metrics of queues: of the run, or means over the runs."""

        @property
        def subqueues(self) -> tuple[SubqueueMetrics, ...]:
            """Metrics of sub-queues: of the run, or means over the runs."""

        @property
        def routers(self) -> tuple[RouterMetrics, ...]:
            """Counters of routers with a scheme's agent: of the run, or means over the runs."""

        @property
        def stations(self) -> tuple[StationMetrics, ...]:
            """Metrics of the stations of 802.11 channels: of the run, or means over the runs."""

        @property
        def channels(self) -> tuple[ChannelMetrics, ...]:
            """Metrics of 802.11 channels: of the run, or means over the runs."""

        @property
        def jain(self) -> float | None:
            """Jain's index over the throughput of the TCP flows."""

        @property
        def samples(self) -> Samples:
            """Samples over time."""

        @property
        def scenario(self) -> Scenario:
            """The scenario as run."""

        @property
        def seed(self) -> int:
            """The seed."""

        @property
        def digest(self) -> str:
            """SHA-256 over everything the run or the runs yielded."""

        @property
        def version(self) -> str:
            """Version of the engine."""

        @property
        def events(self) -> int:
            """Events handled."""

        @property
        def packets(self) -> int:
            """Packets that arrived at a node, counted at every hop."""

        @property
        def doubts(self) -> tuple[str, ...]:
            """Reasons not to trust the results, one sentence each; empty if they are trusted."""

    @property
    def trusted(self) -> bool:
        """Whether the results of every run are trusted; see `doubts`."""
        return not self.doubts

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``narrows run --json``; see ``docs/json.md``."""
        from narrows.outcome import summary

        return summary.of(self)

    def flow(self, name: str) -> FlowMetrics:
        """Metrics of a flow.

        Parameters
        ----------
        name : str

        Returns
        -------
        FlowMetrics

        Raises
        ------
        InputError
            If there is no such flow.
        """
        return named(self.flows, name, "flow")

    def queue(self, name: str) -> QueueMetrics:
        """Metrics of a queue.

        Parameters
        ----------
        name : str
            ``A->B``.

        Returns
        -------
        QueueMetrics

        Raises
        ------
        InputError
            If there is no such queue.
        """
        return named(self.queues, name, "queue")

    def router(self, name: str) -> RouterMetrics:
        """Counters of a router with a scheme's agent.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        RouterMetrics

        Raises
        ------
        InputError
            If there is no such router, or it has no agent.
        """
        return named(self.routers, name, "router")

    def station(self, name: str) -> StationMetrics:
        """Metrics of a station of an 802.11 channel.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        StationMetrics

        Raises
        ------
        InputError
            If there is no such station.
        """
        return named(self.stations, name, "station")

    def channel(self, name: str) -> ChannelMetrics:
        """Metrics of an 802.11 channel.

        Parameters
        ----------
        name : str

        Returns
        -------
        ChannelMetrics

        Raises
        ------
        InputError
            If there is no such channel.
        """
        return named(self.channels, name, "channel")

    def save(self, directory: str | PathLike[str]) -> Path:
        """Write a result directory, whole or not at all; see `narrows.store.results.write`.

        Parameters
        ----------
        directory : path

        Returns
        -------
        pathlib.Path
            The directory.
        """
        from narrows.store import results

        return results.write(self, directory)

    def report(self, directory: str | PathLike[str]) -> Path:
        """Write a result directory with a report in it.

        Parameters
        ----------
        directory : path

        Returns
        -------
        pathlib.Path
            The page.
        """
        from narrows.store import results

        return results.write_with_report(self, directory)

    def _repr_html_(self) -> str:
        from narrows.report import notebook as html

        return html.run(self)


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
    conditions : dict or None
        Which properties of the machine affected the results, and whether to trust them; see
        `narrows.outcome.conditions`. ``None`` for a simulated run: the same scenario and seed give the same results on
        any machine.
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
    conditions: Conditions | None = None

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
        """Jain's index over the throughput of the TCP flows; see `narrows.metrics.totals.fairness`."""
        return fairness(self.flows)

    def __repr__(self) -> str:
        """Return scenario, seed and digest."""
        return (
            f"<Run {self.index} of {self.scenario.name}: seed {self.seed}, {len(self.flows)} flows, {self.digest[:12]}>"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Batch(Outcome):
    """Several runs of one scenario under one seed, in the order of their index.

    Attributes
    ----------
    scenario : Scenario
        The scenario as run.
    seed : int
        Seed.
    runs : tuple of Run
        The runs; may be empty if a batch was interrupted early.
    until : Reached or None
        The precision wanted and reached, if a wanted precision decided the number of runs.
    """

    scenario: Scenario
    seed: int
    runs: tuple[Run, ...]
    until: Reached | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over the runs' digests (in hexadecimal, a line each)."""
        return joint_digest(run.digest for run in self.runs)

    @property
    def version(self) -> str:
        """Version of the engine."""
        return self.runs[0].version if self.runs else _core.version()

    @property
    def events(self) -> int:
        """Events handled, over all runs."""
        return sum(run.events for run in self.runs)

    @property
    def packets(self) -> int:
        """Packets that arrived at a node, counted at every hop, over all runs."""
        return sum(run.packets for run in self.runs)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust runs, one sentence each, naming the run; empty if all are trusted."""
        return tuple(f"run {run.index}: {doubt}" for run in self.runs for doubt in run.doubts)

    @cached_property
    def flows(self) -> tuple[FlowMetrics, ...]:
        """Means over the runs, flow by flow."""
        return tuple(mean_row(rows) for rows in zip(*(run.flows for run in self.runs), strict=True))

    @cached_property
    def queues(self) -> tuple[QueueMetrics, ...]:
        """Means over the runs, queue by queue."""
        return tuple(mean_row(rows) for rows in zip(*(run.queues for run in self.runs), strict=True))

    @cached_property
    def subqueues(self) -> tuple[SubqueueMetrics, ...]:
        """Means over the runs, sub-queue by sub-queue; runs in which none of its packets came are left out."""
        names = dict.fromkeys(row.name for run in self.runs for row in run.subqueues)
        by_run = [{row.name: row for row in run.subqueues} for run in self.runs]
        return tuple(mean_row([rows[name] for rows in by_run if name in rows]) for name in names)

    @cached_property
    def routers(self) -> tuple[RouterMetrics, ...]:
        """Means over the runs, router by router."""
        return tuple(mean_row(rows) for rows in zip(*(run.routers for run in self.runs), strict=True))

    @cached_property
    def stations(self) -> tuple[StationMetrics, ...]:
        """Means over the runs, station by station."""
        return tuple(mean_row(rows) for rows in zip(*(run.stations for run in self.runs), strict=True))

    @cached_property
    def channels(self) -> tuple[ChannelMetrics, ...]:
        """Means over the runs, channel by channel."""
        return tuple(mean_row(rows) for rows in zip(*(run.channels for run in self.runs), strict=True))

    @property
    def jain(self) -> float | None:
        """Mean over the runs of Jain's index."""
        mean = mean_ci(run.jain for run in self.runs)
        return mean.mean if mean.n else None

    @cached_property
    def samples(self) -> Samples:
        """The samples of all runs; the column ``run`` tells them apart."""
        return Samples.concat(run.samples for run in self.runs)

    def values(self, kind: Kind, name: str, metric: str) -> list[float | None]:
        """Return the values of a metric, one per run.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "station", "channel"}
        name : str
            As for the method of that name.
        metric : str
            Such as ``throughput_mbps``.

        Returns
        -------
        list of float or None

        Raises
        ------
        InputError
            If there is no such object or metric.
        """
        found: list[float | None] = []
        for run in self.runs:
            row: AnyRow = getattr(run, kind)(name)
            if metric in WORDS or not hasattr(row, metric):
                message = f"metric is {metric!r}; allowed: {', '.join(numeric(row))}"
                raise InputError(message)
            found.append(getattr(row, metric))
        return found

    def estimate(self, kind: Kind, name: str, metric: str) -> Estimate:
        """Estimate mean and 95 % confidence interval of a metric over the runs.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "station", "channel"}
        name, metric : str
            As for `values`.

        Returns
        -------
        Estimate
        """
        return mean_ci(self.values(kind, name, metric))

    def __repr__(self) -> str:
        """Return scenario, seed and number of runs."""
        return f"<Batch of {self.scenario.name}: {len(self.runs)} runs, seed {self.seed}, {self.digest[:12]}>"
