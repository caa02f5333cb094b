"""What the page says in words: the headline from the results, the papers' slips, our decisions, the calibration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from narrows.report import style
from narrows.report.network import direction
from narrows.report.topology import describe

if TYPE_CHECKING:
    from narrows.papers.reproduction import Cell, Claim
    from narrows.scenario import Scenario

CLOSE_PERCENT = 15.0
"""A cell is called close if it is within so many per cent of the published figure (or within 2 packets of a loss count)."""

CLOSE_PACKETS = 2.0

SOURCES: tuple[str, ...] = (
    "M. Hruby, M. Olsovsky, M. Kotocova: A Novel Technique for TCP based Congestion Control. DCNET 2013, Reykjavik.",
    "M. Olsovsky: Advanced notification system for TCP performance increase. Extended abstract of the dissertation, Slovak "
    "University of Technology in Bratislava, 2013 (“thesis” on this page).",
)

#: Slips of the papers, and what we do about each.
SLIPS: tuple[tuple[str, str], ...] = (
    (
        "The thesis prints F(p) = v_p · p_max / p and T(a) = v_a · a, which spares old flows of low priority – the opposite of "
        "what both papers say ACNS is for.",
        "DCNET's F(p) = v_p · p / p_max and T(a) = v_a / a are used; the thesis's are selectable (formula = \"thesis2013\").",
    ),
    ("The tables of RTT are headed in seconds.", "The figures are read as milliseconds: 377 s would be longer than the run."),
    (
        "The ACNS-setup SYN-ACK is printed with ACK = 0.",
        "ACK = 1: a segment without it is no SYN-ACK.",
    ),
    (
        "Table 1 of the IP messages prints freeze and fallback with the same bits (the column of CMI is lost).",
        "Freeze is ECN 11 with CMI 1, fallback ECN 11 with CMI 0: the only reading that keeps them apart and lets plain ECN read fallback as CE.",
    ),
    (
        "The change of throughput is given as +44.5 %, that of RTT as −7.1 %; from the papers' own tables follow +42.9 % (from rounded "
        "averages; +44.0 % from the data sent) and −7.7 %.",
        "All are shown as printed, and ours are computed run by run, paired by seed.",
    ),
    (
        "A link of 3 Mb/s shared by everything carries 44.25 MB in 118 s; the flows of the ACNS arm are said to have sent 29.99 MB of "
        "TCP beside 19.6 MB of UDP.",
        "So the last mile cannot be one link of 3 Mb/s for all; see the calibration.",
    ),
    (
        "DCNET rounds the thresholds of the loss trend to 1.84 and 2.15.",
        "The thesis's 1.8413 and 2.1587 are used; a trend of five freezes falls on the other side with the rounded one.",
    ),
)

#: What the papers leave open, and what we settled.
DECISIONS: tuple[tuple[str, str], ...] = (
    ("Scope of a command", "the command on the ACK that covers the asking segment (the last of a window) rules until the next such ACK"),
    ("Latest known smaller value", "the most recent value below the present one in cwnd's history, kept per round trip; never below 2 SMSS"),
    ("After a fallback", "ssthresh = min(ssthresh, cwnd), so that no slow start follows"),
    ("No command received yet", "a loss is answered as the base variant does; a timeout always is"),
    ("p_max", "63, the largest DSCP"),
    ("Idle flows", "leave the router's table after 60 s; the table holds 65,536 flows"),
    ("A(q)", "queued over capacity, in the unit of the queue's own limit"),
)


def close(cell: Cell) -> bool:
    """Whether a cell is near the published figure; see `CLOSE_PERCENT`."""
    if cell.published is None:
        return False
    gap = abs(cell.measured - cell.published)
    if cell.unit == "packets" and gap <= CLOSE_PACKETS:
        return True
    return gap <= abs(cell.published) * CLOSE_PERCENT / 100


NAMES = {
    "throughput_mean": "mean throughput",
    "throughput_max": "maximum throughput",
    "rtt_mean": "mean RTT",
    "rtt_max": "maximum RTT",
    "sent": "data sent",
    "lost": "lost packets",
}
"""Quantities in words."""


def say(cell: Cell) -> str:
    """A cell in words: what it is, measured and published."""
    arm, quantity, flow = cell.name.split("/")
    whose = "in total" if flow == "total" else f"of #{flow}"
    where = "with ACNS" if arm == "acns" else "without ACNS"
    published = "–" if cell.published is None else f"{cell.published:g}"
    return f"{NAMES[quantity]} {whose} {where} ({style.number(cell.measured)} for {published} {cell.unit})"


def headline(cells: Sequence[Cell], claims: Sequence[Claim], runs: int) -> str:
    """One paragraph, from the results alone: what agrees and what does not."""
    by_name = {cell.name: cell for cell in cells}
    data, rtt = by_name["change/sent/total"], by_name["change/rtt_mean/total"]
    lost = by_name["without/lost/total"], by_name["acns/lost/total"]
    holding = [claim for claim in claims if claim.holds]
    failing = [claim for claim in claims if not claim.holds]
    plain = [cell for cell in cells if not cell.name.startswith("change/")]
    near = [cell for cell in plain if close(cell)]
    far = sorted((c for c in plain if c.percent is not None and not close(c)), key=lambda c: -abs(c.percent or 0.0))
    parts = [
        f"{len(holding)} of the {len(claims)} claims of the papers hold in our runs"
        + (f" ({runs} per arm, the same calibration and the same seeds in both)." if runs > 1 else " (one per arm)."),
        f"With ACNS the three TCP flows send {data.measured:+.1f} % data (published {data.published:+.1f} %), their mean RTT changes by "
        f"{rtt.measured:+.1f} % ({rtt.published:+.1f} %), and their losses go from {style.count(round(lost[0].measured, 1))} to "
        f"{style.count(round(lost[1].measured, 1))} packets (from {style.count(lost[0].published)} to {style.count(lost[1].published)}).",
    ]
    if failing:
        parts.append("What does not hold: " + "; ".join(f"“{claim.text}”" for claim in failing) + ".")
    parts.append(
        f"Of the {len(plain)} figures in the papers' tables {len(near)} come out within {CLOSE_PERCENT:g} % of the published value "
        f"(losses: or within {CLOSE_PACKETS:g} packets)."
    )
    if far:
        parts.append("Furthest off: " + ", ".join(say(cell) for cell in far[:4]) + ".")
    return re.sub(r"-(?=\d)", "−", " ".join(parts))


def calibration(scenario: Scenario) -> dict[str, str]:
    """What the papers leave open and the scenario sets, as it is run: links, TCP, jitter."""
    resolved: dict[str, Any] = scenario.resolved
    found = {f"Link {link['a']} – {link['b']}": _link(link) for link in resolved["links"]}
    tcp = next(flow["tcp"] for flow in resolved["flows"] if flow["tcp"])
    found |= {_name(f"TCP: {key}"): plain(key, value) for key, value in sorted(tcp.items()) if key not in ("assist", "cc")}
    found["Start jitter"] = f"uniform from 0 to {plain('start_jitter_ns', resolved['start_jitter_ns'])}, per flow and run"
    payloads = {flow["traffic"]["payload_bytes"] for flow in resolved["flows"] if not flow["tcp"]}
    found["UDP: payload"] = ", ".join(f"{payload} bytes" for payload in sorted(payloads))
    return found


def _link(link: dict[str, Any]) -> str:
    forward, reverse = (", ".join(filter(None, describe(direction(link[way])))) for way in ("forward", "reverse"))
    return forward if forward == reverse else f"{forward}; back {reverse}"


def _name(key: str) -> str:
    for ending in ("_ns", "_bps", "_bytes"):
        key = key.removesuffix(ending)
    return key.replace("_", " ")


def plain(key: str, value: Any) -> str:
    """A value of a resolved scenario for people; its unit is in the end of its key.

    Examples
    --------
    >>> plain("min_ns", 200_000_000), plain("max_cwnd_bytes", None), plain("sack", True)
    ('200 ms', 'unlimited', 'on')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{_name(inner)} {plain(inner, one)}" for inner, one in value.items()) or "defaults"
    if value is None:
        return "off" if key == "delayed_ack" else "unlimited"
    if key.endswith("_ns"):
        return style.duration(value / 1e9)
    if key.endswith("_bps"):
        return style.rate(value)
    return f"{value:,} bytes" if key.endswith("_bytes") else str(value)


PARAMETERS: tuple[tuple[str, str], ...] = (
    ("th_L1", "1.8413"),
    ("th_L2", "2.1587"),
    ("count", "10"),
    ("σ", "3"),
    ("v_p", "0.8"),
    ("v_a", "0.2"),
    ("th_A1", "0.95"),
    ("th_A2", "1.0"),
)
"""Parameters of ACNS as published (thesis, table 1); they are not calibrated."""

CALIBRATION: tuple[str, ...] = (
    "Link rates, delays, queues and the settings of TCP stood in a figure that is lost, so they are calibrated, once and for both arms.",
)
"""How the calibration was found, in paragraphs."""

LIMITS: tuple[str, ...] = (
    "The papers ran ns-2.35 once per arm; ours are means over random starts, and a single run may differ from them.",
    "How the papers measured maximum throughput and RTT (bins, timed segments) is not said; definitions here are those below.",
)
"""Limits of this comparison."""
