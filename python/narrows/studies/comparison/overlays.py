"""Figures of outcomes drawn over each other: windows, throughput, round-trip times and queues over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.metrics import NO_CWND
from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from narrows.report.series import Series
    from narrows.studies.comparison import Arm, Comparison

    Draw = Callable[[list[pd.DataFrame], str], Series | None]
    """Makes a series to draw from a column of the samples of a flow or queue, a frame per run."""

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
    samples = [Sampled(arm, arm.outcome.samples.frame("flow"), arm.outcome.samples.frame("queue")) for arm in made.arms]
    return over_time(samples, {flow.name: flow.cc is not None for flow in made.flows}, queues, made.scenario.duration_s)


@dataclass(frozen=True)
class Sampled:
    """An arm with its samples of flows and of queues."""

    arm: Arm
    flows: pd.DataFrame
    queues: pd.DataFrame


def over_time(
    samples: Sequence[Sampled], flows: Mapping[str, bool], queues: Sequence[str], duration_s: float
) -> list[Figure]:
    """Return windows, throughput, round-trip times and queues of several arms over each other.

    Parameters
    ----------
    samples : sequence of Sampled
        The arms; their place decides their colour.
    flows : mapping
        Names of flows to draw, and whether each has a window.
    queues : sequence of str
        Names of queues to draw.
    duration_s : float
        Length of the time axis, s.

    Returns
    -------
    list of Figure
        Those for which an arm has samples.
    """
    arms = [one.arm for one in samples]
    sampled, waiting = [one.flows for one in samples], [one.queues for one in samples]
    edges = series.bins(duration_s, series.bin_width(duration_s))
    if edges.size < 2:
        return []
    width = style.duration(float(edges[1] - edges[0]))
    # Use the same column for all arms, so that not only one is smoothed.
    rtt = "rtt_ns" if all(series.rtt_column(frame) == "rtt_ns" for frame in sampled) else "srtt_ns"
    windowed = [name for name, has_window in flows.items() if has_window]
    several = any(len(arm.outcome.runs) > 1 for arm in arms)
    first = (
        " Of several runs the first is drawn: a mean of windows over runs would show no sawtooth." if several else ""
    )
    spread = " Lines are means over the runs, bands hold the middle 95 % of them." if several else ""
    drawn = [
        _figure(
            duration_s,
            ("cwnd", "Congestion window over time", "cwnd (kB)"),
            f"cwnd of each sender as sampled.{first}",
            _panels(arms, sampled, windowed, "cwnd_bytes", _window, step=True),
        ),
        _figure(
            duration_s,
            ("throughput", "Throughput over time", "Throughput (Mb/s)"),
            f"IP bytes that arrived at the receiving host, in bins of {width}.{spread}",
            _panels(
                arms,
                sampled,
                list(flows),
                "arrived_bytes",
                lambda runs, column: series.rate_series(runs, column, edges),
            ),
        ),
        _figure(
            duration_s,
            ("rtt", "Round-trip time over time", "RTT (ms)"),
            f"{_rtt_words(rtt)} at each sampling time, mean over bins of {width}.{spread}",
            _panels(arms, sampled, windowed, rtt, lambda runs, column: series.mean_series(runs, column, edges, 1e-6)),
            from_zero=False,
        ),
        _figure(
            duration_s,
            ("queue", "Queues over time", "Waiting (packets)"),
            f"Waiting packets as sampled.{' Of several runs the first is drawn.' if several else ''}",
            _panels(
                arms,
                waiting,
                list(queues),
                "packets",
                lambda runs, column: series.raw_series(runs[0], column),
                step=True,
            ),
        ),
    ]
    return [figure for figure in drawn if figure is not None]


def _rtt_words(column: str) -> str:
    return "Latest sample of the sender" if column == "rtt_ns" else "Smoothed round-trip time (RFC 6298) of the sender"


def _window(runs: list[pd.DataFrame], column: str) -> Series | None:
    """Return the first run's cwnd, kB; ``None`` for a sender without one."""
    raw = series.raw_series(runs[0], column)
    cwnd = np.where(raw.y >= NO_CWND, np.nan, raw.y) * 1e-3
    return None if np.isnan(cwnd).all() else series.Series(raw.x, cwnd)


@dataclass(frozen=True)
class _Panels:
    """The first panels of a figure, by the flow or queue in each, and how many there could be."""

    drawn: tuple[tuple[str, tuple[Line, ...]], ...]
    count: int


def _panels(
    arms: Sequence[Arm],
    frames: Sequence[pd.DataFrame],
    names: Sequence[str],
    column: str,
    draw: Draw,
    *,
    step: bool = False,
) -> _Panels:
    """Return a panel for each of the first names with a value in a column, with a line for each arm that has data."""
    valued = set().union(*(_valued(frame, column) for frame in frames))
    listed = [name for name in names if name in valued]
    # Splitting the rows of a thousand flows takes longer than everything else on a page that draws six.
    chosen = listed[:MAX_PANELS]
    parts = [series.by_name(frame[frame["name"].isin(chosen)]) for frame in frames]
    panels = []
    for name in chosen:
        lines = []
        for place, (arm, part) in enumerate(zip(arms, parts, strict=True)):
            data = draw(part[name], column) if name in part else None
            if data is not None and np.isfinite(data.y).any():
                lines.append(
                    Line(
                        arm.label,
                        data.x,
                        data.y,
                        style.colour(place),
                        place // len(style.OKABE_ITO),
                        low=data.low,
                        high=data.high,
                        step=step,
                    )
                )
        if lines:
            panels.append((name, tuple(lines)))
    return _Panels(tuple(panels), len(listed))


def _valued(frame: pd.DataFrame, column: str) -> set[str]:
    """Return the flows or queues with a value in a column; "no window" is none."""
    rows = frame[column].notna() & (True if column != "cwnd_bytes" else frame[column] < NO_CWND)
    return {str(name) for name in frame.loc[rows, "name"].unique()}


def _figure(
    duration_s: float,
    words: tuple[str, str, str],
    caption: str,
    panels: _Panels,
    *,
    from_zero: bool = True,
) -> Figure | None:
    shown = panels.drawn
    if not shown:
        return None
    name, title, label = words
    hidden = f" Of {panels.count} the first {len(shown)} are drawn." if panels.count > len(shown) else ""
    titled = panels.count > 1 or name == "queue"
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
        x_range=(0.0, duration_s),
    )
