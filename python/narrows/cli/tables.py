"""Tables for the terminal: flows, queues, routers, 802.11 stations, the catalogue, and a paper's cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from narrows.format import MISSING, interval, number
from narrows.outcome import Batch
from narrows.phys import settings
from narrows.routers import told
from narrows.schemes import running
from narrows.stats import mean_ci

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.outcome import Kind, Outcome
    from narrows.reproduction.result import Reproduction
    from narrows.rows import AnyRow
    from narrows.totals import QueueMetrics, SubqueueMetrics
    from narrows.validation import Validation

BUSY = 0.1
"""Utilisation from which a queue is shown even without losses."""

QUEUES_SHOWN = 8
FLOWS_SHOWN = 40
ROUTERS_SHOWN = 10
STATIONS_SHOWN = 10
SUBQUEUES_SHOWN = 10

NAME_WIDTH = 12
"""Width for names on a narrow terminal, in characters; longer ones are wrapped."""


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
    out.print(_metrics_table("flow", result, FLOW_COLUMNS, range(len(result.flows))[:FLOWS_SHOWN]))
    _more(out, len(result.flows) - FLOWS_SHOWN, "flows")
    out.print()
    _print_queues(out, result)
    _print_routers(out, result)
    for channel in range(len(result.channels)):
        _print_channel(out, result, channel)
    if isinstance(result, Batch) and result.until is not None:
        out.print(Text(result.until.told(), style="" if result.until.met else "yellow"))
    jain = f"Jain's index {number(result.jain)}, " if result.jain is not None and len(result.flows) > 1 else ""
    out.print(Text(f"{jain}{result.packets:,} packet hops in {number(seconds)} s", style="dim"))
    out.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def print_doubts(out: Console, doubts: Sequence[str]) -> None:
    """Print the reasons not to trust the results; nothing if they are trusted.

    Parameters
    ----------
    out : rich.console.Console
    doubts : sequence of str
        One sentence each.
    """
    if doubts:
        out.print(Text("NOT TO BE TRUSTED", style="bold red"))
        for doubt in doubts:
            out.print(Text(f"  {doubt}", style="red"))


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


def _print_subqueues(out: Console, rows: Sequence[SubqueueMetrics]) -> None:
    """Print the sub-queues that sent most."""
    shown = sorted(rows, key=lambda row: -row.forwarded_packets)[:SUBQUEUES_SHOWN]
    table = _table()
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
    table = _table()
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


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))


def print_controls(entries: Sequence[dict[str, Any]]) -> None:
    """Print congestion controls, one row each.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    table = _table()
    table.add_column("cc", no_wrap=True)
    table.add_column("title")
    table.add_column("profiles, the default first")
    for entry in entries:
        profile = next((p for p in entry["parameters"] if p["name"] == "profile"), None)
        default = profile["default"] if profile else None
        words = sorted(profile["allowed"] if profile else [], key=lambda word: str(word) != default)
        table.add_row(Text(entry["name"], style="bold"), Text(entry["title"]), Text(", ".join(words), style="cyan"))
    out.print(table)
    out.print(Text("narrows explain NAME: idea, sources, parameters, differences, limits", style="dim"))


def print_catalogue(entries: Sequence[dict[str, Any]]) -> None:
    """Print entries of the catalogue, each with its parameters and sources.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    for entry in entries:
        out.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry['title'])}")
        if entry.get("sources"):
            out.print(Padding(Text("; ".join(entry["sources"]), style="dim"), (0, 0, 0, 2), expand=False))
        for parameter in entry.get("parameters") or ():
            name = Text.assemble((parameter["name"], "bold"), "  ", (_values(parameter), "cyan"))
            out.print(Padding(name, (0, 0, 0, 2), expand=False))
            out.print(Padding(Text(parameter["doc"]), (0, 0, 0, 6), expand=False))
        out.print()


def _values(parameter: dict[str, Any]) -> str:
    """Describe a parameter's default and allowed values."""
    default, unit = parameter.get("default"), str(parameter.get("unit") or "")
    match parameter["kind"]:
        case "number":
            if "min" not in parameter:  # of a congestion control registered from Python, which has no bounds
                return f"{_plain(default)}; allowed: a number"
            low, high = _plain(parameter["min"]), _plain(parameter["max"])
            return f"{_plain(default)}; allowed: {low} to {high} {unit}".rstrip()
        case "choice":
            return f"{default}; allowed: {', '.join(parameter['allowed'])}"
        case "switch":
            return f"{'true' if default else 'false'}; allowed: true, false"
    return f"in {unit}"


