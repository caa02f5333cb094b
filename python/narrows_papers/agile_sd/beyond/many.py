"""Many flows of one congestion control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd.beyond.compare import AGILE, ARMS, CUBIC, TODAY, each, ran
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

CASES: dict[str, Case] = {
    str(n): Case(f"{n} flows", {"topology.pairs": n, "flows[0].copies": n}) for n in (2, 10, 50, 100)
}
"""Numbers of flows."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what a small reduction costs where many flows share."""
    keys = ran(results, CASES)
    return (
        Claim(
            "It carries at least as much as CUBIC (98 %), however many flows there are",
            all(results.mean((key, AGILE), "goodput") >= 0.98 * results.mean((key, CUBIC), "goodput") for key in keys),
            each(results, CASES, "goodput", (AGILE, CUBIC)) + " Mb/s",
            rule="mean goodput of all flows, in every case",
        ),
        Claim(
            "It loses at most twice what CUBIC loses",
            all(results.mean((key, AGILE), "lost") <= 2 * results.mean((key, CUBIC), "lost") for key in keys),
            each(results, CASES, "lost", (AGILE, CUBIC)) + " packets",
            rule="mean losses of all flows, in every case",
        ),
        Claim(
            "It shares as evenly as CUBIC (Jain's index lower by 0.05 at most)",
            all(results.mean((key, AGILE), "jain") >= results.mean((key, CUBIC), "jain") - 0.05 for key in keys),
            each(results, CASES, "jain", (AGILE, CUBIC)),
            rule="mean index, in every case",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    return (
        "With many flows each window is small, and a flow that gives up 5 % makes no room: the queue overflows again "
        "in the next round trip. Losses: " + each(results, CASES, "lost") + " packets.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="many",
    title="Many flows",
    asks="four flows at most.",
    setting="Flows of one congestion control, 200 Mb/s, 10 ms, a buffer of 83 packets (half of the BDP). 5 to 20 s.",
    cases=CASES,
    quick=("10",),
    begin_s=5,
    end_s=20,
    claims=claims,
    conclusion=conclusion,
    axis="Number of flows",
    columns=TODAY,
).question()
"""The question."""
