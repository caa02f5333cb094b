"""Queues of 10 to 200 packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, OFF, Case, Compared, arms_of, each

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

SIZES = (10, 20, 50, 100, 200)

CASES: dict[str, Case] = {
    str(size): Case(f"{size} packets", {"topology.bottleneck.queue.limit": f"{size} packets"}) for size in SIZES
}
"""Sizes of the bottleneck's queue."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate losses, use and delay for each size."""
    keys = arms_of(results, CASES)
    return (
        Claim(
            "ACNS takes at least 90 % of the losses at every size",
            all(results.mean((key, ACNS), "lost") <= 0.1 * results.mean((key, OFF), "lost") for key in keys),
            each(results, CASES, "lost") + " packets",
        ),
        Claim(
            "It sends at least 99 % of what CUBIC sends",
            all(results.mean((key, ACNS), "goodput") >= 0.99 * results.mean((key, OFF), "goodput") for key in keys),
            each(results, CASES, "goodput") + " Mb/s",
        ),
        Claim(
            "It makes round trips shorter",
            all(results.mean((key, ACNS), "rtt") < results.mean((key, OFF), "rtt") for key in keys),
            each(results, CASES, "rtt") + " ms",
        ),
        Claim(
            "It shares at least as evenly (Jain's index)",
            all(results.mean((key, ACNS), "jain") >= results.mean((key, OFF), "jain") for key in keys),
            each(results, CASES, "jain"),
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    lossy = [CASES[key].title for key in arms_of(results, CASES) if results.mean((key, ACNS), "lost") >= 1]
    where = f"Losses remain with queues of {', '.join(lossy)}" if lossy else "No queue has losses with ACNS"
    return (
        f"{where}: a window that grows by more than the queue in a round trip overflows it before a command returns. "
        "Of two flows of one priority, which start together, the older by a hair is held and the other is not: the "
        "age is normalised by the oldest, so T(a) = v_a for one and v_a / a for the other, and the share is uneven.",
    )


QUESTION = Compared(
    key="queues",
    title="Small and large queues",
    asks="nothing on how large a queue must be.",
    setting="Two CUBIC flows that start together: 10 Mb/s, 40 ms. 10 to 60 s.",
    cases=CASES,
    quick=("20", "100"),
    begin_s=10,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Queue of the bottleneck",
).question()
"""The question."""