def _plain(value: Any) -> str:
    return f"{value:,.10g}"


def print_phys(entries: Sequence[dict[str, Any]]) -> None:
    """Print the PHYs of 802.11 channels: the settings that each allows, and the standard's constants.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    for entry in entries:
        out.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry['title'])}")
        out.print(Padding(Text("; ".join(entry["sources"]), style="dim"), (0, 0, 0, 2), expand=False))
        for key, default, allowed in settings(entry):
            values = f"{default}; allowed: {allowed}" if allowed else default
            out.print(Padding(Text.assemble((key, "bold"), "  ", (values, "cyan")), (0, 0, 0, 2), expand=False))
        out.print()


def print_scenarios(entries: Sequence[dict[str, Any]]) -> None:
    """Print the bundled scenarios.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.catalogue.list_scenarios` returns them.
    """
    table = _table()
    table.add_column("scenario", no_wrap=True)
    for heading in ("nodes", "flows", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what it shows", ratio=1)
    for entry in entries:
        duration = f"{entry['duration_s']:g} s"
        table.add_row(entry["name"], str(entry["nodes"]), str(entry["flows"]), duration, Text(entry["title"]))
    Console(highlight=False).print(table)


def print_reproduction(made: Reproduction) -> None:
    """Print published beside measured values, and which claims hold.

    Parameters
    ----------
    made : Reproduction
    """
    out = Console(highlight=False)
    content = made.to_json()
    print_doubts(out, made.doubts)
    if made.curves:
        from narrows.cli.curves import print_curve

        for curve in made.curves:
            print_curve(curve, out)
    if made.brief:
        out.print(Text(made.text), soft_wrap=False)
        out.print()
    names = {cell.name for cell in made.shown}
    cells = [cell for cell in content["cells"] if not made.brief or cell["name"] in names]
    if cells:
        _print_cells(cells, out)
    for claim in content["claims"]:
        mark = Text("holds  ", style="green") if claim["holds"] else Text("differs", style="red")
        measured = claim.get("measured")
        told = measured if isinstance(measured, str) else number(measured)
        out.print(Text.assemble(mark, "  ", claim["text"], (f"  ({told})", "dim")))


def _print_cells(cells: Sequence[dict[str, Any]], out: Console) -> None:
    table = _table()
    table.add_column("cell", ratio=1)
    for heading in ("published", "measured", "95 % interval", "unit"):
        table.add_column(heading, justify="left" if heading == "unit" else "right", no_wrap=True)
    for cell in cells:
        low, high = cell.get("low"), cell.get("high")
        span = "" if low is None or high is None else f"{number(low)} to {number(high)}"
        shown = (number(cell.get("published")), number(cell.get("measured")), span, str(cell.get("unit") or ""))
        table.add_row(Text(cell["name"]), *shown)
    out.print(table)


def print_validation(made: Validation) -> None:
    """Print how close each variant is to the other simulator, and which differences are large.

    Parameters
    ----------
    made : Validation
    """
    out = Console(highlight=False)
    table = _table()
    table.add_column("variant", no_wrap=True)
    for heading in ("flows", "median difference", "worst", "lost, median", "windows, median"):
        table.add_column(heading, justify="right")
    table.add_column("worst on", ratio=1)
    for one in made.verdicts:
        shares = (f"{share:.1%}" for share in (one.median, one.worst, one.losses))
        median, worst, losses = shares
        table.add_row(one.variant, str(one.compared), median, worst, losses, f"{one.distance:.3f}", one.where)
    out.print(table)
    for flow in made.comparisons:
        if not flow.beyond:
            continue
        if flow.unexplained:
            mark = Text("UNEXPLAINED", style="red")
        elif flow.explanation is None:
            mark = Text("held out", style="yellow")
        elif made.isolated(flow.explanation):
            mark = Text("isolated", style="green")
        else:
            mark = Text("cause not known", style="yellow")
        what = f"  {flow.variant} on {flow.network}, flow {flow.flow}: {flow.difference:+.1%}  "
        out.print(Text.assemble(mark, what, ("" if flow.explanation is None else flow.explanation.why, "dim")))
    for turned in made.experiments:
        was, now = (", ".join(f"{flow.difference:+.1%}" for flow in side) for side in (turned.before, turned.after))
        out.print(f"experiment {turned.experiment.name} on {turned.network}: {was}; with the switch turned {now}")
