"""Measures that are compared, with units and values per run: of flows, of queues and of all flows together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.metrics import NO_CWND, mean_over_time
from narrows.metrics.totals import aggregate_mbps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.metrics.datagrams import DatagramMetrics
    from narrows.metrics.totals import FlowMetrics, QueueMetrics
    from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
    from narrows.outcome import Run


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that both arms have.

    Attributes
    ----------
    key : str
        Name in JSON, ending with the JSON unit, as for metrics.
    title, unit : str
        Title and unit as shown to readers.
    scale : float
        Factor from the unit of `key` to `unit`.
    is_count : bool
        Whether it is a count, a whole number in each run.
    """

    key: str
    title: str
    unit: str
    scale: float = 1.0
    is_count: bool = False


THROUGHPUT: Final = Measure("throughput_mbps", "Throughput", "Mb/s")
GOODPUT: Final = Measure("goodput_mbps", "Goodput", "Mb/s")
RTT: Final = Measure("rtt_mean_ms", "RTT, mean", "ms")
CWND: Final = Measure("cwnd_mean_bytes", "cwnd, mean", "kB", 1e-3)
JAIN: Final = Measure("jain", "Jain", "")

FLOW: Final = (
    THROUGHPUT,
    GOODPUT,
    RTT,
    Measure("rtt_p50_ms", "RTT, median", "ms"),
    Measure("rtt_p95_ms", "RTT, 95 %", "ms"),
    CWND,
    Measure("lost_packets", "Lost", "packets", is_count=True),
    Measure("retransmitted_packets", "Sent again", "packets", is_count=True),
    Measure("timeouts", "Timeouts", "", is_count=True),
)
QUEUE: Final = (
    Measure("utilisation", "Utilisation", "%", 100.0),
    Measure("delay_mean_ms", "Delay, mean", "ms"),
    Measure("delay_p95_ms", "Delay, 95 %", "ms"),
    Measure("dropped_packets", "Dropped", "packets", is_count=True),
    Measure("marked_packets", "Marked", "packets", is_count=True),
    Measure("corrupted_packets", "Corrupted", "packets", is_count=True),
    Measure("max_packets", "Longest", "packets", is_count=True),
)
TRANSFER: Final = (
    Measure("finished", "Finished", "", is_count=True),
    Measure("fct_mean_ms", "Completion time, mean", "ms"),
    Measure("fct_p50_ms", "Completion time, median", "ms"),
    Measure("fct_p95_ms", "Completion time, 95 %", "ms"),
    Measure("slowdown_mean", "Slow-down, mean", "times"),
)
PLAYBACK: Final = (
    Measure("segments", "Segments", "", is_count=True),
    Measure("rate_mean_mbps", "Mean rate", "Mb/s"),
    Measure("switches", "Switches", "", is_count=True),
    Measure("stalls", "Stalls", "", is_count=True),
    Measure("stalled_s", "Stalled", "s"),
)
DATAGRAM: Final = (
    Measure("delay_mean_ms", "Delay, mean", "ms"),
    Measure("delay_p50_ms", "Delay, median", "ms"),
    Measure("delay_p95_ms", "Delay, 95 %", "ms"),
    Measure("delay_p99_ms", "Delay, 99 %", "ms"),
    Measure("jitter_ms", "Jitter", "ms"),
    Measure("late_packets", "Late", "packets", is_count=True),
    Measure("complete_frames", "Complete frames", "", is_count=True),
)
TOGETHER: Final = (THROUGHPUT, GOODPUT, JAIN)

Values = dict[str, float | None]
"""Values of one run, by key of the measure."""


def flows(run: Run) -> dict[str, Values]:
    """Measures of the flows of a run.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        By name of the flow.
    """
    windows = mean_windows(run)
    return {flow.name: {**_own(flow, FLOW), CWND.key: windows.get(flow.name)} for flow in run.flows}


def queues(run: Run) -> dict[str, Values]:
    """Measures of the queues that packets passed in a run.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        By name of the queue.
    """
    return {queue.name: _own(queue, QUEUE) for queue in run.queues if queue.arrived_packets}


def transfers(run: Run) -> dict[str, Values]:
    """Measures of the transfers of a run, by workload or flow and by size class.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        By name of the class.
    """
    return {one.name: _own(one, TRANSFER) for one in run.transfer_classes}


def playbacks(run: Run) -> dict[str, Values]:
    """Measures of the video players of a run.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        By name of the flow.
    """
    return {one.name: _own(one, PLAYBACK) for one in run.playbacks}


def datagrams(run: Run) -> dict[str, Values]:
    """Measures of the datagrams of a run's UDP flows.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        By name of the flow.
    """
    return {one.name: _own(one, DATAGRAM) for one in run.datagrams}


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


def _own(
    row: FlowMetrics | QueueMetrics | TransferMetrics | PlaybackMetrics | DatagramMetrics, wanted: tuple[Measure, ...]
) -> Values:
    own: Mapping[str, Any] = row.to_dict()
    return {measure.key: own[measure.key] for measure in wanted if measure.key in own}
