"""What one run of a case came to, before it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.studies.check.outcome import Outcome
    from narrows.studies.check.series import Series


@dataclass(frozen=True, slots=True)
class Made:
    """What one run came to.

    Attributes
    ----------
    outcome : Outcome or None
        ``None`` if the run failed.
    error : str or None
        Why it failed.
    seconds : float
        Wall-clock time, s.
    series : Series or None
        The variables over time, if they were recorded.
    doubts : tuple of str
        Reasons not to trust a live run, a sentence each.
    tries : int
        Number of runs that were made; only live runs are repeated.
    """

    outcome: Outcome | None
    error: str | None
    seconds: float
    series: Series | None = None
    doubts: tuple[str, ...] = ()
    tries: int = 1
