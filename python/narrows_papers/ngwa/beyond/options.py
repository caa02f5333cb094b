"""Middleboxes that drop, strip or copy options of IPv4 headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared
from narrows_papers.ngwa.beyond.modes import ARMS, each, keys_of

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Numbers, Results
    from narrows_papers.frame.beyond.window import Window

CASES: dict[str, Case] = {
    "keep": Case("keeps them"),
    "strip": Case("strips them", {"nodes[2].ip_options": "strip"}),
    "copy": Case("copies the first", {"nodes[2].ip_options": "copy"}),
    "drop": Case("drops packets", {"nodes[2].ip_options": "drop"}),
    "drop-data": Case("drops, marked data", {"nodes[2].ip_options": "drop", "ngwa.marks": "data"}),
}
"""What the middlebox does."""


def measure(at: Window) -> Numbers:
    """Measure the goodput of either flow."""
    return {"first": at.goodput("first"), "second": at.goodput("second")}


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what becomes of a flow whose option does not arrive as the router wrote it."""

    def mean(key: str, column: str, name: str) -> float:
        return results.mean((key, column), name)

    drops = [key for key in keys_of(results, CASES) if key.startswith("drop")]
    found = [
        Claim(
            "Where the box strips options, mode 6 delivers what CUBIC does (at least 99 %)",
            mean("strip", "6", "goodput") >= 0.99 * mean("strip", "off", "goodput"),
            each(results, CASES, "goodput") + " Mb/s",
        ),
        Claim(
            "Where it strips them, mode 8 delivers at least half of what CUBIC does",
            mean("strip", "8", "goodput") >= 0.5 * mean("strip", "off", "goodput"),
            each(results, CASES, "goodput", ("off", "8")) + " Mb/s",
        ),
        Claim(
            "Where it drops packets with options, flows in mode 6 deliver data",
            all(mean(key, "6", "goodput") > 0 for key in drops),
            each(results, CASES, "goodput") + " Mb/s",
        ),
    ]
    if "copy" in keys_of(results, CASES):
        found.append(
            Claim(
                "Where it copies a flow's first option, mode 6 shares as evenly as with fresh values (Jain's index, "
                "within 0.02)",
                mean("keep", "6", "jain") - mean("copy", "6", "jain") <= 0.02,
                each(results, CASES, "jain", ("6",)),
            )
        )
    return tuple(found)


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""

    def told(key: str, column: str, name: str) -> str:
        return draw.told(results.of((key, column), name))

    parts = [
        "A box that strips options makes a flow its base variant in modes with a congestion window, and lets it "
        f"collapse in the others: mode 8 delivers {told('strip', '8', 'goodput')} Mb/s and loses "
        f"{told('strip', '8', 'lost')} packets. A box that drops packets with options ends every flow behind a router "
        "with NGWA: the SYN has the option, so that no connection opens. Where routers write only into data, "
        "connections open and no data arrive. NGWA has no fallback, because its routers add the option: hosts cannot "
        "leave it out."
    ]
    if "copy" in keys_of(results, CASES):
        parts.append(
            f"A box that copies a flow's first option keeps the window of that moment: the first flow has "
            f"{told('copy', '6', 'first')} Mb/s and the second {told('copy', '6', 'second')}, where fresh values give "
            f"{told('keep', '6', 'first')} and {told('keep', '6', 'second')}."
        )
    return tuple(parts)


QUESTION = Compared(
    arms=ARMS,
    key="options",
    title="Middleboxes and option 33",
    asks="nothing on boxes that treat packets with IP options in their own way.",
    setting="A CUBIC flow, and another 15 s later: 10 Mb/s, 44 ms, 97 kB. A box behind the router treats options "
    "of IPv4 headers. 15 to 60 s.",
    cases=CASES,
    quick=("keep", "strip", "drop"),
    begin_s=15,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="What the middlebox does to options",
    more={"first": ("Mb/s", "First flow"), "second": ("Mb/s", "Second flow")},
    measure_more=measure,
).question()
"""The question."""
