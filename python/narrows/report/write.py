"""The report of a run or of a batch: scenario, metrics, time series, identity, definitions."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from narrows.metrics.routers import told
from narrows.metrics.stations import BASE, NOT_MODELLED
from narrows.outcome.conditions import table as conditions_table
from narrows.report import (
    channels,
    charts,
    distributions,
    figures,
    layout,
    network,
    render,
    schemes,
    sequence,
    style,
    tables,
    topology,
    transfers,
    verdict,
)
from narrows.stats import mean_ci

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.metrics.queues import SubqueueMetrics
    from narrows.metrics.stations import ChannelMetrics
    from narrows.metrics.transfers import TransferMetrics
    from narrows.outcome import Batch, Run


def write_report(source: str | PathLike[str] | Run | Batch, out: str | PathLike[str]) -> Path:
    """Write a report: one self-contained page, and `figures/` beside it as PNG and SVG.

    Parameters
    ----------
    source : path, Run or Batch
        A result directory, or an outcome of `narrows.run`.
    out : path
        A directory, in which the page is named `report.html`; or the page itself, ending in `.html`.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    narrows.base.errors.InputError
        If `source` is not a result directory, or contains no run.
    OSError
        If the page or the figures cannot be written.
    """
    from narrows.base.errors import InputError

    result = _loaded(source)
    if not result.runs:
        message = "there is no finished run to report on; allowed: a result with at least one run"
        raise InputError(message)
    page = Path(out)
    if page.suffix != ".html":
        page = page / "report.html"
    folder = page.parent / "figures"
    resolved = result.scenario.resolved
    drawn = network.of(result.scenario)
    order = order_of(result)
    scheme, scheme_settings = schemes.setting_rows(resolved)
    topology.write_figures(drawn, folder, result.scenario.title)
    packets = sequence.figures(result)
    made = charts.draw(shown(result, packets), folder)
    text = render.page(
        "report.html.j2",
        scripts=["sequence.js"] if packets else [],
        title=f"{result.scenario.title} – Narrows",
        version=result.version,
        scenario_title=result.scenario.title,
        description=resolved.description or "",
        topology_svg=Markup(topology.to_svg(drawn, f"Topology of {result.scenario.title}")),  # noqa: S704 - escaped there
        scheme=scheme,
        scheme_settings=scheme_settings,
        has_agents=bool(drawn.agents),
        has_crowd=any(layout.crowded(channel) for channel in drawn.channels),
        channel_names=[channel.name for channel in drawn.channels],
        channel_settings=channels.setting_rows(result.scenario.channels),
        not_modelled=NOT_MODELLED,
        flows_drawn=len(drawn.flows) <= topology.MAX_DRAWN_FLOWS,
        flows=network.flow_rows(resolved),
        workloads=network.workload_rows(resolved),
        runs=len(result.runs),
        doubts=result.doubts,
        conditions=conditions_table(run.conditions for run in result.runs),
        tables=metric_tables(result, order),
        fairness=_fairness(result),
        verdict=verdict.of(result),
        charts=made,
        identity=_identity(result),
        command=repeat_command(result),
        scenario_toml=result.scenario.to_toml(),
        definitions=tables.DEFINITIONS + (tables.CHANNEL_DEFINITIONS if drawn.channels else ()),
        limits=tables.LIMITS if all(run.conditions is None for run in result.runs) else tables.MACHINE_LIMITS,
    )
    return render.write_text(page, text)


def order_of(result: Run | Batch) -> dict[str, int]:
    """Return the index of each flow by name, which decides its colour."""
    return {flow.name: index for index, flow in enumerate(result.scenario.resolved.flows)}


def shown(result: Run | Batch, packets: Sequence[charts.Figure] = ()) -> list[charts.Figure]:
    """Return the figures of a report, in its order; `packets` are those made from captures."""
    order = order_of(result)
    controls = {flow.name: flow.cc for flow in result.runs[0].flows if flow.cc is not None}
    drawings = figures.all_figures(result.samples, order, result.scenario.duration_s, controls)
    rates = network.constant_rates(result.scenario.resolved)
    # Without samples over time, a page has no figures of runs at all.
    spread = distributions.of(result, order, rates, figures.DRAWN_ROWS) if drawings else []
    return [*transfers.figures(result.transfers), *drawings, *packets, *spread]


def _loaded(source: str | PathLike[str] | Run | Batch) -> Run | Batch:
    if isinstance(source, str | PathLike):
        from narrows.store.results import load

        return load(source)
    return source


def metric_tables(result: Run | Batch, order: dict[str, int]) -> list[tables.Table]:
    """Return tables of flows (transfer, delay, commands, options), routers, queues and channels, with intervals."""
    runs = result.runs
    flows = [
        (first.name, style.colour(order.get(first.name, 0)), [run.flows[i] for run in runs])
        for i, first in enumerate(runs[0].flows)
    ]
    windowed = [row for row in flows if row[2][0].cc is not None]
    commanded = [
        row for row in windowed if any(m.commands_normal or m.commands_freeze or m.commands_fallback for m in row[2])
    ]
    advised = [row for row in windowed if any(m.window_options or m.window_options_ignored for m in row[2])]
    made = []
    if flows:
        made.append(tables.table("What the flows sent, lost and delivered", "Flow", tables.TRANSFER, flows))
    if windowed:
        made.append(tables.table("Round-trip times and recovery of the TCP flows", "Flow", tables.DELAY, windowed))
    if commanded:
        made.append(tables.table("ACNS commands received by the senders", "Flow", tables.COMMANDS, commanded))
    if advised:
        made.append(tables.table("NGWA options received", "Flow", tables.OPTIONS, advised))
    return made + _transfer_tables(runs) + _router_tables(runs) + _queue_tables(runs) + _channel_tables(runs)


def _transfer_tables(runs: Sequence[Run]) -> list[tables.Table]:
    """Return tables of completion times by size class, of video players, and of datagrams."""
    made = []
    classes: dict[str, list[TransferMetrics]] = {}
    # The run with most classes decides their order; a class may be missing in a run.
    for run in sorted(runs, key=lambda run: -len(run.transfer_classes)):
        for row in run.transfer_classes:
            classes.setdefault(row.name, []).append(row)
    if classes:
        rows = [(name, "", by_run) for name, by_run in classes.items()]
        made.append(tables.table("Completion times of transfers, by size", "Transfers", tables.TRANSFERS, rows))
    if runs[0].playbacks:
        players = [(first.name, "", [run.playbacks[i] for run in runs]) for i, first in enumerate(runs[0].playbacks)]
        made.append(tables.table("What the video players did", "Flow", tables.PLAYBACKS, players))
    timed = [(first.name, "", [run.datagrams[i] for run in runs]) for i, first in enumerate(runs[0].datagrams)]
    if timed:
        made.append(tables.table("One-way delays of datagrams", "Flow", tables.DATAGRAMS, timed))
    framed = [row for row in timed if row[2][0].frames is not None]
    if framed:
        made.append(tables.table("Frames of video calls", "Flow", tables.FRAMES, framed))
    return made


def _router_tables(runs: Sequence[Run]) -> list[tables.Table]:
    """Return tables of the counters of routers with a scheme's agent; columns of zeros are left out."""
    wanted = told(router for run in runs for router in run.routers)
    columns = [column for column in tables.ROUTERS if column.metric in wanted]
    rows = [(first.name, "", [run.routers[i] for run in runs]) for i, first in enumerate(runs[0].routers)]
    return [tables.table("What the routers did to packets", "Router", columns, rows)] if columns else []


