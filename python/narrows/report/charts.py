"""Figures drawn twice: interactively (Plotly) for the page, and statically (matplotlib) for a paper."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.interactive import to_plotly
from narrows.report.printed import to_matplotlib
from narrows.report.values import Array, Band, Drawn, Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Array", "Band", "Drawn", "Figure", "Line", "Panel", "draw", "to_matplotlib", "to_plotly"]


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
            files: list[Path] = []
            if folder is not None:
                files = [folder / f"{figure.name}.png", folder / f"{figure.name}.svg"]
                drawing.savefig(files[0], format="png", dpi=style.PNG_DPI, metadata={"Title": figure.title})
                files[1].write_bytes(svg)
            uri = "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")
            out.append(Drawn(figure, to_plotly(figure), uri, tuple(files)))
    return out
