"""Heat maps: matrices shaded by the paper's four ranges, by difference, or by behaviour; for page and print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.report import style
from narrows_papers.contest import evidence
from narrows_papers.contest.evaluation import NEAR_PERCENT, VEGAS_PERCENT
from narrows_papers.contest.published import RANGES, band, matrix
from narrows_papers.contest.variants import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from narrows_papers.contest.evaluation import Compared
    from narrows_papers.contest.measured import Meeting
    from narrows_papers.contest.published import Printed, Starter

    Meetings = Mapping[tuple[str, str], Meeting]

BAND_COLOURS: tuple[str, ...] = ("#E8A37C", "#F4DDA6", "#E4EBE6", "#8DBBDD")
"""Colours of the four ranges (starved, less than a share, about a share, most), distinct for colour-blind readers."""

DIFFERENCE_COLOURS: tuple[str, ...] = ("#E8A37C", "#F6DCCB", "#EDF0EE", "#CFE2F1", "#8DBBDD")
"""Colours of differences: below by more than 30 %, below, within 6 %, above, above by more than 30 %."""

BEHAVIOUR_COLOURS: dict[str, str] = {"kept": "#8DBBDD", "relegated": "#E8A37C", "shared": "#E4EBE6"}
"""Colours of the three behaviours."""

INK = "#1b1f24"


@dataclass(frozen=True, slots=True)
class Square:
    """One cell of a map.

    Attributes
    ----------
    text : str
        Text in the cell.
    colour : str
        Background colour.
    told : str
        Tooltip on the page.
    slip : str
        Slip of the paper, as in `Printed`.
    """

    text: str
    colour: str
    told: str
    slip: str = ""


@dataclass(frozen=True)
class Heat:
    """A matrix of squares.

    Attributes
    ----------
    title : str
        Title above the map.
    names : tuple of str
        Labels of rows and columns, in order.
    squares : mapping
        Squares by row and column; missing ones stay empty.
    """

    title: str
    names: tuple[str, ...]
    squares: Mapping[tuple[str, str], Square]


def _short(tpp: float) -> str:
    """Format a TPP with three decimals, as in the tables, without the zero before the point.

    >>> _short(0.3224), _short(1.0)
    ('.322', '1.000')
    """
    return f"{tpp:.3f}".removeprefix("0")


def tpp_map(title: str, values: Iterable[tuple[str, str, float, str, str]], names: Sequence[str] = NAMES) -> Heat:
    """Create a map in the four ranges, from rows of (row, column, TPP, tooltip, slip)."""
    squares = {
        (row, column): Square(_short(tpp), BAND_COLOURS[band(tpp)], f"{row} / {column}: {told}", slip)
        for row, column, tpp, told, slip in values
        if not math.isnan(tpp)
    }
    return Heat(title, tuple(names), squares)


def published_map(printed: Sequence[Printed], table: int, names: Sequence[str] = NAMES) -> Heat:
    """Map of a table as printed."""
    slips = {(one.row, one.column): one.slip for one in printed if one.table == table}
    values = matrix(printed, table)
    return tpp_map(
        "Published",
        [
            (row, column, tpp, f"{tpp:.3f}{_SLIPS[slips[row, column]]}", slips[row, column])
            for (row, column), tpp in values.items()
            if row in names and column in names
        ],
        names,
    )


_SLIPS = {"": "", "by_row": " (read by row)", "repeated": " (printed in both tables)"}


def measured_map(cells: Sequence[Compared], table: int, names: Sequence[str] = NAMES) -> Heat:
    """Map of a table as measured, with cells read as in the published one."""
    return tpp_map(
        "Measured",
        [
            (one.printed.row, one.printed.column, one.cell.measured, _interval(one), one.printed.slip)
            for one in cells
            if one.printed.table == table
        ],
        names,
    )


def _interval(one: Compared) -> str:
    cell = one.cell
    if cell.low is None or cell.high is None:
        return f"{cell.measured:.3f}"
    return f"{cell.measured:.3f} ({cell.low:.3f} to {cell.high:.3f})"


def difference_map(cells: Sequence[Compared], table: int, names: Sequence[str] = NAMES) -> Heat:
    """Map of the differences of measured from published TPP, %."""
    squares = {}
    for one in cells:
        if one.printed.table == table:
            place = (one.printed.row, one.printed.column)
            told = f"{place[0]} / {place[1]}: {_interval(one)} for {one.printed.tpp:.3f}, {one.percent:+.1f} %"
            text = _percent(one.percent)
            squares[place] = Square(text, difference_colour(one.percent), told, one.printed.slip)
    return Heat("Measured against published, %", tuple(names), squares)


def ns2_map(printed: Sequence[Printed], table: int, names: Sequence[str] = NAMES) -> Heat:
    """Map of the differences of ns-2.35's means over seeds from the published TPP, %."""
    others = evidence.ns2()
    squares = {}
    for one in printed:
        other = evidence.of_cell(others, one)
        if one.table == table and other is not None and one.row in names and one.column in names:
            percent = 100 * (other.mean / one.tpp - 1)
            told = f"{other.mean:.3f} ({other.low:.3f} to {other.high:.3f} over seeds) for {one.tpp:.3f}"
            text = _percent(percent)
            squares[one.row, one.column] = Square(
                text, difference_colour(percent), f"{one.row} / {one.column}: ns-2 {told}", one.slip
            )
    return Heat("ns-2.35 against published, %", tuple(names), squares)


