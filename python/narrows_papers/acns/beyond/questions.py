"""All questions, in the order in which they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows_papers.acns.beyond import (
    bases,
    bottlenecks,
    hosts,
    joins,
    lossy,
    oldest,
    pairings,
    priorities,
    queues,
    routers,
    wireless,
)

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Question

QUESTIONS: tuple[Question, ...] = (
    routers.QUESTION,
    hosts.QUESTION,
    pairings.QUESTION,
    joins.QUESTION,
    queues.QUESTION,
    oldest.QUESTION,
    priorities.QUESTION,
    bottlenecks.QUESTION,
    bases.QUESTION,
    lossy.QUESTION,
    wireless.QUESTION,
)
"""All questions, in the order in which they are run and shown."""

WORK: dict[str, float] = {
    "routers": 30,
    "hosts": 10,
    "pairings": 8,
    "joins": 20,
    "queues": 15,
    "oldest": 15,
    "priorities": 8,
    "bottlenecks": 20,
    "bases": 25,
    "lossy": 15,
    "wireless": 15,
}
"""Approximate relative duration of each question, for the progress bar."""
