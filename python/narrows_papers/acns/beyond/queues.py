"""Queues of 10 to 200 packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import (
    ACNS,
    ARMS,
    OFF,
    arms_of,
    each,
    sends_as_much,
    shortens_trips,
    takes_losses,
)
from narrows_papers.frame.beyond.compare import Case, Compared

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
        takes_losses(results, CASES, " at every size"),
        sends_as_much(results, CASES, "CUBIC"),
        shortens_trips(results, CASES),
        Claim(
            "It shares at least as evenly (Jain's index)",
            all(results.mean((key, ACNS), "jain") >= results.mean((key, OFF), "jain") for key in keys),
            each(results, CASES, "jain"),
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    lossy = [CASES[key].title for key in arms_of(results, CASES) if results.mean((key, ACNS), "lost") >= 1]
    first = (
        f"With ACNS losses remain with queues of {', '.join(lossy)}: in slow start a window grows by more than the "
        "queue before a command returns."
        if lossy
        else "With ACNS no queue loses a packet."
    )
    return (
        f"{first} The flows have one priority and start within 0.2 s. The older is held from a slightly shorter "
        "queue than the other, however little older it is: W = 5 A for the oldest, less for the other. So they do "
        "not share evenly.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="queues",
    title="Small and large queues",
    asks="nothing on how large a queue must be.",
    setting="Two CUBIC flows that start together: 10 Mb/s, 40 ms. 0 to 60 s, with the first slow start.",
    cases=CASES,
    quick=("20", "100"),
    begin_s=0,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Queue of the bottleneck",
).question()
"""The question."""
