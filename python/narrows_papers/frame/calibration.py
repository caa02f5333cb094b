"""Descriptions of a scenario's settings, which a page states as its calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.report import style
from narrows.report.network import direction
from narrows.report.topology import describe

if TYPE_CHECKING:
    from collections.abc import Collection

    from narrows.model.resolved import Link, Resolved, Tcp


def link_in_words(link: Link) -> str:
    """Describe a link of a resolved scenario: rate, delay, queue, and differences of the reverse direction."""
    forward, reverse = (", ".join(filter(None, describe(direction(way)))) for way in (link.forward, link.reverse))
    return forward if forward == reverse else f"{forward}; back {reverse}"


def tcp_in_words(tcp: Tcp, leave_out: Collection[str] = ()) -> dict[str, str]:
    """Describe all TCP settings of a flow of a resolved scenario, by name."""
    listed = sorted(tcp.settings.items())
    return {in_words(f"TCP: {key}"): value(key, one) for key, one in listed if key not in leave_out}


def jitter_in_words(resolved: Resolved) -> str:
    """Describe the random starts of flows."""
    return f"uniform from 0 to {value('start_jitter_ns', resolved.start_jitter_ns)}, per flow and run"


def in_words(key: str) -> str:
    """Return the name of a key without its unit.

    Examples
    --------
    >>> in_words("recv_buffer_bytes")
    'recv buffer'
    """
    for ending in ("_ns", "_bps", "_bytes"):
        key = key.removesuffix(ending)
    return key.replace("_", " ")


def value(key: str, given: Any) -> str:
    """Format a value of a resolved scenario; its unit is the suffix of its key.

    Examples
    --------
    >>> value("min_ns", 200_000_000), value("max_cwnd_bytes", None), value("sack", True)
    ('200 ms', 'unlimited', 'on')
    """
    if isinstance(given, bool):
        return "on" if given else "off"
    if isinstance(given, dict):
        return ", ".join(f"{in_words(inner)} {value(inner, one)}" for inner, one in given.items()) or "defaults"
    if given is None:
        return "off" if key in ("delayed_ack", "pacing") else "unlimited"
    if key.endswith("_ns"):
        return style.duration(given / 1e9)
    if key.endswith("_bps"):
        return style.rate(given)
    return f"{given:,} bytes" if key.endswith("_bytes") else str(given)
