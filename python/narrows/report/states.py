"""Figures of what algorithms keep: the state of BBR as a band, W_max of CUBIC, the average of RED, recovery."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from narrows.report import style
from narrows.report.values import Band, Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from narrows.outcome.states import States, Variable

MAX_FLOWS: Final = 4
"""Flows, and queues, whose state a report draws."""

MAX_PANELS: Final = 6
"""Panels of one figure; variables that find no room are named in the caption."""

MAX_BANDS: Final = 600
"""A stretch of time shorter than this part of the run is not drawn as a band of its own."""

TCP: Final = "tcp"
"""The algorithm under whose name the connection itself reports."""

_SCALES: Final[Mapping[str, tuple[float, str]]] = {"s": (1e3, "ms"), "bit/s": (1e-6, "Mb/s"), "bytes": (1e-3, "kB")}
"""By unit: what values are multiplied by for people, and the unit then."""

_BAND_COLOURS: Final = ("#009E73", "#E69F00", "#56B4E9", "#D55E00", "#CC79A7", "#0072B2")


class _Track(NamedTuple):
    """The values of one variable over time."""

    variable: Variable
    x: np.ndarray
    y: np.ndarray

    @property
    def label(self) -> str:
        """The variable, with the connection's own told apart from those of the algorithm."""
        name = self.variable.name
        return f"{name} (TCP)" if self.variable.algorithm == TCP else name


def figures(state: States, order: Mapping[str, int], duration_s: float) -> list[Figure]:
    """Return a figure for each flow and queue whose state was sampled, up to `MAX_FLOWS` of either.

    Parameters
    ----------
    state : States
        Of one run or several; the first run is drawn.
    order : mapping
        Index of each flow by name.
    duration_s : float
        Simulated time, s.

    Returns
    -------
    list of Figure
    """
    if not state.variables:
        return []
    made: list[Figure] = []
    objects = state.objects()
    for kind in ("flow", "queue"):
        names = sorted((name for of, name in objects if of == kind), key=lambda n: (order.get(n, len(order)), n))
        variables = [variable for variable in state.variables if variable.kind == kind]
        drawn = 0
        for name in names:
            if drawn == MAX_FLOWS:
                break
            rows = state.frame(name=name)
            rows = rows[rows["kind"] == kind]
            first = rows["run"] == rows["run"].iloc[0]
            figure = _figure(kind, name, _tracks(rows[first], variables), duration_s, not first.all())
            if figure is not None:
                drawn += 1
                made.append(figure)
    return made


def _tracks(rows: pd.DataFrame, variables: Iterable[Variable]) -> list[_Track]:
    """Return the variables of one flow or queue that have values."""
    tracks: list[_Track] = []
    for variable in variables:
        mine = rows[(rows["variable"] == variable.name) & (rows["algorithm"] == variable.algorithm)]
        y = mine["value"].to_numpy(dtype=float)
        if len(mine) and not np.all(np.isnan(y)):
            tracks.append(_Track(variable, mine["time_s"].to_numpy(dtype=float), y))
    return tracks


def _figure(kind: str, name: str, tracks: list[_Track], duration_s: float, several: bool) -> Figure | None:
    moving = [track for track in tracks if np.nanmax(track.y) > np.nanmin(track.y)]
    moving.sort(key=lambda track: track.variable.algorithm == TCP)
    still = [track.label for track in tracks if track not in moving]
    worded = [track for track in moving if track.variable.words]
    # The algorithm's own state comes first; the phase of loss recovery serves where it has none.
    band = next(iter(sorted(worded, key=lambda track: track.variable.algorithm == TCP)), None)
    bands = () if band is None else tuple(_bands(band, duration_s))
    groups: dict[str, list[_Track]] = {}
    for track in moving:
        if track is not band:
            # Values without a unit have nothing in common but that; each has its own panel.
            groups.setdefault(track.variable.unit or track.label, []).append(track)
    if not groups:
        return None
    shown = list(groups.items())[:MAX_PANELS]
    left_out = [track.label for _, group in list(groups.items())[MAX_PANELS:] for track in group]
    panels = tuple(_panel(unit, group, bands) for unit, group in shown)
    algorithm = next((t.variable.algorithm for t in tracks if t.variable.algorithm != TCP), TCP)
    return Figure(
        f"state-{kind}-{name.replace('->', '-to-')}",
        f"State of {algorithm}: {name.replace('->', ' → ')}",
        _caption(algorithm, band, shown, left_out, still, several),
        "Time (s)",
        panels,
        panel_in=1.25,
        x_range=(0.0, duration_s),
    )


def _caption(
    algorithm: str,
    band: _Track | None,
    shown: list[tuple[str, list[_Track]]],
    left_out: list[str],
    still: list[str],
    several: bool,
) -> str:
    told = [f"Variables of {algorithm} at each sample."]
    if band is not None:
        told.append(f"The background shows {band.label}.")
    for track in (track for _, group in shown for track in group if track.variable.words):
        words = ", ".join(f"{value} {word}" for value, word in enumerate(track.variable.words))
        told.append(f"{track.label}: {words}.")
    if still:
        told.append(f"Constant: {', '.join(still)}.")
    if left_out:
        told.append(f"Not drawn: {', '.join(left_out)}; state.parquet has them.")
    if several:
        told.append("First run.")
    return " ".join(told)


def _panel(unit: str, group: list[_Track], bands: tuple[Band, ...]) -> Panel:
    # A unit that depends on a setting, such as RED's, lists the usual one first.
    scale, shown = _SCALES.get(unit, (1.0, unit.partition(",")[0]))
    several = len(group) > 1
    lines = tuple(
        Line(
            track.label,
            track.x,
            track.y * scale,
            style.colour(i),
            dash=i // len(style.OKABE_ITO),
            step=True,
            in_legend=several,
        )
        for i, track in enumerate(group)
    )
    has_unit = any(track.variable.unit for track in group)
    label = f"{group[0].label} ({shown})" if has_unit and not several else shown
    return Panel(label, lines, bands=bands)


def _bands(track: _Track, duration_s: float) -> Iterable[Band]:
    """Yield a band for each stretch of time in which the variable keeps its value.

    A stretch too short to be seen goes to the one before it, so that a page stays small.
    """
    words = track.variable.words
    known = ~np.isnan(track.y)
    x, y = track.x[known], track.y[known].astype(int)
    cuts = np.flatnonzero(np.diff(y)) + 1
    starts = [0]
    for begin, end in itertools.pairwise([*cuts.tolist(), len(y) - 1]):
        if x[end] - x[begin] >= duration_s / MAX_BANDS:
            starts.append(begin)
    for begin, end in itertools.pairwise([*starts, len(y)]):
        value = int(y[begin])
        name = words[value] if 0 <= value < len(words) else str(value)
        until = float(x[end]) if end < len(x) else duration_s
        yield Band(name, float(x[begin]), until, _BAND_COLOURS[value % len(_BAND_COLOURS)])
