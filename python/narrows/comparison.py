"""Comparisons of a simulated and a live outcome: public names of `narrows.studies.comparison`."""

from __future__ import annotations

from narrows.studies.comparison import (
    LIVE,
    SIMULATED,
    Arm,
    Compared,
    Comparison,
    ComparisonInterrupted,
    Measure,
    Subject,
    load,
    run_both,
    write,
)

__all__ = [
    "LIVE",
    "SIMULATED",
    "Arm",
    "Compared",
    "Comparison",
    "ComparisonInterrupted",
    "Measure",
    "Subject",
    "load",
    "run_both",
    "write",
]
