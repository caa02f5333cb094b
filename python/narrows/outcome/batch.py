"""The outcome of several runs of one scenario: means over them, and intervals."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from narrows import _core
from narrows.base.errors import InputError
from narrows.outcome.outcome import Outcome
from narrows.outcome.rows import WORDS, AnyRow, mean_row, numeric
from narrows.outcome.samples import Samples
from narrows.outcome.transfers import Transfers
from narrows.stats import Estimate, Reached, mean_ci

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.metrics.datagrams import DatagramMetrics
    from narrows.metrics.flows import FlowMetrics
    from narrows.metrics.impairments import ImpairmentMetrics
    from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
    from narrows.metrics.routers import RouterMetrics
    from narrows.metrics.stations import ChannelMetrics, StationMetrics
    from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
    from narrows.model.scenario import Scenario
    from narrows.outcome.outcome import Kind
    from narrows.outcome.run import Run


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

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes alone: means are computed again from them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

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
    def transfers(self) -> Transfers:
        """The transfers of all runs; the column ``run`` tells them apart."""
        return Transfers.concat(run.transfers for run in self.runs)

    @cached_property
    def transfer_classes(self) -> tuple[TransferMetrics, ...]:
        """Means over the runs, class by class; runs without a transfer of the class are left out."""
        return tuple(mean_row(rows) for rows in self._by_name([run.transfer_classes for run in self.runs]))

    @cached_property
    def playbacks(self) -> tuple[PlaybackMetrics, ...]:
        """Means over the runs, player by player."""
        return tuple(mean_row(rows) for rows in zip(*(run.playbacks for run in self.runs), strict=True))

    @cached_property
    def datagrams(self) -> tuple[DatagramMetrics, ...]:
        """Means over the runs, UDP flow by UDP flow."""
        return tuple(mean_row(rows) for rows in zip(*(run.datagrams for run in self.runs), strict=True))

    @cached_property
    def impairments(self) -> tuple[ImpairmentMetrics, ...]:
        """Means over the runs, direction by direction."""
        return tuple(mean_row(rows) for rows in zip(*(run.impairments for run in self.runs), strict=True))

    @staticmethod
    def _by_name(runs: Sequence[Sequence[TransferMetrics]]) -> list[list[TransferMetrics]]:
        """Return the rows of each name that any run has; the order is that of the run with most names."""
        order = dict.fromkeys(row.name for rows in sorted(runs, key=len, reverse=True) for row in rows)
        return [[row for rows in runs for row in rows if row.name == name] for name in order]

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
