"""Figures of windows over time, Narrows over ns-2: a figure per variant, a panel per network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import charts, style
from narrows.studies.validation.inputs import SAMPLE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from narrows.report.charts import Figure, Panel
    from narrows.studies.validation.compare import Comparison, Trace
    from narrows.studies.validation.description import Description

DPI = 110
"""Resolution, low enough to keep a page of all variants small."""

PREFIX = "cwnd-"
"""Prefix of the file name of each figure."""

MAX_PANELS = 4
"""Largest number of panels in a figure if no chosen network is marked as drawn."""


def figure(description: Description, variant: str, comparisons: Sequence[Comparison]) -> Figure:
    """Create the figure of a variant.

    Parameters
    ----------
    description : Description
        Defines which networks are drawn.
    variant : str
        Name of the variant.
    comparisons : sequence of Comparison
        Comparisons of all variants; only those of this variant are drawn.

    Returns
    -------
    Figure
    """
    marked = [network.name for network in description.networks if network.drawn]
    drawn = marked or [network.name for network in description.networks[:MAX_PANELS]]
    own = [one for one in comparisons if one.variant == variant and one.network in drawn]
    return charts.Figure(
        name=f"{PREFIX}{variant}",
        title=f"{variant}: congestion window over time",
        caption="",
        x_label="time, s",
        panels=tuple(_panel(one) for one in own),
        panel_in=1.15,
        width_in=style.PAGE_IN,
    )


def _panel(one: Comparison) -> Panel:
    flow = f", flow {one.flow}" if one.flow > 1 else ""
    seeds = f", mean of {one.runs} runs" if one.runs > 1 else ""
    lines = (
        _line("ns-2.35", one.theirs.cwnd, style.PUBLISHED_COLOUR, 1.7),
        _line("Narrows", one.ours.cwnd, style.MEASURED_COLOUR, 1.0),
    )
    return charts.Panel("cwnd, segments", lines, title=f"{one.network}{flow}{seeds}")


def _line(name: str, cwnd: Trace, colour: str, width: float) -> charts.Line:
    return charts.Line(name, np.arange(len(cwnd), dtype=np.float64) * SAMPLE_S, cwnd, colour, width=width)


def draw(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Draw figures as PNG.

    Parameters
    ----------
    figures : sequence of Figure
    folder : Path
        Target directory; it is created if missing.

    Returns
    -------
    list of pathlib.Path

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with style.paper_style():
        for one in figures:
            path = folder / f"{one.name}.png"
            charts.to_matplotlib(one).savefig(path, format="png", dpi=DPI, metadata={"Title": one.title})
            made.append(path)
    return made
