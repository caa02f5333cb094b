"""Contests: every pair of a list of congestion controls on the two flow slots of a scenario.

>>> from narrows import contest
>>> plan = contest.make("dumbbell-cubic", ["reno", "vegas"], runs=1, overrides={"duration": "14 s"}, solo=False)
>>> made = contest.execute(plan, jobs=1)
>>> [(one.first, one.second) for one in made.records]
[('reno', 'reno'), ('reno', 'vegas'), ('vegas', 'reno'), ('vegas', 'vegas')]
"""

from __future__ import annotations

from narrows.contest.behaviour import Criteria, classify, equilibrium_s
from narrows.contest.execute import ContestInterrupted, Executed, Progress, execute
from narrows.contest.measure import FlowRecord, Record
from narrows.contest.plan import Contestant, Match, Plan, make
from narrows.contest.window import Window

__all__ = [
    "ContestInterrupted",
    "Contestant",
    "Criteria",
    "Executed",
    "FlowRecord",
    "Match",
    "Plan",
    "Progress",
    "Record",
    "Window",
    "classify",
    "equilibrium_s",
    "execute",
    "make",
]
