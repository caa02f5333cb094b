"""The evaluation of a congestion control by RFC 9743: criteria, runs until each is decided, and a page.

>>> made = run("reno", quick=True, only=["full-backoff"])
>>> made.of_row("full-backoff").decision.verdict
'met'
"""

from narrows.studies.evaluate.api import run
from narrows.studies.evaluate.criteria import Catalogue, Criterion, Network, Threshold, catalogue
from narrows.studies.evaluate.decide import Decision
from narrows.studies.evaluate.execute import EvaluationInterrupted, execute
from narrows.studies.evaluate.plan import Arm, Plan, Row, make, shipped
from narrows.studies.evaluate.progress import EvaluationProgress
from narrows.studies.evaluate.record import Record
from narrows.studies.evaluate.result import Evaluation, Judged

__all__ = [
    "Arm",
    "Catalogue",
    "Criterion",
    "Decision",
    "Evaluation",
    "EvaluationInterrupted",
    "EvaluationProgress",
    "Judged",
    "Network",
    "Plan",
    "Record",
    "Row",
    "Threshold",
    "catalogue",
    "execute",
    "make",
    "run",
    "shipped",
]
