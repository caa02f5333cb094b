"""What one run and several have in common: the same attributes, saved and shown the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from narrows.outcome.rows import named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

    from matplotlib.figure import Figure

    from narrows.metrics.datagrams import DatagramMetrics
    from narrows.metrics.flows import FlowMetrics
    from narrows.metrics.impairments import ImpairmentMetrics
    from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
    from narrows.metrics.routers import RouterMetrics
    from narrows.metrics.stations import ChannelMetrics, StationMetrics
    from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
    from narrows.model.scenario import Scenario
    from narrows.outcome.metrics import Metrics
    from narrows.outcome.run import Run
    from narrows.outcome.samples import Samples
    from narrows.outcome.transfers import Transfers

Kind = Literal["flow", "queue", "router", "station", "channel"]
"""Kinds of objects with metrics, named like the methods that return them."""


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
        def transfers(self) -> Transfers:
            """Transfers of workloads and requests of flows, a row each."""

        @property
        def transfer_classes(self) -> tuple[TransferMetrics, ...]:
            """Completion times and slow-downs by size class: of the run, or means over the runs."""

        @property
        def playbacks(self) -> tuple[PlaybackMetrics, ...]:
            """What video players did: in the run, or means over the runs."""

        @property
        def datagrams(self) -> tuple[DatagramMetrics, ...]:
            """One-way delays and frames of UDP flows: of the run, or means over the runs."""

        @property
        def impairments(self) -> tuple[ImpairmentMetrics, ...]:
            """What the impairments of links did: in the run, or means over the runs."""

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

    @property
    def metrics(self) -> Metrics:
        """The metrics of every run as tables: data frames, Arrow, CSV; see `narrows.outcome.metrics`."""
        from narrows.outcome.metrics import Metrics

        return Metrics(self.runs)

    def plot(
        self,
        *figures: str,
        path: str | PathLike[str] | None = None,
        flow: str | None = None,
        between: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw figures of a report under each other, over one axis of time.

        Parameters
        ----------
        *figures : str
            Names: ``throughput``, ``rtt``, ``cwnd``, ``queue`` and others that the samples give; a wrong one is
            answered with the list. By default these four, as far as there are samples for them. ``time-sequence`` needs
            captured packets (``narrows.run(..., pcap=DIR)``).
        path : path, optional
            File to write too; its ending gives the format (``.png``, ``.pdf``, ``.svg``).
        flow : str, optional
            Flow of the time-sequence graph, by default the first TCP flow.
        between : (float, float), optional
            Part of the time that is drawn, s; a short one shows single segments.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it. Of several runs, lines are means, and bands hold the middle 95 %.

        Raises
        ------
        InputError
            If the scenario samples nothing, there is no such figure or flow, packets were not captured, or the format
            is unknown.

        Examples
        --------
        >>> import narrows as nw
        >>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
        >>> [axes.get_ylabel() for axes in run.plot("throughput", "rtt").axes]
        ['Throughput (Mb/s)', 'RTT (ms)']
        """
        from narrows.report import plot

        return plot.of(self, figures, path, flow, between)

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
        from narrows.report import directory as reported

        return reported.write(self, directory)

    def export(
        self,
        directory: str | PathLike[str],
        to: str | Sequence[str] = "csv",
        *,
        tables: str | Sequence[str] = (),
        figures: str | Sequence[str] = (),
        width: str | float = "column",
        dpi: int = 300,
        flow: str = "",
    ) -> list[Path]:
        """Write tables and figures as files for other programs and papers; see `narrows.export.write`.

        Parameters
        ----------
        directory : path
            It may exist and hold other files: only earlier exports are replaced.
        to : str or sequence of str
            Formats: ``csv``, ``latex``, ``pdf``, ``svg``, ``png``, ``pgf``, ``xplot``, ``ns2``, ``qlog``.
        tables, figures, width, dpi, flow
            As for `narrows.export.write`.

        Returns
        -------
        list of pathlib.Path
            The files.

        Raises
        ------
        InputError, RunError
            As for `narrows.export.write`.
        """
        from narrows.export.files import write

        return write(cast("Run", self), directory, to, tables=tables, figures=figures, width=width, dpi=dpi, flow=flow)

    def _repr_html_(self) -> str:
        from narrows.report import notebook

        return notebook.run(self)
