"""The check: NGWA's effect on one flow without other limits, compared with its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.ngwa.live import plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows_papers.ngwa.live.record import Record

RTT_NGWA_MS = 36.0
"""Round-trip time with the window of the formula: W = (Q + P) / 2 = 45 kB at 10 Mb/s, ms."""

RTT_PLAIN_MS = 68.0
"""Round-trip time of CUBIC alone, whose window fills the queue, as measured with a first prototype, ms."""

NEAR_PERCENT = 10.0
"""Largest difference from these times that counts as agreement, per cent."""

FULL_PERCENT = 99.0
"""Share of the link's largest payload rate from which the link counts as full, %."""

LINK_BYTES_PER_S = 1_250_000.0
"""10 Mb/s."""

PACKET_BYTES = 1500
"""Size of a full packet."""

HEADERS_BYTES = 20 + 20 + 12
"""Size of the IPv4 and TCP headers with timestamps."""

OPTION_BYTES = 8
"""Size of NGWA's option with its padding."""

CLAIMS = 3
"""Number of claims."""

MODES: tuple[str, ...] = tuple(arm.name for arm in plan.CHECK if arm.name.startswith("mode"))


def ceiling(arm: str) -> float:
    """Largest payload rate of the link, bytes/s.

    >>> round(ceiling("plain") * 8e-6, 3), round(ceiling("mode1") * 8e-6, 3)
    (9.653, 9.6)
    """
    payload = PACKET_BYTES - HEADERS_BYTES - (OPTION_BYTES if arm in MODES else 0)
    return LINK_BYTES_PER_S * payload / PACKET_BYTES


def claims(records: Mapping[str, Record], warmup_s: float) -> list[Claim]:
    """Evaluate what the mechanism promises, on the live or the simulated runs (keys as in `plan.jobs`)."""
    arms = {arm.name: records[plan.check_name(arm)] for arm in plan.CHECK}
    return [_no_drops(arms), _rtt(arms), _full(arms, warmup_s)]


def _title(name: str) -> str:
    return next(arm.title for arm in plan.CHECK if arm.name == name)


def _no_drops(arms: Mapping[str, Record]) -> Claim:
    return Claim(
        "10 Mb/s, 50 packets: the queue drops nothing with NGWA, and something without",
        all(arms[name].dropped == 0 for name in MODES) and arms["plain"].dropped > 0,
        "packets dropped: " + ", ".join(f"{_title(name)} {one.dropped:,.0f}" for name, one in arms.items()),
        rule="zero in every mode, more than zero without",
    )


def _rtt(arms: Mapping[str, Record]) -> Claim:
    wanted = dict.fromkeys(MODES, RTT_NGWA_MS) | {"plain": RTT_PLAIN_MS}
    times = {name: one.rtt_ms[0] for name, one in arms.items()}
    return Claim(
        f"10 Mb/s, 50 packets: the round-trip time is about {RTT_NGWA_MS:g} ms with NGWA and {RTT_PLAIN_MS:g} ms "
        f"without (within {NEAR_PERCENT:g} %)",
        all(time is not None and abs(time / wanted[name] - 1) <= NEAR_PERCENT / 100 for name, time in times.items()),
        "mean: " + ", ".join(f"{_title(n)} " + ("unknown" if t is None else f"{t:.1f} ms") for n, t in times.items()),
        rule="two-sided: mean of every arm",
    )


def _full(arms: Mapping[str, Record], warmup_s: float) -> Claim:
    shares = {name: 100 * one.transfer(warmup_s).total / ceiling(name) for name, one in arms.items()}
    return Claim(
        f"10 Mb/s, 50 packets: the link carries {FULL_PERCENT:g} % or more of what it can in every arm",
        all(share >= FULL_PERCENT for share in shares.values()),
        "of the payload that fits: " + ", ".join(f"{_title(name)} {share:.2f} %" for name, share in shares.items()),
        rule="every arm at or above the bound",
    )
