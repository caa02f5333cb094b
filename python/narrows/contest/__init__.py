"""Contests: every pair of a list of congestion controls on the two flow slots of a scenario.

>>> import narrows as nw
>>> made = nw.contest.run(["reno", "vegas"], "dumbbell-cubic", runs=1, overrides={"duration": "14 s"})
>>> made.matrix("share").shape
(2, 2)
"""

from __future__ import annotations

from narrows.contest.api import run
from narrows.contest.behaviour import Criteria, classify, equilibrium_s
from narrows.contest.contestant import Contestant
from narrows.contest.execute import ContestInterrupted, Executed, Progress, estimate, execute
from narrows.contest.plan import Match, Plan, make
from narrows.contest.record import FlowRecord, Record
from narrows.contest.result import Contest
from narrows.contest.standing import Standing
from narrows.contest.window import Window

__all__ = [
    "Contest",
    "ContestInterrupted",
    "Contestant",
    "Criteria",
    "Executed",
    "FlowRecord",
    "Match",
    "Plan",
    "Progress",
    "Record",
    "Standing",
    "Window",
    "classify",
    "equilibrium_s",
    "estimate",
    "execute",
    "make",
    "run",
]
