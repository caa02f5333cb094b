"""Queue disciplines compared over the scenarios of RFC 7928: delay against goodput.

>>> made = run(["droptail", "codel"], ["aqm-tcp-friendly"], runs=2, overrides={"duration": "25 s"})
>>> made.delay_ms("codel", "aqm-tcp-friendly").mean < made.delay_ms("droptail", "aqm-tcp-friendly").mean
True
"""

from narrows.studies.aqm.api import run
from narrows.studies.aqm.execute import AqmInterrupted, estimate, execute
from narrows.studies.aqm.plan import SCENARIOS, Cell, Plan, make
from narrows.studies.aqm.record import Record
from narrows.studies.aqm.result import Aqm, Ellipse

__all__ = [
    "SCENARIOS",
    "Aqm",
    "AqmInterrupted",
    "Cell",
    "Ellipse",
    "Plan",
    "Record",
    "estimate",
    "execute",
    "make",
    "run",
]
