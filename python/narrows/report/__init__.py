"""Reports: one page that works offline, and its figures for a paper.

A report is made of a scenario, metrics and samples, and is the same for simulated and live runs.
"""

from __future__ import annotations

from narrows.report.write import write_report

__all__ = ["write_report"]
