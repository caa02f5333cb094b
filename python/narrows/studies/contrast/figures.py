"""Figures of a contrast: all results over each other in time, and distributions of delays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.report import network, series, style
from narrows.report.charts import Figure, Line, Panel
from narrows.report.distributions import distribution, span
from narrows.report.figures import DRAWN_ROWS
from narrows.studies.comparison import overlays
from narrows.studies.comparison.overlays import MAX_PANELS, Sampled
from narrows.studies.contrast import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from narrows.report.series import Array
    from narrows.studies.contrast.contrast import Contrast

MAX_QUEUES: Final = 4


def of(made: Contrast) -> list[Figure]:
    """Return the figures for which a result has samples.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    list of Figure
        Over time: windows, throughput, round-trip times and queues; then distributions of round-trip times, queueing
        delay and completion times. Each panel is a flow, queue or workload with a line for each result.
    """
    samples = [
        Sampled(arm, *(arm.outcome.samples.thinned(kind, DRAWN_ROWS)[0] for kind in ("flow", "queue")))
        for arm in made.arms
    ]
    windowed = {
        flow.name: flow.cc is not None
        for flow in made.baseline.outcome.runs[0].flows
        if any(other.name == flow.name for arm in made.arms[1:] for other in arm.outcome.runs[0].flows)
    }
    queues = shown.busy_queues(made)[:MAX_QUEUES]
    duration_s = max(arm.outcome.scenario.duration_s for arm in made.arms)
    found = overlays.over_time(samples, windowed, queues, duration_s)
    for figure in (
        _round_trip_times(samples, [name for name, has_window in windowed.items() if has_window]),
        _queueing_delays(samples, queues),
        _completion_times(made),
    ):
        if figure is not None:
            found.append(figure)
    return found


def _round_trip_times(samples: Sequence[Sampled], names: Sequence[str]) -> Figure | None:
    same = all(series.rtt_column(one.flows) == "rtt_ns" for one in samples)
    column = "rtt_ns" if same else "srtt_ns"

    def values(one: Sampled, name: str) -> Array:
        return _column(one.flows, name, column) * 1e-6

    what = "round-trip time" if same else "smoothed round-trip time (RFC 6298)"
    return _distributions(
        ("rtt-distribution", "Distribution of round-trip times", "RTT (ms)"),
        f"Share of the samples of all runs up to each {what}. Samples are taken at equal times.",
        samples,
        names,
        values,
    )


def _queueing_delays(samples: Sequence[Sampled], names: Sequence[str]) -> Figure | None:
    rates = [network.constant_rates(one.arm.outcome.scenario.resolved) for one in samples]

    def values(one: Sampled, name: str) -> Array:
        rate = rates[samples.index(one)].get(name)
        return _column(one.queues, name, "bytes") * 8e3 / rate if rate else np.zeros(0)

    return _distributions(
        ("queue-distribution", "Distribution of queueing delay", "Queueing delay (ms)"),
        "Share of the samples of all runs in which what waited takes at most this long to send at the link's rate.",
        samples,
        names,
        values,
    )


def _completion_times(made: Contrast) -> Figure | None:
    frames = [arm.outcome.transfers.frame() for arm in made.arms]
    names = [
        name for name in made.baseline.outcome.transfers.names if any(_times(one, name).size for one in frames[1:])
    ]
    panels = []
    for name in names[:MAX_PANELS]:
        lines = []
        for place, (arm, frame) in enumerate(zip(made.arms, frames, strict=True)):
            times = np.sort(_times(frame, name)) * 1e3
            if times.size:
                lines.append(_line(arm.label, *distribution(times), place))
        panels.append((name, tuple(lines)))
    if not panels:
        return None
    return Figure(
        "completion-times",
        "Completion times",
        "Share of the finished transfers of all runs that took at most this long.",
        "Completion time (ms)",
        tuple(Panel("Share of transfers", lines, title=name) for name, lines in panels),
        x_log=all(line.x[0] > 0 for _, lines in panels for line in lines),
    )


def _times(frame: pd.DataFrame, name: str) -> Array:
    if frame.empty:
        return np.zeros(0)
    return np.asarray(frame.loc[frame["name"] == name, "fct_s"].dropna().to_numpy(dtype=np.float64))


def _column(frame: pd.DataFrame, name: str, column: str) -> Array:
    rows = frame.loc[frame["name"] == name, column]
    values = np.asarray(rows.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)


def _distributions(
    words: tuple[str, str, str],
    caption: str,
    samples: Sequence[Sampled],
    names: Sequence[str],
    values: Callable[[Sampled, str], Array],
) -> Figure | None:
    panels: list[tuple[str, tuple[Line, ...]]] = []
    for name in names[:MAX_PANELS]:
        lines = []
        for place, one in enumerate(samples):
            found = values(one, name)
            if found.size:
                lines.append(_line(one.arm.label, *distribution(found), place))
        if lines:
            panels.append((name, tuple(lines)))
    if not panels:
        return None
    name, title, label = words
    ends, told = span([line for _, lines in panels for line in lines])
    more = f" Of {len(names)} the first {MAX_PANELS} are drawn." if len(names) > MAX_PANELS else ""
    return Figure(
        name,
        title,
        f"{caption}{told}{more}",
        label,
        tuple(Panel("Share of samples", lines, title=one.replace("->", " → ")) for one, lines in panels),
        panel_in=1.9 if len(panels) == 1 else 1.4,
        x_range=ends,
    )


def _line(label: str, x: Array, y: Array, place: int) -> Line:
    return Line(label, x, y, style.colour(place), dash=place // len(style.OKABE_ITO), step=True)
