"""The figures of a report: throughput, RTT, windows, queues and commands over time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.outcome.samples import KINDS
from narrows.report import groups, series, states, style, windows
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from narrows.outcome.samples import Samples
    from narrows.report.series import Series

#: Most samples of flows, queues and routers to draw a report from; if there are more, every n-th is drawn.
DRAWN_ROWS = 1_000_000

#: Queues shown in a report: those that were ever the longest. The others would be lines along zero.
MAX_QUEUES = 4


def line(name: str, data: Series, index: int, *, step: bool = False, in_legend: bool = True) -> Line:
    """Return a line in the colour and dash of the `index`-th flow or queue."""
    return Line(
        name,
        data.x,
        data.y,
        style.colour(index),
        dash=index // len(style.OKABE_ITO),
        low=data.low,
        high=data.high,
        step=step,
        in_legend=in_legend,
    )


def _spread(runs: int) -> str:
    return f" Lines are means over {runs} runs, bands hold the middle 95 % of the runs." if runs > 1 else ""


def all_figures(
    samples: Samples, order: Mapping[str, int], duration_s: float, controls: Mapping[str, str] | None = None
) -> list[Figure]:
    """Return every figure that has samples.

    Parameters
    ----------
    samples : Samples
        Of one run or several.
    order : mapping
        Index of each flow by name, which decides its colour.
    duration_s : float
        Simulated time, s.
    controls : mapping
        Congestion control of each flow, by name: the groups in which many flows are drawn.

    Returns
    -------
    list of Figure
        Empty if the scenario samples nothing.
    """
    (flows, n), (queues, m), (routers, k) = (samples.thinned(kind, DRAWN_ROWS) for kind in KINDS)
    if flows.empty and queues.empty and routers.empty:
        return []
    width = series.bin_width(duration_s)
    edges = series.bins(duration_s, width)
    span = (0.0, duration_s)
    each = flows["name"].nunique() <= groups.EACH
    made: list[Figure | None] = [
        *groups.figures(flows, controls or {}, edges, span),
        throughput(flows, order, edges, span) if each else None,
        round_trip_time(flows, order, edges, span) if each else None,
        windows.windows(flows, routers, order, span) if each else None,
        queue_length(queues, edges, span),
        commands(flows, order, edges, span),
        router_commands(routers, edges, span),
        windows.router_windows(routers, span),
    ]
    step = max(n, m, k)
    drawn = [figure if step == 1 else _thinned(figure, step) for figure in made if figure is not None]
    return drawn + states.figures(samples.state, order, duration_s)


def _thinned(figure: Figure, step: int) -> Figure:
    """Add to a figure's caption that samples are left out."""
    told = f" Drawn from each {step:,}th sample or more often: samples.parquet has all."
    return replace(figure, caption=figure.caption + told)


def _flow_parts(frame: pd.DataFrame, order: Mapping[str, int]) -> list[tuple[str, int, list[pd.DataFrame]]]:
    parts = series.by_name(frame)
    return sorted(
        ((name, order.get(name, 0), runs) for name, runs in parts.items()), key=lambda entry: (entry[1], entry[0])
    )


def throughput(
    frame: pd.DataFrame, order: Mapping[str, int], edges: series.Array, span: tuple[float, float]
) -> Figure | None:
    """Throughput of each flow: arrived IP bytes, per bin."""
    parts = _flow_parts(frame, order)
    if not parts:
        return None
    lines = tuple(line(name, series.rate_series(runs, "arrived_bytes", edges), i) for name, i, runs in parts)
    width = edges[1] - edges[0]
    return Figure(
        "throughput",
        "Throughput over time",
        f"IP bytes that arrived at the receiving host, in bins of {style.duration(float(width))}."
        + _spread(len(parts[0][2])),
        "Time (s)",
        (Panel("Throughput (Mb/s)", lines),),
        panel_in=1.9,
        x_range=span,
    )


def round_trip_time(
    frame: pd.DataFrame, order: Mapping[str, int], edges: series.Array, span: tuple[float, float]
) -> Figure | None:
    """Round-trip time of each TCP flow: the sender's own samples, mean per bin."""
    column = series.rtt_column(frame)
    parts = [entry for entry in _flow_parts(frame, order) if any(run[column].notna().any() for run in entry[2])]
    if not parts:
        return None
    lines = tuple(line(name, series.mean_series(runs, column, edges, 1e-6), i) for name, i, runs in parts)
    width = edges[1] - edges[0]
    what = "Latest sample of the sender" if column == "rtt_ns" else "Smoothed round-trip time (RFC 6298) of the sender"
    return Figure(
        "rtt",
        "Round-trip time over time",
        f"{what} at each sampling time, mean over bins of {style.duration(float(width))}." + _spread(len(parts[0][2])),
        "Time (s)",
        (Panel("RTT (ms)", lines, y_from_zero=False),),
        panel_in=1.9,
        x_range=span,
    )


