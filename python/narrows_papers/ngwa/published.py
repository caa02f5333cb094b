"""Numbers that the paper prints, from `published.csv` next to the scenario."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows_papers.ngwa.arms import folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Published:
    """Figures printed in the paper, by (quantity, arm)."""

    values: Mapping[tuple[str, str], float]

    @classmethod
    def read(cls, path: Path | None = None) -> Published:
        """Read `published.csv`; lines that begin with `#` are comments."""
        where = folder() / "published.csv" if path is None else path
        with where.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(line for line in file if not line.startswith("#"))
            return cls({(row["quantity"], row["arm"]): float(row["value"]) for row in rows})

    def of(self, quantity: str, arm: str) -> float | None:
        """The figure, or `None` if the paper prints none."""
        return self.values.get((quantity, arm))
