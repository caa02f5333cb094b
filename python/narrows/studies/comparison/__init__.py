"""Comparison of a simulated and a live outcome of one scenario.

`Comparison` sets two outcomes side by side, flow by flow, with intervals over repeated runs (Welch). `run_both` makes
the two outcomes; `write` and `load` keep them in a directory; `narrows.studies.comparison.report` makes the page.
"""

from __future__ import annotations

from narrows.studies.comparison.comparison import Arm, Compared, Comparison, Subject
from narrows.studies.comparison.directory import load, write
from narrows.studies.comparison.make import LIVE, SIMULATED, ComparisonInterrupted, run_both
from narrows.studies.comparison.measures import Measure

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
