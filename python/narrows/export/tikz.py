r"""Figures for LaTeX: files for ``\input``, and drawings of shapes in TikZ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from narrows.export.tex import comment, escape
from narrows.report.shapes import ROLES, extent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.report.layout import Layout
    from narrows.report.shapes import Shape

NEEDED = (
    r"\usepackage{pgfplots}",
    r"\pgfplotsset{compat=1.17}",
    r"\usepgfplotslibrary{groupplots}",
    r"\usetikzlibrary{patterns}",
)
"""Lines that a document needs before it begins."""

_COLOUR = re.compile(r"#([0-9A-Fa-f]{6})")
_PLAIN = {**ROLES, "road": "#E6E8EC", "tight": "#F6D9D6"}
_ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}


def document(title: str, caption: str, picture: str) -> str:
    """Return a file: what it shows and needs as comments, and the picture.

    Parameters
    ----------
    title, caption : str
    picture : str
        A ``tikzpicture``.

    Returns
    -------
    str
    """
    lines = [comment(f"{title}. {caption}"), comment("Written by Narrows. The document's preamble needs:")]
    return "\n".join([*lines, *(comment(line) for line in NEEDED), picture]) + "\n"


def colours(values: Iterable[str]) -> list[str]:
    """Return definitions of colours, each once, in their order.

    Parameters
    ----------
    values : iterable of str
        ``#rrggbb``.

    Returns
    -------
    list of str
    """
    return [rf"\definecolor{{{named(one)}}}{{HTML}}{{{one[1:].upper()}}}" for one in dict.fromkeys(values)]


def named(colour: str) -> str:
    """Return the name of a colour in LaTeX.

    >>> named("#0072b2")
    'narrows-0072B2'
    """
    found = _COLOUR.fullmatch(colour)
    if found is None:
        message = f"{colour!r} is no colour"
        raise ValueError(message)
    return f"narrows-{found[1].upper()}"


def shapes(items: list[Shape], layout: Layout, width_in: float) -> str:
    """Return shapes as a picture.

    Parameters
    ----------
    items : list of narrows.report.shapes.Shape
        Back to front.
    layout : narrows.report.layout.Layout
    width_in : float
        Width in inches.

    Returns
    -------
    str
    """
    left, top, right, bottom = extent(items, layout)
    scale = width_in * 72.27 / (right - left)
    used = dict.fromkeys(_paint(role) for item in items for role in (item.stroke, item.fill) if role)
    body = [_shape(item, scale) for item in items]
    return "\n".join(
        [
            rf"\begin{{tikzpicture}}[x={scale:.5f}pt, y=-{scale:.5f}pt]",
            *colours(used),
            rf"\useasboundingbox ({left:.2f},{top:.2f}) rectangle ({right:.2f},{bottom:.2f});",
            *body,
            r"\end{tikzpicture}",
        ]
    )


def matrix(title: str, labels: Sequence[str], cells: Sequence[Sequence[tuple[str, str, str]]], width_in: float) -> str:
    """Return a heat map as a picture: squares with numbers, rows of the first slot, columns of the second.

    Parameters
    ----------
    title : str
    labels : sequence of str
        Of rows and columns.
    cells : sequence
        Rows of (text, colour of the square, colour of the text).
    width_in : float
        Largest width in inches.

    Returns
    -------
    str
    """
    side = min(25.4 * 0.36, (25.4 * width_in - 14 - 1.6 * max(map(len, labels))) / len(labels))
    size = min(7.0, side * 0.75)
    room = 2.0 + 1.6 * max(map(len, labels))
    turn = ", rotate=90, anchor=west" if max(map(len, labels)) > 4 else ", anchor=south"
    body = []
    for index, label in enumerate(labels):
        at = f"{(index + 0.5) * side:.2f}mm"
        body.append(rf"\node[anchor=east, font=\scriptsize] at (0mm,-{at}) {{{escape(label)}}};")
        body.append(rf"\node[font=\scriptsize{turn}] at ({at},0mm) {{{escape(label)}}};")
    for i, row in enumerate(cells):
        for j, (text, background, ink) in enumerate(row):
            left, top = f"{j * side:.2f}mm", f"{-i * side:.2f}mm"
            body.append(
                rf"\path[fill={named(background)}, draw=white, line width=0.6pt] ({left},{top}) rectangle "
                rf"+({side:.2f}mm,-{side:.2f}mm) node[pos=0.5, text={named(ink)}] {{{escape(text)}}};"
            )
    head = 4.0 + (room if max(map(len, labels)) > 4 else 4.0)
    half = f"{len(labels) * side / 2:.2f}mm"
    return "\n".join(
        [
            rf"\begin{{tikzpicture}}[font=\fontsize{{{size:.1f}}}{{{1.2 * size:.1f}}}\selectfont]",
            *colours(colour for row in cells for _, *pair in row for colour in pair),
            *body,
            rf"\node[anchor=south, font=\footnotesize] at ({half},{head - 4:.2f}mm) {{second slot}};",
            rf"\node[anchor=south, rotate=90, font=\footnotesize] at (-{room + 1:.2f}mm,-{half}) {{first slot}};",
            rf"\node[anchor=south west, font=\footnotesize\bfseries] at (-{room + 5:.2f}mm,{head:.2f}mm) "
            rf"{{{escape(title)}}};",
            r"\end{tikzpicture}",
        ]
    )


def _paint(role: str) -> str:
    return _PLAIN.get(role, role)


def _shape(one: Shape, scale: float) -> str:
    pen = f"draw={named(_paint(one.stroke))}, line width={one.width * scale:.2f}pt"
    if one.dash:
        lengths = [f"{float(length) * scale:.2f}pt" for length in one.dash.split()]
        on_off = " ".join(f"{'off' if odd % 2 else 'on'} {length}" for odd, length in enumerate(lengths))
        pen += f", dash pattern={on_off}"
    fill = f", fill={named(_paint(one.fill))}" if one.fill else ""
    match one.kind:
        case "line":
            return rf"\path[{pen}, line cap=round] ({one.x:.2f},{one.y:.2f}) -- ({one.x2:.2f},{one.y2:.2f});"
        case "circle":
            return rf"\path[{pen}{fill}] ({one.x:.2f},{one.y:.2f}) circle [radius={one.size:.2f}];"
        case "arc":
            return (
                rf"\path[{pen}] ({one.x:.2f},{one.y:.2f}) +({one.x2:.1f}:{one.size:.2f}) "
                rf"arc [start angle={one.x2:.1f}, end angle={one.y2:.1f}, radius={one.size:.2f}];"
            )
        case "box":
            corners = (
                f"({one.x - one.x2 / 2:.2f},{one.y - one.y2 / 2:.2f}) rectangle "
                f"({one.x + one.x2 / 2:.2f},{one.y + one.y2 / 2:.2f})"
            )
            return rf"\path[{pen}{fill}, rounded corners={4 * scale:.2f}pt] {corners};"
        case _:
            size = one.size * scale
            bold = r"\bfseries " if one.bold else ""
            return (
                rf"\node[anchor={_ANCHORS[one.anchor]}, inner sep=0pt, text={named(_paint(one.stroke))}, "
                rf"font=\fontsize{{{size:.1f}}}{{{1.2 * size:.1f}}}\selectfont\sffamily] "
                rf"at ({one.x:.2f},{one.y:.2f}) {{{bold}{escape(one.text)}}};"
            )
