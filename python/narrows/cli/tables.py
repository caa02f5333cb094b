"""Tables for the terminal: flows, queues, what can be named, and a paper's cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from narrows.format import interval, number
from narrows.outcome import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.outcome import Outcome
    from narrows.papers.reproduction import Reproduction

QUEUES_SHOWN = 8
FLOWS_SHOWN = 40


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


def print_result(result: Outcome, seconds: float, console: Console | None = None) -> None:
    """Print flows and queues of a run, or their means over a batch.

    Parameters
    ----------
    result : Run or Batch
    seconds : float
        How long it took, on the clock.
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
    flows = _metrics_table("flow", result, FLOW_COLUMNS, [flow.name for flow in result.flows[:FLOWS_SHOWN]])
    out.print()
    out.print(flows)
    _more(out, len(result.flows) - FLOWS_SHOWN, "flows")
    out.print()
    busy = [queue for queue in result.queues if queue.arrived_packets]
    shown = sorted(busy, key=lambda queue: -(queue.utilisation or 0))[:QUEUES_SHOWN]
    out.print(_metrics_table("queue", result, QUEUE_COLUMNS, [queue.name for queue in busy if queue in shown]))
    _more(out, len(busy) - len(shown), "less used queues")
    out.print()
    jain = f"Jain's index {number(result.jain)}, " if result.jain is not None and len(result.flows) > 1 else ""
    out.print(Text(f"{jain}{result.packets:,} packet hops in {number(seconds)} s", style="dim"))
    out.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def _more(out: Console, count: int, what: str) -> None:
    if count > 0:
        out.print(Text(f"({count} {what} more: --json shows all)", style="dim"))


def _metrics_table(
    kind: Literal["flow", "queue"], result: Outcome, columns: Sequence[Column], names: Sequence[str]
) -> Table:
    table = _table()
    table.add_column(f"{kind}\n")
    with_cc = kind == "flow"
    if with_cc:
        table.add_column("cc\n")
    for column in columns:
        table.add_column(Text.assemble(column.heading, "\n", (column.unit, "dim")), justify="right", no_wrap=True)
    for name in names:
        row = result.flow(name) if kind == "flow" else result.queue(name)
        label = Text(name, overflow="fold")
        cells = [_cell(kind, result, name, row, column) for column in columns]
        table.add_row(label, *([str(getattr(row, "cc", None) or "UDP")] if with_cc else []), *cells)
    return table


def _cell(kind: Literal["flow", "queue"], result: Outcome, name: str, row: object, column: Column) -> Text:
    raw = getattr(row, column.metric)
    value = None if raw is None else raw * column.factor
    text = Text(number(value))
    if isinstance(result, Batch):
        estimate = result.estimate(kind, name, column.metric)
        text.append("\n" + interval(estimate.half_width * column.factor, value), style="dim")
    return text


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))


def print_catalogue(entries: Sequence[dict[str, Any]]) -> None:
    """Print what can be named in a scenario, each with its parameters and sources.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    for entry in entries:
        out.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry['title'])}")
        if entry.get("sources"):
            out.print(Text("; ".join(entry["sources"]), style="dim"), style="dim")
        if entry.get("parameters"):
            table = _table()
            for heading in ("parameter", "default", "allowed", "meaning"):
                table.add_column(heading, overflow="fold", ratio=2 if heading == "meaning" else None)
            for parameter in entry["parameters"]:
                table.add_row(parameter["name"], _default(parameter), _allowed(parameter), Text(parameter["doc"]))
            out.print(table)
        out.print()


def _default(parameter: dict[str, Any]) -> str:
    default = parameter.get("default")
    match default:
        case None:
            return "must be given"
        case bool():
            return "on" if default else "off"
        case int() | float():
            return f"{default:g} {parameter.get('unit') or ''}".strip()
    return str(default)


def _allowed(parameter: dict[str, Any]) -> str:
    match parameter.get("kind"):
        case "number":
            return f"{parameter['min']:g} to {parameter['max']:g} {parameter.get('unit') or ''}".strip()
        case "choice":
            return ", ".join(parameter["allowed"])
        case "switch":
            return "on, off"
    return str(parameter.get("unit") or "")


def print_scenarios(entries: Sequence[dict[str, Any]]) -> None:
    """Print the scenarios that come with Narrows.

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
    """Print what was published beside what is measured, and which claims hold.

    Parameters
    ----------
    made : Reproduction
    """
    out = Console(highlight=False)
    content = made.to_json()
    table = _table()
    table.add_column("cell", ratio=1)
    for heading in ("published", "measured", "95 % interval", "unit"):
        table.add_column(heading, justify="left" if heading == "unit" else "right", no_wrap=True)
    for cell in content["cells"]:
        low, high = cell.get("low"), cell.get("high")
        span = "" if low is None or high is None else f"{number(low)} to {number(high)}"
        cells = (number(cell.get("published")), number(cell.get("measured")), span, str(cell.get("unit") or ""))
        table.add_row(Text(cell["name"]), *cells)
    out.print(table)
    for claim in content["claims"]:
        mark = Text("holds  ", style="green") if claim["holds"] else Text("differs", style="red")
        measured = claim.get("measured")
        told = measured if isinstance(measured, str) else number(measured)
        out.print(Text.assemble(mark, "  ", claim["text"], (f"  ({told})", "dim")))
