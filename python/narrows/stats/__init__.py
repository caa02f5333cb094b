"""Means with confidence intervals: over independent runs, within one long run, and of paired differences.

`mean_ci` and `paired_difference` take one value per run; `batch_means` takes the series of one run, whose values are
correlated, and `warmup_mser` says how much of its beginning to leave out.
"""

from narrows.stats.batches import BatchMeans, batch_means
from narrows.stats.runs import CONFIDENCE, Estimate, PairedDifference, mean_ci, paired_difference
from narrows.stats.warmup import warmup_mser

__all__ = [
    "CONFIDENCE",
    "BatchMeans",
    "Estimate",
    "PairedDifference",
    "batch_means",
    "mean_ci",
    "paired_difference",
    "warmup_mser",
]
