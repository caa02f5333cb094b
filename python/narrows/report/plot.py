"""Figures of an outcome for scripts and notebooks: those of its report, under each other in one."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure as MplFigure

from narrows.base.errors import InputError
from narrows.report import figures as drawn
from narrows.report import sequence, style
from narrows.report.charts import Figure, to_matplotlib

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from narrows.outcome.outcome import Outcome

DEFAULT: Final = ("throughput", "rtt", "cwnd", "queue")
"""Figures drawn unless others are named."""

_WIDTH_IN: Final = 7.0


class Plot(MplFigure):
    """A figure that a notebook shows without a call of pyplot."""

    def _repr_png_(self) -> bytes:
        sink = io.BytesIO()
        self.savefig(sink, format="png", dpi=150)
        return sink.getvalue()


def of(
    outcome: Outcome,
    names: Sequence[str] = (),
    path: str | PathLike[str] | None = None,
    flow: str | None = None,
    between: tuple[float, float] | None = None,
) -> Plot:
    """Draw figures of an outcome; see `narrows.outcome.outcome.Outcome.plot`.

    Parameters
    ----------
    outcome : Outcome
    names : sequence of str
        Figures; by default `DEFAULT`.
    path : path, optional
        File to write too.
    flow : str, optional
        Flow of the time-sequence graph.
    between : (float, float), optional
        Part of the time that is drawn, s.

    Returns
    -------
    Plot

    Raises
    ------
    InputError
        If there are no samples, no such figure, flow or format, or the time is no part of the run.
    """
    _check(outcome, between)
    order = {flow.name: index for index, flow in enumerate(outcome.scenario.resolved.flows)}
    made = drawn.all_figures(outcome.samples, order, outcome.scenario.duration_s) if outcome.runs else []
    if sequence.NAME in names:
        made.append(sequence.figure(outcome, flow, between))
    found = {figure.name: figure for figure in made}
    if not found:
        message = f'{outcome.scenario.name}: samples nothing to plot; allowed: sampling = "100 ms" in the scenario'
        raise InputError(message)
    unknown = [name for name in names if name not in found]
    if unknown:
        message = f"figure is {unknown[0]!r}; allowed: {', '.join([*found, sequence.NAME])}"
        raise InputError(message)
    chosen = [found[name] for name in names or DEFAULT if name in found] or made
    if between is not None:
        chosen = [replace(figure, x_range=between) if figure.over_time else figure for figure in chosen]
    with style.paper_style():
        plot: Plot = to_matplotlib(_joined([_apart(figure, len(order)) for figure in chosen]), Plot)
        if path is not None:
            _save(plot, Path(path))
    return plot


def _check(outcome: Outcome, between: tuple[float, float] | None) -> None:
    duration = outcome.scenario.duration_s
    if between is not None and not 0 <= between[0] < between[1] <= duration:
        message = f"between is {between}; allowed: two times from 0 to {duration:g} s, the smaller one first"
        raise InputError(message)


def _apart(figure: Figure, flows: int) -> Figure:
    """Give queues other colours than flows, which stand in the same legend."""
    if figure.name != "queue":
        return figure
    names = dict.fromkeys(line.name for panel in figure.panels for line in panel.lines)
    colours = {name: style.colour(flows + index) for index, name in enumerate(names)}
    panels = (
        replace(panel, lines=tuple(replace(line, colour=colours[line.name]) for line in panel.lines))
        for panel in figure.panels
    )
    return replace(figure, panels=tuple(panels))


def _joined(chosen: Sequence[Figure]) -> Figure:
    """Put the panels of figures under each other."""
    first = chosen[0]
    panels = tuple(panel for figure in chosen for panel in figure.panels)
    marks = tuple(dict.fromkeys(mark for figure in chosen for mark in figure.marks))
    tall = max(figure.panel_in for figure in chosen) if len(panels) == 1 else Figure.panel_in
    return Figure(
        "plot", "", "", first.x_label, panels, marks=marks, panel_in=tall, width_in=_WIDTH_IN, x_range=first.x_range
    )


def _save(plot: Plot, path: Path) -> None:
    known = plot.canvas.get_supported_filetypes()
    if path.suffix.lstrip(".").lower() not in known:
        message = f"{path}: has no known format; allowed: a name that ends in .{', .'.join(sorted(known))}"
        raise InputError(message)
    plot.savefig(path, dpi=200)
