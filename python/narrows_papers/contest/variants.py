"""The paper's fifteen variants as congestion controls of Narrows, in the order of its tables.

The paper ran ns-2.35. There, Reno, NewReno, SACK, FACK and Vegas are separate agents, and the others are modules of the
TCP/Linux agent, ported from Linux of about 2007. `stack = "ns2"` makes a flow behave like the agent of its variant, and
the congestion control takes its profile from the stack. Other differences are in `Variant.settings`; they were found by
running ns-2 (`experiments/contest/ns2`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_SEGMENTS = 20
"""Window limit in the paper's runs, segments: ns-2's default `window_`."""

SEGMENT_BYTES = 1000
"""Payload of a segment: ns-2's default `packetSize_`."""


@dataclass(frozen=True)
class Variant:
    """One of the fifteen variants.

    Attributes
    ----------
    name : str
        Name in the paper's tables.
    cc : str
        Congestion control in Narrows.
    agent : str
        Name in ns-2.35.
    limited : bool
        Whether ns-2's window limit applies to it.
    settings : mapping
        Settings of its `[tcp]` table other than `cc` and the stack.
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
        """Return the `[tcp]` table, with or without the paper's window limit.

        The limit is also the initial slow-start threshold: all of ns-2's agents initialise it with `window_`.
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
    # ns-2's module raises the window limit to 65535 segments (`snd_cwnd_clamp`), which overrides `window_`. It reads
    # the first round-trip time before one is measured, as timestamps are off, so rho stays 1; here an RTT0 beyond any
    # RTT does that.
    _module("Hybla", "hybla", limited=False, cc_params={"rtt0": 1000}),
    _module("Illinois", "illinois"),
    # Without timestamps, ns-2's default, it measures no delays and behaves like Reno.
    _module("LowPriority", "lp", ("LP", "Low Priority", "TCP-LP")),
    _own("NewReno", "newreno", "Newreno", ("New Reno",), sack=False),
    _own("Reno", "reno", "Reno", sack=False),
    _own("Sack", "sack", "Sack1"),
    # ns-2's agent does not count headers: a packet of 1040 bytes for the other variants has 1000 bytes for Vegas.
    _own("Vegas", "vegas", "Vegas", sack=False, mss="960 B"),
    _module("Veno", "veno", ("Venet",)),
    _module("Westwood", "westwood"),
)
"""All variants, in the order of the paper's rows and columns."""

NAMES: tuple[str, ...] = tuple(one.name for one in VARIANTS)
"""Names as printed in the tables."""

PAIRS: tuple[tuple[str, str], ...] = (
    ("Illinois", "Vegas"),
    ("Vegas", "Compound"),
    ("Westwood", "Hybla"),
    ("Reno", "Cubic"),
    ("Compound", "Cubic"),
)
"""The pairs in the paper's figures 2 to 11 (throughput and cwnd); the first one starts first."""


def _plain(name: str) -> str:
    """Normalise a name for lookup: no separators, lower case.

    >>> _plain("High Speed"), _plain("C-TCP")
    ('highspeed', 'ctcp')
    """
    return re.sub(r"[\s_-]", "", name).casefold()


_BY_NAME: dict[str, Variant] = {_plain(name): one for one in VARIANTS for name in (one.name, one.cc, *one.aliases)}


def variant(name: str) -> Variant:
    """Find a variant by its name in the tables, in the text, or in Narrows, ignoring case.

    Raises
    ------
    InputError
        If none of the fifteen has that name.

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
