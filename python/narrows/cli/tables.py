"""The result of a run in the terminal: flows, queues, routers and 802.11 stations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from narrows.base.format import MISSING, interval, number
from narrows.cli.plain import NAME_WIDTH, new_table, print_doubts
from narrows.metrics.routers import told
from narrows.model.schemes import running
from narrows.outcome import Batch
from narrows.stats import mean_ci

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from narrows.metrics.impairments import ImpairmentMetrics
    from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
    from narrows.outcome import Kind, Outcome
    from narrows.outcome.rows import AnyRow

BUSY = 0.1
"""Utilisation from which a queue is shown even without losses."""

QUEUES_SHOWN = 8
FLOWS_SHOWN = 40
ROUTERS_SHOWN = 10
STATIONS_SHOWN = 10
SUBQUEUES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of metrics: the metric, its heading, its unit, and the factor from the metric's unit."""

    metric: str
    heading: str
    unit: str = ""
    factor: float = 1.0


FLOW_COLUMNS = (
    Column("throughput_mbps", "throughput", "Mb/s"),
    Column("goodput_mbps", "goodput", "Mb/s"),
    Column("rtt_mean_ms", "RTT", "ms"),
    Column("rtt_p95_ms", "95 %", "ms"),
    Column("sent_bytes", "sent", "MB", 1e-6),
    Column("lost_packets", "lost", "pkts"),
    Column("retransmitted_packets", "resent", "pkts"),
)
QUEUE_COLUMNS = (
    Column("utilisation", "used", "%", 100),
    Column("forwarded_packets", "forwarded", "pkts"),
    Column("dropped_packets", "dropped", "pkts"),
    Column("marked_packets", "marked", "pkts"),
    Column("delay_mean_ms", "delay", "ms"),
    Column("delay_p95_ms", "95 %", "ms"),
    Column("max_packets", "longest", "pkts"),
)
SUBQUEUE_COLUMNS = (*QUEUE_COLUMNS[1:6], Column("delay_p99_ms", "99 %", "ms"))
TRANSFER_COLUMNS = (
    Column("finished", "done", ""),
    Column("begun", "of", ""),
    Column("size_mean_bytes", "size", "kB", 1e-3),
    Column("fct_p50_ms", "FCT", "ms"),
    Column("fct_p95_ms", "95 %", "ms"),
    Column("fct_p99_ms", "99 %", "ms"),
    Column("slowdown_p50", "slowed", "times"),
    Column("slowdown_p99", "99 %", "times"),
)
PLAYBACK_COLUMNS = (
    Column("segments", "segments", ""),
    Column("rate_mean_mbps", "rate", "Mb/s"),
    Column("switches", "switches", ""),
    Column("startup_s", "startup", "s"),
    Column("stalls", "stalls", ""),
    Column("stalled_s", "stalled", "s"),
    Column("played_s", "played", "s"),
)
DATAGRAM_COLUMNS = (
    Column("delay_p50_ms", "delay", "ms"),
    Column("delay_p95_ms", "95 %", "ms"),
    Column("delay_p99_ms", "99 %", "ms"),
    Column("delay_max_ms", "longest", "ms"),
    Column("jitter_ms", "jitter", "ms"),
    Column("late_packets", "late", "pkts"),
    Column("frame_delay_p99_ms", "frames", "99 %, ms"),
    Column("incomplete_ratio", "incomplete", "%", 100),
)
IMPAIRMENT_COLUMNS = (
    Column("reordered", "reordered", "pkts"),
    Column("duplicated", "duplicated", "pkts"),
    Column("held", "held", "pkts"),
    Column("decimated", "decimated", "ACKs"),
    Column("acks_lost", "lost", "ACKs"),
    Column("outage_drops", "dropped", "in outages"),
)
INTERFACE_COLUMNS = (Column("utilisation", "of PHY rate", "%", 100), *QUEUE_COLUMNS[1:])
ROUTER_COLUMNS = (
    Column("asked", "asked", "pkts"),
    Column("wrote_freeze", "froze", "pkts"),
    Column("wrote_fallback", "fell back", "pkts"),
    Column("inserted", "inserted", "options"),
    Column("lowered", "lowered", "options"),
    Column("kept", "kept", "options"),
    Column("full", "no room", "left alone"),
    Column("malformed", "malformed", "left alone"),
    Column("unsupported", "not possible", "left alone"),
)
STATION_COLUMNS = (
    Column("airtime_ratio", "airtime", "%", 100),
    Column("data_frames", "data", "frames"),
    Column("mpdus_per_frame", "A-MPDU", "MPDUs"),
    Column("failure_ratio", "failed", "%", 100),
    Column("retry_ratio", "repeated", "%", 100),
    Column("given_up_packets", "given up", "pkts"),
    Column("collisions", "collided", "heard"),
    Column("corrupted", "corrupted", "frames"),
)


