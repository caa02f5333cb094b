"""All questions, in the order of the paper's section 5, and then those on deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows_papers.ngwa.beyond import (
    against,
    gigabit,
    hosts,
    idle,
    joins,
    options,
    over,
    parking_lot,
    routers,
    rtts,
    syn,
    udp,
)

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Question

QUESTIONS: tuple[Question, ...] = (
    joins.QUESTION,
    idle.QUESTION,
    syn.QUESTION,
    against.QUESTION,
    over.QUESTION,
    udp.QUESTION,
    rtts.QUESTION,
    parking_lot.QUESTION,
    gigabit.QUESTION,
    routers.QUESTION,
    hosts.QUESTION,
    options.QUESTION,
)
"""All questions, in the order in which they are run and shown."""

WORK: dict[str, float] = {
    "joins": 10,
    "idle": 15,
    "syn": 10,
    "against": 17,
    "over": 8,
    "udp": 23,
    "rtts": 21,
    "parking-lot": 6,
    "gigabit": 30,
    "routers": 10,
    "hosts": 6,
    "options": 12,
}
"""Approximate relative duration of each question, for the progress bar."""
