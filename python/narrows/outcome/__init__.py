"""What a run yields: metrics, samples over time, state of algorithms and conditions, as values."""

from __future__ import annotations

from narrows.outcome.outcome import Batch, Kind, Outcome, Run, joint_digest

__all__ = [
    "Batch",
    "Kind",
    "Outcome",
    "Run",
    "joint_digest",
]
