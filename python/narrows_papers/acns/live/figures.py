"""Figures: live results over simulated ones, with and without ACNS, and the demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel
from narrows_papers.acns.evaluation import ARMS, FLOWS
from narrows_papers.acns.figures import TITLES
from narrows_papers.acns.live import plan
from narrows_papers.acns.live.claims import FLOW
from narrows_papers.acns.live.measured import WORLDS

if TYPE_CHECKING:
    import pandas as pd

    from narrows.outcome import Batch
    from narrows.report.series import Array, Series
    from narrows_papers.acns.live.measured import Measured

BINS: Final = 118
"""Number of bins over the evaluation; 1 s each in the full experiment."""

COLOURS: Final = {"without": style.colour(1), "acns": style.colour(0)}
"""Colours of the arms in the demonstration."""


def all_figures(measured: Measured) -> list[Figure]:
    """Return all figures.

    Parameters
    ----------
    measured : Measured

    Returns
    -------
    list of Figure
    """
    duration = plan.evaluated(quick=measured.quick).duration_s
    edges = series.bins(duration, duration / BINS)
    return [_throughput(measured, edges), _srtt(measured, edges), _windows(measured, duration), _shown(measured)]


def _parts(batch: Batch, flow: str) -> list[pd.DataFrame]:
    frame = batch.samples.frame("flow")
    return series.by_name(frame[frame["name"].astype(str) == flow]).get(flow, [])


def _over_simulated(measured: Measured, column: str, edges: Array, label: str, *, rate: bool) -> tuple[Panel, ...]:
    """A panel per arm: the first live run as a line, the central 95 % of the simulated runs as a band."""

    def made(some: list[pd.DataFrame]) -> Series:
        return series.rate_series(some, column, edges) if rate else series.mean_series(some, column, edges, scale=1e-6)

    panels = []
    for index, arm in enumerate(ARMS):
        lines = []
        for flow in FLOWS:
            live = _parts(measured.live.evaluation.arm(arm), f"tcp{flow}")[:1]
            if not live:
                continue
            band = made(_parts(measured.simulated.evaluation.arm(arm), f"tcp{flow}"))
            line, colour = made(live), style.colour(int(flow) - 1)
            lines.append(
                Line(f"TCP #{flow}", line.x, line.y, colour, low=band.low, high=band.high, in_legend=index == 0)
            )
        panels.append(Panel(label, tuple(lines), title=TITLES[arm], y_from_zero=rate))
    return tuple(panels)


def _marks(measured: Measured) -> tuple[tuple[float, str], ...]:
    """Times at which flows begin to send, except those that start with the run."""
    starts = {flow.start_ns / plan.NS_PER_S for flow in plan.evaluated(quick=measured.quick).resolved.flows}
    return tuple((start, "") for start in sorted(starts)[1:])


_BAND: Final = "Lines: the first live run; bands: the middle 95 % of the simulated runs. Dotted: flows begin to send."


def _throughput(measured: Measured, edges: Array) -> Figure:
    return Figure(
        "throughput",
        "Throughput of the TCP flows, live over simulated",
        f"IP bytes that arrived, in bins of {edges[1] - edges[0]:.2g} s. {_BAND}",
        "Time (s)",
        _over_simulated(measured, "arrived_bytes", edges, "Throughput (Mb/s)", rate=True),
        marks=_marks(measured),
        share_y=True,
        x_range=(0.0, float(edges[-1])),
    )


def _srtt(measured: Measured, edges: Array) -> Figure:
    return Figure(
        "srtt",
        "Smoothed round-trip time of the TCP flows, live over simulated",
        f"The senders' own srtt, mean over bins of {edges[1] - edges[0]:.2g} s. {_BAND}",
        "Time (s)",
        _over_simulated(measured, "srtt_ns", edges, "srtt (ms)", rate=False),
        marks=_marks(measured),
        share_y=True,
        x_range=(0.0, float(edges[-1])),
    )


def _windows(measured: Measured, duration: float) -> Figure:
    """Congestion windows of a single run each, because a mean over runs would blur the sawtooth."""
    panels: list[Panel] = []
    for arm in ARMS:
        for world in WORLDS:
            batch = measured.world(world).evaluation.arm(arm)
            lines = []
            for flow in FLOWS:
                parts = _parts(batch, f"tcp{flow}")
                if parts:
                    raw = series.raw_series(parts[0], "cwnd_bytes", 1e-3)
                    colour = style.colour(int(flow) - 1)
                    lines.append(Line(f"TCP #{flow}", raw.x, raw.y, colour, in_legend=not panels))
            panels.append(Panel("cwnd (kB)", tuple(lines), title=f"{TITLES[arm]}, {world}"))
    return Figure(
        "cwnd",
        "Congestion windows, simulated and live",
        "cwnd as sampled, in the first run of each; without ACNS losses cut it, with ACNS commands hold it and step it "
        "back.",
        "Time (s)",
        tuple(panels),
        marks=_marks(measured),
        share_y=True,
        panel_in=1.15,
        x_range=(0.0, duration),
    )


def _shown(measured: Measured) -> Figure:
    """The demonstration: windows and round-trip times of both arms, simulated and live."""
    panels: list[Panel] = []
    for column, label, scale in (("cwnd_bytes", "cwnd (kB)", 1e-3), ("srtt_ns", "srtt (ms)", 1e-6)):
        lines = []
        for dash, world in enumerate(reversed(WORLDS)):
            for arm in ARMS:
                parts = _parts(measured.world(world).demonstration.arm(arm), FLOW)
                if parts:
                    raw = series.raw_series(parts[0], column, scale)
                    name = f"{TITLES[arm]}, {world}"
                    lines.append(Line(name, raw.x, raw.y, COLOURS[arm], dash=dash, in_legend=not panels))
        panels.append(Panel(label, tuple(lines)))
    return Figure(
        "demonstration",
        "One flow over a link of 10 Mb/s and 12 ms with a queue of 50 packets",
        "Without ACNS CUBIC fills the queue until it overflows; with ACNS its window is held, or steps back, "
        "where the router says so.",
        "Time (s)",
        tuple(panels),
        x_range=(0.0, plan.demonstrated(quick=measured.quick).duration_s),
    )
