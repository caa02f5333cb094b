"""Converting the engine's result of a run into metrics and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.metrics import NS_PER_S
from narrows.metrics.datagrams import datagram_metrics
from narrows.metrics.impairments import impairment_metrics
from narrows.metrics.routers import router_metrics
from narrows.metrics.stations import all_stations
from narrows.metrics.totals import flow_metrics, queue_metrics, subqueue_metrics
from narrows.metrics.transfers import playback_metrics
from narrows.outcome import Run
from narrows.outcome.samples import Samples
from narrows.outcome.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from narrows.metrics.stations import StationMetrics
    from narrows.metrics.transfers import PlaybackMetrics
    from narrows.model.scenario import Scenario
    from narrows.outcome.conditions import Conditions
    from narrows.outcome.tidy import CoreTable

_NONE: Final = -1
"""The engine's "no value", read as a signed number."""


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
    tables = result.tables()
    check = (lambda: None) if gauge is None else gauge.check
    transfers = Transfers.from_core(tables["transfers"], result.workload_names, result.flow_names, index)
    controls, channels = scenario.congestion_controls(), scenario.interface_queues()
    return Run(
        scenario=scenario,
        seed=seed,
        index=index,
        digest=result.digest,
        version=_core.version(),
        events=result.events,
        packets=result.packets,
        flows=tuple(
            flow_metrics(name, controls.get(name), totals)
            for name, totals in zip(result.flow_names, _rows(tables["flow_totals"], check), strict=True)
        ),
        queues=tuple(
            queue_metrics(name, totals, channels.get(name))
            for name, totals in zip(result.queue_names, _rows(tables["queue_totals"], check), strict=True)
        ),
        samples=Samples.from_result(result, index),
        transfers=transfers,
        transfer_classes=transfers.metrics(),
        playbacks=tuple(_playbacks(result, tables)),
        datagrams=tuple(
            datagram_metrics(result.flow_names[row["flow"] or 0], row)
            for row in _rows(tables["datagram_totals"], check)
        ),
        impairments=tuple(
            impairment_metrics(result.queue_names[row["queue"] or 0], row)
            for row in _rows(tables["impairment_totals"], check)
        ),
        routers=tuple(
            router_metrics(name, totals)
            for name, totals in zip(result.router_names, _rows(tables["router_totals"], check), strict=True)
        ),
        stations=_stations(scenario, result, tables),
        subqueues=tuple(
            subqueue_metrics(f"{result.queue_names[queue]}/{label}", totals)
            for (queue, _, label), totals in zip(
                result.subqueue_names, _rows(tables["subqueue_totals"], check), strict=True
            )
        ),
        conditions=conditions,
    )


def _playbacks(result: _core.Result, tables: Mapping[str, CoreTable]) -> Iterator[PlaybackMetrics]:
    names = result.flow_names
    starts = next(memoryview(data).cast("q") for name, _, _, data in tables["flow_totals"] if name == "start_ns")
    for row in _rows(tables["playback_totals"], lambda: None):
        flow = row["flow"] or 0
        yield playback_metrics(names[flow], starts[flow] / NS_PER_S, row)


def _stations(scenario: Scenario, result: _core.Result, tables: Mapping[str, CoreTable]) -> tuple[StationMetrics, ...]:
    rows = list(_rows(tables["station_totals"], lambda: None))
    return all_stations(result.station_names, result.channel_names, rows, scenario.core.duration_ns)


def _rows(table: CoreTable, check: Callable[[], None]) -> Iterator[dict[str, int | None]]:
    """Yield rows of a table of totals one at a time: those of 100,000 flows would take gigabytes together."""
    names = [name for name, *_ in table]
    for row in zip(*(memoryview(data).cast("q") for *_, data in table), strict=True):
        check()
        yield {name: None if value == _NONE else value for name, value in zip(names, row, strict=True)}
