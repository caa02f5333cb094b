"""ACNS on this machine's own TCP stack: its evaluation in real time, beside the simulator and the published figures."""

from __future__ import annotations

from narrows.papers.acns.live.experiment import reproduce

__all__ = ["reproduce"]
