"""Figures as values, drawn twice: interactively (Plotly) for the page, and statically (matplotlib) for a paper.

A `Figure` is a column of `Panel`s over one time (or category) axis. It does not depend on the numbers' source.
"""

from __future__ import annotations

import base64
import io
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from narrows.report import style

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Array = NDArray[np.float64]

#: Number of points above which a line is thinned for drawing; the samples in the result keep all points.
MAX_POINTS = 2400


@dataclass(frozen=True)
class Line:
    """One line of a panel.

    `low` and `high`, if given, are drawn as a shaded band around it. `step` draws each value until the next one.
    `markers` draws points (with `low`..`high` as error bars) instead of a line.
    """

    name: str
    x: Array
    y: Array
    colour: str
    dash: int = 0
    low: Array | None = None
    high: Array | None = None
    step: bool = False
    markers: bool = False
    symbol: str = "circle"
    in_legend: bool = True
    width: float = 1.0


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    `stacked` draws filled lines on top of each other (counts that add up). Values above `y_top` are cut off.
    """

    y_label: str
    lines: tuple[Line, ...]
    title: str = ""
    stacked: bool = False
    y_from_zero: bool = True
    y_top: float | None = None
    rule: float | None = None
    rule_text: str = ""


@dataclass(frozen=True)
class Figure:
    """Panels over a common x axis, with a file name and a caption.

    `ticks` names the positions 0, 1, 2 .. of a category axis; without it the axis is numeric. `marks` are vertical
    lines at given positions with a short text.
    """

    name: str
    title: str
    caption: str
    x_label: str
    panels: tuple[Panel, ...]
    ticks: tuple[str, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    panel_in: float = 1.5
    share_y: bool = False
    width_in: float = style.COLUMN_IN
    x_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Drawn:
    """A figure for a page: Plotly's description, and the static drawing for print and for browsers without scripts."""

    figure: Figure
    plotly: dict[str, Any]
    svg_data_uri: str
    files: tuple[Path, ...] = field(default=())


