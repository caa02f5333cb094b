"""A flow over three bottlenecks, beside a flow on each."""

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
    "all": Case("all three routers"),
    "first": Case("the first router alone", {"acns.routers": '["r1"]'}),
    "last": Case("the last router alone", {"acns.routers": '["r3"]'}),
}
"""Which routers run ACNS."""

CROSS = ("cross1", "cross2", "cross3")


def measure(at: Window) -> Numbers:
    """Measure the long flow's goodput, and the mean of the others'."""
    return {"long": at.goodput("long"), "cross": at.goodput(*CROSS) / len(CROSS)}


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate whether the harshest command of a path serves."""
    said = each(results, CASES, "lost") + " packets"
    return (
        Claim(
            "With ACNS at all routers losses fall by at least 90 %",
            results.mean(("all", ACNS), "lost") <= 0.1 * results.mean(("all", OFF), "lost"),
            said,
        ),
        Claim(
            "The long flow has at least as much with ACNS as without",
            results.mean(("all", ACNS), "long") >= results.mean(("all", OFF), "long"),
            each(results, CASES, "long") + " Mb/s",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    off, on = (draw.told(results.of(("all", column), "long")) for column in (OFF, ACNS))
    parts = [
        f"{CASES[key].title} has ACNS, {draw.told(results.of((key, ACNS), 'lost'))} packets are lost and the long flow "
        f"has {draw.told(results.of((key, ACNS), 'long'))} Mb/s (with our rule "
        f"{draw.told(results.of((key, GUARD), 'lost'))} and {draw.told(results.of((key, GUARD), 'long'))})"
        for key in arms_of(results, CASES)
        if key != "all"
    ]
    text = (
        f"The long flow obeys the harshest of three commands: {on} Mb/s with ACNS at all routers, {off} without ACNS.",
    )
    return (
        text
        if not parts
        else (
            *text,
            f"Where {'; where '.join(parts)}. Flows that pass no router with ACNS hear "
            "only “normal” and do not answer their losses.",
        )
    )


QUESTION = Compared(
    arms=ARMS,
    key="bottlenecks",
    title="Several bottlenecks",
    asks="a router overwrites only a milder command; several congested routers are not shown.",
    setting="One CUBIC flow over three links of 10 Mb/s and 10 ms, 100 packets each, and a flow on each. 10 to 60 s.",
    cases=CASES,
    quick=("all", "first"),
    begin_s=10,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Routers with ACNS",
    more={"long": ("Mb/s", "Long flow"), "cross": ("Mb/s", "Cross flow")},
    measure_more=measure,
).question()
"""The question."""
