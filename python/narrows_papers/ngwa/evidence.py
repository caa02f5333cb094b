"""Evidence for the calibration: losses of every arm with one value of the scenario changed, measured once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows_papers.frame import tables
from narrows_papers.ngwa.arms import ARMS, folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Variation:
    """One point of `search.csv`.

    Attributes
    ----------
    name : str
        Difference from `scenario.toml`; a row under its own name is the unchanged file.
    distance : float
        Distance from the published losses: sum of |ln((1 + measured) / (1 + published))| over the arms.
    lost : mapping of str to float
        Mean lost packets by arm.
    """

    name: str
    distance: float
    lost: Mapping[str, float]


@dataclass(frozen=True)
class Search:
    """The points, nearest first, and the number of runs per mean."""

    points: tuple[Variation, ...]
    runs: int


def search(path: Path | None = None) -> Search:
    """Read `search.csv`; its first line gives the number of runs per arm and point."""
    where = folder() / "search.csv" if path is None else path
    told = re.match(r"(\d+) runs", tables.said(where))
    points = tuple(
        Variation(row["name"], float(row["distance"]), {arm.name: float(row[f"lost_{arm.name}"]) for arm in ARMS})
        for row in tables.rows(where)
    )
    return Search(points, int(told[1]) if told else 0)
