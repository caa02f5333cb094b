"""Numbers that the paper prints, from `published.csv` next to the scenarios."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from narrows_papers.agile_sd.arms import folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Published:
    """Figures printed in the paper, by quantity and subject."""

    values: Mapping[tuple[str, str], float]

    @classmethod
    def read(cls, path: Path | None = None) -> Published:
        """Read `published.csv`; lines that begin with `#` are comments."""
        where = folder() / "published.csv" if path is None else path
        with where.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            return cls({(row["quantity"], row["of"]): float(row["value"]) for row in rows})

    def of(self, quantity: str, what: str) -> float | None:
        """The figure, or `None` if the paper prints none."""
        return self.values.get((quantity, what))

    def the(self, quantity: str, what: str) -> float:
        """The figure.

        Raises
        ------
        KeyError
            If the paper prints none.
        """
        return self.values[quantity, what]

    @property
    def pairs(self) -> dict[str, float]:
        """Inter-fairness indices by pair, such as ``agile_sd cubic``."""
        return {what: value for (quantity, what), value in self.values.items() if quantity == "inter_fairness"}


@cache
def published() -> Published:
    """Return the paper's figures."""
    return Published.read()
