"""The oldest of five flows, and whether it starves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, GUARD, OFF, arms_of, each
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Numbers, Results
    from narrows_papers.frame.beyond.window import Window

CASES: dict[str, Case] = {
    "equal": Case("equal priorities"),
    "bound": Case("and windows of 50 kB", {"tcp.max_cwnd": "50 kB"}),
    "high": Case("all DSCP 46", {"flows.flow.dscp": 46}),
}
"""Priorities and bounds."""

FAIR = 20.0
"""Fair share of five flows, per cent."""


def measure(at: Window) -> Numbers:
    """Measure the shares of the oldest and the youngest flow."""
    flows = at.course.flows("flow")
    whole = at.goodput(*flows)
    return {"oldest": 100 * at.goodput(flows[0]) / whole, "youngest": 100 * at.goodput(flows[-1]) / whole}


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate starvation."""
    keys = arms_of(results, CASES)
    return (
        Claim(
            "The oldest flow keeps at least a tenth of its fair share (2 %)",
            all(results.mean((key, ACNS), "oldest") >= FAIR / 10 for key in keys),
            each(results, CASES, "oldest") + " %",
        ),
        Claim(
            "ACNS shares more evenly than no ACNS (Jain's index)",
            all(results.mean((key, ACNS), "jain") > results.mean((key, OFF), "jain") for key in keys),
            each(results, CASES, "jain"),
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    parts = [
        f"{CASES[key].title}: {draw.told(results.of((key, OFF), 'oldest'))} % without ACNS, "
        f"{draw.told(results.of((key, ACNS), 'oldest'))} % with it, {draw.told(results.of((key, GUARD), 'oldest'))} % "
        "with our rule"
        for key in arms_of(results, CASES)
    ]
    return (
        f"Age never goes back, so the oldest flow is the first to be held at every growth of the queue. Its share "
        f"of the last 40 s (fair: {FAIR:g} %): " + "; ".join(parts) + ".",
    )


QUESTION = Compared(
    arms=ARMS,
    key="oldest",
    title="Starvation of the oldest flow",
    asks="old flows yield to young ones; whether they starve is not said.",
    setting="Five CUBIC flows, one every 10 s: 10 Mb/s, 40 ms, 100 packets. 60 to 100 s.",
    cases=CASES,
    quick=("equal",),
    begin_s=60,
    end_s=100,
    claims=claims,
    conclusion=conclusion,
    axis="Flows",
    more={"oldest": ("%", "Share of the oldest"), "youngest": ("%", "Share of the youngest")},
    measure_more=measure,
).question()
"""The question."""
