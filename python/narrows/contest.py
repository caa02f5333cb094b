"""Contests: public names of `narrows.studies.contest`."""

from __future__ import annotations

from narrows.studies.contest import (
    Contest,
    Contestant,
    ContestInterrupted,
    Criteria,
    Executed,
    FlowRecord,
    Match,
    Plan,
    Progress,
    Record,
    Standing,
    Window,
    classify,
    equilibrium_s,
    estimate,
    execute,
    make,
    run,
)

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
