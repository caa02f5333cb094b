"""The figure of an evaluation: goodput and delay over CUBIC's in each network, by path class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.report import style
from narrows.studies.evaluate.result import DELAY, LONGEST, USE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NAME: Final = "classes"
"""Name of the figure's files."""

_PANELS: Final = (("goodput over CUBIC's", (USE,)), ("delay over CUBIC's", (DELAY, LONGEST)))
_LEAST: Final = 0.01
_COLOURS: Final = {"met": 2, "not met": 1, "undecided": 4}


@dataclass(frozen=True, slots=True)
class Dot:
    """A row in a panel.

    Attributes
    ----------
    path_class, verdict : str
    ratio : float
        Value over CUBIC's.
    """

    path_class: str
    verdict: str
    ratio: float


def dots(rows: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> list[Dot]:
    """Return the rows of some measures that have a value and one of CUBIC.

    Parameters
    ----------
    rows : sequence of mapping
        As in `narrows.studies.evaluate.export.to_json`.
    measures : sequence of str

    Returns
    -------
    list of Dot
        Ratios are at least 0.01, since the axis is logarithmic.
    """
    return [
        Dot(row["class"], row["verdict"], max(_LEAST, row["value"]["mean"] / row["cubic"]))
        for row in rows
        if row["measure"] in measures and row["cubic"] and row["value"]["mean"] is not None
    ]


_NARROW: Final = 5
"""Largest over smallest value of an axis below which 1, 2 and 5 times powers of ten may give it a single label."""


def write(rows: Sequence[Mapping[str, Any]], folder: Path) -> bytes | None:
    """Draw the figure as PNG and SVG, if any row has goodput or delay over CUBIC's.

    Parameters
    ----------
    rows : sequence of mapping
    folder : Path
        Created if missing.

    Returns
    -------
    bytes or None
        The SVG.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    if not any(dots(rows, measures) for _, measures in _PANELS):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    with style.paper_style():
        figure = draw(rows)
        files = [folder / f"{NAME}.png", folder / f"{NAME}.svg"]
        figure.savefig(files[0], format="png", dpi=style.PNG_DPI)
        # Without a date, equal numbers give equal files.
        figure.savefig(files[1], format="svg", metadata={"Date": None, "Creator": "Narrows"})
    return files[1].read_bytes()


def draw(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Draw a panel for goodput and one for delay, a line for each path class.

    Parameters
    ----------
    rows : sequence of mapping

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    classes = list(dict.fromkeys(row["class"] for row in rows))
    figure = Figure(figsize=(style.PAGE_IN, 0.6 + 0.24 * max(4, len(classes))), layout="constrained")
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    for panel, (title, measures) in zip(panels, _PANELS, strict=True):
        drawn = dots(rows, measures)
        for verdict, colour in _COLOURS.items():
            own = [one for one in drawn if one.verdict == verdict]
            places = [classes.index(one.path_class) for one in own]
            mark = {"color": style.colour(colour), "markersize": 4, "label": verdict, "alpha": 0.8}
            panel.plot([one.ratio for one in own], places, "o", **mark)
        panel.axvline(1, color="#8A8F98", linewidth=0.8)
        panel.set_xscale("log")
        low, high = panel.get_xlim()
        if high < _NARROW * low:
            panel.xaxis.set_major_locator(MaxNLocator(5))
            panel.xaxis.set_minor_locator(NullLocator())
        else:
            panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_xlabel(title)
        panel.set_yticks(range(len(classes)), classes)
        panel.set_ylim(len(classes) - 0.5, -0.5)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
    return figure
