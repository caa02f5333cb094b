"""Statistics of runs: intervals, paired differences, how many runs are needed, fairness, convergence.

Over independent runs: `mean_ci` (Student), `bootstrap_ci` (BCa); `paired_difference`, `bootstrap_difference` and
`signed_rank_p` for two arms with the same seeds, `welch_difference` for two independent arms; `required_runs` and
`Precision` for an interval of a wanted width; `adjusted_p` for several tests at once.
Within one run, whose values are correlated: `batch_means`, and `warmup_mser` for the warm-up to leave out.
For flows: `jains_index`, `convergence_time` and `fair_convergence_time`.

Quantiles, tail probabilities, resampling and rank tests come from SciPy. Sums are exact (`math.fsum`), so that results
do not depend on the order of summation in a library.
"""

from narrows.metrics import jains_index
from narrows.stats.batches import BatchMeans, batch_means
from narrows.stats.bootstrap import bootstrap_ci, bootstrap_difference
from narrows.stats.convergence import convergence_time, convergence_times, fair_convergence_time
from narrows.stats.multiple import adjusted_p
from narrows.stats.precision import Precision, Reached, required_runs
from narrows.stats.runs import (
    CONFIDENCE,
    Estimate,
    PairedDifference,
    mean_ci,
    paired_difference,
    signed_rank_p,
    sum_of_independent,
)
from narrows.stats.warmup import warmup_mser
from narrows.stats.welch import Difference, welch_difference

__all__ = [
    "CONFIDENCE",
    "BatchMeans",
    "Difference",
    "Estimate",
    "PairedDifference",
    "Precision",
    "Reached",
    "adjusted_p",
    "batch_means",
    "bootstrap_ci",
    "bootstrap_difference",
    "convergence_time",
    "convergence_times",
    "fair_convergence_time",
    "jains_index",
    "mean_ci",
    "paired_difference",
    "required_runs",
    "signed_rank_p",
    "sum_of_independent",
    "warmup_mser",
    "welch_difference",
]
