"""A flow that joins another, with and without a bound on the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, GUARD, OFF, arms_of, each
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

CASES: dict[str, Case] = {
    "none": Case("no bound"),
    "200": Case("200 kB", {"tcp.max_cwnd": "200 kB"}),
    "150": Case("150 kB", {"tcp.max_cwnd": "150 kB"}),
    "100": Case("100 kB", {"tcp.max_cwnd": "100 kB"}),
    "75": Case("75 kB", {"tcp.max_cwnd": "75 kB"}),
    "50": Case("50 kB", {"tcp.max_cwnd": "50 kB"}),
}
"""Bounds on cwnd. Link and queue hold 50 + 104 kB."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate when the window needs its bound."""
    keys = arms_of(results, CASES)
    bounded = [key for key in keys if key != "none" and int(key) <= 75]
    said = each(results, CASES, "lost") + " packets"
    return (
        Claim(
            "Without a bound a joining flow loses no more with ACNS than without",
            results.mean(("none", ACNS), "lost") <= results.mean(("none", OFF), "lost"),
            said,
        ),
        Claim(
            "Windows of at most half of link and queue (75 kB) lose nothing with ACNS",
            all(results.mean((key, ACNS), "lost") == 0 for key in bounded),
            said,
        ),
        Claim(
            "Without a bound our rule loses less than no ACNS",
            results.mean(("none", GUARD), "lost") < results.mean(("none", OFF), "lost"),
            said,
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    off, acns, guard = (draw.told(results.of(("none", column), "lost")) for column in (OFF, ACNS, GUARD))
    return (
        "A young flow hears “normal” while an old one is there, because its age is near zero and its weight with it. "
        f"It grows until the queue overflows, takes its losses for errors of the channel, and keeps its window: "
        f"without a bound {acns} packets are lost with ACNS, {off} without, {guard} with our rule.",
        "ACNS needs a bound wherever the windows of young flows together can exceed what link and queue hold. The "
        "papers' flows have one: the receiver's window.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="joins",
    title="Windows without a bound",
    asks="nothing on the receiver's window; the network of the evaluation is lost.",
    setting="A CUBIC flow, and another 15 s later: 10 Mb/s, 40 ms, 100 packets, equal priorities. 15 to 60 s.",
    cases=CASES,
    quick=("none", "75"),
    begin_s=15,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Bound on cwnd",
).question()
"""The question."""
