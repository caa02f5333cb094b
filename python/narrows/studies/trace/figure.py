"""The picture of a trace: its rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.report import style

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.trace.deliveries import Deliveries

SUFFIXES = (".svg", ".png", ".pdf")


def write(made: Deliveries, file: Path, *, bin_s: float, title: str) -> None:
    """Draw the rate over time.

    Parameters
    ----------
    made : Deliveries
    file : Path
        SVG, PNG or PDF, by its suffix.
    bin_s : float
        Interval in s of which a step of the curve is the mean.
    title : str

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with style.paper_style():
        figure = draw(made, bin_s=bin_s, title=title)
        dates: dict[str, str | None] = (
            {} if file.suffix == ".png" else {"Date": None} if file.suffix == ".svg" else {"CreationDate": None}
        )
        figure.savefig(file, format=file.suffix[1:], dpi=style.PNG_DPI, metadata={**dates, "Creator": "Narrows"})


def draw(made: Deliveries, *, bin_s: float, title: str) -> Any:
    """Return a figure of the rate over time.

    Parameters
    ----------
    made : Deliveries
    bin_s : float
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(style.PAGE_IN, 2.4), layout="constrained")
    axes = figure.subplots()
    edges, rates = made.rates(bin_s)
    axes.stairs(rates / 1e6, edges, fill=True, color=style.colour(0), alpha=0.35, linewidth=0)
    axes.stairs(rates / 1e6, edges, color=style.colour(0), linewidth=0.8)
    axes.axhline(made.mean_bps / 1e6, color=style.colour(1), linewidth=0.8, linestyle="--")
    axes.annotate(
        f"mean {made.mean_bps / 1e6:.3g}",
        (1.0, made.mean_bps / 1e6),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        color=style.colour(1),
    )
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time, s")
    axes.set_ylabel(f"Mb/s, mean of {style.duration(bin_s)}")
    axes.set_title(title, loc="left")
    return figure