def print_result(result: Outcome, seconds: float, console: Console | None = None) -> None:
    """Print flows, queues, routers with an agent and 802.11 stations of a run, or their means over a batch.

    Parameters
    ----------
    result : Run or Batch
    seconds : float
        Wall-clock time that it took, s.
    console : rich.console.Console, optional
        Standard output by default.
    """
    out = console or Console(highlight=False)
    several = isinstance(result, Batch)
    over = f", mean of {len(result.runs)} runs ± half of the 95 % interval" if several else ""
    head = Text.assemble(
        (result.scenario.title, "bold"), f"  {result.scenario.duration_s:g} s, seed {result.seed}{over}"
    )
    out.print(head)
    print_doubts(out, result.doubts)
    out.print()
    if result.flows:
        out.print(_metrics_table("flow", result, FLOW_COLUMNS, range(len(result.flows))[:FLOWS_SHOWN]))
        _more(out, len(result.flows) - FLOWS_SHOWN, "flows")
        out.print()
    _print_plain(out, "transfers", TRANSFER_COLUMNS, result.transfer_classes)
    _print_plain(out, "video", PLAYBACK_COLUMNS, result.playbacks)
    _print_plain(out, "datagrams", DATAGRAM_COLUMNS, result.datagrams)
    _print_queues(out, result)
    _print_impairments(out, result.impairments)
    _print_routers(out, result)
    for channel in range(len(result.channels)):
        _print_channel(out, result, channel)
    if isinstance(result, Batch) and result.until is not None:
        out.print(Text(result.until.told(), style="" if result.until.met else "yellow"))
    jain = f"Jain's index {number(result.jain)}, " if result.jain is not None and len(result.flows) > 1 else ""
    out.print(Text(f"{jain}{result.packets:,} packet hops in {number(seconds)} s", style="dim"))
    out.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def _print_queues(out: Console, result: Outcome) -> None:
    shown = _telling(result.queues)
    wired = [i for i in shown if result.queues[i].channel is None]
    if wired or not shown:
        out.print(_metrics_table("queue", result, QUEUE_COLUMNS, wired))
    radio = [i for i in shown if result.queues[i].channel is not None]
    if radio:
        if wired:
            out.print()
        out.print(_metrics_table("queue", result, INTERFACE_COLUMNS, radio, "interface\nqueue"))
    _more(out, len(result.queues) - len(shown), "quieter queues")
    out.print()
    if result.subqueues:
        _print_subqueues(out, result.subqueues)


def _print_plain(out: Console, heading: str, columns: Sequence[Column], rows: Sequence[AnyRow]) -> None:
    """Print rows, or their means, without intervals; nothing without rows."""
    if not rows:
        return
    table = new_table()
    table.add_column(f"{heading}\n")
    for column in columns:
        table.add_column(Text.assemble(column.heading, "\n", (column.unit, "dim")), justify="right", no_wrap=True)
    for row in rows:
        values = (getattr(row, column.metric) for column in columns)
        cells = (
            MISSING if value is None else number(value * column.factor)
            for value, column in zip(values, columns, strict=True)
        )
        table.add_row(Text(row.name, overflow="fold"), *cells)
    out.print(table)
    out.print()


def _print_impairments(out: Console, rows: Sequence[ImpairmentMetrics]) -> None:
    """Print the counters that are above zero anywhere."""
    columns = [column for column in IMPAIRMENT_COLUMNS if any(getattr(row, column.metric) for row in rows)]
    struck = [row for row in rows if any(getattr(row, column.metric) for column in columns)]
    _print_plain(out, "link", columns, struck)


def _print_subqueues(out: Console, rows: Sequence[SubqueueMetrics]) -> None:
    """Print the sub-queues that sent most."""
    shown = sorted(rows, key=lambda row: -row.forwarded_packets)[:SUBQUEUES_SHOWN]
    table = new_table()
    table.add_column("sub-queue\n")
    for column in SUBQUEUE_COLUMNS:
        table.add_column(Text.assemble(column.heading, "\n", (column.unit, "dim")), justify="right", no_wrap=True)
    for row in (row for row in rows if row in shown):
        values = (getattr(row, column.metric) for column in SUBQUEUE_COLUMNS)
        table.add_row(Text(row.name, overflow="fold"), *(MISSING if n is None else number(n) for n in values))
    out.print(table)
    _more(out, len(rows) - len(shown), "quieter sub-queues")
    out.print()


