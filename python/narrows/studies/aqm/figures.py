"""The figure of a comparison of queue disciplines: an ellipse of delay and goodput for each, scenario by scenario."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from narrows.report import style

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.aqm.result import Aqm

NAME = "aqm"
"""Name of the figure's files."""

_COLUMNS = 3
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "d", "p")


def write(made: Aqm, folder: Path) -> list[Path]:
    """Draw the ellipses as PNG and SVG.

    Parameters
    ----------
    made : Aqm
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


def draw(made: Aqm) -> Any:
    """Draw a panel for each scenario.

    Parameters
    ----------
    made : Aqm

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator

    scenarios = made.plan.scenarios
    rows = math.ceil((len(scenarios) + 1) / _COLUMNS)
    figure = Figure(figsize=(style.PAGE_IN, 2.15 * rows), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False).flatten()
    for panel, name in zip(panels, scenarios, strict=False):
        for index, queue in enumerate(made.plan.queues):
            ellipse = made.ellipse(queue, name)
            if ellipse is None:
                continue
            colour, marker = style.colour(index), _MARKERS[index % len(_MARKERS)]
            panel.plot(
                max(ellipse.delay_ms, 0.01), ellipse.goodput_mbps, marker, color=colour, markersize=3.5, label=queue
            )
            x, y = ellipse.outline()
            panel.plot([max(value, 0.01) for value in x], y, color=colour, linewidth=0.8)
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.xaxis.set_minor_formatter("")
        # Better is up and to the right, as in the literature.
        panel.invert_xaxis()
        panel.set_title(_title(made, name), loc="left")
        panel.set_xlabel("mean queueing delay, ms")
        panel.set_ylabel("goodput, Mb/s")
    handles, labels = panels[0].get_legend_handles_labels()
    for panel in panels[len(scenarios) :]:
        panel.axis("off")
    panels[len(scenarios)].legend(handles, labels, loc="center left", ncols=2 if len(labels) > 8 else 1)
    return figure


def _title(made: Aqm, scenario: str) -> str:
    return next(cell.scenario.title for cell in made.plan.cells if cell.scenario_label == scenario)
