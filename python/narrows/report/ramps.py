"""Colour scales of heat maps, in colours that colour-blind readers can distinguish, and text that is legible on them.

Diverging scales run between blue and vermillion (Okabe and Ito), through near-white at the neutral value. Sequential
scales run between near-white and one of the two. The text in a cell is black or white, whichever has more contrast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

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
        >>> scale = Ramp(0.0, 1.0, None, PAPER, BLUE)
        >>> scale.colour(0.0) == PAPER, scale.colour(1.0) == BLUE, scale.colour(None) == MISSING
        (True, True, True)
        """
        if value is None or math.isnan(value):
            return MISSING
        if self.neutral is None:
            return _mix(self.low_colour, self.high_colour, _part(value, self.low, self.high))
        if value >= self.neutral:
            return _mix(PAPER, self.high_colour, _part(value, self.neutral, self.high))
        return _mix(PAPER, self.low_colour, _part(value, self.neutral, self.low))


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
