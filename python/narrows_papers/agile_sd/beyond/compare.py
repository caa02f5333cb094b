"""The arms of Agile-SD's questions: Agile-SD, and the congestion controls of today in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Arms, Case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.model.scenario import Override
    from narrows_papers.frame.beyond.draw import Look
    from narrows_papers.frame.beyond.question import Results

PAPER = "agile-sd"
"""The paper whose questions these are."""

AGILE, CUBIC, BBR3, DCTCP = "agile_sd", "cubic", "bbr3", "dctcp"

TITLES: dict[str, str] = {AGILE: "Agile-SD", CUBIC: "CUBIC", BBR3: "BBRv3", DCTCP: "DCTCP"}
"""Title of each arm. CUBIC is RFC 9438's with HyStart++."""

CHANGES: dict[str, dict[str, Override]] = {name: {"tcp.cc": name} for name in TITLES}
"""The overrides of each arm."""

LOOKS: dict[str, Look] = {
    AGILE: (style.colour(0), 0, "circle"),
    CUBIC: (style.colour(1), 0, "square"),
    BBR3: (style.colour(2), 1, "diamond"),
    DCTCP: (style.colour(3), 1, "triangle-up"),
}
"""Colour, dash and symbol of each arm."""

ARMS = Arms(PAPER, TITLES, CHANGES, LOOKS)
"""All arms."""

TODAY: tuple[str, ...] = (AGILE, CUBIC, BBR3)
"""The arms of most questions; DCTCP needs a queue that marks."""


def ran(results: Results, cases: Mapping[str, Case], column: str = AGILE) -> list[str]:
    """Keys of the cases that were run in an arm."""
    return [key for key in cases if results.has((key, column))]


def each(results: Results, cases: Mapping[str, Case], name: str, columns: tuple[str, ...] = TODAY) -> str:
    """Describe a quantity of every case that was run, arm by arm.

    >>> from narrows_papers.frame.beyond.question import Results
    >>> each(Results({("a", "agile_sd"): ({"lost": 3.0},), ("a", "cubic"): ({"lost": 2.0},)}), {"a": Case("A")}, "lost",
    ...      (AGILE, CUBIC))
    'A: Agile-SD 3.00, CUBIC 2.00'
    """
    return "; ".join(
        f"{cases[key].title}: "
        + ", ".join(
            f"{TITLES[column]} {draw.told(results.of((key, column), name))}"
            for column in columns
            if results.has((key, column))
        )
        for key in ran(results, cases)
    )
