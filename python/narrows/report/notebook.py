"""Notebook representations of a scenario, a run and a batch: small tables, and throughput over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.base.format import interval, number
from narrows.metrics import rate_over_time
from narrows.metrics.routers import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.scenario import Scenario
    from narrows.outcome import Kind, Outcome, Run

_FLOW = (
    ("throughput_mbps", "throughput, Mb/s", 1.0),
    ("goodput_mbps", "goodput, Mb/s", 1.0),
    ("rtt_mean_ms", "RTT mean, ms", 1.0),
    ("rtt_p95_ms", "RTT 95 %, ms", 1.0),
    ("sent_bytes", "sent, MB", 1e-6),
    ("lost_packets", "lost, packets", 1.0),
    ("retransmitted_packets", "sent again, packets", 1.0),
)
_QUEUE = (
    ("utilisation", "used, %", 100.0),
    ("dropped_packets", "dropped, packets", 1.0),
    ("delay_mean_ms", "delay mean, ms", 1.0),
    ("delay_p95_ms", "delay 95 %, ms", 1.0),
    ("max_packets", "longest, packets", 1.0),
)
_INTERFACE = (("utilisation", "of the PHY's rate, %", 100.0), *_QUEUE[1:])
_ROUTER = (
    ("asked", "asked, packets", 1.0),
    ("wrote_freeze", "freeze written, packets", 1.0),
    ("wrote_fallback", "fallback written, packets", 1.0),
    ("inserted", "options inserted", 1.0),
    ("lowered", "options lowered", 1.0),
    ("kept", "options kept", 1.0),
    ("full", "left alone: no room", 1.0),
    ("malformed", "left alone: malformed", 1.0),
    ("unsupported", "left alone: not possible", 1.0),
)
_STATION = (
    ("airtime_ratio", "airtime, %", 100.0),
    ("data_frames", "data frames", 1.0),
    ("mpdus_per_frame", "MPDUs a frame", 1.0),
    ("failure_ratio", "failed, %", 100.0),
    ("retry_ratio", "repeated, %", 100.0),
    ("given_up_packets", "given up, packets", 1.0),
    ("collisions", "collisions heard, frames", 1.0),
)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""

Table = tuple[list[str], list[tuple[str, list[str]]]]
"""Headings of a table, and its rows: a name and its cells."""

_WIDTH, _HEIGHT = 640, 150
_CURVES_SHOWN = len(_COLOURS)
_CURVE_ROWS = 200_000


def scenario(value: Scenario) -> str:
    """Represent a scenario: its name, and its text in a collapsed block.

    Parameters
    ----------
    value : Scenario

    Returns
    -------
    str
        HTML.
    """
    from narrows.report import render
    from narrows.report.schemes import setting_rows

    scheme, rows = setting_rows(value.resolved)
    return render.part(
        "notebook-scenario.html.j2",
        title=value.title,
        name=value.name,
        nodes=len(value.resolved.nodes),
        flows=len(value.resolved.flows),
        duration=f"{value.duration_s:g}",
        seed=value.seed,
        controls=[(name, [cc or "UDP"]) for name, cc in value.congestion_controls().items()],
        scheme={"name": scheme, "rows": [(label, [text]) for label, text in rows]},
        channels=_channels(value),
        toml=value.to_toml(),
    )


def _channels(value: Scenario) -> dict[str, Any] | None:
    """Settings of the 802.11 channels, and which properties of 802.11 are not modelled; without a channel, ``None``."""
    if not value.channels:
        return None
    from narrows.metrics.stations import NOT_MODELLED
    from narrows.report.channels import setting_rows

    heads = ["802.11 channel", *(channel.name for channel in value.channels)]
    return {"heads": heads, "rows": setting_rows(value.channels), "limits": NOT_MODELLED}


def run(value: Outcome) -> str:
    """Represent a run or a batch: metrics of flows, used queues, routers and stations; throughput over time.

    Parameters
    ----------
    value : Run or Batch

    Returns
    -------
    str
        HTML.
    """
    from narrows.report import render

    used = [i for i, queue in enumerate(value.queues) if queue.arrived_packets]
    wired, radio = ([i for i in used if (value.queues[i].channel is not None) is radio] for radio in (False, True))
    tables = [_table("flow", "flow", value, range(len(value.flows)), _FLOW)]
    if wired or not radio:
        tables.append(_table("queue", "queue", value, wired, _QUEUE))
    if radio:
        tables.append(_table("queue", "interface queue", value, radio, _INTERFACE))
    tables += [*_routers(value), *(_channel(value, channel.name) for channel in value.channels)]
    until = getattr(value, "until", None)
    return render.part(
        "notebook-run.html.j2",
        title=value.scenario.title,
        duration=f"{value.scenario.duration_s:g}",
        seed=value.seed,
        runs=len(value.runs),
        doubts=value.doubts,
        tables=tables,
        curves=_curves(value.runs[0]) if value.runs else None,
        until=None if until is None else until.told(),
        digest=value.digest,
    )


def _routers(value: Outcome) -> list[Table]:
    wanted = told(value.routers)
    columns = [column for column in _ROUTER if column[0] in wanted]
    return [_table("router", "router", value, range(len(value.routers)), columns)] if columns else []


def _channel(value: Outcome, name: str) -> Table:
    members = [i for i, station in enumerate(value.stations) if station.channel == name]
    single = all(value.stations[i].mpdus == value.stations[i].data_frames for i in members)
    columns = [column for column in _STATION if not (single and column[0] == "mpdus_per_frame")]
    return _table("station", f"802.11 {name}", value, members, columns)


def _table(
    kind: Kind, heading: str, value: Outcome, indices: Sequence[int], columns: Sequence[tuple[str, str, float]]
) -> Table:
    """Return the headings and rows of a table of metrics."""
    from narrows.stats import mean_ci

    rows = getattr(value, f"{kind}s")
    made: list[tuple[str, list[str]]] = []
    for index in indices:
        cells = []
        for metric, _, factor in columns:
            raw = getattr(rows[index], metric)
            mean = None if raw is None else raw * factor
            text = number(mean)
            if len(value.runs) > 1:
                found = (getattr(getattr(run, f"{kind}s")[index], metric) for run in value.runs)
                text += " " + interval(mean_ci(found).half_width * factor, mean)
            cells.append(text.strip())
        made.append((rows[index].name, cells))
    return [heading, *(title for _, title, _ in columns)], made


def _curves(one: Run) -> dict[str, Any] | None:
    """Throughput over time for a small SVG; ``None`` if there is none. A plotting library would be slower."""
    frame, _ = one.samples.thinned("flow", _CURVE_ROWS)
    if frame.empty:
        return None
    duration = one.scenario.duration_s
    width = max(duration / 120, 1e-9)
    curves = {
        str(name): rate_over_time(rows["time_s"], rows["arrived_bytes"], width)
        for name, rows in frame.groupby("name", observed=True, sort=False)
    }
    top = max((float(rate.max()) for _, rate in curves.values() if rate.size), default=0.0)
    if top <= 0:
        return None
    shown = list(curves.items())[:_CURVES_SHOWN]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "top": number(top),
        "shown": [
            {
                "colour": colour,
                "name": name,
                "points": [
                    (x * _WIDTH / duration, _HEIGHT - y * _HEIGHT / top) for x, y in zip(start, rate, strict=True)
                ],
            }
            for colour, (name, (start, rate)) in zip(_COLOURS, shown, strict=False)
        ],
        "more": len(curves) - len(shown),
    }
