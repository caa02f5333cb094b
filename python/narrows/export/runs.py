"""Tables and figures of runs: the metrics of each run, samples over time, and what their report shows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, get_args

from narrows.base.errors import InputError
from narrows.export import tables
from narrows.export.columns import meanings
from narrows.export.printing import printed
from narrows.export.values import Contents, Rows, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from narrows.export.values import Drawing
    from narrows.outcome import Batch, Run
    from narrows.outcome.metrics import MetricKind
    from narrows.outcome.samples import Kind

TITLES: Final[dict[str, tuple[str, str]]] = {
    "flow": ("flows", "Metrics of flows, by run"),
    "queue": ("queues", "Metrics of queues, by run"),
    "subqueue": ("subqueues", "Metrics of sub-queues, by run"),
    "router": ("routers", "Counters of routers with a scheme, by run"),
    "station": ("stations", "Metrics of 802.11 stations, by run"),
    "channel": ("channels", "Metrics of 802.11 channels, by run"),
    "transfer_class": ("transfer-classes", "Completion times of transfers by size, by run"),
    "playback": ("playbacks", "Metrics of video players, by run"),
    "datagram": ("datagrams", "One-way delays and frames of UDP flows, by run"),
    "impairment": ("impairments", "What the impairments of links did, by run"),
}
"""Name and title of the table of each kind of metrics."""


PRINTED: Final[dict[str, str]] = {
    "What the flows sent, lost and delivered": "flows",
    "Round-trip times and recovery of the TCP flows": "flows-delay",
    "ACNS commands received by the senders": "flows-commands",
    "NGWA options received": "flows-options",
    "Completion times of transfers, by size": "transfer-classes",
    "What the video players did": "playbacks",
    "One-way delays of datagrams": "datagrams",
    "Frames of video calls": "datagrams-frames",
    "What the routers did to packets": "routers",
    "Queues that packets passed": "queues",
    "Interface queues of the 802.11 channels": "queues-802.11",
    "Sub-queues that packets passed": "subqueues",
    "What impairments of links did": "impairments",
}
"""Name of each table of a report by its title; tables of channels have the channel's name."""


def contents(outcome: Run | Batch) -> Contents:
    """Return what runs have to export.

    Parameters
    ----------
    outcome : Run or Batch

    Returns
    -------
    Contents

    Raises
    ------
    InputError
        If no run has finished.
    """
    if not outcome.runs:
        message = "there is no finished run to export; allowed: a result with at least one run"
        raise InputError(message)
    return Contents("run", outcome.scenario.name, tables_of(outcome), figures(outcome), outcome=outcome)


def tables_of(outcome: Run | Batch) -> tuple[Table, ...]:
    """Return the tables of runs: metrics, those of the report, and samples over time.

    Parameters
    ----------
    outcome : Run or Batch

    Returns
    -------
    tuple of Table
    """
    reported = _reported(outcome)
    made = [
        replace(reported.pop(table.name), rows=table.rows) if table.name in reported else table
        for table in _metrics(outcome)
    ]
    return (*made, *reported.values(), *_over_time(outcome))


def _reported(outcome: Run | Batch) -> dict[str, Table]:
    from narrows.report.write import metric_tables, order_of

    made = {}
    for table in metric_tables(outcome, order_of(outcome)):
        name = PRINTED.get(table.title) or f"channel-{table.title.rpartition(' ')[2]}"
        made[name] = Table(name, table.title, printed=partial(printed, table))
    return made


def figures(outcome: Run | Batch) -> tuple[Drawing, ...]:
    """Return the figures of a run's report.

    Parameters
    ----------
    outcome : Run or Batch

    Returns
    -------
    tuple of Drawing
    """
    from narrows.export import drawings
    from narrows.report import network, write

    drawn = drawings.of_network(network.of(outcome.scenario), outcome.scenario.title)
    return (*drawings.of_figures(write.shown(outcome)), *drawings.of_packets(outcome), drawn)


def _metrics(outcome: Run | Batch) -> Iterable[Table]:
    from narrows.outcome.metrics import MetricKind

    for kind in get_args(MetricKind):
        if outcome.metrics.to_arrow(kind).num_rows:
            name, title = TITLES[kind]
            yield Table(name, title, _of_metrics(outcome, kind))


def _of_metrics(outcome: Run | Batch, kind: MetricKind) -> Callable[[], Rows]:
    def made() -> Rows:
        from narrows.outcome.metrics import attribute

        rows = (row for run in outcome.runs for row in getattr(run, attribute(kind)))
        return tables.of_arrow(outcome.metrics.to_arrow(kind), meanings(next(rows).__class__))

    return made


def _over_time(outcome: Run | Batch) -> Iterable[Table]:
    from narrows.outcome.samples import ALL_KINDS

    for kind in ALL_KINDS:
        if outcome.samples.rows(kind):
            yield Table(f"samples-{kind}s", f"Samples of {kind}s over time", _of_samples(outcome, kind))
    state = outcome.samples.state
    if len(state):
        yield Table("state", "State of algorithms over time", lambda: _of_state(outcome))
    if len(outcome.transfers):
        yield Table("transfers", "Transfers, a row each", lambda: tables.of_arrow(outcome.transfers.table()))


def _of_samples(outcome: Run | Batch, kind: Kind) -> Callable[[], Rows]:
    def rows() -> Rows:
        samples = outcome.samples
        return _in_seconds(samples.schema(kind), lambda: samples.batches(kind))

    return rows


def _of_state(outcome: Run | Batch) -> Rows:
    from narrows.outcome.series import schema

    state = outcome.samples.state
    columns = schema(state.variables)
    return _in_seconds(columns, lambda: (part.cast(columns) for part in state.batches()))


def _in_seconds(schema: pa.Schema, parts: Callable[[], Iterable[pa.Table]]) -> Rows:
    from narrows.outcome import times

    return Rows(
        times.converted(schema.empty_table(), "s").schema, lambda: (times.converted(part, "s") for part in parts())
    )