def thin(line: Line, limit: int = MAX_POINTS) -> Line:
    """Thin `line` to about `limit` points; each stretch keeps its smallest and largest, so that peaks stay."""
    n = len(line.x)
    if n <= limit or line.markers or line.low is not None:
        return line
    edges = np.linspace(0, n, limit // 2 + 1).astype(int)
    keep: set[int] = {0, n - 1}
    for start, stop in itertools.pairwise(edges):
        part = line.y[start:stop]
        if part.size and not np.all(np.isnan(part)):
            keep.add(int(start + np.nanargmin(part)))
            keep.add(int(start + np.nanargmax(part)))
    index = np.array(sorted(keep))
    return Line(**{**line.__dict__, "x": line.x[index], "y": line.y[index]})


def rgba(colour: str, alpha: float) -> str:
    """`#rrggbb` as CSS `rgba()`.

    >>> rgba("#0072B2", 0.5)
    'rgba(0,114,178,0.5)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def _numbers(values: Array, digits: int = 6) -> list[float | None]:
    """Return JSON numbers, `None` for "no value", rounded to keep pages small."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()]


def _y_limits(figure: Figure) -> list[tuple[float, float] | None]:
    """Return the limits of each panel's y axis: from zero if requested, common to all panels with `share_y`."""
    tops: list[float] = []
    bottoms: list[float] = []
    for panel in figure.panels:
        stack = np.zeros(1)
        top, bottom = 0.0, np.inf
        for line in panel.lines:
            values = line.y if line.high is None else np.maximum(np.nan_to_num(line.y), np.nan_to_num(line.high))
            finite = values[np.isfinite(values)]
            if not finite.size:
                continue
            if panel.stacked:
                padded = np.nan_to_num(line.y)
                stack = padded if stack.size != padded.size else stack + padded
                top = max(top, float(stack.max()))
            else:
                top = max(top, float(finite.max()))
            lows = line.y if line.low is None else line.low
            lows = lows[np.isfinite(lows)]
            bottom = min(bottom, float(lows.min())) if lows.size else bottom
        top = top if panel.rule is None else max(top, panel.rule)
        tops.append(top if panel.y_top is None else min(top, panel.y_top))
        bottoms.append(0.0 if panel.y_from_zero or not np.isfinite(bottom) else bottom)
    if figure.share_y and tops:
        tops = [max(tops)] * len(tops)
        bottoms = [min(bottoms)] * len(bottoms)
    limits: list[tuple[float, float] | None] = []
    for low, high in zip(bottoms, tops, strict=True):
        span = high - low
        limits.append((low if low == 0 else low - 0.06 * span, high + 0.06 * span) if span > 0 else None)
    return limits


def to_plotly(figure: Figure) -> dict[str, Any]:
    """Return data and layout for Plotly, without colours of text and lines, which the page sets for light and dark."""
    n = len(figure.panels)
    gap = 0.16 / n if n > 1 else 0.0
    height = (1.0 - gap * (n - 1)) / n
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "hovermode": "closest" if figure.ticks else "x unified",
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "xanchor": "left", "yref": "paper"},
        "margin": {"l": 62, "r": 18, "t": 56, "b": 48},
        "height": int(92 + n * max(170, figure.panel_in * 130)),
        "annotations": [],
        "shapes": [],
    }
    shown: set[str] = set()
    for p, panel in enumerate(figure.panels):
        suffix = "" if p == 0 else str(p + 1)
        top = 1.0 - p * (height + gap)
        for whole in panel.lines:
            traces.extend(_plotly_traces(thin(whole), panel, suffix, shown))
        xaxis: dict[str, Any] = {"anchor": f"y{suffix}", "matches": "x" if p else None, "zeroline": False}
        xaxis["showticklabels"] = p == n - 1
        if p == n - 1:
            xaxis["title"] = {"text": figure.x_label, "standoff": 8}
        if figure.ticks:
            xaxis |= {
                "tickmode": "array",
                "tickvals": list(range(len(figure.ticks))),
                "ticktext": [tick.replace("\n", "<br>") for tick in figure.ticks],
                "range": [-0.6, len(figure.ticks) - 0.4],
            }
        elif figure.x_range:
            xaxis["range"] = list(figure.x_range)
        limits = _y_limits(figure)[p]
        yaxis: dict[str, Any] = {
            "anchor": f"x{suffix}",
            "domain": [max(0.0, top - height), top],
            "title": {"text": panel.y_label, "standoff": 8},
            "zeroline": False,
        }
        if limits:
            yaxis["range"] = list(limits)
        layout[f"xaxis{suffix}"] = {k: v for k, v in xaxis.items() if v is not None}
        layout[f"yaxis{suffix}"] = yaxis
        if panel.title:
            layout["annotations"].append(_panel_title(panel.title, top))
        if panel.rule is not None:
            layout["shapes"].append(
                {
                    "type": "line",
                    "xref": f"x{suffix} domain",
                    "x0": 0,
                    "x1": 1,
                    "yref": f"y{suffix}",
                    "y0": panel.rule,
                    "y1": panel.rule,
                    "line": {"width": 1, "dash": "dot"},
                }
            )
            layout["annotations"].append(
                {
                    "text": panel.rule_text,
                    "xref": f"x{suffix} domain",
                    "x": 1,
                    "xanchor": "right",
                    "yref": f"y{suffix}",
                    "y": panel.rule,
                    "yanchor": "bottom",
                    "showarrow": False,
                    "font": {"size": 11},
                }
            )
    for place, text in figure.marks:
        layout["shapes"].append(
            {
                "type": "line",
                "x0": place,
                "x1": place,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"width": 1, "dash": "dot"},
            }
        )
        if text:
            layout["annotations"].append(
                {
                    "text": text,
                    "x": place,
                    "xref": "x",
                    "y": 0,
                    "yref": "paper",
                    "xanchor": "left",
                    "yanchor": "bottom",
                    "showarrow": False,
                    "font": {"size": 10},
                    "textangle": -90,
                }
            )
    return {"data": traces, "layout": layout}


def _panel_title(text: str, top: float) -> dict[str, Any]:
    return {
        "text": f"<b>{text}</b>",
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "yref": "paper",
        "y": top,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _plotly_traces(line: Line, panel: Panel, suffix: str, shown: set[str]) -> list[dict[str, Any]]:
    """Return the traces of one line: its band first, so that the line is drawn on top."""
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "legendgroup": line.name}
    traces: list[dict[str, Any]] = []
    x = _numbers(line.x)
    if line.low is not None and line.high is not None and not line.markers:
        edge = {"width": 0, "shape": "hv" if line.step else "linear"}
        common = {"x": x, "mode": "lines", "line": edge, "hoverinfo": "skip", "showlegend": False, "connectgaps": True}
        traces.append(common | {"y": _numbers(line.low)} | axes)
        traces.append(
            common | {"y": _numbers(line.high), "fill": "tonexty", "fillcolor": rgba(line.colour, 0.16)} | axes
        )
    trace: dict[str, Any] = {
        "x": x,
        "y": _numbers(line.y),
        "name": line.name,
        "showlegend": line.in_legend and line.name not in shown,
    }
    if line.markers:
        # Draw a point at zero whole, not cut in half by the axis.
        trace |= {
            "mode": "markers",
            "cliponaxis": False,
            "marker": {"color": line.colour, "size": 9, "symbol": line.symbol},
        }
        if line.low is not None and line.high is not None:
            trace["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": _numbers(line.high - line.y),
                "arrayminus": _numbers(line.y - line.low),
                "thickness": 1.2,
                "width": 4,
                "color": line.colour,
            }
    else:
        dash = style.DASHES[line.dash % len(style.DASHES)][0]
        shape = "hv" if line.step else "linear"
        trace |= {
            "mode": "lines",
            "line": {"color": line.colour, "width": 1.8 * line.width, "dash": dash, "shape": shape},
        }
        if panel.stacked:
            trace |= {"stackgroup": f"stack{suffix}", "fillcolor": rgba(line.colour, 0.55)}
            trace["line"] = {"color": line.colour, "width": 0.6, "shape": shape}
    if line.in_legend:
        shown.add(line.name)
    traces.append(trace | axes)
    return traces