def queue_length(frame: pd.DataFrame, edges: series.Array, span: tuple[float, float]) -> Figure | None:
    """Packets waiting in the fullest queues, and how many each had dropped so far."""
    parts = series.by_name(frame)
    peaks = {name: max(float(run["packets"].max()) for run in runs) for name, runs in parts.items()}
    kept = [name for name in sorted(peaks, key=lambda name: (-peaks[name], name)) if peaks[name] > 0][:MAX_QUEUES]
    if not kept:
        return None
    shown = sorted(kept)
    waiting = tuple(
        line(name.replace("->", " → "), series.raw_series(parts[name][0], "packets"), i, step=True)
        for i, name in enumerate(shown)
    )
    dropped = tuple(
        line(name.replace("->", " → "), _drops(parts[name], edges), i, in_legend=False) for i, name in enumerate(shown)
    )
    several = len(parts[shown[0]]) > 1
    drawn = "fullest is" if len(shown) == 1 else f"{len(shown)} fullest are"
    left_out = f" Of {len(parts)} queues the {drawn} shown." if len(parts) > len(shown) else ""
    panels = [Panel("Waiting (packets)", waiting)]
    if any((one.y > 0).any() for one in dropped):
        panels.append(Panel("Dropped (packets)", dropped))
    return Figure(
        "queue",
        "Queues over time",
        f"Waiting packets {'of the first run ' if several else ''}as sampled, and packets dropped since the start."
        f"{left_out}",
        "Time (s)",
        tuple(panels),
        panel_in=1.5,
        x_range=span,
    )


def _drops(runs: list[pd.DataFrame], edges: series.Array) -> Series:
    summed = [
        run.assign(dropped=run["dropped_overflow"] + run["dropped_early"] + run["dropped_forced"]) for run in runs
    ]
    return series.count_series(summed, "dropped", edges)


def commands(
    frame: pd.DataFrame, order: Mapping[str, int], edges: series.Array, span: tuple[float, float]
) -> Figure | None:
    """Commands that each sender received, cumulative; ``None`` if no flow received any."""
    kinds = ("normal", "freeze", "fallback")
    parts = [
        entry
        for entry in _flow_parts(frame, order)
        if any(run[[f"commands_{kind}" for kind in kinds]].to_numpy(dtype=float, na_value=0).any() for run in entry[2])
    ]
    if not parts:
        return None
    panels = tuple(
        Panel(
            "Commands received",
            tuple(
                line(name, series.count_series(runs, f"commands_{kind}", edges), i, in_legend=k == 0)
                for name, i, runs in parts
            ),
            title=kind,
        )
        for k, kind in enumerate(kinds)
    )
    return Figure(
        "commands",
        "ACNS commands received",
        "Commands that came back to each sender since its start." + _spread(len(parts[0][2])),
        "Time (s)",
        panels,
        panel_in=1.15,
        x_range=span,
    )


def router_commands(frame: pd.DataFrame, edges: series.Array, span: tuple[float, float]) -> Figure | None:
    """Flows by the command that each router would give them at the time, stacked; means over runs."""
    parts = series.by_name(frame)
    kinds = ["flows_normal", "flows_freeze", "flows_fallback"]
    busy = {name: runs for name, runs in parts.items() if any(run[kinds].to_numpy().max() > 0 for run in runs)}
    if not busy:
        return None
    panels = tuple(
        Panel(
            "Flows",
            tuple(
                Line(
                    kind,
                    (edges[:-1] + edges[1:]) / 2,
                    series.mean_series(runs, f"flows_{kind}", edges).y,
                    style.COMMAND_COLOURS[kind],
                    in_legend=p == 0,
                )
                for kind in ("fallback", "freeze", "normal")
            ),
            title=name,
            stacked=True,
        )
        for p, (name, runs) in enumerate(sorted(busy.items()))
    )
    return Figure(
        "router-commands",
        "Flows by command at the routers",
        "Flows in each router's table by the command that they would get now; means per bin.",
        "Time (s)",
        panels,
        panel_in=1.3,
        x_range=span,
    )
