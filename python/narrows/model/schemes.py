"""A scenario's network-assisted scheme and its settings in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.model.resolved import Flow, Resolved, Settings


def running(resolved: Resolved) -> tuple[str, Settings] | None:
    """Find the scheme that runs in a scenario.

    Parameters
    ----------
    resolved : Resolved

    Returns
    -------
    (str, mapping) or None
        Name and settings; at most one scheme runs.
    """
    return next(iter(resolved.schemes.items()), None)


@dataclass(frozen=True, slots=True)
class NgwaMode:
    """Features that one of NGWA's eight modes switches on (table 1 of the paper).

    Attributes
    ----------
    number : int
        1 to 8.
    congestion_window : bool
        CW: the sender keeps its congestion window; without it, only the receiver's window limits it (RFC 793).
    smoothing : bool
        SE: the receiver smooths the received values.
    flow_division : bool
        FD: routers divide their queue by the number of flows; without it they report its free bytes.
    """

    number: int
    congestion_window: bool
    smoothing: bool
    flow_division: bool

    @classmethod
    def of(cls, number: int) -> NgwaMode:
        """Return a mode by its number.

        Parameters
        ----------
        number : int
            1 to 8.

        Returns
        -------
        NgwaMode
        """
        return cls(number, number in {1, 2, 5, 6}, number % 2 == 0, number >= 5)

    def __str__(self) -> str:
        """Name the features that are on and off.

        Examples
        --------
        >>> print(NgwaMode.of(5))
        mode 5: with congestion window and flow division, without smoothing
        >>> print(NgwaMode.of(3))
        mode 3: without congestion window, smoothing and flow division
        """
        parts = {
            "congestion window": self.congestion_window,
            "smoothing": self.smoothing,
            "flow division": self.flow_division,
        }
        sides = (
            f"{word} {_listed([name for name, there in parts.items() if there is wanted])}"
            for word, wanted in (("with", True), ("without", False))
            if wanted in parts.values()
        )
        return f"mode {self.number}: {', '.join(sides)}"


def _listed(words: list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def control_of(flow: Flow, resolved: Resolved) -> str | None:
    """Return the congestion control that a flow actually runs.

    Parameters
    ----------
    flow : Flow
    resolved : Resolved
        The scenario of the flow.

    Returns
    -------
    str or None
        ``none`` if NGWA's mode disables the flow's congestion window, whatever its ``cc`` says; ``None`` for UDP.
    """
    tcp = flow.tcp
    if tcp is None:
        return None
    ngwa = resolved.schemes.get("ngwa")
    if ngwa and tcp.assist == "ngwa" and not NgwaMode.of(ngwa["mode"]).congestion_window:
        return "none"
    return tcp.cc
