r"""Figures as pgfplots: a ``tikzpicture`` whose axes hold the data, so that authors can change everything in LaTeX.

matplotlib's own backend for PGF runs LaTeX while it saves, to measure text, and writes outlines whose numbers are gone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.export import pgfplots_sequence
from narrows.export.tex import escape
from narrows.export.tikz import colours, named
from narrows.report.printed import MOST_NAMED
from narrows.report.values import ALL_POINTS, BAND_ALPHA, LEAST_POINTS, MAX_POINTS, every, thin, y_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from narrows.report.values import Array, Figure, Line, Panel

#: LaTeX's memory holds fewer points than matplotlib's: each line keeps a third of those.
FEWER: Final = 3

MARKERS: Final = {
    "circle": "mark=*",
    "square": "mark=square*",
    "triangle": "mark=triangle*",
    "diamond": "mark=diamond*",
    "down": "mark=triangle*",
    "cross": "mark=x",
}
"""pgfplots' name of each marker."""

PATTERNS: Final = {
    "square": "north east lines",
    "triangle": "dots",
    "diamond": "crosshatch",
    "down": "horizontal lines",
    "cross": "vertical lines",
}
"""Pattern of areas by the marker of their line."""

DASHES: Final = ("solid", "dashed", "dotted", "dash dot")

_RIGHT_MM: Final = 5.0
"""Width to the right of the axes, mm."""
_SAMPLE_MM: Final = 10.0
"""Width of an entry of a legend without its name, mm."""
_LEGEND_LETTER_MM: Final = 1.35
"""Width of a letter of a name in a legend, about, mm."""
_DIGIT_MM: Final = 1.45
LETTER_MM: Final = 1.5
"""Width of a digit and of a letter at the size of tick labels and legends, about, mm."""
_GREY: Final = "#8A8F98"
GRID: Final = "#D9DCE1"
_DARK: Final = "#5A5F68"


def picture(figure: Figure, width_in: float) -> str:
    """Return a figure as a picture.

    Parameters
    ----------
    figure : narrows.report.values.Figure
    width_in : float
        Width in inches, about: LaTeX knows the width of labels only when it sets them.

    Returns
    -------
    str
    """
    sequences = [pgfplots_sequence.of_panel(panel, figure.x_range) if panel.flows else None for panel in figure.panels]
    limits = [ends if graph is None else graph.y_range for ends, graph in zip(y_limits(figure), sequences, strict=True)]
    margin = 8.5 + _DIGIT_MM * max(map(_digits, limits), default=0)
    width = 25.4 * width_in - margin - _RIGHT_MM
    used = [line.colour for panel in figure.panels for line in panel.lines]
    used += [band.colour for panel in figure.panels for band in panel.bands] + [_GREY, GRID, _DARK]
    legend = _legend(figure, width)
    body: list[str] = []
    for index, (panel, ends, graph) in enumerate(zip(figure.panels, limits, sequences, strict=True)):
        titled = panel if graph is None else replace(panel, title=graph.title)
        body.append(rf"\nextgroupplot[{', '.join(_options(titled, ends, legend if index == 0 else []))}]")
        body += _panel(figure, panel) if graph is None else pgfplots_sequence.plots(graph)
        body += [command for entry in (legend if index == 0 else []) for command in entry]
    return "\n".join(
        [
            r"\begin{tikzpicture}[font=\footnotesize]",
            *colours(used),
            r"\begin{groupplot}[",
            *(f"  {option}," for option in _shared(figure, margin, width)),
            "]",
            *body,
            r"\end{groupplot}",
            r"\end{tikzpicture}",
        ]
    )


def _digits(ends: tuple[float, float] | None) -> int:
    """Return the number of characters of the longest tick label, about."""
    if ends is None:
        return 3
    low, high = ends
    step = 10.0 ** np.floor(np.log10(max(high - low, 1e-12) / 4))
    before = len(f"{max(abs(low), abs(high)):,.0f}")
    return before + (0 if step >= 1 else 1 + int(-np.log10(step) + 0.5))