def ns2_tpp_map(title: str, of: Starter, names: Sequence[str] = NAMES) -> Heat:
    """Map of one starter's TPP in all pairs of the set without a window limit, on ns-2.35."""
    values = []
    for (first, second, whose), other in evidence.ns2("unlimited").items():
        if whose == of and first in names and second in names:
            told = f"{other.mean:.3f} ({other.low:.3f} to {other.high:.3f} over seeds)"
            values.append((first, second, other.mean, told, ""))
    return tpp_map(title, values, names)


def _percent(percent: float) -> str:
    """Format a difference in whole per cent.

    >>> _percent(-7.6), _percent(0.3), _percent(-0.3), _percent(4.2)
    ('−8', '0', '0', '+4')
    """
    return f"{percent:+.0f}".replace("-", "−") if round(percent) else "0"


def difference_colour(percent: float) -> str:
    """Colour of a difference in per cent.

    >>> difference_colour(5.9) == difference_colour(-6.0) != difference_colour(-6.1)
    True
    """
    size = (abs(percent) > NEAR_PERCENT) + (abs(percent) > VEGAS_PERCENT)
    return DIFFERENCE_COLOURS[2 + (size if percent > 0 else -size)]


def set_map(title: str, meetings: Meetings, of: Starter, names: Sequence[str] = NAMES) -> Heat:
    """Map of one starter's TPP in all pairs of a set: the row starts first, the column second."""
    values = []
    for (first, second), one in meetings.items():
        found = one.tpp(of)
        told = f"{found.mean:.3f}" if found.n < 2 else f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"
        values.append((first, second, found.mean, told, ""))
    return tpp_map(title, values, names)


def behaviour_map(title: str, meetings: Meetings, names: Sequence[str] = NAMES) -> Heat:
    """Map of the three behaviours; for a pair that shares, the time to equilibrium in s."""
    squares = {}
    for (first, second), one in meetings.items():
        if one.behaviour is None:
            continue
        time = one.equilibrium_s
        words = {
            "kept": f"{first} keeps the link",
            "relegated": f"{second} relegates {first}",
            "shared": "they share; "
            + ("not in balance for long" if time is None else f"in balance after {time:.1f} s"),
        }
        text = {"kept": "1", "relegated": "2", "shared": "–" if time is None else f"{time:.1f}"}[one.behaviour]
        share = f" (second's share {one.second_share:.2f})" if one.second_share is not None else ""
        squares[first, second] = Square(
            text, BEHAVIOUR_COLOURS[one.behaviour], f"{first} / {second}: {words[one.behaviour]}{share}"
        )
    return Heat(title, tuple(names), squares)


def draw(folder: Path, name: str, title: str, maps: Sequence[Heat]) -> tuple[Path, ...]:
    """Write maps side by side as `NAME.png` (300 dpi) and `NAME.svg` (text as text).

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    files = (folder / f"{name}.png", folder / f"{name}.svg")
    with style.paper_style():
        size = 0.19 * len(maps[0].names) + 0.75
        down = 2 if len(maps) > 2 else 1
        across = -(-len(maps) // down)
        figure = Figure(figsize=(size * 1.25 * across, size * down), layout="constrained")
        for ax, one in zip(figure.subplots(down, across, squeeze=False).flat, maps, strict=True):
            _draw(ax, one)
        figure.savefig(files[0], format="png", dpi=style.PNG_DPI, metadata={"Title": title})
        figure.savefig(files[1], format="svg", metadata={"Date": None, "Title": title, "Creator": "Narrows"})
    return files


def _draw(ax: Any, one: Heat) -> None:
    from matplotlib.patches import Rectangle

    for r, row in enumerate(one.names):
        for c, column in enumerate(one.names):
            square = one.squares.get((row, column))
            if square is None:
                continue
            ax.add_patch(Rectangle((c, r), 1, 1, facecolor=square.colour, edgecolor="white", linewidth=0.5))
            slip = {"fontstyle": "italic"} if square.slip else {}
            ax.text(c + 0.5, r + 0.52, square.text, ha="center", va="center", fontsize=4.6, color=INK, **slip)
    places = [i + 0.5 for i in range(len(one.names))]
    ax.set_xticks(places, one.names, rotation=90, fontsize=5.5)
    ax.set_yticks(places, one.names, fontsize=5.5)
    ax.set_xlim(0, len(one.names))
    ax.set_ylim(len(one.names), 0)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, pad=1.5)
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_title(one.title, loc="left", fontsize=7, fontweight="bold", pad=4)


def legend(kind: str) -> list[tuple[str, str]]:
    """Colours and their meanings for the page's legend of `ranges`, `differences` or `behaviours`."""
    if kind == "ranges":
        return [(colour, f"{low:.3f} to {high:.3f}") for colour, (low, high) in zip(BAND_COLOURS, RANGES, strict=True)]
    if kind == "differences":
        words = (
            f"below by more than {VEGAS_PERCENT:g} %",
            "below",
            f"within {NEAR_PERCENT:g} %",
            "above",
            f"above by more than {VEGAS_PERCENT:g} %",
        )
        return list(zip(DIFFERENCE_COLOURS, words, strict=True))
    words_of = {
        "kept": "1: the first keeps the link",
        "relegated": "2: the second relegates the first",
        "shared": "they share: seconds until they do",
    }
    return [(BEHAVIOUR_COLOURS[key], text) for key, text in words_of.items()]
