"""Hosts without NGWA beside hosts with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import BY_KIND, Case, Compared, by_kind
from narrows_papers.ngwa.beyond.modes import ARMS, each, keys_of

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

FLOWS = 4

CASES: dict[str, Case] = {
    str(n): Case(f"{n} of {FLOWS}", {"flows.ours.copies": n, "flows.other.copies": FLOWS - n}) for n in (1, 2, 3)
}
"""How many of the flows have receivers with NGWA."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what a receiver gets for obeying."""
    keys = keys_of(results, CASES)

    def beside(ours: str, other: str, unit: str) -> str:
        return f"with: {each(results, CASES, ours, ('6',))}; without: {each(results, CASES, other, ('6',))} {unit}"

    return (
        Claim(
            "In mode 6 a flow with NGWA has at least half the goodput of one without",
            all(results.mean((key, "6"), "ours") >= 0.5 * results.mean((key, "6"), "other") for key in keys),
            beside("ours", "other", "Mb/s"),
        ),
        Claim(
            "In mode 6 a flow with NGWA loses less than one without",
            all(results.mean((key, "6"), "lost_ours") < results.mean((key, "6"), "lost_other") for key in keys),
            beside("lost_ours", "lost_other", "packets"),
        ),
        Claim(
            "Mode 6 makes round trips shorter, though not all obey",
            all(results.mean((key, "6"), "rtt") < results.mean((key, "off"), "rtt") for key in keys),
            each(results, CASES, "rtt") + " ms",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    parts = [
        f"{CASES[key].title}: {draw.told(results.of((key, '6'), 'ours'))} Mb/s with NGWA, "
        f"{draw.told(results.of((key, '6'), 'other'))} without"
        for key in keys_of(results, CASES)
    ]
    return (
        "The router divides its queue among all flows that it counts, and cannot know whose receiver obeys. Those that "
        "do keep to their share; the others take what is left and fill the queue as without NGWA. Per flow in mode 6, "
        + "; ".join(parts)
        + ". The more receivers obey, the more there is for those that do not.",
        "Segments for receivers without NGWA get the option too, and their senders leave no room for it: full ones are "
        "8 bytes longer than the MTU allows. Narrows forwards them; a real router fragments or drops them.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="hosts",
    title="Receivers without it beside it",
    asks="nothing on hosts without NGWA behind the same router.",
    setting="Four CUBIC flows, some of whose receivers know NGWA: 10 Mb/s, 44 ms, 97 kB. 10 to 60 s.",
    cases=CASES,
    quick=("2",),
    begin_s=10,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Receivers with NGWA",
    more=BY_KIND,
    measure_more=by_kind,
).question()
"""The question."""
