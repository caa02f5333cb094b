"""What a reproduction yields: cells (published beside measured) and claims (what is said, and whether it holds)."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

    from narrows.conditions import Conditions

FORMAT = 1
"""Version of the shape of `Reproduction.to_json`; see `docs/json.md`."""


@dataclass(frozen=True)
class Cell:
    """One figure that a paper prints, beside ours.

    Attributes
    ----------
    name : str
        Which figure, as a path: `without/sent/1`.
    published : float or None
        As printed, in `unit`; `None` where the paper prints none.
    measured : float
        Mean over the runs.
    low, high : float or None
        Ends of the 95 % confidence interval of the mean; `None` with a single run.
    unit : str
        Unit of all four.
    """

    name: str
    published: float | None
    measured: float
    low: float | None
    high: float | None
    unit: str

    @property
    def difference(self) -> float | None:
        """Measured minus published."""
        return None if self.published is None else self.measured - self.published

    @property
    def percent(self) -> float | None:
        """The difference in per cent of the published value; `None` where that is zero or missing."""
        return None if not self.published else 100 * (self.measured - self.published) / abs(self.published)


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, and what we find.

    Attributes
    ----------
    text : str
        The claim, in words.
    holds : bool
        Computed from the runs.
    measured : str
        The figures that decide it.
    """

    text: str
    holds: bool
    measured: str


@dataclass(frozen=True, eq=False)
class Curve:
    """Lines over time, for a terminal.

    Attributes
    ----------
    title, unit : str
        What is drawn, and its unit.
    lines : tuple of (str, array, array)
        Each line's name, times in s, and values.
    """

    title: str
    unit: str
    lines: tuple[tuple[str, NDArray[np.float64], NDArray[np.float64]], ...]


@dataclass(frozen=True)
class Reproduction:
    """A paper's experiments, repeated.

    Attributes
    ----------
    paper : str
        Its name on the command line.
    cells, claims : tuple
        Published beside measured; what is said and whether it holds.
    calibration : dict
        What the paper leaves open and we set, by name, as text.
    text : str
        One paragraph: what agrees and what does not.
    paths : tuple of Path
        What was written, the page first.
    figures : tuple of Path
        The figures among them.
    curves : tuple of Curve
        What a terminal shows beside the cells.
    brief : bool
        Whether a terminal shows the text instead of the cells, since they are too many.
    shown : tuple of Cell
        With `brief`: the cells that a terminal shows all the same.
    failures : tuple of str
        Of a paper that is made of sweeps: runs that failed and are missing in all of this, each with its error.
    conditions : tuple of dict or None
        What a real machine had to say in it, run by run; see `narrows.conditions`. `None` where none had a say.
    doubts : tuple of str
        Why figures from a real machine are not to be trusted, a sentence each that names the run.
    """

    paper: str
    cells: tuple[Cell, ...]
    claims: tuple[Claim, ...]
    calibration: dict[str, str]
    text: str
    paths: tuple[Path, ...] = field(default=())
    figures: tuple[Path, ...] = field(default=())
    curves: tuple[Curve, ...] = field(default=())
    brief: bool = False
    shown: tuple[Cell, ...] = field(default=())
    failures: tuple[str, ...] = field(default=())
    conditions: tuple[Conditions, ...] | None = None
    doubts: tuple[str, ...] = field(default=())

    def cell(self, name: str) -> Cell:
        """The cell of this name.

        Raises
        ------
        KeyError
            If there is none.
        """
        for one in self.cells:
            if one.name == name:
                return one
        raise KeyError(name)

    def moved(self, staging: Path, out: str | PathLike[str]) -> Reproduction:
        """The same with its files where they end up, once the staging directory has become `out`."""
        paths, figures = (
            tuple(Path(out) / path.relative_to(staging) for path in some) for some in (self.paths, self.figures)
        )
        return replace(self, paths=paths, figures=figures)

    def to_json(self) -> dict[str, Any]:
        """The contract of `narrows reproduce PAPER --json`: no NaN, no infinity.

        Returns
        -------
        dict
            Keys `format`, `paper`, `cells` and `claims`; where a real machine had a say also `trusted`, `doubts` and
            `conditions`.

        Examples
        --------
        >>> made = Reproduction("p", (Cell("a", 1.0, 2.0, None, None, "s"),), (Claim("c", True, "2"),), {}, "")
        >>> made.to_json()["cells"]
        [{'name': 'a', 'published': 1.0, 'measured': 2.0, 'low': None, 'high': None, 'unit': 's'}]
        """
        content: dict[str, Any] = {
            "format": FORMAT,
            "paper": self.paper,
            "cells": [
                {
                    "name": one.name,
                    "published": _finite(one.published),
                    "measured": _finite(one.measured),
                    "low": _finite(one.low),
                    "high": _finite(one.high),
                    "unit": one.unit,
                }
                for one in self.cells
            ],
            "claims": [{"text": one.text, "holds": one.holds, "measured": one.measured} for one in self.claims],
        }
        if self.conditions is not None:
            content |= {
                "trusted": not self.doubts,
                "doubts": list(self.doubts),
                "conditions": list(self.conditions),
            }
        return content


def cells_csv(cells: Iterable[Cell]) -> str:
    """All cells as a table for other programs; an empty field is "no value".

    Examples
    --------
    >>> print(cells_csv([Cell("without/lost/1", 110.0, 121.5, None, None, "packets")]), end="")
    name,published,measured,low,high,difference,difference_percent,unit
    without/lost/1,110,121.5,,,11.5,10.4545,packets
    """

    def plain(value: float | None) -> str:
        return "" if value is None or not math.isfinite(value) else f"{value:.6g}"

    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(["name", "published", "measured", "low", "high", "difference", "difference_percent", "unit"])
    for cell in cells:
        numbers = (cell.published, cell.measured, cell.low, cell.high, cell.difference, cell.percent)
        rows.writerow([cell.name, *map(plain, numbers), cell.unit])
    return buffer.getvalue()


def command(paper: str, *, quick: bool, runs: int | None) -> str:
    """What was called, for the page: `narrows reproduce` with what makes the result another.

    Parameters
    ----------
    paper : str
        Name of the paper, with options that go with it.
    quick : bool
        Whether it was a first look.
    runs : int or None
        Runs as asked for, if they were.

    Examples
    --------
    >>> command("ngwa --beyond", quick=True, runs=3)
    'narrows reproduce ngwa --beyond --quick --runs 3'
    """
    return (
        f"narrows reproduce {paper}" + (" --quick" if quick else "") + (f" --runs {runs}" if runs is not None else "")
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