def to_matplotlib(figure: Figure) -> Any:
    """Draw the same figure as a matplotlib `Figure` for a column of a paper. Call within `style.paper_style()`."""
    from matplotlib.figure import Figure as MplFigure

    n = len(figure.panels)
    mpl = MplFigure(figsize=(figure.width_in, 0.62 + n * figure.panel_in), layout="constrained")
    axes: list[Any] = list(np.atleast_1d(mpl.subplots(n, 1, sharex=True)))
    limits = _y_limits(figure)
    handles: dict[str, Any] = {}
    for p, (panel, ax) in enumerate(zip(figure.panels, axes, strict=True)):
        _draw_panel(ax, panel, handles)
        ax.set_ylabel(panel.y_label)
        if panel.title:
            ax.set_title(panel.title, loc="left", fontweight="bold", pad=3)
        limit = limits[p]
        if limit is not None:
            ax.set_ylim(*limit)
        for place, _ in figure.marks:
            ax.axvline(place, color="#8A8F98", linewidth=0.6, linestyle=":", zorder=0)
        if panel.rule is not None:
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
    last = axes[-1]
    last.set_xlabel(figure.x_label)
    if figure.ticks:
        last.set_xticks(range(len(figure.ticks)), figure.ticks)
        last.set_xlim(-0.6, len(figure.ticks) - 0.4)
    elif figure.x_range:
        last.set_xlim(*figure.x_range)
    else:
        last.margins(x=0.01)
    mpl.align_ylabels()
    if len(handles) > 1:
        mpl.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper left",
            ncols=min(len(handles), 4 if max(map(len, handles)) < 14 else 2),
        )
    return mpl


def _draw_panel(ax: Any, panel: Panel, handles: dict[str, Any]) -> None:
    if panel.stacked and panel.lines:
        drawn = ax.stackplot(
            panel.lines[0].x,
            *[np.nan_to_num(line.y) for line in panel.lines],
            colors=[line.colour for line in panel.lines],
            alpha=0.75,
            linewidth=0,
            step="post" if panel.lines[0].step else None,
        )
        for line, area in zip(panel.lines, drawn, strict=True):
            handles.setdefault(line.name, area)
        return
    symbols = {"circle": "o", "diamond": "D", "square": "s"}
    for line in map(thin, panel.lines):
        if line.markers:
            error = None if line.low is None or line.high is None else [line.y - line.low, line.high - line.y]
            handle: Any = ax.errorbar(
                line.x,
                line.y,
                yerr=error,
                fmt=symbols.get(line.symbol, "o"),
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
            )
        if line.in_legend:
            handles.setdefault(line.name, handle)


def draw(figures: Iterable[Figure], folder: Path | None) -> list[Drawn]:
    """Draw figures for a page; with a `folder`, also write `NAME.png` (300 dpi) and `NAME.svg` (text as text) there.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    out: list[Drawn] = []
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with style.paper_style():
        for figure in figures:
            drawing = to_matplotlib(figure)
            buffer = io.BytesIO()
            # Without a date, the same numbers give the same file.
            drawing.savefig(buffer, format="svg", metadata={"Date": None, "Title": figure.title, "Creator": "Narrows"})
            svg = buffer.getvalue()
            files: list[Path] = []
            if folder is not None:
                files = [folder / f"{figure.name}.png", folder / f"{figure.name}.svg"]
                drawing.savefig(files[0], format="png", dpi=style.PNG_DPI, metadata={"Title": figure.title})
                files[1].write_bytes(svg)
            uri = "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")
            out.append(Drawn(figure, to_plotly(figure), uri, tuple(files)))
    return out
