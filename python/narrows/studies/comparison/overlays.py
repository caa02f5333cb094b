"""Figures of two outcomes drawn over each other: windows, throughput, round-trip times and queues over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.metrics import NO_CWND
from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from narrows.report.series import Series
    from narrows.studies.comparison import Arm, Comparison

    Draw = Callable[[list[pd.DataFrame]], Series | None]
    """Makes a series to draw from the samples of a flow or queue, a frame per run."""

#: Most flows, and most queues, to draw, in one panel each. The tables list all of them.
MAX_PANELS: Final = 6

#: Colours of the first and the second arm, wherever both are shown side by side.
COLOURS: Final = (style.OKABE_ITO[0], style.OKABE_ITO[1])


def all_figures(made: Comparison, queues: Sequence[str]) -> list[Figure]:
    """Return every figure for which both arms have samples.

    Parameters
    ----------
    made : Comparison
    queues : sequence of str
        Names of the queues worth drawing, the most informative first.

    Returns
    -------
    list of Figure
        Empty if nothing was sampled.
    """
    flows = [arm.outcome.samples.frame("flow") for arm in made.arms]
    waiting = [arm.outcome.samples.frame("queue") for arm in made.arms]
    edges = series.bins(made.scenario.duration_s, series.bin_width(made.scenario.duration_s))
    if edges.size < 2:
        return []
    width = style.duration(float(edges[1] - edges[0]))
    # Use the same column for both arms, so that not only one is smoothed.
    rtt = "rtt_ns" if all(series.rtt_column(frame) == "rtt_ns" for frame in flows) else "srtt_ns"
    names = [flow.name for flow in made.flows]
    windowed = [flow.name for flow in made.flows if flow.cc is not None]
    first = " Of several runs the first is drawn: a mean of windows over runs would show no sawtooth."
    several = any(len(arm.outcome.runs) > 1 for arm in made.arms)
    spread = " Lines are means over the runs, bands hold the middle 95 % of them." if several else ""
    drawn = [
        _figure(
            made,
            ("cwnd", "Congestion window over time", "cwnd (kB)"),
            f"cwnd of each sender as sampled.{first if several else ''}",
            _panels(made.arms, flows, windowed, _window, step=True),
        ),
        _figure(
            made,
            ("throughput", "Throughput over time", "Throughput (Mb/s)"),
            f"IP bytes that arrived at the receiving host, in bins of {width}.{spread}",
            _panels(made.arms, flows, names, lambda runs: series.rate_series(runs, "arrived_bytes", edges)),
        ),
        _figure(
            made,
            ("rtt", "Round-trip time over time", "RTT (ms)"),
            f"{_rtt_words(rtt)} at each sampling time, mean over bins of {width}.{spread}",
            _panels(made.arms, flows, windowed, lambda runs: series.mean_series(runs, rtt, edges, 1e-6)),
            from_zero=False,
        ),
        _figure(
            made,
            ("queue", "Queues over time", "Waiting (packets)"),
            f"Waiting packets as sampled.{' Of several runs the first is drawn.' if several else ''}",
            _panels(made.arms, waiting, list(queues), lambda runs: series.raw_series(runs[0], "packets"), step=True),
        ),
    ]
    return [figure for figure in drawn if figure is not None]


def _rtt_words(column: str) -> str:
    return "Latest sample of the sender" if column == "rtt_ns" else "Smoothed round-trip time (RFC 6298) of the sender"


def _window(runs: list[pd.DataFrame]) -> Series | None:
    """Return the first run's cwnd, kB; ``None`` for a sender without one."""
    raw = series.raw_series(runs[0], "cwnd_bytes")
    cwnd = np.where(raw.y >= NO_CWND, np.nan, raw.y) * 1e-3
    return None if np.isnan(cwnd).all() else series.Series(raw.x, cwnd)


def _panels(
    arms: Sequence[Arm], frames: Sequence[pd.DataFrame], names: Sequence[str], draw: Draw, *, step: bool = False
) -> list[tuple[str, tuple[Line, ...]]]:
    """Return a panel per name, with a line for each arm that has data."""
    parts = [series.by_name(frame) for frame in frames]
    panels = []
    for name in names:
        lines = []
        for arm, part, colour in zip(arms, parts, COLOURS, strict=True):
            data = draw(part[name]) if name in part else None
            if data is not None and np.isfinite(data.y).any():
                lines.append(Line(arm.label, data.x, data.y, colour, low=data.low, high=data.high, step=step))
        if lines:
            panels.append((name, tuple(lines)))
    return panels


def _figure(
    made: Comparison,
    words: tuple[str, str, str],
    caption: str,
    panels: Sequence[tuple[str, tuple[Line, ...]]],
    *,
    from_zero: bool = True,
) -> Figure | None:
    if not panels:
        return None
    name, title, label = words
    shown = panels[:MAX_PANELS]
    hidden = f" Of {len(panels)} the first {len(shown)} are drawn." if len(panels) > len(shown) else ""
    titled = len(panels) > 1 or name == "queue"
    return Figure(
        name,
        title,
        f"{caption}{hidden}",
        "Time (s)",
        tuple(
            Panel(label, lines, title=subject.replace("->", " → ") if titled else "", y_from_zero=from_zero)
            for subject, lines in shown
        ),
        panel_in=1.9 if len(shown) == 1 else 1.4,
        x_range=(0.0, made.scenario.duration_s),
    )
