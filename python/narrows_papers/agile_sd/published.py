"""Numbers that the paper prints, from `published.csv` next to the scenarios."""

from __future__ import annotations

from functools import cache

from narrows_papers.agile_sd.arms import folder
from narrows_papers.frame import tables


class Published(tables.Published):
    """Figures printed in the paper, by quantity and subject."""

    @property
    def pairs(self) -> dict[str, float]:
        """Inter-fairness indices by pair, such as ``agile_sd cubic``."""
        return {what: value for (quantity, what), value in self.values.items() if quantity == "inter_fairness"}


@cache
def published() -> Published:
    """Return the paper's figures."""
    return Published.of_table(folder() / "published.csv", "of")
