"""Every metric of a run, by the object that it describes."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from narrows.metrics import NO_CWND, mean_over_time
from narrows.metrics.aggregate import aggregate_mbps
from narrows.outcome.rows import WORDS
from narrows.studies.comparison.measures import CWND, GOODPUT, JAIN, THROUGHPUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.outcome import Run
    from narrows.outcome.rows import AnyRow

ALL: Final = "all flows"
"""Name of the object whose metrics are those of all flows together."""

INPUTS: Final = frozenset({"start_s"})
"""Fields of metrics that the scenario sets or draws: they are no results."""

Key = tuple[str, str]
"""Kind and name of an object."""

Values = dict[str, float | None]
"""Values of an object in one run, by name of the metric."""


def metrics_of(run: Run) -> dict[Key, Values]:
    """Return every metric of a run.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        By kind and name of the object: value by metric, in the unit of the metric's name; ``None`` for "no value".
        Queues that no packet reached are left out.
    """
    windows = mean_windows(run)
    found: dict[Key, Values] = {}
    if len(run.flows) > 1:
        found["run", ALL] = together(run)
    for kind, rows in _rows(run):
        for row in rows:
            name = row.name
            if (kind, name) in found and kind == "station":  # a node may be a station of two channels
                name = f"{name} ({getattr(row, 'channel', '')})"
            values = {
                field.name: getattr(row, field.name)
                for field in fields(row)
                if field.name not in WORDS and field.name not in INPUTS
            }
            if kind == "flow":
                values[CWND.key] = windows.get(row.name)
            found[kind, name] = values
    return found


def _rows(run: Run) -> Iterable[tuple[str, Iterable[AnyRow]]]:
    return (
        ("flow", run.flows),
        ("transfer_class", run.transfer_classes),
        ("playback", run.playbacks),
        ("datagram", run.datagrams),
        ("queue", [queue for queue in run.queues if queue.arrived_packets]),
        ("subqueue", run.subqueues),
        ("router", run.routers),
        ("station", run.stations),
        ("channel", run.channels),
        ("impairment", run.impairments),
    )


def together(run: Run) -> Values:
    """Measures of all flows of a run together.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
    """
    return {
        THROUGHPUT.key: aggregate_mbps(run.flows),
        GOODPUT.key: aggregate_mbps(run.flows, "delivered_bytes"),
        JAIN.key: run.jain,
    }


def mean_windows(run: Run) -> dict[str, float | None]:
    """Time-weighted mean congestion window of each flow, from its samples between its start and its end.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        Bytes, by name of the flow; ``None`` for UDP, for a sender without a congestion window, and without samples.
    """
    frame = run.samples.frame("flow")
    time = frame["time_s"].to_numpy()
    cwnd = frame["cwnd_bytes"].to_numpy(dtype=float, na_value=math.nan, copy=True)
    cwnd[cwnd >= NO_CWND] = math.nan
    rows = frame.groupby("name", observed=True).indices
    return {
        flow.name: mean_over_time(
            time[rows[flow.name]], cwnd[rows[flow.name]], flow.start_s, flow.start_s + flow.active_s
        )
        if flow.name in rows and flow.cc is not None
        else None
        for flow in run.flows
    }
