"""All pairings of two ends with ACNS, with ECN, and with neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, each
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows.model.scenario import Override
    from narrows_papers.frame.beyond.question import Numbers, Results
    from narrows_papers.frame.beyond.window import Window

ENDS: dict[str, tuple[str, bool]] = {"acns": ("acns", True), "ecn": ("none", True), "none": ("none", False)}
"""What an end has: its scheme, and whether it has ECN. An end with ACNS has ECN to fall back to."""

TITLES: dict[str, str] = {"acns": "ACNS", "ecn": "ECN", "none": "neither"}


def _overrides(sender: str, receiver: str) -> dict[str, Override]:
    (assist, ecn), (peer_assist, peer_ecn) = ENDS[sender], ENDS[receiver]
    return {"tcp.assist": assist, "tcp.ecn": ecn, "tcp.peer_assist": peer_assist, "tcp.peer_ecn": peer_ecn}


CASES: dict[str, Case] = {
    f"{sender}-{receiver}": Case(f"{TITLES[sender]} – {TITLES[receiver]}", _overrides(sender, receiver))
    for sender in ENDS
    for receiver in ENDS
}
"""The ends, the sending one first."""

COLUMNS = (ACNS,)


def agreed(sender: str, receiver: str) -> str:
    """What two ends agree on: the best that both have."""
    order = list(ENDS)
    return order[max(order.index(sender), order.index(receiver))]


def pairs_of(results: Results, what: str) -> list[str]:
    """Keys of the pairings that were run and agree on `what`."""
    return [key for key in CASES if results.has((key, ACNS)) and agreed(*key.split("-")) == what]


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what every pairing agrees on."""

    def told(name: str, what: str) -> str:
        return each(results, {key: CASES[key] for key in pairs_of(results, what)}, name, COLUMNS)

    def means(name: str, what: str) -> list[float]:
        return [results.mean((key, ACNS), name) for key in pairs_of(results, what)]

    made = []
    if pairs_of(results, "acns"):
        made.append(
            Claim(
                "Two ends with ACNS hear commands",
                all(value > 0 for value in means("commands", "acns")),
                told("commands", "acns") + " commands",
                rule="mean number of commands to freeze and to fall back, above zero",
            )
        )
    if pairs_of(results, "ecn"):
        made.append(
            Claim(
                "An end with ACNS and one with ECN agree on ECN: they answer marks, and hear no command",
                all(value > 0 for value in means("marks", "ecn"))
                and not any(value > 0 for value in means("commands", "ecn")),
                told("marks", "ecn") + " reductions; " + told("commands", "ecn") + " commands",
                rule="mean number of reductions above zero, none of commands, in every pairing",
            )
        )
    if pairs_of(results, "none"):
        made.append(
            Claim(
                "With an end that has neither nothing is agreed: no command, no answer to a mark",
                not any(value > 0 for name in ("commands", "marks") for value in means(name, "none")),
                told("commands", "none") + " commands; " + told("marks", "none") + " reductions",
                rule="none in every pairing",
            )
        )
    return tuple(made)


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    groups = {what: [CASES[key].title for key in pairs_of(results, what)] for what in ENDS}
    said = "; ".join(f"{TITLES[what]}: {', '.join(titles)}" for what, titles in groups.items() if titles)
    return (
        f"Two ends agree on the best that both have. {said[:1].upper()}{said[1:]}. A flow whose peer "
        "refuses goes on as one without ACNS. Lost: " + each(results, CASES, "lost", COLUMNS) + " packets.",
    )


def measure(at: Window) -> Numbers:
    """Count commands and answers to marks over the run."""
    flows = at.course.run.flows
    return {
        "commands": float(sum((flow.commands_freeze or 0) + (flow.commands_fallback or 0) for flow in flows)),
        "marks": float(sum(flow.ecn_reductions or 0 for flow in flows)),
    }


QUESTION = Compared(
    arms=ARMS,
    key="pairings",
    title="Ends that support different things",
    asks="the handshake falls back to ECN or to nothing; no flow of mixed ends is shown.",
    setting="Two CUBIC flows over a router with ACNS and a RED queue that marks: 10 Mb/s, 40 ms, 100 packets. Ends "
    "with ACNS have ECN, too. 5 to 40 s; commands and reductions of the whole run.",
    cases=CASES,
    quick=("acns-acns", "acns-ecn", "none-acns"),
    begin_s=5,
    end_s=40,
    claims=claims,
    conclusion=conclusion,
    axis="Sending end – receiving end",
    more={"commands": ("", "Commands"), "marks": ("", "ECN reductions")},
    measure_more=measure,
    columns=COLUMNS,
).question()
"""The question."""
