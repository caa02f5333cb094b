"""Evidence for the calibration: losses of every arm with one value of the scenario changed, measured once."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    with where.open(encoding="utf-8", newline="") as file:
        lines = list(file)
    told = re.match(r"# (\d+) runs", lines[0])
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    points = tuple(
        Variation(row["name"], float(row["distance"]), {arm.name: float(row[f"lost_{arm.name}"]) for arm in ARMS})
        for row in rows
    )
    return Search(points, int(told[1]) if told else 0)
