"""A link that loses packets at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, GUARD, OFF, arms_of, each
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

RATES = ("0", "0.1", "0.5", "1", "2")

CASES: dict[str, Case] = {rate: Case(f"{rate} %", {"topology.bottleneck.loss.per": f"{rate} %"}) for rate in RATES}
"""Packet error rates of the bottleneck, either direction."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate the papers' reason for the loss trend: errors of the channel are no congestion."""
    keys = [key for key in arms_of(results, CASES) if float(key) >= 0.5]
    return (
        Claim(
            "With 0.5 % of packets lost or more, ACNS sends more than CUBIC",
            all(results.change((key, OFF), (key, ACNS), "goodput").low > 0 for key in keys),
            each(results, CASES, "goodput") + " Mb/s",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    worst = arms_of(results, CASES)[-1]
    off, on, guard = (draw.told(results.of((worst, column), "goodput")) for column in (OFF, ACNS, GUARD))
    return (
        f"Here the loss trend earns its keep: at {CASES[worst].title} two flows deliver {on} Mb/s with ACNS, {off} "
        f"without. With our rule it "
        f"is {guard}: where losses keep the queue empty no router warns, and CUBIC answers every loss.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="lossy",
    title="Lossy links",
    asks="a loss without congestion commands is an error of the channel, after which the window stays.",
    setting="Two CUBIC flows: 10 Mb/s, 40 ms, 100 packets, packets lost at random. 10 to 60 s.",
    cases=CASES,
    quick=("0", "1"),
    begin_s=10,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Packet error rate",
).question()
"""The question."""
