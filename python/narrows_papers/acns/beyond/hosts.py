"""Hosts without ACNS beside hosts with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, arms_of, each
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import BY_KIND, Case, Compared, by_kind

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

FLOWS = 6

CASES: dict[str, Case] = {
    str(n): Case(f"{n} of {FLOWS}", {"flows.ours.copies": n, "flows.other.copies": FLOWS - n}) for n in (1, 3, 5)
}
"""How many of the flows have ACNS."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate whether flows with ACNS hold their own."""
    keys = arms_of(results, CASES)
    return (
        Claim(
            "A flow with ACNS has at least half the goodput of one without",
            all(results.mean((key, ACNS), "ours") >= 0.5 * results.mean((key, ACNS), "other") for key in keys),
            "with: "
            + each(results, CASES, "ours", (ACNS,))
            + "; without: "
            + each(results, CASES, "other", (ACNS,))
            + " Mb/s",
        ),
        Claim(
            "A flow with ACNS loses less than one without",
            all(results.mean((key, ACNS), "lost_ours") < results.mean((key, ACNS), "lost_other") for key in keys),
            "with: "
            + each(results, CASES, "lost_ours", (ACNS,))
            + "; without: "
            + each(results, CASES, "lost_other", (ACNS,))
            + " packets",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    parts = [
        f"{CASES[key].title}: {draw.told(results.of((key, ACNS), 'ours'))} Mb/s with ACNS, "
        f"{draw.told(results.of((key, ACNS), 'other'))} without"
        for key in arms_of(results, CASES)
    ]
    return (
        "Flows with ACNS give way: they freeze and fall back while the others fill the queue. Per flow, "
        + "; ".join(parts)
        + ". Whoever deploys ACNS at some hosts of a shared link pays with their throughput.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="hosts",
    title="Hosts without ACNS beside it",
    asks="nothing on flows without ACNS at the same router.",
    setting="Six CUBIC flows, some with ACNS, over one router with ACNS: 10 Mb/s, 40 ms, 100 packets. 10 to 60 s; "
    "starts within 2 s.",
    cases=CASES,
    quick=("3",),
    begin_s=10,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Flows with ACNS",
    more=BY_KIND,
    measure_more=by_kind,
).question()
"""The question."""
