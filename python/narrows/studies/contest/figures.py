"""Heat maps of a contest as files for papers: PNG (300 dpi) and SVG (text as text)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.report import style
from narrows.report.ramps import Rgb, ink

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from narrows.studies.contest.heat import Map


def write(maps: Iterable[Map], folder: Path) -> list[Path]:
    """Draw heat maps into a folder.

    Parameters
    ----------
    maps : iterable of Map
    folder : Path
        Created if missing.

    Returns
    -------
    list of Path
        ``NAME.png`` and ``NAME.svg`` of each map.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with style.paper_style():
        for one in maps:
            drawing = draw(one)
            files = [folder / f"{one.key}.png", folder / f"{one.key}.svg"]
            drawing.savefig(files[0], format="png", dpi=style.PNG_DPI, metadata={"Title": one.title})
            about = {"Date": None, "Title": one.title, "Creator": "Narrows"}
            # Without a date, equal numbers give equal files.
            drawing.savefig(files[1], format="svg", metadata=about)
            written += files
    return written


def draw(one: Map, width: float = style.PAGE_IN) -> Any:
    """Draw a heat map.

    Parameters
    ----------
    one : Map
    width : float
        Largest width, in inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import numpy as np
    from matplotlib.figure import Figure

    count = len(one.labels)
    # Make cells as wide as their numbers, and the whole no wider than a page. Add room for labels, estimated from their
    # lengths, since measuring them would draw everything twice.
    side = min(0.36, (width - 1.4) / count)
    longest = max(map(len, one.labels))
    body, room = side * count, 0.3 + 0.062 * longest
    wide, height = max(body + room + 0.05, 0.068 * len(one.title) + 0.1), body + room + 0.3
    figure = Figure(figsize=(wide, height))
    ax = figure.add_axes((room / wide, 0.03 / height, body / wide, body / height))
    colours = np.array([[one.scale.colour(mean) for mean in row] for row in one.means], dtype=np.uint8)
    ax.imshow(colours, aspect="equal", interpolation="nearest")
    size = min(7.0, side * 19)
    for i, row in enumerate(one.rows):
        for j, cell in enumerate(row):
            background: Rgb = one.scale.colour(one.means[i][j])
            ax.text(
                j, i, cell.text, ha="center", va="center", fontsize=size, color=[part / 255 for part in ink(background)]
            )
    ax.set_xticks(range(count), one.labels, rotation=90 if longest > 4 else 0)
    ax.set_yticks(range(count), one.labels)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_xticks([i - 0.5 for i in range(1, count)], minor=True)
    ax.set_yticks([i - 0.5 for i in range(1, count)], minor=True)
    ax.grid(which="minor", color="#FFFFFF", linewidth=0.8, visible=True)
    ax.tick_params(which="minor", length=0)
    ax.set_ylabel("first slot")
    ax.set_xlabel("second slot")
    ax.xaxis.set_label_position("top")
    for spine in ax.spines.values():
        spine.set_visible(False)
    figure.text(0.04 / wide, 1 - 0.05 / height, one.title, va="top", fontweight="bold")
    return figure