def _queue_tables(runs: Sequence[Run]) -> list[tables.Table]:
    """Return separate tables of wired links' queues and of interface queues: their utilisation has another meaning."""
    used = [
        (first.channel, (first.name.replace("->", " → "), "", [run.queues[i] for run in runs]))
        for i, first in enumerate(runs[0].queues)
        if any(run.queues[i].arrived_packets for run in runs)
    ]
    wired, radio = ([row for channel, row in used if (channel is not None) is radio] for radio in (False, True))
    made = []
    if wired:
        made.append(tables.table("Queues that packets passed", "Queue", tables.QUEUES, wired))
    if radio:
        made.append(tables.table("Interface queues of the 802.11 channels", "Queue", tables.INTERFACES, radio))
    parts: dict[str, list[SubqueueMetrics]] = {}
    for part in (part for run in runs for part in run.subqueues):
        parts.setdefault(part.name, []).append(part)
    if parts:
        rows = [(name.replace("->", " → "), "", by_run) for name, by_run in parts.items()]
        made.append(tables.table("Sub-queues that packets passed", "Sub-queue", tables.SUBQUEUES, rows))
    impaired = [
        (first.name.replace("->", " → "), "", [run.impairments[i] for run in runs])
        for i, first in enumerate(runs[0].impairments)
    ]
    if impaired:
        made.append(tables.table("What impairments of links did", "Direction", tables.IMPAIRMENTS, impaired))
    return made


