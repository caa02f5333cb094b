"""The time-sequence graph drawn by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.report.sequence import KINDS
from narrows.report.sequence_marks import Bars, Letters, Points, Steps, marks

if TYPE_CHECKING:
    from narrows.report.values import Panel

MARKERS: Final = {"diamond": "D", "thin diamond": "d", "cross": "x"}
"""matplotlib's name of each symbol."""


def draw(ax: Any, panel: Panel, span: tuple[float, float] | None) -> None:
    """Draw the first flow of a panel into axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    panel : Panel
        With flows.
    span : (float, float) or None
        The time that is drawn, s; by default all of it.
    """
    made = marks(panel.flows[0], span)
    for layer in made.layers:
        _draw(ax, layer, KINDS[layer.kind])
    ax.set_title(made.title, loc="left", fontweight="bold", pad=3)
    if made.beyond:
        ax.annotate(f"↑ {made.beyond}", (0.01, 0.98), xycoords="axes fraction", va="top", fontsize=6.5)
    if made.y_range is not None:
        ax.set_ylim(*made.y_range)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _draw(ax: Any, layer: Steps | Bars | Points | Letters, colour: str) -> None:
    from matplotlib.collections import LineCollection

    match layer:
        case Steps():
            ax.plot(layer.time, layer.y, color=colour, linewidth=0.8, drawstyle="steps-post")
        case Bars():
            ends = [np.column_stack([layer.time, end]) for end in (layer.low, layer.high)]
            lines = np.stack(ends, axis=1)
            ax.add_collection(LineCollection(list(lines), colors=colour, linewidths=layer.width, capstyle="butt"))
        case Points():
            marker = MARKERS[layer.symbol]
            ax.plot(
                layer.time, layer.y, linestyle="none", marker=marker, markersize=3, markeredgewidth=0.8, color=colour
            )
        case Letters():
            for x, y in zip(layer.time, layer.y, strict=True):
                ax.annotate(
                    layer.letter, (x, y), xytext=(0, 1), textcoords="offset points", ha="center", va="bottom",
                    fontsize=6, color=colour, annotation_clip=True,
                )  # fmt: skip
