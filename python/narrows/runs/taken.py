"""Converting the engine's result of a run into metrics and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.metrics.datagrams import datagram_metrics
from narrows.metrics.flows import flow_metrics
from narrows.metrics.impairments import impairment_metrics
from narrows.metrics.queues import queue_metrics, subqueue_metrics
from narrows.metrics.routers import router_metrics
from narrows.metrics.stations import all_stations
from narrows.metrics.transfers import playback_metrics
from narrows.outcome import Run
from narrows.outcome.samples import Samples
from narrows.outcome.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from narrows.metrics.flows import FlowMetrics
    from narrows.metrics.routers import RouterMetrics
    from narrows.metrics.stations import StationMetrics
    from narrows.metrics.transfers import PlaybackMetrics
    from narrows.model.scenario import Scenario
    from narrows.outcome.conditions import Conditions

_TOGETHER: Final = 256
"""Number of rows of totals that are in memory at once."""


def taken(
    scenario: Scenario,
    seed: int,
    index: int,
    result: _core.Result,
    conditions: Conditions | None = None,
    gauge: _core.Progress | None = None,
) -> Run:
    """Convert the engine's result of a run.

    Parameters
    ----------
    scenario : Scenario
        As run.
    seed, index : int
        Seed, and index of the run under it.
    result : narrows._core.Result
    conditions : dict, optional
        Of a live run.
    gauge : narrows._core.Progress, optional
        Can stop the conversion.

    Returns
    -------
    Run

    Raises
    ------
    narrows._core.Stopped
        If it was stopped through the gauge.
    """
    check = (lambda: None) if gauge is None else gauge.check
    flow_names, queue_names = result.flow_names, result.queue_names
    transfers = _transfers(result, index)
    controls, channels = scenario.congestion_controls(), scenario.interface_queues()
    flows = tuple(
        flow_metrics(name, controls.get(name), totals)
        for name, totals in zip(flow_names, _rows(result, "flow_totals", check), strict=True)
    )
    return Run(
        scenario=scenario,
        seed=seed,
        index=index,
        digest=result.digest,
        version=_core.version(),
        events=result.events,
        packets=result.packets,
        flows=flows,
        queues=tuple(
            queue_metrics(name, totals, channels.get(name))
            for name, totals in zip(queue_names, _rows(result, "queue_totals", check), strict=True)
        ),
        samples=Samples.from_result(result, index),
        transfers=transfers,
        transfer_classes=transfers.metrics(),
        playbacks=tuple(_playbacks(result, flows)),
        datagrams=tuple(
            datagram_metrics(flow_names[row["flow"] or 0], row) for row in _rows(result, "datagram_totals", check)
        ),
        impairments=tuple(
            impairment_metrics(queue_names[row["queue"] or 0], row) for row in _rows(result, "impairment_totals", check)
        ),
        routers=routers(result, check),
        stations=stations(scenario, result),
        subqueues=tuple(
            subqueue_metrics(f"{queue_names[queue]}/{label}", totals)
            for (queue, _, label), totals in zip(
                result.subqueue_names, _rows(result, "subqueue_totals", check), strict=True
            )
        ),
        conditions=conditions,
    )


def _transfers(result: _core.Result, index: int) -> Transfers:
    if not result.rows("transfers", 0, 1):
        return Transfers()
    return Transfers.from_core(result.tables()["transfers"], result.workload_names, result.flow_names, index)


def _playbacks(result: _core.Result, flows: Sequence[FlowMetrics]) -> Iterator[PlaybackMetrics]:
    for row in _rows(result, "playback_totals", lambda: None):
        flow = flows[row["flow"] or 0]
        yield playback_metrics(flow.name, flow.start_s, row)


def routers(result: _core.Result, check: Callable[[], None]) -> tuple[RouterMetrics, ...]:
    """Compute the metrics of the routers that run a scheme.

    Parameters
    ----------
    result : narrows._core.Result
    check : callable
        Called now and then; what it raises stops the conversion.

    Returns
    -------
    tuple of RouterMetrics
    """
    names = result.router_names
    rows = _rows(result, "router_totals", check) if names else ()
    return tuple(router_metrics(name, totals) for name, totals in zip(names, rows, strict=True))


def stations(scenario: Scenario, result: _core.Result) -> tuple[StationMetrics, ...]:
    """Compute the metrics of the stations of 802.11 channels.

    Parameters
    ----------
    scenario : Scenario
    result : narrows._core.Result

    Returns
    -------
    tuple of StationMetrics
        By channel, the base station first.
    """
    if not result.channel_names:
        return ()
    rows = list(_rows(result, "station_totals", lambda: None))
    return all_stations(result.station_names, result.channel_names, rows, scenario.core.duration_ns) if rows else ()


def _rows(result: _core.Result, table: str, check: Callable[[], None]) -> Iterator[dict[str, int | None]]:
    """Yield the rows of a table of totals; not all at once: those of 100,000 flows would take gigabytes together."""
    begin = 0
    while rows := result.rows(table, begin, _TOGETHER):
        yield from rows
        if len(rows) < _TOGETHER:
            return
        begin += _TOGETHER
        check()
