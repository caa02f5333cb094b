"""Routers without NGWA on the path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Case, Compared
from narrows_papers.ngwa.beyond.modes import ARMS, each, keys_of

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

CASES: dict[str, Case] = {
    "both": Case("both"),
    "second": Case("the slower link's", {"ngwa.routers": '["r2"]'}),
    "first": Case("the other", {"ngwa.routers": '["r1"]'}),
    "none": Case("none", {"ngwa.routers": "[]"}),
}
"""Which of the two congestible links' routers run NGWA."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what hosts with NGWA get where a bottleneck's router has none."""
    here = [key for key in ("both", "second") if key in keys_of(results, CASES)]
    lost = {column: results.mean(("none", column), "lost") for column in ("off", "6")}
    sent = {column: results.mean(("none", column), "goodput") for column in ("off", "8")}
    said = each(results, CASES, "lost", ("off", "6", "8")) + " packets"
    return (
        Claim(
            "Where the slower link's router runs it, mode 6 loses nothing",
            all(results.mean((key, "6"), "lost") == 0 for key in here),
            said,
        ),
        Claim(
            "Where the other router alone runs it, mode 6 still loses less than no NGWA",
            results.mean(("first", "6"), "lost") < results.mean(("first", "off"), "lost"),
            said,
        ),
        Claim(
            "Where no router runs it, mode 6 loses what CUBIC loses (within 5 %)",
            abs(lost["6"] - lost["off"]) <= 0.05 * lost["off"],
            said,
        ),
        Claim(
            "Where no router runs it, mode 8 delivers at least half of what CUBIC delivers",
            sent["8"] >= 0.5 * sent["off"],
            each(results, CASES, "goodput", ("off", "8")) + " Mb/s",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""

    def told(key: str, column: str, name: str) -> str:
        return draw.told(results.of((key, column), name))

    return (
        "With a congestion window a host with NGWA is safe anywhere: where no router writes, it is its base variant. "
        f"Where only the router of the faster link writes, mode 6 loses {told('first', '6', 'lost')} packets here and "
        f"the slower link's queue is full ({told('first', '6', 'rtt')} ms): the windows divide another queue.",
        "Without a congestion window (modes 3, 4, 7 and 8) a path without NGWA collapses: nothing but the receiver's "
        f"buffer bounds the sender. Mode 8 then delivers {told('none', '8', 'goodput')} Mb/s of "
        f"{told('none', 'off', 'goodput')} and loses {told('none', '8', 'lost')} packets in 60 s. These modes need "
        "every router of every path.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="routers",
    title="Routers without it on the path",
    asks="nothing on routers that do not take part.",
    setting="Two CUBIC flows over a link of 12 Mb/s (145.5 kB) and one of 10 Mb/s (97 kB), 44 ms. All hosts know NGWA, "
    "some routers do. 0 to 60 s.",
    cases=CASES,
    quick=("both", "first", "none"),
    begin_s=0,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Routers with NGWA",
).question()
"""The question."""