def _print_routers(out: Console, result: Outcome) -> None:
    """Print the non-zero counters of routers with a scheme's agent."""
    if not result.routers:
        return
    wanted = told(result.routers)
    if not wanted:
        names = ", ".join(router.name for router in result.routers[:ROUTERS_SHOWN])
        out.print(Text(f"(routers with an agent wrote nothing and were asked nothing: {names})", style="dim"))
    else:
        scheme = running(result.scenario.resolved)
        heading = f"{scheme[0].upper()}\nrouter" if scheme else ""
        columns = [column for column in ROUTER_COLUMNS if column.metric in wanted]
        out.print(_metrics_table("router", result, columns, range(len(result.routers))[:ROUTERS_SHOWN], heading))
    _more(out, len(result.routers) - ROUTERS_SHOWN, "routers")
    out.print()


def _print_channel(out: Console, result: Outcome, index: int) -> None:
    """Print a channel's stations: the base station, then the stations that sent most, then all together."""
    channel = result.channels[index]
    members = [i for i, station in enumerate(result.stations) if station.channel == channel.name]
    busiest = sorted(members[1:], key=lambda i: -(result.stations[i].airtime_ratio or 0.0))[: STATIONS_SHOWN - 1]
    shown = [i for i in members if i == members[0] or i in busiest]
    columns = [column for column in STATION_COLUMNS if column.metric not in _silent(result, members)]
    table = _metrics_table("station", result, columns, shown, f"802.11\n{channel.name}")
    table.add_section()
    table.add_row(Text("all"), *(_cell(result, "channel", index, column) for column in columns))
    out.print(table)
    _more(out, len(members) - len(shown), "stations that sent less")
    out.print()


def _silent(result: Outcome, members: Sequence[int]) -> set[str]:
    """Return columns without information: aggregates if frames hold one MPDU, and events that never occurred."""
    stations = [result.stations[i] for i in members]
    silent = {
        metric
        for metric in ("given_up_packets", "corrupted")
        if not any(getattr(station, metric) for station in stations)
    }
    if all(station.mpdus == station.data_frames for station in stations):
        silent.add("mpdus_per_frame")
    return silent


def _telling(queues: Sequence[QueueMetrics]) -> list[int]:
    """Return the queues to show: those with losses, marks or high utilisation, at least the busiest."""
    told = [
        i
        for i, q in enumerate(queues)
        if q.dropped_packets or q.marked_packets or q.corrupted_packets or _used(q) >= BUSY
    ]
    busiest = sorted(told or range(len(queues)), key=lambda i: -_used(queues[i]))
    return sorted(busiest[: QUEUES_SHOWN if told else 1])


def _used(queue: QueueMetrics) -> float:
    return queue.utilisation or 0.0


def _more(out: Console, count: int, what: str) -> None:
    if count > 0:
        out.print(Text(f"({count} {what} not shown; --json has all)", style="dim"))


def _metrics_table(
    kind: Kind, result: Outcome, columns: Sequence[Column], indices: Sequence[int], heading: str = ""
) -> Table:
    table = new_table()
    longest = max((len(_rows(result, kind)[index].name) for index in indices), default=0)
    table.add_column(heading or f"{kind}\n", min_width=min(longest, NAME_WIDTH))
    with_cc = kind == "flow"
    if with_cc:
        table.add_column("cc\n")
    for column in columns:
        table.add_column(Text.assemble(column.heading, "\n", (column.unit, "dim")), justify="right", no_wrap=True)
    for index in indices:
        row = _rows(result, kind)[index]
        label = Text(row.name, overflow="fold")
        cells = [_cell(result, kind, index, column) for column in columns]
        table.add_row(label, *([str(getattr(row, "cc", None) or "UDP")] if with_cc else []), *cells)
    return table


def _rows(result: Outcome, kind: Kind) -> Sequence[AnyRow]:
    rows: Sequence[AnyRow] = getattr(result, f"{kind}s")
    return rows


def _cell(result: Outcome, kind: Kind, index: int, column: Column) -> Text:
    raw = getattr(_rows(result, kind)[index], column.metric)
    value = None if raw is None else raw * column.factor
    text = Text(number(value))
    if isinstance(result, Batch):
        estimate = mean_ci(getattr(_rows(run, kind)[index], column.metric) for run in result.runs)
        text.append("\n" + interval(estimate.half_width * column.factor, value), style="dim")
    return text
