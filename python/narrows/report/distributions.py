"""Figures of distributions: round-trip times, queueing delay, and delay against throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.report import groups, series, style
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from narrows.outcome import Batch, Run
    from narrows.report.series import Array

POINTS: Final = 256
"""Quantiles that a line of a distribution is drawn from."""

MOST_SHOWN: Final = 0.995
"""Share of the values that the axis shows where the rest reaches far."""

TAIL: Final = 1.3
"""How far beyond `MOST_SHOWN` the longest value is still shown, as a multiple."""

MOST_QUEUES: Final = 4
"""Queues whose delay is drawn: those with the longest."""


def of(result: Run | Batch, order: Mapping[str, int], rates_bps: Mapping[str, float], most_rows: int) -> list[Figure]:
    """Return the figures of distributions of a result.

    Parameters
    ----------
    result : Run or Batch
        The runs, with samples.
    order : mapping
        Index of each flow by name, which decides its colour.
    rates_bps : mapping
        Rate of the link behind each queue, bit/s, by the queue's name, where it is constant.
    most_rows : int
        Samples to draw from; of more, every n-th is drawn.

    Returns
    -------
    list of Figure
        Without figures that would be empty.
    """
    flows, queues = (result.samples.thinned(kind, most_rows)[0] for kind in ("flow", "queue"))
    made = [
        delay_throughput(result.runs, order),
        round_trip_times(flows, order) if flows["name"].nunique() <= groups.EACH else None,
        queueing_delays(queues, rates_bps),
    ]
    return [figure for figure in made if figure is not None]


def distribution(values: Array) -> tuple[Array, Array]:
    """Return the quantiles of values, and the share of values up to each; NaN are left out.

    >>> x, y = distribution(np.array([3.0, 1.0, 2.0]))
    >>> x.tolist(), [round(share, 2) for share in y.tolist()]
    ([1.0, 1.0, 2.0, 3.0], [0.0, 0.33, 0.67, 1.0])
    """
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        return known, known
    if known.size > POINTS:
        share = np.linspace(0.0, 1.0, POINTS)
        return np.asarray(np.quantile(known, share)), share
    return np.concatenate([known[:1], known]), np.arange(known.size + 1) / known.size


def _shares(values: Array, axis: Array | None) -> tuple[Array, Array]:
    """Return the share of values up to each point of an axis that several lines have; without one, of their own."""
    if axis is None:
        return distribution(values)
    points = np.unique(axis)
    return points, np.searchsorted(np.sort(values), points, side="right") / values.size


def round_trip_times(frame: pd.DataFrame, order: Mapping[str, int]) -> Figure | None:
    """Return the distribution of each flow's round-trip times, of the samples of all runs."""
    if frame.empty:
        return None
    column = series.rtt_column(frame)
    times = {
        str(name): known[np.isfinite(known)]
        for name, rows in frame.groupby("name", observed=True, sort=True)
        if (known := np.asarray(rows[column].to_numpy(dtype=np.float64, na_value=np.nan)) * 1e-6).size
    }
    times = {name: times[name] for name in sorted(times, key=lambda name: order.get(name, 0)) if times[name].size}
    if not times:
        return None
    axis = distribution(np.concatenate(list(times.values())))[0] if len(times) > 1 else None
    shown = tuple(_line(name, *_shares(values, axis), order.get(name, 0)) for name, values in times.items())
    ends, told = span(shown)
    return Figure(
        "rtt-distribution",
        "Distribution of round-trip times",
        "Share of the samples up to each round-trip time. Samples are taken at equal times, so a time counts by how "
        f"long it lasted.{told}",
        "RTT (ms)",
        (Panel("Share of samples", shown),),
        x_range=ends,
    )


def queueing_delays(frame: pd.DataFrame, rates_bps: Mapping[str, float]) -> Figure | None:
    """Return the distribution of the delay in the longest queues, by waiting bytes and the rate of the link behind."""
    if frame.empty:
        return None
    delays = {
        str(name): np.asarray(rows["bytes"].to_numpy(dtype=np.float64)) * 8e3 / rates_bps[str(name)]
        for name, rows in frame.groupby("name", observed=True, sort=True)
        if rates_bps.get(str(name))
    }
    busy = sorted((name for name in delays if delays[name].max() > 0), key=lambda name: -float(delays[name].mean()))
    if not busy:
        return None
    lines = tuple(
        _line(name.replace("->", " → "), *distribution(delays[name]), index)
        for index, name in enumerate(sorted(busy[:MOST_QUEUES]))
    )
    ends, told = span(lines)
    return Figure(
        "queue-distribution",
        "Distribution of queueing delay",
        "Share of the samples in which what waited takes at most this long to send at the link's rate. With a "
        f"discipline of several sub-queues a packet may wait for less or more.{told}",
        "Queueing delay (ms)",
        (Panel("Share of samples", lines),),
        x_range=ends,
    )


def delay_throughput(runs: Sequence[Run], order: Mapping[str, int]) -> Figure | None:
    """Return mean round-trip time against throughput, a point for each flow and run."""
    points: dict[str, list[tuple[float, float]]] = {}
    places: dict[str, int] = {}
    grouped = len(runs[0].flows) > groups.EACH
    for index, first in enumerate(runs[0].flows):
        name = (first.cc or "UDP") if grouped else first.name
        places.setdefault(name, len(places) if grouped else order.get(name, 0))
        points.setdefault(name, []).extend(
            (flow.throughput_mbps, flow.rtt_mean_ms)
            for run in runs
            if (flow := run.flows[index]).throughput_mbps is not None and flow.rtt_mean_ms is not None
        )
    lines = []
    for name, found in points.items():
        if found:
            x, y = (np.array(values, dtype=np.float64) for values in zip(*sorted(found), strict=True))
            lines.append(Line(name, x, y, style.colour(places[name]), markers=True))
    if len(lines) < 2 and len(runs) < 2:
        return None
    each = "a flow in a run" if len(runs) > 1 else "a flow"
    return Figure(
        "delay-throughput",
        "Delay against throughput",
        f"Each point is {each}: up is slower to answer, right is faster to send.",
        "Throughput (Mb/s)",
        (Panel("Mean RTT (ms)", tuple(lines), y_from_zero=False),),
    )


def span(lines: Sequence[Line]) -> tuple[tuple[float, float], str]:
    """Return the ends of the axis, and words on a tail that lies beyond: a few long delays would flatten the rest.

    Parameters
    ----------
    lines : sequence of Line
        Distributions in ms, at least one.

    Returns
    -------
    ((float, float), str)
    """
    low = min(float(line.x[0]) for line in lines)
    most = max(float(line.x[-1]) for line in lines)
    high = max(float(line.x[np.searchsorted(line.y, MOST_SHOWN).clip(max=line.x.size - 1)]) for line in lines)
    high = low + 1.05 * (high - low)
    if not low < high:
        return (0.0, 2 * most or 1.0), ""
    if most <= TAIL * high:
        return (low, most), ""
    return (
        low,
        high,
    ), f" The axis ends after {100 * MOST_SHOWN:g} % of the samples; the longest is {style.number(most)} ms."


def _line(name: str, x: Array, y: Array, index: int) -> Line:
    return Line(name, x, y, style.colour(index), dash=index // len(style.OKABE_ITO), step=True)
