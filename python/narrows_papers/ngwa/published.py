"""Numbers that the paper prints, from `published.csv` next to the scenario."""

from __future__ import annotations

from narrows_papers.frame.tables import Published
from narrows_papers.ngwa.arms import folder


def published() -> Published:
    """Return the paper's figures, by quantity and arm."""
    return Published.of_table(folder() / "published.csv", "arm")
