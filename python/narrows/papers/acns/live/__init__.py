"""ACNS on this machine's own TCP stack: live figures of its evaluation next to simulated and published ones."""

from __future__ import annotations

from narrows.papers.acns.live.experiment import reproduce

__all__ = ["reproduce"]
