"""ACNS on this machine's own TCP stack: live figures of its evaluation next to simulated and published ones."""

from __future__ import annotations

from narrows_papers.acns.live.output import reproduce

__all__ = ["reproduce"]
