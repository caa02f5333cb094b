"""Room for the parsed scenarios of a sweep, so that a point is parsed once for its address and its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from narrows.model.scenario import Scenario

_MOST_BYTES: Final = 256_000_000
"""What kept scenarios may take together."""

_FIXED: Final = 5_000
"""Bytes of a scenario and its point without nodes, links and flows."""

_PART: Final = 400
"""Bytes of a node, link or flow (measured: a point of a dumbbell with 13 of them takes 8.4 kB)."""


class Memory:
    """Room for the scenarios of a sweep's points. Those that find none are parsed again for their runs."""

    def __init__(self) -> None:
        self._left = _MOST_BYTES

    def takes(self, scenario: Scenario) -> bool:
        """Take the room of a scenario.

        Parameters
        ----------
        scenario : Scenario

        Returns
        -------
        bool
            Whether there is room.
        """
        size = scenario.core.size()
        need = _FIXED + _PART * (size["nodes"] + size["links"] + size["flows"])
        if need > self._left:
            return False
        self._left -= need  # threads may take the same bytes: the bound need not be exact
        return True