def _shared(figure: Figure, margin: float, width: float) -> Iterator[str]:
    names = len(figure.panels)
    apart = "9mm" if any(panel.title for panel in figure.panels[1:]) else "5mm"
    yield f"group style={{group size=1 by {names}, vertical sep={apart}, x descriptions at=edge bottom}}"
    yield f"scale only axis, width={width:.2f}mm, height={25.4 * figure.panel_in - 6:.2f}mm"
    yield rf"tick label style={{font=\scriptsize}}, grid=major, grid style={{{named(GRID)}, line width=0.3pt}}"
    yield "axis lines=left, axis line style={-}, tick align=outside, tick pos=lower, axis on top=false"
    yield "scaled ticks=false, y tick label style={/pgf/number format/fixed, /pgf/number format/1000 sep={,}}"
    yield "unbounded coords=jump, every axis plot/.append style={line join=round}"
    yield f"ylabel style={{at={{(axis description cs:{-(margin - 4) / width:.4f},0.5)}}, anchor=south}}"
    yield r"title style={at={(0,1)}, yshift=-6pt, anchor=south west, font=\footnotesize\bfseries, inner sep=1.5pt}"
    above = f"at={{(0.5,1)}}, anchor=south, yshift={_lift(figure)}"
    gap = "/tikz/every even column/.append style={column sep=2.5mm}"
    yield rf"legend style={{draw=none, fill=none, font=\scriptsize, {above}, {gap}}}"
    yield "legend cell align=left"
    yield f"xlabel={{{escape(figure.x_label)}}}"
    if figure.x_log:
        yield r"xmode=log, log ticks with fixed point, x tick label style={/pgf/number format/1000 sep={,}}"
    else:
        yield "x tick label style={/pgf/number format/fixed, /pgf/number format/1000 sep={,}}"
    if figure.ticks:
        ticks = ", ".join(f"{{{escape(tick)}}}" for tick in figure.ticks)
        yield f"xtick={{{','.join(map(str, range(len(figure.ticks))))}}}, xticklabels={{{ticks}}}"
        yield f"xmin=-0.6, xmax={len(figure.ticks) - 0.4:g}"
        if sum(map(len, figure.ticks)) * LETTER_MM > 0.8 * width:
            yield "x tick label style={rotate=30, anchor=north east, inner sep=1pt}"
    elif figure.x_range:
        yield f"xmin={figure.x_range[0]:.6g}, xmax={figure.x_range[1]:.6g}"
    else:
        yield f"enlarge x limits={0.05 if any(one.markers for panel in figure.panels for one in panel.lines) else 0.02}"


def _lift(figure: Figure) -> str:
    return "3.6mm" if figure.panels[0].title else "0.5mm"


def _options(panel: Panel, ends: tuple[float, float] | None, legend: list[list[str]]) -> Iterator[str]:
    yield f"ylabel={{{escape(panel.y_label)}}}"
    if panel.title:
        yield f"title={{{escape(panel.title)}}}"
    if ends is not None:
        yield f"ymin={ends[0]:.6g}, ymax={ends[1]:.6g}"
    if legend:
        yield f"legend columns={len(legend) if len(legend) < _columns(legend) else _columns(legend)}"


def _columns(legend: list[list[str]]) -> int:
    return int(legend[0][0].removeprefix("% columns "))


def _legend(figure: Figure, width: float) -> list[list[str]]:
    """Return the commands of each entry; the first begins with a comment that says how many fit side by side."""
    entries: dict[str, str] = {}
    for panel in figure.panels:
        for band in panel.bands:
            entries.setdefault(
                band.name, f"area legend, draw=none, fill={named(band.colour)}, fill opacity={BAND_ALPHA}"
            )
        for line in panel.lines:
            if line.in_legend:
                entries.setdefault(
                    line.name, f"area legend, {_area(line)}" if panel.stacked else _pen(line, legend=True)
                )
    if not 1 < len(entries) <= MOST_NAMED:
        return []
    fit = _side_by_side(list(entries), width)
    made = [[rf"\addlegendimage{{{pen}}}", rf"\addlegendentry{{{escape(name)}}}"] for name, pen in entries.items()]
    made[0].insert(0, f"% columns {fit}")
    return made


def _side_by_side(names: list[str], width: float) -> int:
    """Return how many entries of a legend fit side by side; rows are filled from the left.

    >>> _side_by_side(["segment", "retransmission", "lost", "ACK", "receiver's window", "SACK block"], 60.0)
    2
    """
    for count in range(len(names), 1, -1):
        longest = [max(map(len, names[column::count])) for column in range(count)]
        if sum(_SAMPLE_MM + _LEGEND_LETTER_MM * letters for letters in longest) <= width + 2 * _RIGHT_MM:
            return count
    return 1


