"""Priority against age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, OFF, arms_of, each
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Numbers, Results
    from narrows_papers.frame.beyond.window import Window


def _case(title: str, old: int, young: int) -> Case:
    return Case(title, {"flows.old.dscp": old, "flows.young.dscp": young, "tcp.max_cwnd": "75 kB"})


CASES: dict[str, Case] = {
    "0-0": _case("both 0", 0, 0),
    "46-0": _case("old 46, young 0", 46, 0),
    "0-46": _case("old 0, young 46", 0, 46),
    "46-46": _case("both 46", 46, 46),
}
"""DSCP of either flow."""


def measure(at: Window) -> Numbers:
    """Measure the share of the old flow."""
    return {"old": 100 * at.goodput("old") / at.goodput("old", "young")}


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what the weights 0.8 and 0.2 promise."""
    share = {key: results.mean((key, ACNS), "old") for key in arms_of(results, CASES)}
    said = each(results, CASES, "old", (OFF, ACNS)) + " %"
    found = [
        Claim(
            "An old flow of high priority has more than a young one of low priority",
            share["46-0"] > 50,
            said,
        ),
        Claim(
            "An old flow of low priority has less than a young one of high priority",
            share["0-46"] < 50,
            said,
        ),
    ]
    if "0-0" in share:
        found.append(
            Claim("Priority moves the old flow's share by more than 10 points", share["46-0"] - share["0-0"] > 10, said)
        )
    return tuple(found)


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    parts = [f"{CASES[key].title}: {draw.told(results.of((key, ACNS), 'old'))} %" for key in arms_of(results, CASES)]
    return (
        "Share of the old flow with ACNS: " + "; ".join(parts) + ". With v_p = 0.8 the priority counts four times as "
        "much as the age, but F(p) is at most 0.58 at DSCP 46, while T(a) of a flow of a tenth of the oldest age is "
        "2: for young flows the age decides.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="priorities",
    title="Priority against age",
    asks="both count, with weights 0.8 and 0.2; which wins is not shown.",
    setting="A CUBIC flow, and another 15 s later, windows of at most 75 kB: 10 Mb/s, 40 ms, 100 packets. 20 to 60 s.",
    cases=CASES,
    quick=("46-0", "0-46"),
    begin_s=20,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="DSCP",
    more={"old": ("%", "Share of the old flow")},
    measure_more=measure,
    columns=(OFF, ACNS),
).question()
"""The question."""
