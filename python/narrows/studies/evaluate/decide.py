r"""The sequential rule: runs with further seeds until the interval of a criterion is on one side of its threshold.

A row is judged at K numbers of seeds that are fixed beforehand, its looks. The statistic of a seed is the value of the
measure less the threshold of that seed, and a relative threshold is that of CUBIC under the same seed, so that common
random numbers cancel what both share. At each look, Student's interval of its mean over all seeds so far has the
confidence 1 - 0.05 / K. If all of it is on the side of the criterion, the verdict is "met"; if all of it is beyond,
"not met"; else more runs are made, or, after the last look, the verdict is "undecided".

By Bonferroni's inequality all K intervals hold the true mean together with a probability of at least 95 %, so a verdict
is wrong with at most 5 %, however often the row was looked at, if the means are about normal. These are the repeated
confidence intervals of Jennison and Turnbull (1984), with the error spent evenly over the looks. An interval that is
computed again after each run, at 95 %, would be wrong far more often: it has one more chance with each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from narrows.stats import Estimate, mean_ci
from narrows.studies.evaluate import measures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.studies.evaluate.plan import Arm, Plan, Row
    from narrows.studies.evaluate.record import Record

Verdict = Literal["met", "not met", "undecided", "not applicable"]

ERROR: Final = 0.05
"""Largest probability of a wrong verdict of a row."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of a row.

    Attributes
    ----------
    verdict : str
        ``met``, ``not met``, ``undecided`` or ``not applicable``.
    reason : str
        In words, where the numbers do not say it: why a row was not judged, or how the control failed.
    seeds : tuple of int
        The seeds that it rests on.
    value, threshold : Estimate
        Mean of the measure and of the threshold, with 95 % intervals.
    difference : Estimate
        Of the measure less the threshold, with the interval that decided.
    failing_seed : int or None
        The seed that is furthest beyond the threshold.
    digests : tuple of str
        Digests of the runs, in the order of seeds.
    values : tuple of float or None
        The measure by seed.
    """

    verdict: Verdict
    reason: str
    seeds: tuple[int, ...]
    value: Estimate
    threshold: Estimate
    difference: Estimate
    failing_seed: int | None
    digests: tuple[str, ...]
    values: tuple[float | None, ...] = ()


def decide(plan: Plan, row: Row, runs: int, records: Mapping[str, Record]) -> Decision:
    """Judge a row.

    Parameters
    ----------
    plan : Plan
    row : Row
    runs : int
        Number of seeds to judge by.
    records : mapping
        Records by key; those of the seeds.

    Returns
    -------
    Decision
        "undecided" if further runs may decide it.
    """
    nothing = mean_ci(())
    if row.inapplicable:
        return Decision("not applicable", row.inapplicable, (), nothing, nothing, nothing, None, ())
    seeds = tuple(range(plan.seed, plan.seed + runs))
    found = [[records[arm.key(seed)] for seed in seeds] for arm in row.arms]
    digests = tuple(one.digest for arm in found for one in arm)
    values = [_value(row, seed, records, row.test) for seed in seeds]
    broken = next((one.seed for one in found[0] if one.error is not None), None)
    if broken is not None:
        return failed(row, records, broken)
    references = [None if row.cubic is None else _value(row, seed, records, row.cubic) for seed in seeds]
    limits = [row.criterion.threshold.of(one) for one in references]
    pairs = [
        (seed, value, limit, value - limit)
        for seed, value, limit in zip(seeds, values, limits, strict=True)
        if value is not None and limit is not None
    ]
    if not pairs:
        verdict, reason = _valueless(values, row)
        return Decision(verdict, reason, seeds, nothing, nothing, nothing, seeds[0], digests, tuple(values))
    least = row.criterion.threshold.side == "at_least"
    difference = mean_ci((pair[3] for pair in pairs), 1 - ERROR / len(plan.looks))
    worst = min(pairs, key=lambda pair: pair[3] if least else -pair[3])
    return Decision(
        _verdict(difference, least=least),
        "",
        seeds,
        mean_ci(pair[1] for pair in pairs),
        mean_ci(pair[2] for pair in pairs),
        difference,
        worst[0] if (worst[3] < 0) == least and worst[3] != 0 else None,
        digests,
        tuple(values),
    )


def failed(row: Row, records: Mapping[str, Record], seed: int) -> Decision:
    """Return the decision of a row whose control failed in a run.

    Parameters
    ----------
    row : Row
    records : mapping
        Records by key.
    seed : int
        The seed of the run.

    Returns
    -------
    Decision
        "not met", with the control's error.
    """
    nothing = mean_ci(())
    error = records[row.test.key(seed)].error or ""
    said = error.partition(" was stopped: ")[2] or error
    reason = f"the control failed under seed {seed}: {said}"
    return Decision("not met", reason, (seed,), nothing, nothing, nothing, seed, ("",), (None,))


def over_budget(decision: Decision, runs: int) -> Decision:
    """Say of a row without enough runs that the budget ended.

    Parameters
    ----------
    decision : Decision
    runs : int

    Returns
    -------
    Decision
    """
    reason = f"the budget ended after {runs} seeds"
    return Decision(
        decision.verdict,
        reason if decision.verdict == "undecided" else decision.reason,
        decision.seeds,
        decision.value,
        decision.threshold,
        decision.difference,
        decision.failing_seed,
        decision.digests,
        decision.values,
    )


def unmade(reason: str) -> Decision:
    """Return the decision of a row without runs.

    Parameters
    ----------
    reason : str

    Returns
    -------
    Decision
    """
    nothing = mean_ci(())
    return Decision("undecided", reason, (), nothing, nothing, nothing, None, ())


def _verdict(difference: Estimate, *, least: bool) -> Verdict:
    if difference.n < 2:
        return "undecided"
    if (difference.low >= 0) if least else (difference.high <= 0):
        return "met"
    if (difference.high < 0) if least else (difference.low > 0):
        return "not met"
    return "undecided"


def _valueless(values: Sequence[float | None], row: Row) -> tuple[Verdict, str]:
    title = measures.MEASURES[row.criterion.measure].title
    if any(value is not None for value in values):
        return "not applicable", f"CUBIC has no value of {title!r} in this network"
    return "not met", f"no run has a value of {title!r}: nothing was sent, or nothing arrived"


def _value(row: Row, seed: int, records: Mapping[str, Record], arm: Arm) -> float | None:
    one = records[arm.key(seed)]
    if one.error is not None:
        return None
    if row.criterion.measure != measures.HARM or row.alone is None:
        return one.values.get(row.criterion.measure)
    alone = records[row.alone.key(seed)].values.get(measures.VICTIM)
    beside = one.values.get(measures.VICTIM)
    return None if not alone or beside is None else (alone - beside) / alone
