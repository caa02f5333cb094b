"""Results of a reproduction: cells (published and measured values) and claims (statements, and whether they hold)."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

    from narrows.outcome.conditions import Conditions
    from narrows.stats import Estimate

FORMAT = 1
"""Version of the format of `Reproduction.to_json`; see `docs/json.md`."""

DECIDING_RUNS = 5
"""Fewest runs on which a claim counts as decided."""


@dataclass(frozen=True)
class Cell:
    """One figure printed in a paper, with our value.

    Attributes
    ----------
    name : str
        Path of the figure: `without/sent/1`.
    published : float or None
        Value as printed, in `unit`; `None` if the paper prints none.
    measured : float
        Mean over the runs.
    low, high : float or None
        Ends of the 95 % confidence interval of the mean; `None` with a single run.
    unit : str
        Unit of the four values.
    """

    name: str
    published: float | None
    measured: float
    low: float | None
    high: float | None
    unit: str

    @classmethod
    def of(cls, name: str, published: float | None, estimate: Estimate, unit: str) -> Cell:
        """Return the cell of a mean; with a single run it has no interval."""
        low, high = (estimate.low, estimate.high) if estimate.n > 1 else (None, None)
        return cls(name, published, estimate.mean, low, high, unit)

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
    """One statement of a paper, and our result.

    Attributes
    ----------
    text : str
        The claim, in words.
    holds : bool
        Computed from the runs.
    measured : str
        The figures that the result is based on.
    rule : str
        How `holds` was computed: which statistic, which bound, and whether it is bounded on both sides.
    runs : int or None
        Fewest runs of a setting, each with its own seed, behind the figures; `None` if none is drawn at random.
    rests_on : str
        The choice of ours that decides the claim, with the figures under the other choice; empty if none was found to.

    Examples
    --------
    >>> Claim("c", True, "2", runs=5).verdict, Claim("c", True, "2", runs=4).verdict, Claim("c", False, "2").verdict
    ('holds', 'undecided', 'differs')
    """

    text: str
    holds: bool
    measured: str
    rule: str = ""
    runs: int | None = None
    rests_on: str = ""

    @property
    def verdict(self) -> str:
        """``holds``, ``differs``, or ``undecided`` with fewer than `DECIDING_RUNS` runs."""
        if self.runs is not None and self.runs < DECIDING_RUNS:
            return "undecided"
        return "holds" if self.holds else "differs"

    def to_json(self) -> dict[str, Any]:
        """Return the claim's object in a report of JSON; see `docs/json.md`."""
        return {
            "text": self.text,
            "holds": self.holds,
            "verdict": self.verdict,
            "measured": self.measured,
            "rule": self.rule,
            "runs": self.runs,
            "rests_on": self.rests_on,
        }


def few(runs: int) -> str:
    """Return the number of runs as words, if it is too small to decide a claim; otherwise nothing.

    Examples
    --------
    >>> few(1), few(2), few(5)
    ('one run', '2 runs', '')
    """
    if runs >= DECIDING_RUNS:
        return ""
    return "one run" if runs == 1 else f"{runs} runs"


def resting(claims: Iterable[Claim], choices: Mapping[str, str]) -> list[Claim]:
    """Return the claims with the choices that they rest on.

    Parameters
    ----------
    claims : iterable of Claim
    choices : mapping of str to str
        The choice by the claim's text; texts that no claim has are ignored.
    """
    return [replace(one, rests_on=choices.get(one.text, one.rests_on)) for one in claims]


def on_runs(claims: Iterable[Claim], runs: int) -> list[Claim]:
    """Return the claims with the number of runs that they were decided on."""
    return [replace(one, runs=runs) for one in claims]


def by_majority(made: Sequence[Sequence[Claim]]) -> list[Claim]:
    """Return claims that were evaluated on each run by itself: each holds if it does in more than half of the runs.

    Parameters
    ----------
    made : sequence of sequence of Claim
        The same claims for each run; the first run's figures are shown.

    Examples
    --------
    >>> one, = by_majority([[Claim("c", True, "2", "below 3")], [Claim("c", True, "1")], [Claim("c", False, "4")]])
    >>> one.holds, one.measured, one.rule
    (True, '2 (first run; so in 2 of 3 runs)', 'below 3; in more than half of the runs')
    """
    decided = []
    for same in zip(*made, strict=True):
        first, held = same[0], sum(one.holds for one in same)
        decided.append(
            replace(
                first,
                holds=2 * held > len(same),
                measured=f"{first.measured} (first run; so in {held} of {len(same)} runs)"
                if len(same) > 1
                else first.measured,
                rule=f"{first.rule}; in more than half of the runs",
                runs=len(same),
            )
        )
    return decided


def tally(claims: Iterable[Claim]) -> str:
    """Count the claims that hold, and those that are undecided.

    Examples
    --------
    >>> tally([Claim("a", True, ""), Claim("b", False, "")]), tally([Claim("a", True, "", runs=1)])
    ('1 of 2', '0 of 1, 1 undecided')
    """
    verdicts = [one.verdict for one in claims]
    undecided = verdicts.count("undecided")
    return f"{verdicts.count('holds')} of {len(verdicts)}" + (f", {undecided} undecided" if undecided else "")


@dataclass(frozen=True, eq=False)
class Curve:
    """Lines over time, for a terminal.

    Attributes
    ----------
    title, unit : str
        Quantity, and its unit.
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
        Name of the paper on the command line.
    cells, claims : tuple
        Published and measured values; statements and whether they hold.
    calibration : dict
        Settings that the paper leaves open, with our values as text, by name.
    text : str
        One paragraph that states what agrees and what does not.
    paths : tuple of Path
        Files that were written, the page first.
    figures : tuple of Path
        The figures among `paths`.
    curves : tuple of Curve
        Curves that the terminal shows next to the cells.
    brief : bool
        Whether the terminal shows the text instead of the cells, because there are too many.
    shown : tuple of Cell
        With `brief`, the cells that the terminal shows anyway.
    failures : tuple of str
        For a paper that consists of sweeps, the failed runs, which are missing in all results, each with its error.
    conditions : tuple of dict or None
        Conditions of the live runs, run by run; see `narrows.outcome.conditions`. `None` if there were no live runs.
    doubts : tuple of str
        Reasons not to trust live figures, a sentence each that names the run.
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
        """Return the cell of this name.

        Raises
        ------
        KeyError
            If there is no such cell.
        """
        for one in self.cells:
            if one.name == name:
                return one
        raise KeyError(name)

    def moved(self, staging: Path, out: str | PathLike[str]) -> Reproduction:
        """Return the same reproduction with final paths, for when the staging directory has become `out`."""
        paths, figures = (
            tuple(Path(out) / path.relative_to(staging) for path in some) for some in (self.paths, self.figures)
        )
        return replace(self, paths=paths, figures=figures)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `narrows reproduce PAPER --json` prints: no NaN, no infinity.

        Returns
        -------
        dict
            Keys `format`, `paper`, `cells` and `claims`; with live runs also `trusted`, `doubts` and `conditions`.

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
            "claims": [one.to_json() for one in self.claims],
        }
        if self.conditions is not None:
            content |= {
                "trusted": not self.doubts,
                "doubts": list(self.doubts),
                "conditions": list(self.conditions),
            }
        return content


def cells_csv(cells: Iterable[Cell]) -> str:
    """Return all cells as CSV; an empty field means "no value".

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


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
