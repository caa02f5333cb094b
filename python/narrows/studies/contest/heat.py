"""Heat maps of a contest: matrices as colour, text and tip of each cell, and the colour scale of each measure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.report.ramps import BLUE, PAPER, VERMILLION, Ramp, Rgb, css, ink
from narrows.studies.contest.measures import MEASURES, Measure, Scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.stats import Estimate
    from narrows.studies.contest.plan import Order
    from narrows.studies.contest.result import Contest, Place


def ramp(scale: Scale, values: Iterable[float]) -> Ramp:
    """Create the colour scale of a heat map.

    Parameters
    ----------
    scale : str
        Kind of scale; see `Measure.scale`.
    values : iterable of float
        All values of the map; scales without fixed ends extend to the largest.

    Returns
    -------
    Ramp
    """
    top = max((value for value in values if math.isfinite(value)), default=1.0)
    match scale:
        case "share":
            return Ramp(0.0, 1.0, 0.5, VERMILLION, BLUE)
        case "harm":
            return Ramp(-1.0, 1.0, 0.0, BLUE, VERMILLION)
        case "fairness":
            return Ramp(0.5, 1.0, None, VERMILLION, PAPER)
        case "ratio":
            return Ramp(1.0, max(top, 1.001), None, PAPER, VERMILLION)
        case "loss":
            return Ramp(0.0, max(top, 1e-9), None, PAPER, VERMILLION)
        case "rate":
            return Ramp(0.0, max(top, 1e-9), None, PAPER, BLUE)


def cell_text(measure: Measure, value: float) -> str:
    """Format a value for a cell: short, without its unit.

    Parameters
    ----------
    measure : Measure
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> share, harm, loss = (MEASURES[key] for key in ("share", "harm", "loss_ratio"))
    >>> cell_text(share, 0.523), cell_text(harm, -0.051), cell_text(loss, 0.0021), cell_text(MEASURES["jain"], 0.9876)
    ('52', '−5', '0.2', '0.99')
    """
    if not math.isfinite(value):
        return "–"
    if measure.percent:
        shown = 100 * value
        text = f"{shown:.1f}" if measure.scale == "loss" and abs(shown) < 9.95 else f"{shown:.0f}"
    elif measure.scale == "fairness":
        text = f"{value:.2f}"
    else:
        text = f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a heat map: text, style, tooltip, and whether its interval excludes the neutral value."""

    text: str
    style: str
    title: str
    sure: bool


@dataclass(frozen=True, slots=True)
class Map:
    """A heat map of a measure, with a row of cells for each contestant in the first slot.

    Attributes
    ----------
    key : str
        Name of the figure.
    measure : Measure
    title, caption : str
    labels : tuple of str
        Short labels that distinguish the contestants.
    rows : tuple
        Tuples of `Cell`.
    means : tuple
        Tuples of float.
    scale : Ramp
    """

    key: str
    measure: Measure
    title: str
    caption: str
    labels: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    means: tuple[tuple[float, ...], ...]
    scale: Ramp

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Steps of the colour scale: style and text.

        Returns
        -------
        list of tuple
        """
        steps = [self.scale.low + (self.scale.high - self.scale.low) * i / 4 for i in range(5)]
        told: dict[str, str] = {}
        for value in steps:  # steps with equal text appear once: without losses, for example, all read 0.0
            told.setdefault(cell_text(self.measure, value), _style(self.scale.colour(value)))
        return [(style, text) for text, style in told.items()]


def make(
    contest: Contest, key: str, title: str, caption: str, slot: Place = "first", order: Order | None = None
) -> Map:
    """Make a heat map of a measure.

    Parameters
    ----------
    contest : Contest
    key : str
        Key of the measure.
    title, caption : str
    slot : {"first", "second"}
        The slot whose measure is shown.
    order : str, optional

    Returns
    -------
    Map
    """
    measure, labels = MEASURES[key], contest.plan.labels
    told = [[contest.estimate(key, row, column, slot, order) for column in labels] for row in labels]
    means = tuple(tuple(one.mean for one in row) for row in told)
    scale = ramp(measure.scale, (mean for row in means for mean in row))
    rows = tuple(
        tuple(_cell(measure, scale, one, f"{row}, then {column}") for column, one in zip(labels, line, strict=True))
        for row, line in zip(labels, told, strict=True)
    )
    name = f"{key}-{slot}" if measure.of == "flow" else key
    return Map(name.replace("_", "-"), measure, title, caption, contest.plan.headings, rows, means, scale)


def _cell(measure: Measure, scale: Ramp, told: Estimate, who: str) -> Cell:
    colour = scale.colour(told.mean)
    factor, unit = (100, " %") if measure.percent else (1, f" {measure.unit}" if measure.unit else "")
    title = f"{who}: {told.mean * factor:.4g}{unit}" if told.n else f"{who}: no value"
    sure = scale.neutral is not None and (told.low > scale.neutral or told.high < scale.neutral)
    if told.n > 1:
        title += f" [{told.low * factor:.4g}, {told.high * factor:.4g}], {told.n} runs"
    return Cell(cell_text(measure, told.mean), _style(colour), title.replace("-", "−"), sure)


def _style(colour: Rgb) -> str:
    return f"background:{css(colour)};color:{css(ink(colour))}"


def notebook(contest: Contest) -> str:
    """Return the matrix of shares, as a notebook shows a contest.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    str
        HTML.
    """
    from narrows.report import render

    plan = contest.plan
    return render.part(
        "notebook-contest.html.j2",
        title=plan.scenario.title,
        runs=plan.runs,
        seed=plan.seed,
        map=make(contest, "share", "", ""),
    )
