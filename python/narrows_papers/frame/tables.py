"""Reading the CSV files beside a scenario: published figures, and what was measured once."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a table as text by column; lines that begin with `#` are comments."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def said(path: Path) -> str:
    """Read the first line of a table, a comment that describes it."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.readline().lstrip("# ").strip()


@dataclass(frozen=True)
class Published:
    """Figures printed in a paper, by quantity and subject."""

    values: Mapping[tuple[str, str], float]

    @classmethod
    def of_table(cls, path: Path, subject: str) -> Self:
        """Read a table with the columns `quantity`, `value`, and one of this name for the subject."""
        return cls({(row["quantity"], row[subject]): float(row["value"]) for row in rows(path)})

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
