"""Notebook representations of a scenario, a run and a batch: small tables, and throughput over time."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from narrows.format import interval, number
from narrows.metrics import rate_over_time
from narrows.routers import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.comparison import Comparison
    from narrows.outcome import Kind, Outcome, Run
    from narrows.scenario import Scenario

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
    flows = value.resolved.flows
    nodes = value.resolved.nodes
    controls = value.congestion_controls()
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(cc or 'UDP')}</td></tr>" for name, cc in controls.items())
    return (
        f"<b>{escape(value.title)}</b> ({escape(value.name)}): {len(nodes)} nodes, {len(flows)} flows, "
        f"{value.duration_s:g} s, seed {value.seed}"
        f"<table><thead><tr><th>flow</th><th>congestion control</th></tr></thead><tbody>{rows}</tbody></table>"
        f"{_scheme(value)}{_channels(value)}"
        f"<details><summary>as TOML, every default shown</summary><pre>{escape(value.to_toml())}</pre></details>"
    )


def _scheme(value: Scenario) -> str:
    """Settings of the network-assisted scheme, if one runs."""
    from narrows.report.schemes import setting_rows

    name, rows = setting_rows(value.resolved)
    if not rows:
        return ""
    body = "".join(f"<tr><td>{label}</td><td>{escape(text)}</td></tr>" for label, text in rows)
    return f"<table><thead><tr><th>{name}</th><th></th></tr></thead><tbody>{body}</tbody></table>"


def _channels(value: Scenario) -> str:
    """Settings of the 802.11 channels, and what is not modelled of them."""
    if not value.channels:
        return ""
    from narrows.report.channels import setting_rows
    from narrows.stations import NOT_MODELLED

    head = "".join(f"<th>{escape(channel.name)}</th>" for channel in value.channels)
    body = "".join(
        f"<tr><td>{label}</td>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
        for label, texts in setting_rows(value.channels)
    )
    table = f"<table><thead><tr><th>802.11 channel</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{table}<small>{NOT_MODELLED}</small>"


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
    several = len(value.runs) > 1
    over = f", mean of {len(value.runs)} runs ± half of the 95 % interval" if several else ""
    head = f"<b>{escape(value.scenario.title)}</b>: {value.scenario.duration_s:g} s, seed {value.seed}{over}"
    used = [i for i, queue in enumerate(value.queues) if queue.arrived_packets]
    wired, radio = ([i for i in used if (value.queues[i].channel is not None) is radio] for radio in (False, True))
    return (
        head
        + _doubts(value.doubts)
        + _table("flow", "flow", value, range(len(value.flows)), _FLOW)
        + (_table("queue", "queue", value, wired, _QUEUE) if wired or not radio else "")
        + (_table("queue", "interface queue", value, radio, _INTERFACE) if radio else "")
        + _routers(value)
        + "".join(_channel(value, channel.name) for channel in value.channels)
        + (_curves(value.runs[0]) if value.runs else "")
        + _until(value)
        + f"<small>digest <code>{value.digest}</code></small>"
    )


def comparison(value: Comparison) -> str:
    """Represent two outcomes of one scenario: both, and their differences, flow by flow.

    Parameters
    ----------
    value : Comparison

    Returns
    -------
    str
        HTML.
    """
    first, second = (escape(arm.label) for arm in value.arms)
    runs = ", ".join(f"{len(arm.outcome.runs)} {escape(arm.label)}" for arm in value.arms)
    body = []
    for subject in (*value.flows, *([] if value.together is None else [value.together]), *value.telling_queues):
        body.append(f'<tr><th colspan="6" style="text-align:left">{escape(subject.name)}</th></tr>')
        for one in subject.compared:
            if not one.never:
                cells = "".join(f"<td>{escape(cell)}</td>" for cell in one.texts)
                body.append(f"<tr><td>{escape(one.measure.title)}</td>{cells}<td>{one.measure.unit}</td></tr>")
    heads = "".join(f"<th>{title}</th>" for title in ("", first, second, "difference", "in %", "unit"))
    return (
        f"<b>{escape(value.scenario.title)}</b>: {value.scenario.duration_s:g} s, {runs} runs"
        + _doubts(value.doubts)
        + f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _doubts(doubts: Sequence[str]) -> str:
    """Reasons not to trust the results."""
    listed = "".join(f"<li>{escape(doubt)}</li>" for doubt in doubts)
    return f'<div style="color:#b3261e"><b>Not to be trusted</b><ul>{listed}</ul></div>' if doubts else ""


def _until(value: Outcome) -> str:
    """How the number of runs was decided, if a wanted precision decided it."""
    until = getattr(value, "until", None)
    return "" if until is None else f"<small>{escape(until.told())}</small><br>"


def _routers(value: Outcome) -> str:
    wanted = told(value.routers)
    columns = [column for column in _ROUTER if column[0] in wanted]
    return _table("router", "router", value, range(len(value.routers)), columns) if columns else ""


def _channel(value: Outcome, name: str) -> str:
    members = [i for i, station in enumerate(value.stations) if station.channel == name]
    single = all(value.stations[i].mpdus == value.stations[i].data_frames for i in members)
    columns = [column for column in _STATION if not (single and column[0] == "mpdus_per_frame")]
    return _table("station", f"802.11 {escape(name)}", value, members, columns)


def _table(
    kind: Kind, heading: str, value: Outcome, indices: Sequence[int], columns: Sequence[tuple[str, str, float]]
) -> str:
    from narrows.stats import mean_ci

    head = "".join(f"<th>{title}</th>" for _, title, _ in columns)
    rows = getattr(value, f"{kind}s")
    body = []
    for index in indices:
        cells = []
        for metric, _, factor in columns:
            raw = getattr(rows[index], metric)
            mean = None if raw is None else raw * factor
            text = number(mean)
            if len(value.runs) > 1:
                found = (getattr(getattr(run, f"{kind}s")[index], metric) for run in value.runs)
                text += " " + interval(mean_ci(found).half_width * factor, mean)
            cells.append(f'<td style="text-align:right">{text.strip()}</td>')
        body.append(f"<tr><td>{escape(rows[index].name)}</td>{''.join(cells)}</tr>")
    return f"<table><thead><tr><th>{heading}</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _curves(one: Run) -> str:
    """Draw throughput over time as a small SVG, without a plotting library, so that it is fast."""
    frame, _ = one.samples.thinned("flow", _CURVE_ROWS)
    if frame.empty:
        return ""
    duration = one.scenario.duration_s
    width = max(duration / 120, 1e-9)
    curves = {
        str(name): rate_over_time(rows["time_s"], rows["arrived_bytes"], width)
        for name, rows in frame.groupby("name", observed=True, sort=False)
    }
    top = max((float(rate.max()) for _, rate in curves.values() if rate.size), default=0.0)
    if top <= 0:
        return ""
    shown = list(curves.items())[:_CURVES_SHOWN]
    lines, legend = [], []
    for colour, (name, (start, rate)) in zip(_COLOURS, shown, strict=False):
        points = " ".join(
            f"{x * _WIDTH / duration:.1f},{_HEIGHT - y * _HEIGHT / top:.1f}" for x, y in zip(start, rate, strict=True)
        )
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.2" points="{points}"/>')
        legend.append(f'<span style="color:{colour}">&#9644;</span> {escape(name)}')
    more = f" (and {len(curves) - len(shown)} more)" if len(curves) > len(shown) else ""
    return (
        f"<div><small>throughput, 0 to {number(top)} Mb/s over {duration:g} s: {' '.join(legend)}{more}</small><br>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="throughput over time" style="border-left:1px solid #999;border-bottom:1px solid #999">'
        f"{''.join(lines)}</svg></div>"
    )
