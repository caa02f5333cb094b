"""What a run yields: metrics, samples over time, state of algorithms and conditions, as values."""

from __future__ import annotations

from narrows.outcome.batch import Batch, joint_digest
from narrows.outcome.outcome import Kind, Outcome
from narrows.outcome.run import Run

__all__ = ["Batch", "Kind", "Outcome", "Run", "joint_digest"]
