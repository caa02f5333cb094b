"""Variables of a case over time, as its expectations saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable over time.

    Attributes
    ----------
    text : str
        As expressions name it.
    unit : str
        Unit of the values; empty for counts, truth values and words.
    words : tuple of str
        Words by value, of a state variable; else empty.
    values : tuple of float or None
        A value per look; ``None`` where it had none.
    """

    text: str
    unit: str
    words: tuple[str, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """All variables of a case over time.

    Attributes
    ----------
    times_s : tuple of float
        Times of the looks, s since the start of the run.
    variables : tuple of Variable
    """

    times_s: tuple[float, ...]
    variables: tuple[Variable, ...]

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Series:
        """Create a series from the engine's values.

        Parameters
        ----------
        given : mapping

        Returns
        -------
        Series
        """
        return cls(
            tuple(given["time_s"]),
            tuple(
                Variable(one["text"], one["unit"], tuple(one.get("words") or ()), tuple(one["values"]))
                for one in given["variables"]
            ),
        )

    def window(self, begin_s: float, end_s: float) -> Series:
        """Return the part of a time, with one look before and one after it.

        Parameters
        ----------
        begin_s, end_s : float

        Returns
        -------
        Series
        """
        inside = [index for index, time in enumerate(self.times_s) if begin_s <= time <= end_s]
        if not inside:
            return self
        first, last = max(0, inside[0] - 1), min(len(self.times_s), inside[-1] + 2)
        return Series(
            self.times_s[first:last],
            tuple(Variable(one.text, one.unit, one.words, one.values[first:last]) for one in self.variables),
        )
