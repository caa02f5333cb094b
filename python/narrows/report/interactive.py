"""Figures for a page: their description for Plotly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from narrows.report import style
from narrows.report.values import BAND_ALPHA, thin, y_limits

if TYPE_CHECKING:
    from narrows.report.values import Array, Band, Figure, Line, Panel


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
        for band in panel.bands:
            layout["shapes"].append(_band(band, suffix))
            if band.name not in shown:
                shown.add(band.name)
                traces.append(_band_in_legend(band, suffix))
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
        if figure.x_log:
            # A decade is a label; without this, Plotly labels 2 and 5 too.
            xaxis |= {"type": "log", "dtick": 1}
        limits = y_limits(figure)[p]
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
            _rule(panel, suffix, layout)
    _mark(figure, layout)
    return {"data": traces, "layout": layout}


def _rule(panel: Panel, suffix: str, layout: dict[str, Any]) -> None:
    """Draw a panel's horizontal rule with its text."""
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


def _mark(figure: Figure, layout: dict[str, Any]) -> None:
    """Draw the figure's marks over all panels."""
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


def _band(band: Band, suffix: str) -> dict[str, Any]:
    return {
        "type": "rect",
        "layer": "below",
        "xref": f"x{suffix}",
        "x0": float(f"{band.start:.9g}"),
        "x1": float(f"{band.end:.9g}"),
        "yref": f"y{suffix} domain",
        "y0": 0,
        "y1": 1,
        "line": {"width": 0},
        "fillcolor": rgba(band.colour, BAND_ALPHA),
    }


def _band_in_legend(band: Band, suffix: str) -> dict[str, Any]:
    """Return a trace without points: shapes have no legend of their own."""
    return {
        "x": [None],
        "y": [None],
        "name": band.name,
        "mode": "markers",
        "marker": {"color": rgba(band.colour, 2 * BAND_ALPHA), "size": 12, "symbol": "square"},
        "hoverinfo": "skip",
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
    }


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