def _panel(figure: Figure, panel: Panel) -> Iterator[str]:
    inside = f"{figure.x_range[1] if figure.x_range else panel.lines[0].x[-1] if panel.lines else 1:.6g}"
    for band in panel.bands:
        ends = [f"({{axis cs:{x:.6g},0}}|-{{rel axis cs:0,{y}}})" for x, y in ((band.start, 0), (band.end, 1))]
        yield rf"\path[fill={named(band.colour)}, fill opacity={BAND_ALPHA}] {ends[0]} rectangle {ends[1]};"
    for place, _ in figure.marks:
        at = f"{{axis cs:{place:.6g},0}}"
        yield rf"\draw[{named(_GREY)}, dotted] ({at}|-{{rel axis cs:0,0}}) -- ({at}|-{{rel axis cs:0,1}});"
    if panel.stacked:
        yield from _stack(panel)
    else:
        limit = max(LEAST_POINTS, min(MAX_POINTS, ALL_POINTS // max(len(panel.lines), 1)) // FEWER)
        thinned = [thin(line, limit) for line in panel.lines]
        for line in thinned:
            if line.low is not None and line.high is not None and not line.markers:
                yield from _spread(line)
        for line in thinned:
            yield from _line(line)
    if panel.rule is not None:
        at = f"{{axis cs:{inside},{panel.rule:.6g}}}"
        across = f"({{rel axis cs:0,0}}|-{at}) -- ({{rel axis cs:1,0}}|-{at})"
        words = rf"anchor=south east, inner sep=1pt, font=\scriptsize, text={named(_DARK)}"
        yield (
            rf"\draw[{named(_GREY)}, dotted, line width=0.6pt] {across} node[{words}] {{{escape(panel.rule_text)}}};"
        )


def _pen(line: Line, *, legend: bool = False) -> str:
    if line.markers:
        size = 2.2 if line.symbol == "diamond" else 1.5
        return f"only marks, {named(line.colour)}, {_mark(line.symbol)}, mark size={size}pt"
    pen = f"{named(line.colour)}, {DASHES[line.dash % len(DASHES)]}, line width={0.8 * line.width:.2f}pt"
    if line.mark:
        first, step = every(len(line.x), line.place)
        repeat = "" if legend else f", mark repeat={step}, mark phase={first + 1}"
        pen += f", {_mark(line.mark, ', fill=white')}, mark size=1.4pt{repeat}"
    return pen


def _mark(name: str, fill: str = "") -> str:
    turned = ", rotate=180" if name == "down" else ""
    return f"{MARKERS.get(name, MARKERS['circle'])}, mark options={{solid{fill}{turned}}}"


def _area(line: Line) -> str:
    pattern = PATTERNS.get(line.mark)
    drawn = f", postaction={{pattern={pattern}, pattern color=white}}" if pattern else ""
    return f"draw=none, fill={named(line.colour)}, fill opacity=0.75{drawn}"


def _line(line: Line) -> Iterator[str]:
    options = _pen(line) + (", const plot" if line.step and not line.markers else "")
    if line.markers and line.low is not None and line.high is not None:
        yield (
            rf"\addplot[{options}, forget plot, error bars/.cd, y dir=both, y explicit] "
            r"table[x index=0, y index=1, y error minus index=2, y error plus index=3] {"
        )
        yield from rows(line.x, line.y, line.y - line.low, line.high - line.y)
    else:
        yield rf"\addplot[{options}, forget plot] table {{"
        yield from rows(line.x, line.y)
    yield "};"


def _spread(line: Line) -> Iterator[str]:
    """Return the band around a line: a polygon for each stretch in which both ends have values."""
    if line.low is None or line.high is None:
        return
    known = np.isfinite(line.low) & np.isfinite(line.high)
    for stretch in np.split(np.arange(known.size), np.flatnonzero(np.diff(known)) + 1):
        if not stretch.size or not known[stretch[0]]:
            continue
        x, low, high = line.x[stretch], line.low[stretch], line.high[stretch]
        if line.step:
            x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
        yield rf"\addplot[draw=none, fill={named(line.colour)}, fill opacity=0.18, forget plot] table {{"
        yield from rows(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]))
        yield "};"


def _stack(panel: Panel) -> Iterator[str]:
    below = np.zeros_like(panel.lines[0].y) if panel.lines else np.zeros(0)
    for line in panel.lines:
        top = below + np.nan_to_num(line.y)
        area = replace(line, y=top, low=below, high=top)
        yield rf"\addplot[{_area(line)}, forget plot] table {{"
        x, low, high = area.x, below, top
        if line.step:
            x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
        yield from rows(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]))
        yield "};"
        below = top


def rows(*columns: Array) -> Iterable[str]:
    """Return the lines of a table: a point each, with six digits.

    >>> list(rows(np.array([0.5, 2e6]), np.array([np.nan, 1 / 3])))
    ['0.5 nan', '2e+06 0.333333']
    """
    for row in zip(*(np.asarray(column).tolist() for column in columns), strict=True):
        yield " ".join("nan" if math.isnan(value) else f"{value:.6g}" for value in row)
