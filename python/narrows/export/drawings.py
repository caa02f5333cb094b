"""Figures of reports as drawings: by matplotlib for PDF, SVG and PNG, by pgfplots for LaTeX."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.export import pgfplots, tikz
from narrows.export.grey import distinct
from narrows.export.values import Drawing
from narrows.report import topology
from narrows.report.printed import to_matplotlib
from narrows.report.style import PAGE_IN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from narrows.outcome import Batch, Run
    from narrows.report.layout import Network
    from narrows.report.values import Figure

LEAST_TEXT_PT: Final = 5.0
"""Size of text below which a drawing whose text shrinks with it is as wide as a page instead."""


def of_figures(figures: Iterable[Figure], folder: str = "") -> tuple[Drawing, ...]:
    """Return figures of a report as drawings.

    Parameters
    ----------
    figures : iterable of narrows.report.values.Figure
    folder : str
        Folder of their files, ending in ``/``.

    Returns
    -------
    tuple of Drawing
    """
    return tuple(_of_figure(distinct(figure), folder) for figure in figures)


def _of_figure(figure: Figure, folder: str) -> Drawing:
    def draw(width_in: float) -> Any:
        return to_matplotlib(replace(figure, width_in=width_in))

    def written(width_in: float) -> str:
        return pgfplots.picture(figure, width_in)

    return Drawing(f"{folder}{figure.name}", figure.title, figure.caption, draw, written)


def of_network(network: Network, title: str, folder: str = "") -> Drawing:
    """Return the drawing of a topology.

    Parameters
    ----------
    network : narrows.report.layout.Network
    title : str
        Title of the scenario.
    folder : str
        As for `of_figures`.

    Returns
    -------
    Drawing
    """
    from narrows.report.shapes import extent, matplotlib_figure

    items, layout = topology.shapes(network)
    left, _, right, _ = extent(items, layout)
    smallest = min((item.size for item in items if item.kind == "text"), default=0.0)

    def fitting(width_in: float) -> float:
        return width_in if smallest * width_in * 72 / (right - left) >= LEAST_TEXT_PT else max(width_in, PAGE_IN)

    return Drawing(
        f"{folder}topology",
        f"Topology of {title}",
        "Discs are routers, boxes hosts, thin lines flows; the bottleneck is wide. Where a column would make its text "
        f"smaller than {LEAST_TEXT_PT:g} pt, the drawing is as wide as a page.",
        lambda width_in: matplotlib_figure(items, layout, fitting(width_in)),
        lambda width_in: tikz.shapes(items, layout, fitting(width_in)),
        lambda: topology.to_document(network, title),
    )


def of_files(name: str, files: Mapping[str, Path]) -> Drawing:
    """Return a figure that is there as pictures alone.

    Parameters
    ----------
    name : str
    files : mapping
        Files by format.

    Returns
    -------
    Drawing
    """

    def absent(_: float) -> Any:
        message = f"{name} exists as files alone: {', '.join(files)}"
        raise NotImplementedError(message)

    title = name.replace("-", " ")
    return Drawing(name, title[:1].upper() + title[1:], "", absent, None, files=files)


def of_packets(outcome: Run | Batch) -> tuple[Drawing, ...]:
    """Return the time-sequence graphs of a run with captures: of each TCP flow, up to those that a page has.

    Parameters
    ----------
    outcome : Run or Batch
        Of a batch, the first run is drawn.

    Returns
    -------
    tuple of Drawing
    """
    from narrows.packets import Links, tcp_flows
    from narrows.report import sequence

    run = outcome.runs[0]
    if run.captures is None or not run.captures.is_dir():
        return ()
    links = Links(run)
    names = [name for name in tcp_flows(links) if links.size(name) <= sequence.MOST_CAPTURED]

    def draw(flow: str, width_in: float) -> Any:
        return to_matplotlib(replace(sequence.figure(outcome, flow), width_in=width_in))

    def written(flow: str, width_in: float) -> str:
        return pgfplots.picture(sequence.figure(outcome, flow), width_in)

    return tuple(
        Drawing(
            f"{sequence.NAME}-{re.sub(r'[^A-Za-z0-9.]+', '-', name).strip('-')}",
            f"Time-sequence graph of {name}",
            "As tcptrace draws it: segments, ACKs, the receiver's window, SACK blocks, losses and retransmissions.",
            partial(draw, name),
            partial(written, name),
        )
        for name in names[: sequence.MOST_FLOWS]
    )


def save(drawing: Drawing, path: Path, kind: str, width_in: float, dpi: int) -> None:
    """Write a drawing as a file; equal numbers give equal files.

    Parameters
    ----------
    drawing : Drawing
    path : pathlib.Path
    kind : {"pdf", "svg", "png", "pgf"}
    width_in : float
        Width in inches.
    dpi : int
        Resolution of PNG.

    Raises
    ------
    InputError
        If the figure is there in other formats alone.
    OSError
        If it cannot be written.
    """
    from narrows.report import style

    if kind not in drawing.formats:
        message = f"figure {drawing.name!r} has no format {kind}; allowed: {', '.join(drawing.formats)}"
        raise InputError(message)
    if drawing.files:
        path.write_bytes(drawing.files[kind].read_bytes())
        return
    if kind == "pgf" and drawing.tikz is not None:
        path.write_text(tikz.document(drawing.title, drawing.caption, drawing.tikz(width_in)), encoding="utf-8")
        return
    if kind == "svg" and drawing.svg is not None:
        path.write_text(drawing.svg(), encoding="utf-8")
        return
    # Dates and versions would make equal figures unequal.
    about: dict[str, dict[str, str | None]] = {
        "pdf": {"Title": drawing.title, "Creator": "Narrows", "Producer": "Narrows", "CreationDate": None},
        "svg": {"Title": drawing.title, "Creator": "Narrows", "Date": None},
        "png": {"Title": drawing.title, "Software": "Narrows"},
    }
    with style.paper_style():
        drawing.draw(width_in).savefig(path, format=kind, dpi=dpi, metadata=about[kind])
