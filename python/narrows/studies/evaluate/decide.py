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

Two rules keep an interval from saying more than its seeds do. Seeds without a value of the measure are left out and
told; with fewer than `LEAST` values, or fewer than the part `ENOUGH` of the seeds, the row is undecided, since a
missing value need not be a random one. Equal differences under all seeds give an interval without width, which is no
certainty: the sign test decides then. If the mean were beyond the threshold, n differences on one side of it would have
a probability of at most 2^(1 - n) for a symmetric distribution, so at least 1 + log2(K / 0.05) seeds are needed. Fewer
are enough only where nothing is random: every run of an arm has the same digest, or the arm is that of CUBIC itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from narrows.stats import Estimate, mean_ci
from narrows.studies.evaluate import measures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from narrows.studies.evaluate.plan import Arm, Plan, Row
    from narrows.studies.evaluate.record import Record

Verdict = Literal["met", "not met", "undecided", "not applicable"]

ERROR: Final = 0.05
"""Largest probability of a wrong verdict of a row."""

LEAST: Final = 3
"""Fewest seeds with a value that a verdict rests on."""

ENOUGH: Final = 0.75
"""Smallest part of the seeds that must have a value for a verdict."""

_EQUAL: Final = 1e-9
"""Standard deviation, over the size of the values, up to which differences are equal but for rounding."""


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
    without : int
        Seeds that were left out because a run has no value of the measure.
    doubtful : tuple of int
        Seeds that were left out because a live run under them is doubtful.
    doubts : tuple of str
        Why, each once.
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
    without: int = 0
    doubtful: tuple[int, ...] = ()
    doubts: tuple[str, ...] = ()


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
    broken = next((one.seed for one in found[0] if one.error is not None), None)
    if broken is not None:
        return failed(row, records, broken)
    doubtful = tuple(seed for seed, *of in zip(seeds, *found, strict=True) if any(one.doubts for one in of))
    doubts = tuple(dict.fromkeys(doubt for arm in found for one in arm for doubt in one.doubts))
    values = tuple(None if seed in doubtful else _value(row, seed, records, row.test) for seed in seeds)
    pairs = list(_pairs(row, seeds, values, records))
    counted = len(seeds) - len(doubtful)
    made = Decision(
        "undecided",
        "",
        seeds,
        nothing,
        nothing,
        nothing,
        None,
        digests,
        values,
        without=counted - len(pairs),
        doubtful=doubtful,
        doubts=doubts,
    )
    if not counted:
        return replace(made, reason=f"all {len(seeds)} runs are doubtful: {doubts[0]}")
    if not pairs:
        verdict, reason = _valueless(values, row, live=bool(plan.world))
        return replace(made, verdict=verdict, reason=reason, failing_seed=seeds[0])
    return replace(made, **_judged(plan, row, pairs, counted, certain=_certain(row, found)))


_Pair = tuple[int, float, float, float]
"""A seed, its value, its threshold, and the difference."""


def _pairs(
    row: Row, seeds: Sequence[int], values: Sequence[float | None], records: Mapping[str, Record]
) -> Iterator[_Pair]:
    for seed, value in zip(seeds, values, strict=True):
        reference = None if row.cubic is None else _value(row, seed, records, row.cubic)
        limit = row.criterion.threshold.of(reference)
        if value is not None and limit is not None:
            yield seed, value, limit, value - limit


def _judged(plan: Plan, row: Row, pairs: Sequence[_Pair], counted: int, *, certain: bool) -> dict[str, Any]:
    """The fields of a decision that rests on at least one pair."""
    least = row.criterion.threshold.side == "at_least"
    difference = mean_ci((pair[3] for pair in pairs), 1 - ERROR / len(plan.looks))
    worst = min(pairs, key=lambda pair: pair[3] if least else -pair[3])
    reason = ""
    if len(pairs) < max(LEAST, math.ceil(ENOUGH * counted)):
        title = measures.MEASURES[row.criterion.measure].title
        needed = max(LEAST, math.ceil(ENOUGH * counted))
        reason = f"{len(pairs)} of {counted} seeds have a value of {title!r}; a verdict needs {needed}"
    elif not certain and _flat(pairs) and len(pairs) < (needed := signs(len(plan.looks))):
        reason = f"equal differences under {len(pairs)} seeds; a verdict needs {needed}"
    return {
        "verdict": "undecided" if reason else _verdict(difference, least=least),
        "reason": reason,
        "value": mean_ci(pair[1] for pair in pairs),
        "threshold": mean_ci(pair[2] for pair in pairs),
        "difference": difference,
        "failing_seed": worst[0] if (worst[3] < 0) == least and worst[3] != 0 else None,
    }


def signs(looks: int) -> int:
    """Return how many equal differences decide a row: the sign test at the error of one look.

    Parameters
    ----------
    looks : int
        Number of looks, K.

    Returns
    -------
    int
        The smallest n with 2^(1 - n) at most 0.05 / K.

    Examples
    --------
    >>> signs(4), signs(5)
    (8, 8)
    """
    return math.ceil(1 + math.log2(looks / ERROR))


def _flat(pairs: Sequence[_Pair]) -> bool:
    size = max(max(abs(value), abs(limit)) for _, value, limit, _ in pairs)
    return max(pair[3] for pair in pairs) - min(pair[3] for pair in pairs) <= _EQUAL * size


def _certain(row: Row, found: Sequence[Sequence[Record]]) -> bool:
    """Whether equal differences are no chance: the reference is the arm itself, or no run depends on its seed."""
    if row.cubic is not None and row.cubic.identity == row.test.identity:
        return True
    return all(len({one.digest for one in arm}) == 1 for arm in found)


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
    if decision.verdict != "undecided":
        return decision
    return replace(decision, reason=f"the budget ended after {runs} seeds")


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
    if (difference.low >= 0) if least else (difference.high <= 0):
        return "met"
    if (difference.high < 0) if least else (difference.low > 0):
        return "not met"
    return "undecided"


def _valueless(values: Sequence[float | None], row: Row, *, live: bool) -> tuple[Verdict, str]:
    title = measures.MEASURES[row.criterion.measure].title
    if any(value is not None for value in values):
        return "not applicable", f"CUBIC has no value of {title!r} in this network"
    if live:
        return "undecided", f"no live run has a value of {title!r}"
    return "not met", f"no run has a value of {title!r}: nothing was sent, or nothing arrived"


def _value(row: Row, seed: int, records: Mapping[str, Record], arm: Arm) -> float | None:
    one = records[arm.key(seed)]
    if one.error is not None or one.doubts:
        return None
    if row.criterion.measure != measures.HARM or row.alone is None:
        return one.values.get(row.criterion.measure)
    alone = records[row.alone.key(seed)].values.get(measures.VICTIM)
    beside = one.values.get(measures.VICTIM)
    return None if not alone or beside is None else (alone - beside) / alone
