"""Many flows as groups: the median over the flows of each congestion control, and the middle 80 % of them as a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from narrows.report.series import Array

MANY: Final = 12
"""Flows from which groups are drawn."""

EACH: Final = 100
"""Flows up to which the page also draws each one, to be picked by name."""

INNER: Final = 0.8
"""Share of a group's flows inside its band."""


@dataclass(frozen=True)
class Measure:
    """What a figure of groups shows: a rate of a counter of bytes, or a gauge times a scale."""

    name: str
    title: str
    label: str
    column: str
    scale: float | None = None
    from_zero: bool = True


def figures(frame: pd.DataFrame, controls: Mapping[str, str], edges: Array, span: tuple[float, float]) -> list[Figure]:
    """Return throughput, round-trip time and cwnd over time, by group.

    Parameters
    ----------
    frame : pandas.DataFrame
        Samples of flows.
    controls : mapping
        Congestion control of each flow, by name.
    edges : array
        Edges of bins, s.
    span : (float, float)
        Ends of the time axis, s.

    Returns
    -------
    list of Figure
        Empty below `MANY` flows.
    """
    parts = series.by_name(frame)
    if len(parts) < MANY:
        return []
    rtt = series.rtt_column(frame)
    measures = (
        Measure("throughput-groups", "Throughput over time, by group", "Throughput (Mb/s)", "arrived_bytes"),
        Measure("rtt-groups", "Round-trip time over time, by group", "RTT (ms)", rtt, 1e-6, from_zero=False),
        Measure("cwnd-groups", "Congestion window over time, by group", "cwnd (kB)", "cwnd_bytes", 1e-3),
    )
    made = [_figure(measure, parts, controls, edges, span) for measure in measures]
    return [figure for figure in made if figure is not None]


def _figure(
    measure: Measure,
    parts: Mapping[str, list[pd.DataFrame]],
    controls: Mapping[str, str],
    edges: Array,
    span: tuple[float, float],
) -> Figure | None:
    members: dict[str, list[Array]] = {}
    for name, runs in parts.items():
        if runs[0][measure.column].notna().any():
            members.setdefault(controls.get(name, "UDP"), []).append(_values(measure, runs, edges))
    if not members:
        return None
    centres = (edges[:-1] + edges[1:]) / 2
    lines = tuple(
        _line(f"{group} ({len(rows)} flows)" if len(rows) > 1 else group, rows, centres, index)
        for index, (group, rows) in enumerate(sorted(members.items()))
    )
    return Figure(
        measure.name,
        measure.title,
        f"For each congestion control the median of its flows, and as a band the middle {100 * INNER:g} % of them, in "
        f"bins of {style.duration(float(edges[1] - edges[0]))}.",
        "Time (s)",
        (Panel(measure.label, lines, y_from_zero=measure.from_zero),),
        panel_in=1.9,
        x_range=span,
    )


def _values(measure: Measure, runs: Sequence[pd.DataFrame], edges: Array) -> Array:
    parts = list(runs)
    made = (
        series.rate_series(parts, measure.column, edges)
        if measure.scale is None
        else series.mean_series(parts, measure.column, edges, measure.scale)
    )
    return made.y


def _line(name: str, rows: Sequence[Array], x: Array, index: int) -> Line:
    stack = np.vstack(rows)
    some = np.isfinite(stack).any(axis=0)
    quantiles = np.full((3, x.size), np.nan)
    tail = (1 - INNER) / 2
    if some.any():
        quantiles[:, some] = np.nanquantile(stack[:, some], [tail, 0.5, 1 - tail], axis=0)
    low, middle, high = quantiles
    several = len(rows) > 1
    return Line(
        name,
        x,
        middle,
        style.colour(index),
        dash=index // len(style.OKABE_ITO),
        low=low if several else None,
        high=high if several else None,
    )
