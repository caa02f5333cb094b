"""Packetdrill scripts, simulated and on this machine's kernel: running them, judging them, and the page of both."""

from narrows.studies.packetdrill.outcome import Difference, Outcome, Report, Result
from narrows.studies.packetdrill.run import run
from narrows.studies.packetdrill.scripts import VERSIONS, Script, Suite, find

__all__ = ["VERSIONS", "Difference", "Outcome", "Report", "Result", "Script", "Suite", "find", "run"]
