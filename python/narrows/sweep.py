"""Sweeps: public names of `narrows.studies.sweep`."""

from __future__ import annotations

from narrows.studies.sweep import (
    Estimate,
    Failure,
    Point,
    Progress,
    Sweep,
    SweepError,
    SweepInterrupted,
    SweepResult,
    SweepRun,
    execute,
    load,
)

__all__ = [
    "Estimate",
    "Failure",
    "Point",
    "Progress",
    "Sweep",
    "SweepError",
    "SweepInterrupted",
    "SweepResult",
    "SweepRun",
    "execute",
    "load",
]
