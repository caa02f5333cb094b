"""Claims about ACNS on a real stack, evaluated on the live runs: the papers' claims, and obedience to commands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.base.format import number
from narrows.stats import mean_ci
from narrows.studies.reproduction.result import Claim, on_runs
from narrows_papers.acns import evaluation
from narrows_papers.acns.live.obeyed import courses

if TYPE_CHECKING:
    from narrows.outcome import Batch
    from narrows_papers.acns.evaluation import Evaluation
    from narrows_papers.acns.live.measured import Measured

FLOW: Final = "tcp1"
"""The flow of the demonstration."""

FULL_PERCENT: Final = 2.0
"""Largest loss of throughput against the run without ACNS at which the link still counts as full, per cent."""

STRAY: Final = 0.1
"""Share of steps under freeze in which the window may grow, because counters and window are not read atomically."""


def claims(measured: Measured) -> tuple[list[Claim], list[Claim]]:
    """Evaluate all claims.

    Parameters
    ----------
    measured : Measured

    Returns
    -------
    (list of Claim, list of Claim)
        Claims about the evaluation, and about the demonstration.
    """
    live = measured.live
    evaluated = [*evaluation.claims(live.evaluation), _heard(live.evaluation.acns)]
    return (
        on_runs(evaluated, len(live.evaluation.acns.runs)),
        on_runs(of_demonstration(live.demonstration), len(live.demonstration.acns.runs)),
    )


def of_demonstration(shown: Evaluation) -> list[Claim]:
    """Evaluate the claims about the demonstration.

    Parameters
    ----------
    shown : Evaluation

    Returns
    -------
    list of Claim
    """
    return [_lossless(shown), _frozen(shown), _falling(shown), _full(shown)]


def _heard(batch: Batch) -> Claim:
    freezes, fallbacks = (commands(batch, f"commands_{kind}") for kind in ("freeze", "fallback"))
    written = [mean_ci(sum(getattr(r, key) for r in run.routers) for run in batch.runs).mean for key in WRITTEN]
    return Claim(
        "What routers write reaches the real senders: commands to freeze and to fall back",
        freezes > 0 and fallbacks > 0,
        f"freeze: {number(written[0])} written, {number(freezes)} heard; fallback: {number(written[1])} written, "
        f"{number(fallbacks)} heard (with ACKs that are delayed the harshest is told once)",
        rule="both counts above zero",
    )


WRITTEN: Final = ("wrote_freeze", "wrote_fallback")
"""Counters of the commands that routers wrote."""


def commands(batch: Batch, key: str) -> float:
    """Number of commands over all TCP flows, averaged over the runs.

    Parameters
    ----------
    batch : Batch
    key : str
        Name of the counter, such as ``commands_freeze``.

    Returns
    -------
    float
        Zero if no sender counted commands.
    """
    counted = (sum(getattr(flow, key) or 0 for flow in run.flows if flow.cc is not None) for run in batch.runs)
    return mean_ci(counted).mean


def dropped(batch: Batch) -> float:
    """Number of packets that all queues dropped, averaged over the runs.

    Parameters
    ----------
    batch : Batch

    Returns
    -------
    float
    """
    return mean_ci(sum(queue.dropped_packets for queue in run.queues) for run in batch.runs).mean


def mean_of(batch: Batch, metric: str) -> float:
    """Metric of the demonstration's flow, averaged over the runs.

    Parameters
    ----------
    batch : Batch
    metric : str
        Name of the metric, such as ``rtt_mean_ms``.

    Returns
    -------
    float
        NaN if no run has a value.
    """
    return mean_ci(getattr(run.flow(FLOW), metric) for run in batch.runs).mean


def _lossless(shown: Evaluation) -> Claim:
    plain, treated = dropped(shown.without), dropped(shown.acns)
    return Claim(
        "No loss where CUBIC loses",
        plain > 0 and treated == 0,
        f"dropped without ACNS {number(plain)}, with it {number(treated)} packets",
        rule="zero with ACNS, more than zero without",
    )


def _frozen(shown: Evaluation) -> Claim:
    freezes = commands(shown.acns, "commands_freeze")
    found = courses(shown.acns.runs, FLOW)
    frozen, grew = sum(one.frozen for one in found), sum(one.grew for one in found)
    free, grew_free = sum(one.free for one in found), sum(one.grew_free for one in found)
    return Claim(
        "Freeze is obeyed: while it rules, the window does not grow",
        freezes > 0 and frozen > 0 and grew <= STRAY * frozen,
        f"{number(freezes)} commands; grew in {grew} of {frozen} steps between samples under freeze, in {grew_free} of "
        f"{free} under normal",
        rule="the window grows in at most a tenth of the steps under freeze",
    )


def _falling(shown: Evaluation) -> Claim:
    fallbacks = commands(shown.acns, "commands_fallback")
    quiet = [run for run in shown.acns.runs if not run.flow(FLOW).lost_packets]
    falls = mean_ci(one.falls for one in courses(quiet, FLOW)).mean
    return Claim(
        "Fallback is obeyed: the window falls though nothing is lost",
        fallbacks > 0 and len(quiet) > 0 and falls > 0,
        f"{number(fallbacks)} commands; {number(falls)} falls in {len(quiet)} of {len(shown.acns.runs)} runs, those "
        "without a loss",
        rule="more than zero falls in runs without a loss",
    )


def _full(shown: Evaluation) -> Claim:
    rates = [mean_of(batch, "throughput_mbps") for batch in (shown.without, shown.acns)]
    trips = [mean_of(batch, "rtt_mean_ms") for batch in (shown.without, shown.acns)]
    less = 100 * (rates[1] / rates[0] - 1) if rates[0] else math.nan
    return Claim(
        f"The link stays full (throughput within {FULL_PERCENT:g} %), and waiting is shorter",
        less >= -FULL_PERCENT and trips[1] < trips[0],
        f"without and with: {rates[0]:.2f} and {rates[1]:.2f} Mb/s, mean RTT {number(trips[0])} and "
        f"{number(trips[1])} ms",
        rule="mean throughput at least 98 %; mean RTT strictly lower",
    )
