"""Measures that are compared, with titles and units: of flows, of queues and of all flows together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
