"""What of a result is exported, and how: formats, names, width and resolution, checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.export.values import FIGURES, FORMATS, TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTHS_MM: Final = {"column": 88.9, "page": 181.864}
"""Width of a column of a two-column paper (3.5 in, as IEEE's), and of both (7.16 in), mm."""

LEAST_MM: Final = 40.0
MOST_MM: Final = 500.0
LEAST_DPI: Final = 36
MOST_DPI: Final = 1200

MM_PER_INCH: Final = 25.4


@dataclass(frozen=True)
class Options:
    """What is exported, and how.

    Attributes
    ----------
    to : tuple of str
        Formats of `narrows.export.FORMATS`.
    tables, figures : tuple of str
        Names; ``*`` stands for any letters. By default all.
    width_mm : float
        Width of figures and of LaTeX tables, mm.
    dpi : int
        Resolution of PNG, dots per inch.
    flow : str
        The flow whose packets are exported, in formats with a file for each flow; empty for all.
    """

    to: tuple[str, ...] = ("csv",)
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    width_mm: float = WIDTHS_MM["column"]
    dpi: int = 300
    flow: str = ""

    @property
    def width_in(self) -> float:
        """The width in inches."""
        return self.width_mm / MM_PER_INCH


def options(
    to: str | Sequence[str] = "csv",
    *,
    tables: str | Sequence[str] = (),
    figures: str | Sequence[str] = (),
    width: str | float = "column",
    dpi: int = 300,
    flow: str = "",
) -> Options:
    """Check and return what is exported.

    Parameters
    ----------
    to, tables, figures : str or sequence of str
        As in `Options`; a text is a list with commas.
    width : str or float
        ``column``, ``page``, or millimetres.
    dpi : int
    flow : str
        As in `Options`.

    Returns
    -------
    Options

    Raises
    ------
    InputError
        If a value is not allowed; the message names those that are.

    Examples
    --------
    >>> options("csv,pdf", width="120 mm").width_mm
    120.0
    """
    formats = tuple(dict.fromkeys(_split(to)))
    for one in formats:
        if one not in FORMATS:
            message = f"format is {one!r}; allowed: {', '.join(FORMATS)}"
            raise InputError(message)
    if not formats:
        message = f"no format; allowed: {', '.join(FORMATS)}"
        raise InputError(message)
    if not LEAST_DPI <= dpi <= MOST_DPI:
        message = f"dpi is {dpi}; allowed: {LEAST_DPI} to {MOST_DPI}"
        raise InputError(message)
    made = Options(formats, tuple(_split(tables)), tuple(_split(figures)), _width(width), dpi, flow)
    for names, kind, known in ((made.tables, "tables", TABLES), (made.figures, "figures", FIGURES)):
        if names and not set(formats) & set(known):
            message = f"{kind} are named, and no format of {kind}; allowed with them: {', '.join(known)}"
            raise InputError(message)
    if flow and not {"xplot", "qlog"} & set(formats):
        message = f"flow is {flow!r}, and no format has a file for each flow; allowed with it: xplot, qlog"
        raise InputError(message)
    return made


def _split(value: str | Sequence[str]) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value
    return [part.strip() for part in parts if part.strip()]


def _width(value: str | float) -> float:
    if isinstance(value, str) and value in WIDTHS_MM:
        return WIDTHS_MM[value]
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:mm)?", str(value).strip())
    width = float(found[1]) if found else 0.0
    if not LEAST_MM <= width <= MOST_MM:
        message = f"width is {value!r}; allowed: {', '.join(WIDTHS_MM)}, or {LEAST_MM:g} to {MOST_MM:g} mm"
        raise InputError(message)
    return width
