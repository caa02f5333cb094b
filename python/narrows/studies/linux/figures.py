"""Figures of windows over time, Narrows over Linux: a figure per variant, a panel per drawn scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.report import charts, style
from narrows.studies.linux.record import SAMPLE_S

if TYPE_CHECKING:
    from narrows.report.charts import Figure, Panel
    from narrows.studies.linux.compare import Pair
    from narrows.studies.linux.record import Trace
    from narrows.studies.linux.validate import LinuxValidation

MAX_PANELS: Final = 3
"""Largest number of panels in a figure if no chosen scenario is marked as drawn."""


def figure(validation: LinuxValidation, variant: str) -> Figure:
    """Return the figure of a variant on the first kernel.

    Parameters
    ----------
    validation : LinuxValidation
    variant : str

    Returns
    -------
    Figure
        Without panels if the variant could not be run.
    """
    scenes = validation.description.scenes
    drawn = [one.name for one in scenes if one.drawn] or [one.name for one in scenes[:MAX_PANELS]]
    first = next(iter(validation.kernels))
    own = [one for one in validation.pairs if one.variant == variant and one.kernel == first]
    return charts.Figure(
        name=f"cwnd-{variant}",
        title=f"{variant}: congestion window over time",
        caption="",
        x_label="time, s",
        panels=tuple(_panel(one) for one in own if one.scenario in drawn),
        panel_in=1.0,
        width_in=style.PAGE_IN,
    )


def _panel(pair: Pair) -> Panel:
    lines = (
        _line(f"Linux {pair.kernel}", pair.theirs.first, style.PUBLISHED_COLOUR, 1.7),
        _line("Narrows", pair.ours.first, style.MEASURED_COLOUR, 1.0),
    )
    return charts.Panel("cwnd, kB", lines, title=pair.where + (", seed 1" if pair.starts > 1 else ""))


def _line(name: str, cwnd: Trace, colour: str, width: float) -> charts.Line:
    time = np.arange(len(cwnd), dtype=np.float64) * SAMPLE_S
    return charts.Line(name, time, cwnd * 1e-3, colour, width=width)
