"""Panels of contours side by side as pgfplots: the figure of a comparison of queue disciplines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.export.pgfplots import GRID, LETTER_MM, rows
from narrows.export.tex import escape
from narrows.export.tikz import colours, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.studies.aqm.figures import Contour

_SIGNS: Final = {
    "o": "*",
    "s": "square*",
    "^": "triangle*",
    "D": "diamond*",
    "P": "+",
    "X": "x",
    "*": "star",
    "p": "pentagon*",
}
"""pgfplots' mark for matplotlib's."""


def grid(panels: Mapping[str, Sequence[Contour]], across: int, width_in: float) -> str:
    """Return panels of contours side by side: goodput over delay, whose axis is logarithmic and reversed.

    Parameters
    ----------
    panels : mapping
        Contours by title.
    across : int
        Panels side by side.
    width_in : float
        Width in inches, about.

    Returns
    -------
    str
    """
    across = min(across, max(1, len(panels)))
    width = (25.4 * width_in - 3) / across - 17
    down = -(-len(panels) // across)
    disciplines = {one.name: one for contours in panels.values() for one in contours}
    longest = max(map(len, disciplines), default=1)
    body: list[str] = []
    for index, (title, contours) in enumerate(panels.items()):
        body.append(rf"\nextgroupplot[title={{{escape(title)}}}]")
        for one in contours:
            body.append(rf"\addplot[{_mark(one)}, forget plot] coordinates {{")
            body += [f"({one.delay_ms:.6g},{one.goodput_mbps:.6g})", "};"]
            body.append(rf"\addplot[{named(one.colour)}, line width=0.6pt, no marks, forget plot] table {{")
            body += [*rows(np.array(one.outline[0]), np.array(one.outline[1])), "};"]
        for one in disciplines.values() if index == 0 else ():
            body.append(rf"\addlegendimage{{{_mark(one)}}}\addlegendentry{{{escape(one.name)}}}")
    fit = max(1, int(25.4 * width_in // (9 + LETTER_MM * longest)))
    return "\n".join(
        [
            r"\begin{tikzpicture}[font=\footnotesize]",
            *colours([one.colour for contours in panels.values() for one in contours] + [GRID]),
            r"\begin{groupplot}[",
            f"  group style={{group size={across} by {down}, horizontal sep=15mm, vertical sep=18mm}},",
            f"  scale only axis, width={width:.2f}mm, height={0.72 * min(width, 62):.2f}mm,",
            "  axis lines=left, axis line style={-}, tick align=outside, tick pos=lower,",
            "  enlarge x limits=0.08, enlarge y limits=0.08,",
            "  xmode=log, x dir=reverse, log ticks with fixed point,",
            "  xtick={0.01,0.03,0.1,0.3,1,3,10,30,100,300,1000,3000},",
            rf"  tick label style={{font=\scriptsize}}, grid=major, grid style={{{named(GRID)}, line width=0.3pt}},",
            r"  xlabel={mean queueing delay, ms}, ylabel={goodput, Mb/s},",
            r"  title style={font=\footnotesize\bfseries},",
            r"  legend style={draw=none, font=\scriptsize, at={(0,1)}, yshift=6mm, anchor=south west},",
            f"  legend cell align=left, legend columns={min(fit, max(1, len(disciplines)))},",
            "]",
            *body,
            r"\end{groupplot}",
            r"\end{tikzpicture}",
        ]
    )


def _mark(one: Contour) -> str:
    return f"{named(one.colour)}, only marks, mark={_SIGNS.get(one.marker, '*')}, mark size=1.6pt"
