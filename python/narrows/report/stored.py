"""Figures in files: their values as JSON, so that they can be drawn again in another format without the runs."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.report.values import Band, Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE: Final = "figures.json"
"""Name of the file in a directory."""

FORMAT: Final = 1

_ARRAYS: Final = ("x", "y", "low", "high")


def dumps(figures: Iterable[Figure]) -> str:
    """Return figures as JSON text; equal figures give equal text.

    Parameters
    ----------
    figures : iterable of Figure
        Time-sequence graphs are left out: their values are packets.

    Returns
    -------
    str
    """
    kept = (figure for figure in figures if not any(panel.flows for panel in figure.panels))
    content = {"format": FORMAT, "figures": [_plain(figure) for figure in kept]}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def loads(text: str) -> list[Figure]:
    """Return the figures of a text that `dumps` made.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of Figure

    Raises
    ------
    ValueError, TypeError, LookupError
        If it is not such a text, or of another format.

    Examples
    --------
    >>> line = Line("a", np.array([0.0, 1.0]), np.array([2.0, np.nan]), "#0072B2")
    >>> loads(dumps([Figure("f", "T", "c", "x", (Panel("y", (line,)),))]))[0].panels[0].lines[0].y.tolist()
    [2.0, nan]
    """
    content = json.loads(text)
    if content["format"] != FORMAT:
        message = f"format is {content['format']!r}"
        raise ValueError(message)
    return [_figure(one) for one in content["figures"]]


def read(directory: Path) -> list[Figure]:
    """Return the figures that a directory keeps.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    list of Figure
        Empty without the file.

    Raises
    ------
    OSError, ValueError, TypeError, LookupError
        If the file is damaged.
    """
    kept = directory / FILE
    return loads(kept.read_text(encoding="utf-8")) if kept.is_file() else []


def _plain(value: Any) -> Any:
    if isinstance(value, Figure | Panel | Line | Band):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value) if field.name != "flows"}
    if isinstance(value, np.ndarray):
        return [float(one) if np.isfinite(one) else None for one in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def _figure(content: dict[str, Any]) -> Figure:
    panels = tuple(_panel(one) for one in content.pop("panels"))
    marks = tuple((float(place), str(text)) for place, text in content.pop("marks"))
    span = content.pop("x_range")
    x_range = None if span is None else (float(span[0]), float(span[1]))
    return Figure(**content | {"panels": panels, "marks": marks, "x_range": x_range, "ticks": tuple(content["ticks"])})


def _panel(content: dict[str, Any]) -> Panel:
    lines = tuple(_line(one) for one in content.pop("lines"))
    bands = tuple(Band(**one) for one in content.pop("bands"))
    return Panel(**content, lines=lines, bands=bands)


def _line(content: dict[str, Any]) -> Line:
    arrays = {name: _array(content.pop(name)) for name in _ARRAYS}
    return Line(**content, **arrays)


def _array(values: list[float | None] | None) -> Any:
    return None if values is None else np.array([np.nan if one is None else one for one in values], dtype=float)
