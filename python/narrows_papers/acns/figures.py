"""The papers' figures from our runs: throughput and RTT with and without ACNS, and number of flows by command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel
from narrows.report.series import Series
from narrows_papers.acns import verification as model
from narrows_papers.acns.evaluation import ARMS, FLOWS, Evaluation
from narrows_papers.frame import panels as panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from narrows.outcome import Batch
    from narrows.studies.reproduction.result import Cell

TITLES = {"without": "Without ACNS", "acns": "With ACNS"}
"""Titles of the arms in figures and tables."""

BIN_S = 1.0
"""Width of bins, s, the same as for the maximum throughput."""

EVENTS = ((15.1, ""), (20.1, ""), (30.1, ""), (40.1, ""))
"""Times at which flows begin to send: TCP #2, UDP 2, TCP #3 and UDP 3, s."""

#: Names of the commands in the papers.
COMMAND_NAMES = {"normal": "C = 1, normal", "freeze": "C = 2, freeze", "fallback": "C = 3, fallback"}


def _parts(batch: Batch, flow: str) -> list[pd.DataFrame]:
    frame = batch.samples.frame("flow")
    return series.by_name(frame[frame["name"].astype(str) == f"tcp{flow}"]).get(f"tcp{flow}", [])


def _lines(rows: Sequence[tuple[str, Series]], *, in_legend: bool) -> tuple[Line, ...]:
    return tuple(
        Line(
            f"TCP #{flow}",
            data.x,
            data.y,
            style.colour(int(flow) - 1),
            low=data.low,
            high=data.high,
            in_legend=in_legend,
        )
        for flow, data in rows
    )


def of_evaluation(evaluation: Evaluation) -> list[Figure]:
    """Throughput, RTT, cwnd and the bottleneck's queue over time, without and with ACNS."""
    duration = evaluation.acns.scenario.duration_s
    edges = series.bins(duration, BIN_S)
    runs = len(evaluation.acns.runs)
    spread = f" Lines show the first run; bands hold the middle 95 % of the {runs} runs." if runs > 1 else ""
    events = " Dotted: flows begin to send (TCP #2, UDP 2, TCP #3, UDP 3)."

    def panels(column: str, label: str, *, rate: bool, scale: float = 1.0, from_zero: bool = True) -> tuple[Panel, ...]:
        made = []
        for a, arm in enumerate(ARMS):
            batch = evaluation.arm(arm)
            rows = []
            for flow in FLOWS:
                parts = _parts(batch, flow)
                whole, first = (
                    series.rate_series(some, column, edges) if rate else series.mean_series(some, column, edges, scale)
                    for some in (parts, parts[:1])
                )
                data = Series(first.x, first.y, whole.low, whole.high)
                rows.append((flow, data))
            made.append(Panel(label, _lines(rows, in_legend=a == 0), title=TITLES[arm], y_from_zero=from_zero))
        return tuple(made)

    span = (0.0, duration)
    return [
        Figure(
            "throughput",
            "Throughput of the TCP flows (published as DCNET figures 9 and 10)",
            f"IP bytes that arrived, in bins of {BIN_S:g} s.{spread}{events}",
            "Time (s)",
            panels("arrived_bytes", "Throughput (Mb/s)", rate=True),
            marks=EVENTS,
            share_y=True,
            x_range=span,
        ),
        Figure(
            "rtt",
            "Round-trip time of the TCP flows (published as DCNET figures 11 and 12)",
            f"The senders' own samples, mean over bins of {BIN_S:g} s.{spread}{events}",
            "Time (s)",
            panels("rtt_ns", "RTT (ms)", rate=False, scale=1e-6, from_zero=False),
            marks=EVENTS,
            share_y=True,
            x_range=span,
        ),
        _windows(evaluation, span),
    ]


def _windows(evaluation: Evaluation, span: tuple[float, float]) -> Figure:
    """Cwnd in a single run, because a mean over runs would blur the sawtooth."""
    panels = []
    for a, arm in enumerate(ARMS):
        rows = [(flow, series.raw_series(_parts(evaluation.arm(arm), flow)[0], "cwnd_bytes", 1e-3)) for flow in FLOWS]
        panels.append(Panel("cwnd (kB)", _lines(rows, in_legend=a == 0), title=TITLES[arm]))
    return Figure(
        "cwnd",
        "Congestion windows in the first run",
        "cwnd as sampled; without ACNS losses cut it, with ACNS commands hold it and step it back.",
        "Time (s)",
        tuple(panels),
        marks=EVENTS,
        share_y=True,
        x_range=span,
    )


def of_comparison(cells: Sequence[Cell]) -> Figure:
    """Published and measured figures side by side: sent data, losses and mean RTT, by flow."""
    by_name = {cell.name: cell for cell in cells}
    ticks = tuple(f"#{flow}{chr(10) + 'ACNS' if arm == 'acns' else ''}" for arm in ARMS for flow in FLOWS)
    quantities = (("sent", "Sent (MB)"), ("rtt_mean", "Mean RTT (ms)"), ("lost", "Lost (packets)"))
    panels = [
        panel.beside(
            label,
            [by_name[f"{arm}/{quantity}/{flow}"] for arm in ARMS for flow in FLOWS],
            in_legend=place == 0,
            y_from_zero=quantity != "rtt_mean",
        )
        for place, (quantity, label) in enumerate(quantities)
    ]
    return Figure(
        "published-measured",
        "Published beside measured",
        "Per TCP flow, without ACNS (left three) and with it (right three).",
        "TCP flow",
        tuple(panels),
        ticks=ticks,
        panel_in=1.15,
    )


def of_verification(verification: model.Verification) -> list[Figure]:
    """Flows by command over the 50 samples in the three settings: mean over the populations, and one population."""
    x = np.arange(1, model.PERIODS + 1, dtype=np.float64)

    def panels(one: int | None) -> tuple[Panel, ...]:
        made = []
        for s, (setting, title) in enumerate(model.SETTINGS.items()):
            lines = []
            for command in reversed(model.COMMANDS):
                rows = verification.counts[setting][command]
                y = rows.mean(axis=0) if one is None else rows[one]
                lines.append(Line(COMMAND_NAMES[command], x, y, style.COMMAND_COLOURS[command], in_legend=s == 0))
            made.append(Panel("Flows", tuple(lines), title=title, stacked=True))
        return tuple(made)

    populations = len(verification.seeds)
    whole = (
        "Flows in the router's table, stacked by the command that they would get; samples are means over their periods."
    )
    return [
        Figure(
            "verification",
            "Model verification (published as thesis figures 4 to 6)",
            f"{whole} Means over {populations} random populations of flows.",
            "Sample",
            panels(None),
            share_y=True,
            panel_in=1.25,
            x_range=(1, model.PERIODS),
        ),
        Figure(
            "verification-one",
            "Model verification, one population",
            f"{whole} The population of seed {verification.seeds[0]}.",
            "Sample",
            panels(0),
            share_y=True,
            panel_in=1.25,
            x_range=(1, model.PERIODS),
        ),
    ]
