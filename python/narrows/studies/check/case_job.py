"""What the jobs of a check have in common, simulated or live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.execution.job import Job
from narrows.studies.check.made import Made

if TYPE_CHECKING:
    from narrows.studies.check.plan import Item


@dataclass(frozen=True, slots=True)
class CaseJob(Job[Made]):
    """One run of a case as a job.

    Attributes
    ----------
    index : int
        Index of the item in the plan; the key.
    item : Item
    seed : int or None
        ``None``: the scenario's own.
    case, bucket : int
        Positions on the axes of the forecast: the case, and the size of the cell.
    """

    index: int
    item: Item
    seed: int | None
    case: int
    bucket: int

    @property
    def key(self) -> str:
        """The index."""
        return str(self.index)

    @property
    def steps(self) -> tuple[int, ...]:
        """Positions of the case and of the cell's size."""
        return self.case, self.bucket
