"""The figure of a comparison of queue disciplines: an ellipse of delay and goodput for each, scenario by scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.report import style

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.aqm.result import Results

NAME = "aqm"
"""Name of the figure's files."""

LEAST_MS = 0.01
"""Smallest delay on the axis, ms."""

_PANEL_IN = 2.2
"""Least width of a panel, in inches."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "d", "p")


def write(made: Results, folder: Path) -> list[Path]:
    """Draw the ellipses as PNG and SVG.

    Parameters
    ----------
    made : Results
    folder : Path
        Created if missing.

    Returns
    -------
    list of Path

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with style.paper_style():
        figure = draw(made)
        files = [folder / f"{NAME}.png", folder / f"{NAME}.svg"]
        figure.savefig(files[0], format="png", dpi=style.PNG_DPI)
        # Without a date, equal numbers give equal files.
        figure.savefig(files[1], format="svg", metadata={"Date": None, "Creator": "Narrows"})
    return files


def columns(width: float) -> int:
    """Return how many panels a width in inches has room for.

    >>> columns(style.PAGE_IN), columns(style.COLUMN_IN)
    (3, 1)
    """
    return max(1, int(width // _PANEL_IN))


@dataclass(frozen=True, slots=True)
class Contour:
    """A discipline in a panel: the mean, and the contour around it.

    Attributes
    ----------
    name, colour, marker : str
        The discipline, its colour, and matplotlib's sign of its marker.
    delay_ms, goodput_mbps : float
        The mean, ms and Mb/s.
    outline : tuple of list
        Delays and goodputs of the contour.
    """

    name: str
    colour: str
    marker: str
    delay_ms: float
    goodput_mbps: float
    outline: tuple[list[float], list[float]]


def panels(made: Results) -> dict[str, list[Contour]]:
    """Return the disciplines that are drawn in each panel.

    Parameters
    ----------
    made : Results

    Returns
    -------
    dict
        By title of the scenario. Delays are at least `LEAST_MS`, since the axis is logarithmic.
    """
    drawn: dict[str, list[Contour]] = {}
    for name, title in made.scenarios.items():
        drawn[title] = []
        for index, queue in enumerate(made.queues):
            ellipse = made.ellipse(queue, name)
            if ellipse is not None:
                x, y = ellipse.outline()
                contour = [max(value, LEAST_MS) for value in x], y
                mean = max(ellipse.delay_ms, LEAST_MS), ellipse.goodput_mbps
                drawn[title].append(
                    Contour(queue, style.colour(index), _MARKERS[index % len(_MARKERS)], *mean, contour)
                )
    return drawn


def draw(made: Results, width: float = style.PAGE_IN) -> Any:
    """Draw a panel for each scenario.

    Parameters
    ----------
    made : Results
    width : float
        Width in inches, which decides how many panels are side by side.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator

    drawn = panels(made)
    across = min(columns(width), len(drawn))
    rows = math.ceil(len(drawn) / across)
    figure = Figure(figsize=(width, 2.15 * rows), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False).flatten()
    for panel, (title, contours) in zip(axes, drawn.items(), strict=False):
        for one in contours:
            mark = {"color": one.colour, "markersize": 3.5, "label": one.name}
            panel.plot(one.delay_ms, one.goodput_mbps, one.marker, **mark)
            panel.plot(*one.outline, color=one.colour, linewidth=0.8)
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.xaxis.set_minor_formatter("")
        # Better is up and to the right, as in the literature.
        panel.invert_xaxis()
        panel.set_title(title, loc="left")
        panel.set_xlabel("mean queueing delay, ms")
        panel.set_ylabel("goodput, Mb/s")
    handles, labels = axes[0].get_legend_handles_labels()
    for panel in axes[len(drawn) :]:
        panel.axis("off")
    if len(drawn) < len(axes):
        axes[len(drawn)].legend(handles, labels, loc="center left", ncols=2 if len(labels) > 8 else 1)
    else:
        figure.legend(handles, labels, loc="outside upper left", ncols=min(len(labels), 3 * across))
    return figure
