"""What a run yields, as values.

`run` and `batch` have the metrics; `samples` has the samples over time, and `states` the state of algorithms.
`conditions` tells which properties of the machine affected a live run, and `summary` makes the JSON object.
"""

from __future__ import annotations

from narrows.outcome.batch import Batch, joint_digest
from narrows.outcome.outcome import Kind, Outcome
from narrows.outcome.run import Run

__all__ = ["Batch", "Kind", "Outcome", "Run", "joint_digest"]
