"""Results that no run gave, for tests of what a beyond report concludes from numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows_papers.frame.beyond.question import Results

if TYPE_CHECKING:
    from collections.abc import Callable

    from narrows_papers.frame.beyond.question import Key, Numbers, Question


def fabricated(question: Question, value: Callable[[Key, str], float], seeds: int = 2) -> Results:
    """Return results in which every number of every arm is `value` of it, equal for all seeds."""
    rows: dict[Key, list[Numbers]] = {
        arm.key: [{name: value(arm.key, name) for name in question.units}] * seeds for arm in question.arms(False)
    }
    return Results(rows)


def holding(question: Question, value: Callable[[Key, str], float]) -> list[bool]:
    """Return which expectations hold for such results."""
    return [claim.holds for claim in question.section(fabricated(question, value)).claims]
