"""Evidence for the calibration, measured once: variations of one flow and of pairs, and ns-2 itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows_papers.agile_sd.arms import folder
from narrows_papers.frame import tables

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Table:
    """A table written by a script.

    Attributes
    ----------
    said : str
        First line of the table: number of runs, and version.
    rows : tuple of dict
        Text by column.
    """

    said: str
    rows: tuple[dict[str, str], ...]


def read(path: Path) -> Table:
    """Read a table whose first line begins with ``#`` and describes it."""
    return Table(tables.said(path), tuple(tables.rows(path)))


def search() -> Table:
    """One flow with buffers of 5 packets and one or two calibrated values changed (``search.csv``)."""
    return read(folder() / "search.csv")


def ns2() -> Table:
    """One flow on ns-2.35 (``ns2.csv``)."""
    return read(folder() / "ns2.csv")


def pairs_search() -> Table:
    """Pairs with one or two values of `side-by-side.toml` changed (``pairs-search.csv``)."""
    return read(folder() / "pairs-search.csv")


def ns2_pairs() -> Table:
    """Pairs on ns-2.35 (``ns2-pairs.csv``)."""
    return read(folder() / "ns2-pairs.csv")


def ns2_indices() -> dict[str, dict[int, dict[str, float]]]:
    """Jain's indices on ns-2.35: by condition, buffer and pair.

    Returns
    -------
    dict
        Conditions are ``with SACK``, ``without SACK`` and ``with SACK, no phases``.
    """
    made: dict[str, dict[int, dict[str, float]]] = {}
    for row in ns2_pairs().rows:
        name = row["receiver"] + (", no phases" if float(row["overhead_us"]) > 0 else "")
        made.setdefault(name, {}).setdefault(int(row["buffer"]), {})[row["pair"]] = float(row["index"])
    return made
