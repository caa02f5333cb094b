"""Names of measures and shares, as the page writes them."""

from __future__ import annotations

from typing import Final

from narrows.report import style

TITLES: Final = {"throughput_mbps": "throughput", "rtt_mean_ms": "RTT", "cwnd_mean_bytes": "cwnd"}
"""Names of judged measures by key."""


def percent(value: float | None) -> str:
    """Return a share as a percentage without a sign.

    Examples
    --------
    >>> percent(0.05), percent(0.0123), percent(None)
    ('5 %', '1.2 %', '–')
    """
    return style.number(None) if value is None else f"{round(value * 100, 1):g} %"


def share(value: float | None, limit: float | None = None) -> str:
    """Return a relative difference; in bold beyond a limit.

    Examples
    --------
    >>> share(-0.0123), share(0.2, 0.15), share(None)
    ('−1.2 %', '**+20.0 %**', '–')
    """
    if value is None:
        return style.number(None)
    told = f"{style.signed(value * 100)} %"
    return f"**{told}**" if limit is not None and abs(value) > limit else told
