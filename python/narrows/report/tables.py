"""Tables of metrics: the columns that a report shows, their titles and definitions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.report import channels, style
from narrows.stats import Estimate, mean_ci

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Column:
    """A metric in a table: attribute, title, unit, factor from the attribute's unit, and whether it is a count."""

    metric: str
    title: str
    unit: str
    scale: float = 1.0
    is_count: bool = False


@dataclass(frozen=True)
class Cell:
    """A value and half of its confidence interval, shown after ±."""

    value: str
    spread: str = ""


@dataclass(frozen=True)
class Row:
    """A named row of cells, with the colour of the object that it describes."""

    name: str
    colour: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A titled table."""

    title: str
    what: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


TRANSFER = (
    Column("throughput_mbps", "Throughput", "Mb/s"),
    Column("throughput_max_mbps", "Max. throughput", "Mb/s"),
    Column("goodput_mbps", "Goodput", "Mb/s"),
    Column("sent_bytes", "Sent", "MB", 1e-6),
    Column("delivered_bytes", "Delivered", "MB", 1e-6),
    Column("sent_packets", "Sent", "packets", is_count=True),
    Column("lost_packets", "Lost", "packets", is_count=True),
    Column("loss_ratio", "Loss", "%", 100.0),
    Column("retransmitted_packets", "Retransmitted", "packets", is_count=True),
)
DELAY = (
    Column("rtt_mean_ms", "RTT mean", "ms"),
    Column("rtt_min_ms", "min.", "ms"),
    Column("rtt_p50_ms", "median", "ms"),
    Column("rtt_p95_ms", "95 %", "ms"),
    Column("rtt_p99_ms", "99 %", "ms"),
    Column("rtt_max_ms", "max.", "ms"),
    Column("timeouts", "Timeouts", "", is_count=True),
    Column("fast_retransmits", "Fast retransmits", "", is_count=True),
    Column("triple_duplicate_acks", "Triple duplicate ACKs", "", is_count=True),
)
COMMANDS = (
    Column("commands_normal", "Normal", "commands", is_count=True),
    Column("commands_freeze", "Freeze", "commands", is_count=True),
    Column("commands_fallback", "Fallback", "commands", is_count=True),
)
OPTIONS = (
    Column("window_options", "Taken", "packets", is_count=True),
    Column("window_options_ignored", "Ignored", "packets", is_count=True),
)
ROUTERS = (
    Column("asked", "Asked", "packets", is_count=True),
    Column("wrote_freeze", "Freeze written", "packets", is_count=True),
    Column("wrote_fallback", "Fallback written", "packets", is_count=True),
    Column("inserted", "Inserted", "options", is_count=True),
    Column("lowered", "Lowered", "options", is_count=True),
    Column("kept", "Kept", "options", is_count=True),
    Column("full", "No room", "packets", is_count=True),
    Column("malformed", "Malformed", "packets", is_count=True),
    Column("unsupported", "Not possible", "packets", is_count=True),
)
QUEUES = (
    Column("utilisation", "Utilisation", "%", 100.0),
    Column("forwarded_packets", "Forwarded", "packets", is_count=True),
    Column("dropped_packets", "Dropped", "packets", is_count=True),
    Column("corrupted_packets", "Corrupted", "packets", is_count=True),
    Column("marked_packets", "Marked", "packets", is_count=True),
    Column("delay_mean_ms", "Delay mean", "ms"),
    Column("delay_p95_ms", "95 %", "ms"),
    Column("delay_p99_ms", "99 %", "ms"),
    Column("delay_max_ms", "max.", "ms"),
    Column("max_packets", "Longest", "packets", is_count=True),
)

TRANSFERS = (
    Column("begun", "Begun", "", is_count=True),
    Column("finished", "Finished", "", is_count=True),
    Column("size_mean_bytes", "Mean size", "kB", 1e-3),
    Column("fct_mean_ms", "Completion time mean", "ms"),
    Column("fct_p50_ms", "median", "ms"),
    Column("fct_p95_ms", "95 %", "ms"),
    Column("fct_p99_ms", "99 %", "ms"),
    Column("slowdown_mean", "Slow-down mean", "times"),
    Column("slowdown_p50", "median", "times"),
    Column("slowdown_p95", "95 %", "times"),
    Column("slowdown_p99", "99 %", "times"),
)
PLAYBACKS = (
    Column("segments", "Segments", "", is_count=True),
    Column("rate_mean_mbps", "Mean rate", "Mb/s"),
    Column("switches", "Switches", "", is_count=True),
    Column("startup_s", "Startup", "s"),
    Column("stalls", "Stalls", "", is_count=True),
    Column("stalled_s", "Stalled", "s"),
    Column("stalled_ratio", "of the time", "%", 100.0),
    Column("played_s", "Played", "s"),
)
IMPAIRMENTS = (
    Column("reordered", "Reordered", "packets", is_count=True),
    Column("duplicated", "Duplicated", "packets", is_count=True),
    Column("held", "Held for bursts", "packets", is_count=True),
    Column("decimated", "ACKs decimated", "packets", is_count=True),
    Column("acks_lost", "ACKs lost", "packets", is_count=True),
    Column("outage_drops", "Dropped in outages", "packets", is_count=True),
)
DATAGRAMS = (
    Column("arrived_packets", "Arrived", "packets", is_count=True),
    Column("delay_mean_ms", "One-way delay mean", "ms"),
    Column("delay_p50_ms", "median", "ms"),
    Column("delay_p95_ms", "95 %", "ms"),
    Column("delay_p99_ms", "99 %", "ms"),
    Column("delay_max_ms", "max.", "ms"),
    Column("jitter_ms", "Jitter", "ms"),
    Column("late_packets", "Late", "packets", is_count=True),
)
FRAMES = (
    Column("frames", "Sent", "frames", is_count=True),
    Column("complete_frames", "Complete", "frames", is_count=True),
    Column("incomplete_ratio", "Incomplete", "%", 100.0),
    Column("frame_delay_p50_ms", "Delay median", "ms"),
    Column("frame_delay_p95_ms", "95 %", "ms"),
    Column("frame_delay_p99_ms", "99 %", "ms"),
)
INTERFACES = (Column("utilisation", "Of the PHY's rate", "%", 100.0), *QUEUES[1:3], *QUEUES[4:])
SUBQUEUES = (
    *QUEUES[1:3],
    *QUEUES[4:7],
    Column("delay_p99_ms", "99 %", "ms"),
    Column("delay_max_ms", "max.", "ms"),
)
CHANNELS = (
    Column("airtime_ratio", "Airtime", "%", 100.0),
    Column("data_frames", "Data frames", "frames", is_count=True),
    Column("mpdus_per_frame", "Aggregate", "MPDUs"),
    Column("failure_ratio", "Failed", "%", 100.0),
    Column("rts_failures", "No CTS", "", is_count=True),
    Column("data_failures", "No ACK", "", is_count=True),
    Column("retry_ratio", "Repeated", "%", 100.0),
    Column("given_up_packets", "Given up", "packets", is_count=True),
    Column("received_packets", "Received", "packets", is_count=True),
    Column("duplicates", "Duplicates", "MPDUs", is_count=True),
    Column("collisions", "Collisions heard", "frames", is_count=True),
    Column("corrupted", "Corrupted", "frames", is_count=True),
)

#: Columns of `CHANNELS` that are left out if they hold only zeros.
OCCASIONAL = frozenset({"rts_failures", "given_up_packets", "duplicates", "corrupted"})

#: Name, unit and definition of each metric on a page. Formulas: `narrows.metrics`.
DEFINITIONS: tuple[tuple[str, str, str], ...] = (
    (
        "Throughput",
        "Mb/s",
        "IP bytes of the data direction that reached the receiving host, headers and retransmissions included, times "
        "8, over the time in which the flow could send (its start to its end); RFC 5166, section 2.1. The maximum is "
        "over bins of one second from the start of the run. 1 Mb/s is 10⁶ bit/s.",
    ),
    ("Goodput", "Mb/s", "Payload delivered in order to the receiving application, over the same time: each byte once."),
    (
        "Sent, delivered",
        "MB",
        "Payload bytes that left the sender, retransmissions included; payload bytes that reached the application. 1 "
        "MB is 10⁶ bytes.",
    ),
    ("Lost", "packets", "Packets with payload of the flow's data direction that a queue dropped or a link corrupted."),
    (
        "RTT",
        "ms",
        "Samples that the sender itself took (RFC 6298; none from retransmitted segments without timestamps). "
        "Percentiles come from a histogram with an error below 0.8 %.",
    ),
    (
        "Triple duplicate ACKs",
        "",
        "Third duplicate ACKs in a row that the sender received, those that move the window among them: signs of loss "
        "or reordering even where no fast recovery follows.",
    ),
    ("Queueing delay", "ms", "From arrival at the queue to the start of sending, per packet that was sent."),
    (
        "Utilisation",
        "%",
        "Bits that left for the link over what the link could have sent in the run, changes of its rate counted.",
    ),
    ("Commands", "", "ACNS commands that the sender received: 1 normal, 2 freeze, 3 fallback."),
    (
        "Options",
        "",
        "Segments with an NGWA option: the receiving end took a window from it, or ignored malformed options.",
    ),
    (
        "Routers",
        "packets",
        "ACNS: segments that asked for a command, and into which freeze or fallback was written. NGWA: segments that "
        "got an option, whose value was lowered, or kept because it was as small or smaller; and those left alone: no "
        "room among their IPv4 options, malformed options, or not possible (IPv6, or longer than IPv4 allows).",
    ),
    (
        "Jain's index",
        "",
        "J = (Σx)² / (n Σx²) over the throughput of the flows with congestion control: 1 if all have the same, 1/n if "
        "one has everything (Jain, Chiu and Hawe 1984).",
    ),
    (
        "Confidence interval",
        "",
        "Mean ± t · s / √n over independent runs at 95 % (Student); shaded bands in figures show the middle 95 % of "
        "the runs, which is the spread of single runs and not the error of the mean.",
    ),
)

#: Additional definitions for 802.11 channels and interface queues, on a page with a channel.
CHANNEL_DEFINITIONS: tuple[tuple[str, str, str], ...] = (
    ("Of the PHY's rate", "%", channels.OF_THE_RATE),
    (
        "Airtime",
        "%",
        "Time in which a station sent frames of any kind, over the run; of a channel, the sum over its stations, in "
        "which frames that overlap count once each.",
    ),
    (
        "Failed, no CTS, no ACK",
        "",
        "Attempts that no answer followed: no CTS after an RTS, no ACK (or block ACK) after data; over all attempts. "
        "Without frame errors and hidden stations that is the conditional collision probability p of Bianchi (IEEE "
        "JSAC 18(3), 2000).",
    ),
    (
        "Aggregate, repeated, given up",
        "",
        "MPDUs in a data frame, on average; MPDUs that had been sent before, over all that were sent; packets that a "
        "retry limit ended.",
    ),
    (
        "Duplicates, collisions heard, corrupted",
        "",
        "MPDUs that had come before (their ACK was lost); frames that a station could not read because others "
        "overlapped, whomever they were for (one collision counts at each "
        "that hears it); frames and MPDUs for it that the frame error rate struck.",
    ),
)

LIMITS: tuple[str, ...] = (
    "Hosts take no time: there is no processor, no interrupt coalescing and no offloading; delays come from links and "
    "queues alone.",
    "Links are full duplex and deliver in order; random losses, where a scenario has them, strike whole packets.",
    "Routes are static and shortest by number of hops.",
    "An interval gives the uncertainty of the mean over seeds. It does not cover what the scenario leaves out.",
)

#: Additional notes on metrics of live runs.
MACHINE_LIMITS: tuple[str, ...] = (
    "Hosts are this machine's: its processors, its kernel and its other load affect the results. The "
    "conditions tell how much later than due packets left.",
    *LIMITS[1:3],
    "An interval gives the uncertainty of the mean over runs. It does not cover another machine, another "
    "kernel, or what the scenario leaves out.",
)


def cell(estimate: Estimate, column: Column) -> Cell:
    """Return a cell: the mean, and ± half the interval if there are several runs that differ."""
    if estimate.n == 0:
        return Cell("–")
    mean = estimate.mean * column.scale
    write = style.count if column.is_count else style.number
    half = estimate.half_width * column.scale
    if estimate.n < 2 or not half > 0:
        return Cell(write(mean))
    if column.is_count:
        return Cell(f"{mean:,.1f}", f"{half:,.1f}")
    value, spread = with_spread(mean, half)
    return Cell(value, spread)


def with_sign(cell: Cell, mean: float) -> Cell:
    """Return the cell of a difference with its sign.

    >>> with_sign(Cell("0.5", "0.1"), 0.5), with_sign(Cell("−3"), -3), with_sign(Cell("0"), 0)
    (Cell(value='+0.5', spread='0.1'), Cell(value='−3', spread=''), Cell(value='0', spread=''))
    """
    if math.isnan(mean):
        return Cell("–")
    size = cell.value.lstrip("-−")
    sign = "" if not size.strip("0.,") else "+" if mean > 0 else "−"
    return Cell(f"{sign}{size}", cell.spread)


def with_spread(mean: float, half: float) -> tuple[str, str]:
    """Write mean and half width with as many decimals as two digits of the half width need.

    >>> with_spread(0.80412, 0.0213), with_spread(377.2, 4.9), with_spread(12345.6, 1234.0)
    (('0.804', '0.021'), ('377.2', '4.9'), ('12,346', '1,234'))
    """
    decimals = max(0, min(4, 1 - math.floor(math.log10(half)))) if half > 0 else 2
    return f"{mean:,.{decimals}f}".replace("-", "−"), f"{half:,.{decimals}f}"


def table(
    title: str,
    what: str,
    columns: Sequence[Column],
    rows: Iterable[tuple[str, str, Sequence[Any]]],
) -> Table:
    """Make a table from the metrics of runs.

    Parameters
    ----------
    title, what : str
        Caption, and heading of the first column.
    columns : sequence of Column
        Columns without a value in any row are left out.
    rows : iterable
        Name, colour, and the metrics of that flow or queue in each run.

    Returns
    -------
    Table
    """
    listed = list(rows)
    kept = [c for c in columns if any(getattr(m, c.metric) is not None for _, _, runs in listed for m in runs)]
    made = tuple(
        Row(name, colour, tuple(cell(mean_ci(getattr(m, c.metric) for m in runs), c) for c in kept))
        for name, colour, runs in listed
    )
    return Table(title, what, tuple(kept), made)
