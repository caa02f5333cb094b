"""The arms of NGWA's questions: its modes, their overrides, and how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Arms, Case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.scenario import Override
    from narrows_papers.frame.beyond.draw import Look
    from narrows_papers.frame.beyond.question import Results

PAPER = "ngwa"
"""The paper whose questions these are."""

OFF: dict[str, Override] = {"ngwa.enabled": False}
"""Disables NGWA in a scenario."""

MODES: dict[str, str] = {
    "1": "mode 1: free bytes",
    "2": "mode 2: free bytes, smoothed",
    "5": "mode 5: flow division",
    "6": "mode 6: flow division, smoothed",
    "7": "mode 7: as 5, without cwnd",
    "8": "mode 8: as 6, without cwnd",
}
"""Modes under study, with titles. Modes 3 and 4 are left out: they lose much even in the paper's own network."""

GREY = style.PUBLISHED_COLOUR

LOOKS: dict[str, Look] = {
    "reno": (GREY, 0, "square"),
    "cubic": ("#4A4F57", 1, "square"),
    "1": (style.colour(0), 0, "circle"),
    "2": (style.colour(5), 1, "circle"),
    "5": (style.colour(1), 0, "circle"),
    "6": (style.colour(4), 1, "circle"),
    "7": (style.colour(2), 0, "diamond"),
    "8": (style.colour(3), 1, "diamond"),
}
"""Colour, dash and symbol of each arm, the same in all figures."""

TITLES: dict[str, str] = {"reno": "Reno", "cubic": "CUBIC"} | {mode: f"mode {mode}" for mode in MODES}
"""Titles of the arms in figures."""


def changes(column: str) -> dict[str, Override]:
    """Return the overrides of an arm for a mode, or for "off".

    >>> changes("5"), changes("off")
    ({'ngwa.mode': 5}, {'ngwa.enabled': False})
    """
    return dict(OFF) if column == "off" else {"ngwa.mode": int(column)}


ARMS = Arms(
    PAPER,
    {"off": "without NGWA", "1": "mode 1", "6": "mode 6", "8": "mode 8"},
    {column: changes(column) for column in ("off", "1", "6", "8")},
    LOOKS | {"off": LOOKS["reno"]},
)
"""The arms of questions that compare cases: none, free bytes, flow division, and flow division without cwnd."""


def keys_of(results: Results, cases: Mapping[str, Case]) -> list[str]:
    """Keys of the cases that were run."""
    return [key for key in cases if results.has((key, "6"))]


def each(results: Results, cases: Mapping[str, Case], name: str, columns: Sequence[str] = ("off", "6")) -> str:
    """Describe a quantity of every case that was run, arm by arm.

    >>> from narrows_papers.frame.beyond.question import Results
    >>> each(Results({("a", "6"): ({"lost": 3.0},), ("a", "off"): ({"lost": 2.0},)}), {"a": Case("A")}, "lost")
    'A: 2.00 → 3.00'
    """
    return "; ".join(
        f"{cases[key].title}: " + " → ".join(draw.told(results.of((key, column), name)) for column in columns)
        for key in keys_of(results, cases)
    )
