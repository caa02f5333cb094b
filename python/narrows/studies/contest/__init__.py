"""Contests: every pair of a list of congestion controls on the two flow slots of a scenario.

>>> import narrows as nw
>>> made = nw.contest.run(["reno", "vegas"], "dumbbell-cubic", runs=1, overrides={"duration": "14 s"})
>>> made.matrix("share").shape
(2, 2)
"""

from __future__ import annotations

from narrows.studies.contest.api import run
from narrows.studies.contest.behaviour import Criteria, classify, equilibrium_s
from narrows.studies.contest.contestant import Contestant
from narrows.studies.contest.execute import ContestInterrupted, Executed, Progress, estimate, execute
from narrows.studies.contest.plan import Match, Plan, make
from narrows.studies.contest.record import FlowRecord, Record
from narrows.studies.contest.result import Contest
from narrows.studies.contest.standing import Standing
from narrows.studies.contest.window import Window

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
