"""Audits of captures: what routers of ACNS and NGWA wrote, compared with what the packets alone say they should have.

The audit shares no code with the schemes' implementation. It reads captures, rebuilds each router's queues, its table
of flows and their ages and priorities, and computes every command or value again from the formulas of the papers.
"""

from narrows.studies.audit.audit import SCHEMES, Audit, Decision, RouterAudit, audit

__all__ = ["SCHEMES", "Audit", "Decision", "RouterAudit", "audit"]