def _channel_tables(runs: Sequence[Run]) -> list[tables.Table]:
    """Return a table per channel: the whole channel first, then its stations."""
    made = []
    for c, channel in enumerate(runs[0].channels):
        rows: list[tuple[str, str, list[ChannelMetrics]]] = [("all together", "", [run.channels[c] for run in runs])]
        for i, station in enumerate(runs[0].stations):
            if station.channel == channel.name:
                name = f"{station.name} (base)" if station.role == BASE else station.name
                rows.append((name, "", [run.stations[i] for run in runs]))
        made.append(tables.table(f"802.11 channel {channel.name}", "Station", _told([row[2] for row in rows]), rows))
    return made


def _told(rows: Sequence[Sequence[ChannelMetrics]]) -> list[tables.Column]:
    """Return the informative columns: without events that never occurred, and without aggregates if there are none."""
    everything = [metrics for runs in rows for metrics in runs]
    silent = {
        column.metric
        for column in tables.CHANNELS
        if column.metric in tables.OCCASIONAL and not any(getattr(one, column.metric) for one in everything)
    }
    if "rts_failures" in silent:
        silent.add("data_failures")  # redundant with the share of failed attempts
    if all(one.mpdus == one.data_frames for one in everything):
        silent.add("mpdus_per_frame")
    return [column for column in tables.CHANNELS if column.metric not in silent]


def _fairness(result: Run | Batch) -> str:
    estimate = mean_ci(run.jain for run in result.runs)
    if estimate.n == 0 or sum(flow.cc is not None for flow in result.runs[0].flows) < 2:
        return ""
    if estimate.n == 1 or not estimate.half_width > 0:
        return style.number(estimate.mean)
    return " ± ".join(tables.with_spread(estimate.mean, estimate.half_width))


def _identity(result: Run | Batch) -> list[tuple[str, str]]:
    rows = [
        ("Scenario", result.scenario.name),
        ("Duration", style.duration(result.scenario.duration_s)),
        ("Seed", str(result.seed)),
        ("Runs", _runs([run.index for run in result.runs])),
        ("Version", result.version),
        ("Digest", result.digest),
        ("Events", style.count(result.events)),
        ("Packets, counted at every hop", style.count(result.packets)),
    ]
    until = getattr(result, "until", None)
    if until is not None:
        rows.insert(4, ("Wanted precision", until.told()))
    if result.scenario.overrides:
        rows.insert(1, ("Overrides", ", ".join(f"{key} = {value}" for key, value in result.scenario.overrides.items())))
    return rows


def _runs(indices: list[int]) -> str:
    """Write the number of runs and their indices; those of an interrupted batch may have gaps."""
    first, last = indices[0], indices[-1]
    if len(indices) == 1:
        return "1" if first == 0 else f"1 (index {first})"
    whole = indices == list(range(first, last + 1))
    return f"{len(indices)} (index {f'{first} to {last}' if whole else ', '.join(map(str, indices))})"


def repeat_command(result: Run | Batch) -> str:
    """Return the command that reproduces the samples from the scenario beside the page."""
    parts = ["narrows run scenario.toml", f"--seed {result.seed}"]
    if len(result.runs) > 1 or result.runs[0].index:
        parts.append(f"--runs {max(run.index for run in result.runs) + 1}")
    return " ".join(parts)
