"""Figures drawn twice: interactively (uPlot) for the page, and statically (matplotlib) for a paper."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.interactive import described
from narrows.report.printed import to_matplotlib
from narrows.report.values import Array, Band, Drawn, Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Array", "Band", "Drawn", "Figure", "Line", "Panel", "described", "draw", "to_matplotlib"]


MOST_EMBEDDED = 60_000
"""Bytes up to which a page contains a figure as SVG, for print and without scripts; a larger one as pixels."""

EMBEDDED_DPI = 125
"""Resolution of figures that a page contains as pixels."""


def _uri(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _reduced(png: io.BytesIO) -> bytes:
    """Return a picture with 48 colours, which is a third of the size and enough for lines."""
    from PIL import Image

    out = io.BytesIO()
    Image.open(png).convert("RGB").quantize(48).save(out, format="png", optimize=True)
    return out.getvalue()


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
            drawing.set_layout_engine("none")  # keeps the places found for the SVG: finding them takes most of the time
            files: list[Path] = []
            if folder is not None:
                files = [folder / f"{figure.name}.png", folder / f"{figure.name}.svg"]
                drawing.savefig(files[0], format="png", dpi=style.PNG_DPI, metadata={"Title": figure.title})
                files[1].write_bytes(svg)
            uri = _uri("svg+xml", svg)
            if len(svg) > MOST_EMBEDDED:
                buffer = io.BytesIO()
                drawing.savefig(buffer, format="png", dpi=EMBEDDED_DPI)
                uri = _uri("png", _reduced(buffer))
            out.append(Drawn(figure, described(figure), uri, tuple(files)))
    return out
