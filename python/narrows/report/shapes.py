"""Shapes of a drawing as values, written as SVG for a page and drawn by matplotlib for a paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.report import render, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from narrows.report.layout import Layout

#: Roles of shapes, with their colours on white paper; pages replace them by CSS variables of these names.
ROLES: dict[str, str] = {
    "ink": "#1B1F24",
    "muted": "#5A5F68",
    "line": "#B6BCC6",
    "paper": "#FFFFFF",
    "router": "#E8EEF6",
    "host": "#F6F3EC",
    "accent": "#B3261E",
}


@dataclass(frozen=True)
class Shape:
    """A line, circle, arc, box or text. Colours are names from `ROLES` or `#rrggbb`.

    A line goes from (x, y) to (x2, y2); a box is centred on (x, y), x2 wide and y2 high; an arc of radius `size` around
    (x, y) goes from x2 to y2 degrees, clockwise from the right.
    """

    kind: str
    x: float
    y: float
    x2: float = 0.0
    y2: float = 0.0
    size: float = 0.0
    stroke: str = "ink"
    fill: str = ""
    width: float = 1.0
    text: str = ""
    anchor: str = "middle"
    bold: bool = False
    dash: str = ""
    title: str = ""


def text_box(text: Shape) -> tuple[float, float, float, float]:
    """Box around a text: left, top, right, bottom. A character is taken to be 0.56 of its font size wide."""
    wide = len(text.text) * text.size * (0.6 if text.bold else 0.56)
    left = text.x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.anchor]
    return left, text.y - text.size, left + wide, text.y + 2


def extent(items: list[Shape], layout: Layout) -> tuple[float, float, float, float]:
    """Box around all shapes."""
    x0, y0, x1, y1 = 0.0, 0.0, layout.width, layout.height
    for s in items:
        if s.kind == "text":
            left, top, right, bottom = text_box(s)
            x0, x1 = min(x0, left - 6), max(x1, right + 6)
            y0, y1 = min(y0, top - 4), max(y1, bottom + 6)
        elif s.kind == "box":
            x0, x1 = min(x0, s.x - s.x2 / 2 - 4), max(x1, s.x + s.x2 / 2 + 4)
            y0, y1 = min(y0, s.y - s.y2 / 2 - 4), max(y1, s.y + s.y2 / 2 + 4)
    return x0, y0, x1, y1


def _css(role: str) -> str:
    if role.startswith("#") or not role:
        return role or "none"
    if role == "road":
        return "var(--road, #E6E8EC)"
    if role == "tight":
        return "var(--tight, #F6D9D6)"
    return f"var(--{role}, {ROLES[role]})"


def svg(items: list[Shape], layout: Layout, title: str) -> str:
    """Write shapes as an SVG element. On its own it is black on white; in a page it uses the page's colours."""
    x0, y0, x1, y1 = extent(items, layout)
    return render.part(
        "topology.svg.j2",
        shapes=items,
        title=title,
        left=x0,
        top=y0,
        width=x1 - x0,
        height=y1 - y0,
        paint=_css,
        ends=_ends,
    )


def _ends(arc: Shape) -> tuple[tuple[float, float], tuple[float, float]]:
    """Points where an arc begins and ends."""
    begin, end = (
        (arc.x + arc.size * math.cos(angle), arc.y + arc.size * math.sin(angle))
        for angle in (math.radians(arc.x2), math.radians(arc.y2))
    )
    return begin, end


def matplotlib_figure(items: list[Shape], layout: Layout, width: float = style.PAGE_IN) -> Figure:
    """Draw shapes as a figure of a width in inches, by default that of both columns of a paper."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Arc, Circle, FancyBboxPatch
    from matplotlib.patheffects import withStroke

    x0, y0, x1, y1 = extent(items, layout)
    scale = width * 72 / (x1 - x0)
    figure = Figure(figsize=(width, width * (y1 - y0) / (x1 - x0)))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(x0, x1)
    ax.set_ylim(y1, y0)
    ax.set_axis_off()
    plain = ROLES | {"road": "#E6E8EC", "tight": "#F6D9D6"}

    def ink(role: str) -> str:
        return plain.get(role, role) or "none"

    for depth, s in enumerate(items):
        # Matplotlib measures dashes in line widths, SVG in pixels.
        pattern: Any = (0, tuple(float(v) / s.width for v in s.dash.split())) if s.dash else "-"
        if s.kind == "line":
            ax.plot(
                [s.x, s.x2],
                [s.y, s.y2],
                color=ink(s.stroke),
                linewidth=s.width * scale,
                linestyle=pattern,
                zorder=depth,
            )
        elif s.kind == "circle":
            ax.add_patch(
                Circle(
                    (s.x, s.y),
                    s.size,
                    facecolor=ink(s.fill),
                    edgecolor=ink(s.stroke),
                    linewidth=s.width * scale,
                    linestyle=pattern,
                    zorder=depth,
                )
            )
        elif s.kind == "arc":
            ax.add_patch(
                Arc(
                    (s.x, s.y),
                    2 * s.size,
                    2 * s.size,
                    theta1=s.x2,
                    theta2=s.y2,
                    edgecolor=ink(s.stroke),
                    linewidth=s.width * scale,
                    zorder=depth,
                )
            )
        elif s.kind == "box":
            ax.add_patch(
                FancyBboxPatch(
                    (s.x - s.x2 / 2, s.y - s.y2 / 2),
                    s.x2,
                    s.y2,
                    boxstyle="round,pad=0,rounding_size=4",
                    facecolor=ink(s.fill),
                    edgecolor=ink(s.stroke),
                    linewidth=s.width * scale,
                    linestyle=pattern,
                    zorder=depth,
                )
            )
        else:
            ax.text(
                s.x,
                s.y,
                s.text,
                fontsize=s.size * scale,
                color=ink(s.stroke),
                va="baseline",
                zorder=depth,
                ha={"start": "left", "middle": "center", "end": "right"}[s.anchor],
                fontweight="bold" if s.bold else "normal",
                path_effects=[withStroke(linewidth=2.5 * scale, foreground="white")],
            )
    return figure
