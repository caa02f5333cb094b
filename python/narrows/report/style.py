"""Colours, fonts and number formats shared by every figure and page.

All of them are defined here, so that a flow has the same colour in the topology, in the tables, in the interactive
charts and in the figures for a paper.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Okabe and Ito's colours, distinguishable for colour-blind readers and in grey print; black is last because it is
#: invisible on a dark page, and yellow is left out because it is invisible on white paper.
OKABE_ITO: tuple[str, ...] = (
    "#0072B2",  # blue
    "#D55E00",  # vermillion
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#E69F00",  # orange
    "#56B4E9",  # sky blue
)

#: Dashes used once all colours are used (name, matplotlib's pattern, SVG's pattern).
DASHES: tuple[tuple[str, str, str], ...] = (
    ("solid", "-", ""),
    ("dash", "--", "6 3"),
    ("dot", ":", "2 2.5"),
    ("dashdot", "-.", "7 2.5 2 2.5"),
)

#: Colour of each command of a router: normal, freeze, fallback.
COMMAND_COLOURS: dict[str, str] = {"normal": "#009E73", "freeze": "#E69F00", "fallback": "#D55E00"}

#: Colours of published and of measured values, wherever both are shown side by side.
PUBLISHED_COLOUR = "#8A8F98"
MEASURED_COLOUR = "#0072B2"

#: Width of a column of a two-column paper, and of both columns, in inches.
COLUMN_IN = 3.5
PAGE_IN = 7.16

#: Resolution of PNG figures.
PNG_DPI = 300


def colour(index: int) -> str:
    """Colour of the `index`-th flow, queue or router of a scenario."""
    return OKABE_ITO[index % len(OKABE_ITO)]


def dash(index: int) -> tuple[str, str, str]:
    """Dash of the `index`-th flow: solid until all colours are used (name, matplotlib, SVG)."""
    return DASHES[(index // len(OKABE_ITO)) % len(DASHES)]


def matplotlib_style() -> Any:
    """Matplotlib settings for a figure in one column of a paper: readable at printed size, text kept as text."""
    return {
        "font.family": "sans-serif",
        "font.sans-serif": ["Liberation Sans", "Arial", "Helvetica", "DejaVu Sans"],
        "font.size": 8.0,
        "axes.titlesize": 8.0,
        "axes.labelsize": 8.0,
        "xtick.labelsize": 7.0,
        "ytick.labelsize": 7.0,
        "legend.fontsize": 7.0,
        "mathtext.fontset": "dejavusans",
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#D9DCE1",
        "grid.linewidth": 0.4,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "lines.linewidth": 1.0,
        "lines.solid_capstyle": "round",
        "legend.frameon": False,
        "legend.handlelength": 1.8,
        "legend.columnspacing": 1.2,
        "figure.dpi": 150,
        "savefig.dpi": PNG_DPI,
        "svg.fonttype": "none",
        "svg.hashsalt": "narrows",
        "pdf.fonttype": 42,
    }


@contextmanager
def paper_style() -> Iterator[None]:
    """Use the common matplotlib style within this context; the caller's settings are restored afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(matplotlib_style()):
        yield


def number(value: float | None, digits: int = 3) -> str:
    """Write `value` with `digits` significant digits, without exponents for common sizes; a dash for no value.

    >>> number(1234.5), number(0.0421), number(None), number(3.0)
    ('1,230', '0.0421', '–', '3.00')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    sign = "−" if value < 0 else ""
    size = abs(value)
    exponent = math.floor(math.log10(size))
    rounded = round(size, digits - 1 - exponent)
    if rounded > 0:
        exponent = math.floor(math.log10(rounded))
    if exponent < -4 or exponent > 9:
        return f"{sign}{size:.{digits - 1}e}"
    return f"{sign}{rounded:,.{max(0, digits - 1 - exponent)}f}"


def count(value: float | None) -> str:
    """Write a count: whole numbers with separators, means of counts with one decimal.

    >>> count(12345), count(2.25), count(None)
    ('12,345', '2.2', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if value == int(value):
        return f"{int(value):,}".replace("-", "−")
    return f"{value:,.1f}".replace("-", "−")


def signed(value: float) -> str:
    """Write a difference with its sign and one decimal.

    >>> signed(1.26), signed(-0.31), signed(-0.01)
    ('+1.3', '−0.3', '0.0')
    """
    text = f"{value:+.1f}".replace("-", "−")
    return text[1:] if text[1:] == "0.0" else text


def rate(bits_per_second: float) -> str:
    """Write a rate in the largest unit in which it is at least one.

    >>> rate(3e6), rate(1e9), rate(2.5e6)
    ('3 Mb/s', '1 Gb/s', '2.5 Mb/s')
    """
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:.4g} {unit}"
    return f"{bits_per_second:.4g} b/s"


def duration(seconds: float) -> str:
    """Write a duration in the largest unit in which it is at least one.

    >>> duration(0.15), duration(118.0), duration(2e-5)
    ('150 ms', '118 s', '20 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.5g} {unit}"
    return "0 s" if seconds == 0 else f"{seconds * 1e9:.5g} ns"
