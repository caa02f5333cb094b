"""Test cases: scenarios with steps and expectations, run over a grid and judged."""

from narrows.studies.check.api import check
from narrows.studies.check.cells import Cell, Grid
from narrows.studies.check.execute import CheckInterrupted, execute, traced
from narrows.studies.check.outcome import Expectation, Outcome, Step, Value
from narrows.studies.check.plan import Item, NotRun, Plan, load, make
from narrows.studies.check.result import CaseResult, Check

__all__ = [
    "CaseResult",
    "Cell",
    "Check",
    "CheckInterrupted",
    "Expectation",
    "Grid",
    "Item",
    "NotRun",
    "Outcome",
    "Plan",
    "Step",
    "Value",
    "check",
    "execute",
    "load",
    "make",
    "traced",
]
