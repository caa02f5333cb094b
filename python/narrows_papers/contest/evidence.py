"""Results of ns-2.35, the paper's simulator, for the same pairs: measured once and stored next to the scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from narrows_papers.contest.published import STARTERS, Printed, folder
from narrows_papers.frame import tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from narrows_papers.contest.measured import Meeting

    Meetings = Mapping[tuple[str, str], Meeting]


@dataclass(frozen=True, slots=True)
class Other:
    """TPP of one flow of a pair on ns-2: mean, smallest, largest and median over `seeds` seeds, Mibit/s."""

    mean: float
    low: float
    high: float
    median: float
    seeds: int


FILES = {"limited": "ns2.csv", "unlimited": "ns2-unlimited.csv", "seeds": "ns2-seeds.csv"}
"""Tables of ns-2's runs: the two sets, with five and three seeds, and a few pairs with the limit over many seeds."""


@dataclass(frozen=True)
class Search:
    """Rows of `search.csv`, and its first line: seeds and version."""

    said: str
    rows: tuple[Mapping[str, str], ...]


def search() -> Search:
    """Read what each value that the paper leaves out does to the score and the claims."""
    where = folder() / "search.csv"
    return Search(tables.said(where), tuple(tables.rows(where)))


def ns2(of: str = "limited", path: Path | None = None) -> dict[tuple[str, str, str], Other]:
    """Read ns-2's runs of a set, by first starter, second starter, and flow."""
    where = folder() / FILES[of] if path is None else path
    values: dict[tuple[str, str, str], list[float]] = {}
    for row in tables.rows(where):
        for whose in STARTERS:
            values.setdefault((row["first"], row["second"], whose), []).append(float(row[f"tpp_{whose}"]))
    return {
        key: Other(math.fsum(some) / len(some), min(some), max(some), median(some), len(some))
        for key, some in values.items()
    }


def of_cell(others: Mapping[tuple[str, str, str], Other], printed: Printed) -> Other | None:
    """Return ns-2's result for a published cell; `None` if its run was not made."""
    return others.get((printed.first, printed.second, printed.of))


def near(others: Mapping[tuple[str, str, str], Other], cells: Sequence[Printed], percent: float) -> tuple[int, int]:
    """Count the cells where ns-2's means are within `percent` of the published values, and all cells that ns-2 has."""
    found = [(one.tpp, other.mean) for one in cells if (other := of_cell(others, one)) is not None]
    return sum(100 * abs(mean / tpp - 1) <= percent for tpp, mean in found), len(found)


def distance(
    others: Mapping[tuple[str, str, str], Other], meetings: Meetings, percent: float
) -> tuple[float, int, int]:
    """Compare our means with ns-2's, over both starters of all pairs that both have.

    Returns
    -------
    median : float
        Median of the absolute differences, %.
    near : int
        Number of differences within `percent`.
    total : int
        Number of differences.
    """
    sizes = []
    for (first, second), one in meetings.items():
        for of in STARTERS:
            other = others.get((first, second, of))
            if other is not None:
                sizes.append(100 * abs(one.tpp(of).mean / other.mean - 1))
    return (median(sizes) if sizes else math.nan), sum(size <= percent for size in sizes), len(sizes)
