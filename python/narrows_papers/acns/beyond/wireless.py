"""An 802.11n cell whose base station runs ACNS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows_papers.acns.beyond.compare import ARMS, each, sends_as_much, shortens_trips, takes_losses
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows.studies.reproduction.result import Claim
    from narrows_papers.frame.beyond.question import Results

CASES: dict[str, Case] = {
    "good": Case("no errors", {"wifi.errors": "[]"}),
    "bad": Case("5 % of frames to one"),
    "worse": Case("20 % of frames to one", {"wifi.errors": '[{ station = "w3", fer = "20 %" }]'}),
}
"""Frame error rates."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what ACNS does where the queue is the base station's."""
    return (
        takes_losses(results, CASES, ""),
        shortens_trips(results, CASES),
        sends_as_much(results, CASES, "CUBIC"),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    return (
        "The base station's router computes commands from the queue of its radio. Losses: "
        + each(results, CASES, "lost")
        + " packets; RTT: "
        + each(results, CASES, "rtt")
        + " ms (without ACNS → ACNS → our rule).",
    )


QUESTION = Compared(
    arms=ARMS,
    key="wireless",
    title="A wireless cell",
    asks="ACNS is meant for wireless links too; none is shown.",
    setting="Three downloads, 5 s apart, over a base station of 802.11n (MCS 1, one stream, 20 MHz, A-MPDU) with 100 "
    "packets a station. 10 to 30 s.",
    cases=CASES,
    quick=("bad",),
    begin_s=10,
    end_s=30,
    claims=claims,
    conclusion=conclusion,
    axis="Frames in error",
).question()
"""The question."""
