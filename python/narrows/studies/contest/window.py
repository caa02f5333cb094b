"""The time window that a contest measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from narrows.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Window:
    """Start and end of the measured time.

    Attributes
    ----------
    start_s, end_s : float
        s, from the start of the run.

    Examples
    --------
    >>> Window.parse("40:100").length_s
    60.0
    """

    start_s: float
    end_s: float

    @classmethod
    def parse(cls, text: str) -> Window:
        """Parse ``START:END``, in seconds.

        Parameters
        ----------
        text : str

        Returns
        -------
        Window

        Raises
        ------
        InputError
            If the text has another form.
        """
        start, _, end = text.partition(":")
        try:
            return cls(*(float(part.strip().removesuffix("s").strip()) for part in (start, end)))
        except ValueError:
            message = f"window is {text!r}; allowed: START:END in seconds, such as 40:100"
            raise InputError(message) from None

    @property
    def length_s(self) -> float:
        """Length of the window, s."""
        return self.end_s - self.start_s

    def check(self, duration_s: float) -> None:
        """Check that the window lies within a run.

        Parameters
        ----------
        duration_s : float
            Simulated time of the run, s.

        Raises
        ------
        InputError
            If it does not, or is empty.
        """
        if not (math.isfinite(self.start_s) and 0 <= self.start_s < self.end_s <= duration_s):
            message = f"window is {self}; allowed: within the run, 0:{duration_s:g}, and its end after its start"
            raise InputError(message)

    def __str__(self) -> str:
        """Format the window as the command line takes it.

        Examples
        --------
        >>> str(Window(8.5, 60.0))
        '8.5:60'
        """
        return f"{self.start_s:.10g}:{self.end_s:.10g}"
