"""The fifteen variants of the paper as our congestion controls, in the order of its tables.

The paper ran ns-2.35: Reno, NewReno, SACK, FACK and Vegas are agents of their own there, the others modules of its
TCP/Linux agent, ports of Linux's of about 2007. `stack = "ns2"` gives a flow the habits of the one or of the other, and
the congestion control takes its profile by it. What is more stands in `Variant.settings` and comes from running ns-2
itself (`experiments/contest/ns2`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from narrows.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_SEGMENTS = 20
"""Window limit of the paper's runs, segments: ns-2's default `window_`."""

SEGMENT_BYTES = 1000
"""Payload of a segment: ns-2's default `packetSize_`."""


@dataclass(frozen=True)
class Variant:
    """One of the fifteen.

    Attributes
    ----------
    name : str
        As the paper's tables print it.
    cc : str
        Our congestion control.
    agent : str
        What ns-2.35 calls it.
    limited : bool
        Whether ns-2's window limit binds it.
    settings : mapping
        What its `[tcp]` needs beyond `cc` and the stack.
    aliases : tuple of str
        Other names in the paper's text.
    """

    name: str
    cc: str
    agent: str
    limited: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    def tcp(self, *, window_limit: bool) -> dict[str, Any]:
        """Its `[tcp]` table, with the paper's window limit or without one.

        The limit is also the first slow-start threshold: all of ns-2's agents begin with `window_` for it.
        """
        made: dict[str, Any] = {"cc": self.cc, "stack": "ns2", **self.settings}
        limit = f"{WINDOW_SEGMENTS * SEGMENT_BYTES} B"
        made["max_cwnd"] = limit if window_limit and self.limited else "unlimited"
        made["initial_ssthresh"] = limit if window_limit else "unlimited"
        return made


def _own(name: str, cc: str, agent: str, aliases: tuple[str, ...] = (), **settings: Any) -> Variant:
    return Variant(name, cc, f"Agent/TCP/{agent}", settings=settings, aliases=aliases)


def _module(name: str, cc: str, aliases: tuple[str, ...] = (), *, limited: bool = True, **settings: Any) -> Variant:
    return Variant(name, cc, f"Agent/TCP/Linux, {cc}", limited=limited, settings=settings, aliases=aliases)


VARIANTS: tuple[Variant, ...] = (
    _module("Bic", "bic"),
    _module("Compound", "compound", ("C-TCP", "CTCP")),
    _module("Cubic", "cubic"),
    _own("Fack", "fack", "Fack"),
    _module("Highspeed", "highspeed", ("HS", "High Speed")),
    _module("HTCP", "htcp", ("H-TCP",)),
    # Its module raises the bound of the window to 65535 segments (`snd_cwnd_clamp`), and so undoes `window_`. It takes
    # its first round-trip time before there is one, as timestamps are off: rho stays 1, here by an RTT0 beyond any RTT.
    _module("Hybla", "hybla", limited=False, cc_params={"rtt0": 1000}),
    _module("Illinois", "illinois"),
    # Without timestamps, ns-2's default, it has no delays to read and goes on as Reno does.
    _module("LowPriority", "lp", ("LP", "Low Priority", "TCP-LP")),
    _own("NewReno", "newreno", "Newreno", ("New Reno",), sack=False),
    _own("Reno", "reno", "Reno", sack=False),
    _own("Sack", "sack", "Sack1"),
    # Its agent counts no headers: what is 1040 bytes of the others is 1000 of it.
    _own("Vegas", "vegas", "Vegas", sack=False, mss="960 B"),
    _module("Veno", "veno", ("Venet",)),
    _module("Westwood", "westwood"),
)
"""In the order of the paper's rows and columns."""

NAMES: tuple[str, ...] = tuple(one.name for one in VARIANTS)
"""As the tables print them."""

PAIRS: tuple[tuple[str, str], ...] = (
    ("Illinois", "Vegas"),
    ("Vegas", "Compound"),
    ("Westwood", "Hybla"),
    ("Reno", "Cubic"),
    ("Compound", "Cubic"),
)
"""The pairs whose throughput and cwnd figures 2 to 11 draw, the first starter first."""


def _plain(name: str) -> str:
    """A name without what people write differently.

    >>> _plain("High Speed"), _plain("C-TCP")
    ('highspeed', 'ctcp')
    """
    return re.sub(r"[\s_-]", "", name).casefold()


_BY_NAME: dict[str, Variant] = {_plain(name): one for one in VARIANTS for name in (one.name, one.cc, *one.aliases)}


def variant(name: str) -> Variant:
    """The variant of this name, whatever its case: the tables' name, the text's, or ours.

    Raises
    ------
    InputError
        If none of the fifteen is called so.

    Examples
    --------
    >>> variant("WESTWOOD").cc, variant("C-TCP").name, variant("lp").name
    ('westwood', 'Compound', 'LowPriority')
    """
    found = _BY_NAME.get(_plain(name))
    if found is None:
        message = f"variant is {name!r}; allowed: {', '.join(one.cc for one in VARIANTS)}"
        raise InputError(message)
    return found
