"""Progress of a whole evaluation: rows decided, and the time left over all looks."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Final

from narrows.execution.work import Progress

OPEN: Final = 0.5
"""Expected part of the open rows that a look leaves open, for the time left; about half in the stored baselines."""


@dataclass(frozen=True, slots=True)
class EvaluationProgress(Progress):
    """Progress of an evaluation; ``done`` and ``total`` are the runs of the current look, the times those of all.

    Attributes
    ----------
    decided, rows : int
        Rows with a verdict, and all rows that are judged.
    look : str
        The current look, in words.
    """

    decided: int
    rows: int
    look: str


class Clock:
    """Turns the progress of a look into that of the evaluation.

    Parameters
    ----------
    rows : int
        Rows that are judged.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._begin = time.monotonic()
        self._fraction = 0.0
        self._look = ""
        self.decided = 0
        """Rows decided so far."""
        self._now, self._later = 0.0, 0.0
        self.deadline: float | None = None
        """When the budget ends, by the monotonic clock, s."""

    def begin(self, look: str, decided: int, now: float, later: float) -> None:
        """Begin a look.

        Parameters
        ----------
        look : str
            In words.
        decided : int
            Rows decided so far.
        now, later : float
            Expected work of this look and of all later ones, in one unit of any size.
        """
        self._look, self._now, self._later = look, now, later
        self.decided = max(self.decided, decided)

    def tell(self, state: Progress) -> EvaluationProgress:
        """Return the progress of the evaluation.

        Parameters
        ----------
        state : Progress
            Of the current look.

        Returns
        -------
        EvaluationProgress
        """
        moment = time.monotonic()
        seconds = moment - self._begin
        left_s = state.left_s
        if left_s is not None and self._now > 0:
            left_s += (state.seconds + left_s) * self._later / self._now
        if left_s is not None and self.deadline is not None:
            left_s = min(left_s, max(0.0, self.deadline - moment))
        if left_s is not None and seconds + left_s > 0:
            # What is left can grow when a look leaves more rows open than expected; a bar does not go back.
            self._fraction = max(self._fraction, seconds / (seconds + left_s))
        given = {field.name: getattr(state, field.name) for field in fields(Progress)}
        given |= {"fraction": self._fraction, "seconds": seconds, "left_s": left_s, "estimate": None}
        return EvaluationProgress(**given, decided=self.decided, rows=self._rows, look=self._look)
