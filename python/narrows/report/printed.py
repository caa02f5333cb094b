"""Figures for a paper: drawn by matplotlib at the size of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from narrows.report import printed_sequence, style
from narrows.report.values import BAND_ALPHA, every, limit, thin, y_limits

if TYPE_CHECKING:
    from narrows.report.values import Figure, Panel


MOST_NAMED = 20
"""Entries up to which a figure has a legend: more would leave no room for the lines. The page lists all."""

SYMBOLS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "down": "v", "cross": "x"}
"""Matplotlib's sign of each marker."""

HATCHES = {"circle": "", "square": "////", "triangle": "....", "diamond": "xxxx", "down": "----", "cross": "||||"}
"""Matplotlib's hatching of areas, by the marker of their line."""


LETTER_IN = 0.06
"""Width of a letter of tick labels, about, in."""

AXIS_LEFT_IN = 0.6
"""Width of what stands to the left of an axis, about, in."""


def to_matplotlib(figure: Figure, kind: type[Any] | None = None) -> Any:
    """Draw the same figure as a matplotlib `Figure` for a column of a paper. Call within `style.paper_style()`.

    `kind` is a class derived from matplotlib's `Figure`, by default that itself.
    """
    from matplotlib.figure import Figure as MplFigure

    n = len(figure.panels)
    mpl = (MplFigure if kind is None else kind)(
        figsize=(figure.width_in, 0.62 + n * figure.panel_in), layout="constrained"
    )
    axes: list[Any] = list(np.atleast_1d(mpl.subplots(n, 1, sharex=True)))
    limits = y_limits(figure)
    handles: dict[str, Any] = {}
    for p, (panel, ax) in enumerate(zip(figure.panels, axes, strict=True)):
        _draw_panel(ax, panel, handles)
        if panel.flows:
            printed_sequence.draw(ax, panel, figure.x_range)
        ax.set_ylabel(panel.y_label)
        if panel.title and not panel.flows:
            ax.set_title(panel.title, loc="left", fontweight="bold", pad=3)
        ends = limits[p]
        if ends is not None:
            ax.set_ylim(*ends)
        for place, _ in figure.marks:
            ax.axvline(place, color="#8A8F98", linewidth=0.6, linestyle=":", zorder=0)
        _rule(ax, panel)
    last = axes[-1]
    if figure.x_log:
        last.set_xscale("log")
        # 1,000 instead of 10 to a power: these are times and sizes.
        last.xaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    last.set_xlabel(figure.x_label)
    if figure.ticks:
        turned = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded(figure) else {}
        last.set_xticks(range(len(figure.ticks)), figure.ticks, **turned)
        last.set_xlim(-0.6, len(figure.ticks) - 0.4)
    elif figure.x_range:
        last.set_xlim(*figure.x_range)
    else:
        last.margins(x=0.01)
    mpl.align_ylabels()
    if 1 < len(handles) <= MOST_NAMED:
        mpl.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper left",
            ncols=min(len(handles), 4 if max(map(len, handles)) < 14 else 2),
        )
    return mpl


def _rule(ax: Any, panel: Panel) -> None:
    if panel.rule is None:
        return
    ax.axhline(panel.rule, color="#8A8F98", linewidth=0.7, linestyle=":")
    ax.annotate(
        panel.rule_text,
        (1, panel.rule),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        fontsize=6.5,
        color="#5A5F68",
    )


def crowded(figure: Figure) -> bool:
    """Return whether the names of the ticks would run into each other.

    >>> from narrows.report.values import Figure
    >>> ticks = ("RFC 793", "NewReno", "mode 1", "mode 2", "mode 3", "mode 4", "mode 5", "mode 6", "mode 7")
    >>> [crowded(Figure("f", "", "", "", (), ticks=ticks, width_in=width)) for width in (3.5, 7.16)]
    [True, False]
    """
    longest = max((len(line) for tick in figure.ticks for line in tick.splitlines()), default=0)
    return longest * LETTER_IN * len(figure.ticks) > figure.width_in - AXIS_LEFT_IN


def _draw_panel(ax: Any, panel: Panel, handles: dict[str, Any]) -> None:
    for band in panel.bands:
        patch = ax.axvspan(band.start, band.end, color=band.colour, alpha=BAND_ALPHA, linewidth=0, zorder=0)
        handles.setdefault(band.name, patch)
    if panel.stacked and panel.lines:
        drawn = ax.stackplot(
            panel.lines[0].x,
            *[np.nan_to_num(line.y) for line in panel.lines],
            colors=[line.colour for line in panel.lines],
            alpha=0.75,
            linewidth=0,
            edgecolor="#FFFFFF",
            step="post" if panel.lines[0].step else None,
            hatch=[HATCHES.get(line.mark, "") for line in panel.lines],
        )
        for line, area in zip(panel.lines, drawn, strict=True):
            handles.setdefault(line.name, area)
        return
    for line in (thin(line, limit(len(panel.lines))) for line in panel.lines):
        if line.markers:
            error = None if line.low is None or line.high is None else [line.y - line.low, line.high - line.y]
            handle: Any = ax.errorbar(
                line.x,
                line.y,
                yerr=error,
                fmt=SYMBOLS.get(line.symbol, "o"),
                color=line.colour,
                markersize=3.6,
                elinewidth=0.8,
                capsize=1.8,
                clip_on=False,
            )
        else:
            pattern = style.DASHES[line.dash % len(style.DASHES)][1]
            if line.low is not None and line.high is not None:
                step = "post" if line.step else None
                ax.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.18, linewidth=0, step=step)
            (handle,) = ax.plot(
                line.x,
                line.y,
                pattern,
                color=line.colour,
                linewidth=1.0 * line.width,
                drawstyle="steps-post" if line.step else "default",
                marker=SYMBOLS.get(line.mark),
                markevery=every(len(line.x), line.place),
                markersize=3.2,
                markerfacecolor="#FFFFFF",
                markeredgewidth=0.8,
            )
        if line.in_legend:
            handles.setdefault(line.name, handle)
