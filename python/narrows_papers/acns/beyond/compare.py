"""The arms of ACNS's questions, and what several of them expect: without ACNS, with it, and with our rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Arms, Case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.scenario import Override
    from narrows_papers.frame.beyond.draw import Look
    from narrows_papers.frame.beyond.question import Results

PAPER = "acns"
"""The paper whose questions these are."""

OFF, ACNS, GUARD = "off", "acns", "guard"

COLUMNS: dict[str, str] = {OFF: "without ACNS", ACNS: "ACNS", GUARD: "ACNS, our rule"}
"""The arms of each case, with titles. Our rule is `normal_only_losses = "base"`."""

CHANGES: dict[str, dict[str, Override]] = {
    OFF: {"acns.enabled": False},
    ACNS: {},
    GUARD: {"acns.normal_only_losses": "base"},
}
"""The overrides of each arm."""

LOOKS: dict[str, Look] = {
    OFF: (style.PUBLISHED_COLOUR, 0, "square"),
    ACNS: (style.colour(0), 0, "circle"),
    GUARD: (style.colour(2), 1, "diamond"),
}
"""Colour, dash and symbol of each arm."""

ARMS = Arms(PAPER, COLUMNS, CHANGES, LOOKS)
"""All arms."""


def arms_of(results: Results, cases: Mapping[str, Case]) -> list[str]:
    """Keys of the cases that were run."""
    return [key for key in cases if results.has((key, ACNS))]


def each(results: Results, cases: Mapping[str, Case], name: str, columns: Sequence[str] = tuple(COLUMNS)) -> str:
    """Describe a quantity of every case that was run, arm by arm.

    >>> from narrows_papers.frame.beyond.question import Results
    >>> each(Results({("a", "acns"): ({"lost": 3.0},), ("a", "off"): ({"lost": 2.0},)}), {"a": Case("A")}, "lost",
    ...      (OFF, ACNS))
    'A: 2.00 → 3.00'
    """
    return "; ".join(
        f"{cases[key].title}: " + " → ".join(draw.told(results.of((key, column), name)) for column in columns)
        for key in arms_of(results, cases)
    )


def takes_losses(results: Results, cases: Mapping[str, Case], where: str) -> Claim:
    """Evaluate whether ACNS takes at least 90 % of the losses in every case."""
    held = all(
        results.mean((key, ACNS), "lost") <= 0.1 * results.mean((key, OFF), "lost") for key in arms_of(results, cases)
    )
    return Claim(f"ACNS takes at least 90 % of the losses{where}", held, each(results, cases, "lost") + " packets")


def sends_as_much(results: Results, cases: Mapping[str, Case], than: str) -> Claim:
    """Evaluate whether flows with ACNS deliver at least 99 % of what they deliver without it, in every case."""
    held = all(
        results.mean((key, ACNS), "goodput") >= 0.99 * results.mean((key, OFF), "goodput")
        for key in arms_of(results, cases)
    )
    return Claim(f"It sends at least 99 % of what {than} sends", held, each(results, cases, "goodput") + " Mb/s")


def shortens_trips(results: Results, cases: Mapping[str, Case]) -> Claim:
    """Evaluate whether mean round trips are shorter with ACNS, in every case."""
    held = all(results.mean((key, ACNS), "rtt") < results.mean((key, OFF), "rtt") for key in arms_of(results, cases))
    return Claim("It makes round trips shorter", held, each(results, cases, "rtt") + " ms")
