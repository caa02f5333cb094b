"""Heat maps: colours that colour-blind readers can distinguish, and matrices as colour, text and tip of each cell.

Diverging scales run between blue and vermillion (Okabe and Ito), through near-white at the neutral value. Sequential
scales run between near-white and one of the two. The text in a cell is black or white, whichever has more contrast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.studies.contest.measures import MEASURES, Measure, Scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.stats import Estimate
    from narrows.studies.contest.plan import Order
    from narrows.studies.contest.result import Contest, Place

Rgb = tuple[int, int, int]

BLUE: Final[Rgb] = (0x00, 0x72, 0xB2)
VERMILLION: Final[Rgb] = (0xD5, 0x5E, 0x00)
PAPER: Final[Rgb] = (0xF7, 0xF7, 0xF5)
MISSING: Final[Rgb] = (0xDD, 0xDF, 0xE3)
"""Colour of a missing value."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """A colour scale.

    Attributes
    ----------
    low, high : float
        Values at the ends of the scale; values beyond them get the colour of the end.
    neutral : float or None
        Middle value of a diverging scale; ``None`` for a sequential one.
    low_colour, high_colour : tuple of int
        Colours of the ends; a diverging scale is near-white at the neutral value.
    """

    low: float
    high: float
    neutral: float | None
    low_colour: Rgb
    high_colour: Rgb

    def colour(self, value: float | None) -> Rgb:
        """Colour of a value.

        Parameters
        ----------
        value : float or None

        Returns
        -------
        tuple of int
            Red, green and blue, 0 to 255.

        Examples
        --------
        >>> ramp("share", []).colour(0.5) == PAPER, ramp("share", []).colour(1.0) == BLUE
        (True, True)
        """
        if value is None or math.isnan(value):
            return MISSING
        if self.neutral is None:
            return _mix(self.low_colour, self.high_colour, _part(value, self.low, self.high))
        if value >= self.neutral:
            return _mix(PAPER, self.high_colour, _part(value, self.neutral, self.high))
        return _mix(PAPER, self.low_colour, _part(value, self.neutral, self.low))


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


def _part(value: float, begin: float, end: float) -> float:
    return min(1.0, max(0.0, (value - begin) / (end - begin)))


def _mix(begin: Rgb, end: Rgb, part: float) -> Rgb:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(begin, end, strict=True))
    return red, green, blue


def luminance(colour: Rgb) -> float:
    """Relative luminance of a colour (WCAG 2.2).

    Parameters
    ----------
    colour : tuple of int

    Returns
    -------
    float
        0 for black, 1 for white.
    """
    parts = (c / 255 for c in colour)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Rgb, other: Rgb) -> float:
    """Contrast ratio of two colours (WCAG 2.2), from 1 to 21; text needs 4.5.

    Parameters
    ----------
    one, other : tuple of int

    Returns
    -------
    float

    Examples
    --------
    >>> contrast((0, 0, 0), (255, 255, 255))
    21.0
    """
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def ink(background: Rgb) -> Rgb:
    """Colour of text on a background: black or white.

    Parameters
    ----------
    background : tuple of int

    Returns
    -------
    tuple of int
    """
    black, white = (0, 0, 0), (255, 255, 255)
    return black if contrast(black, background) >= contrast(white, background) else white


def css(colour: Rgb) -> str:
    """Format a colour for CSS.

    Parameters
    ----------
    colour : tuple of int

    Returns
    -------
    str

    Examples
    --------
    >>> css(BLUE)
    '#0072b2'
    """
    return "#" + "".join(f"{part:02x}" for part in colour)


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
