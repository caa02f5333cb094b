"""Routers without ACNS on the path: hosts hear only "normal"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, GUARD, OFF, each
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

CASES: dict[str, Case] = {
    "all": Case("all routers"),
    "provider": Case("receiving last mile's", {"acns.routers": '["P2"]'}),
    "sending": Case("sending last miles'", {"acns.routers": '["R0", "R1", "R2"]'}),
    "none": Case("none", {"acns.routers": "[]"}),
}
"""Which routers run ACNS."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what the papers promise of a path without commands, and our rule."""
    lost = {column: results.mean(("none", column), "lost") for column in (OFF, ACNS, GUARD)}
    said = each(results, CASES, "lost") + " packets"
    return (
        Claim(
            "Behind routers without ACNS, hosts with ACNS lose no more than without it",
            lost[ACNS] <= lost[OFF],
            said,
        ),
        Claim(
            "With our rule they lose what they lose without it (within 5 %)",
            abs(lost[GUARD] - lost[OFF]) <= 0.05 * lost[OFF],
            said,
        ),
        Claim(
            "Where all routers run ACNS, our rule keeps at least 90 % of the fall of losses",
            results.mean(("all", OFF), "lost") - results.mean(("all", GUARD), "lost")
            >= 0.9 * (results.mean(("all", OFF), "lost") - results.mean(("all", ACNS), "lost")),
            said,
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    off, acns, guard = (draw.told(results.of(("none", column), "lost")) for column in (OFF, ACNS, GUARD))
    return (
        f"Behind routers without ACNS a sender hears nothing but “normal”. By the papers' rule its losses are errors "
        f"of the channel and its window stays: {acns} packets are lost, {off} without ACNS at the hosts. This is the "
        f"scheme's gravest weakness for deployment. With our rule, off by default, losses mean congestion until a "
        f"command other than “normal” arrives: {guard}.",
        "The rule does not help a flow that heard a command from one router and loses packets at another: such a "
        "sender has been warned once.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="routers",
    title="Routers without ACNS",
    asks="nothing on routers that do not take part; a loss without congestion commands is an error of the channel.",
    setting="The papers' network; all hosts have ACNS, some routers. The three TCP flows, 40 to 118 s.",
    cases=CASES,
    quick=("all", "none"),
    begin_s=40,
    end_s=118,
    claims=claims,
    conclusion=conclusion,
    axis="Routers with ACNS",
    scenario="scenario.toml",
).question()
"""The question."""
