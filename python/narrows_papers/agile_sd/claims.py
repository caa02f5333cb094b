"""The paper's claims about throughput, losses and intra-fairness, evaluated on our runs; see also `window_claims`.

A claim is evaluated for one reading of the paper's parameters (`Runs`): as printed, or with SACK. Where the paper gives
a number without a tolerance, the claim's text states ours.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd import window_claims
from narrows_papers.agile_sd.arms import (
    BY_NAME,
    ONE,
    SCENARIO_TITLES,
    SMALLEST,
    STAIRCASE,
    TOGETHER,
    per_in_words,
)
from narrows_papers.agile_sd.published import published
from narrows_papers.agile_sd.window_claims import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narrows_papers.agile_sd.data import Runs

CLOSE = 0.05
"""Largest difference of Jain's indices that count as close."""

UP_TO = 10.0
"""Largest difference from a published "up to", either way, in points of utilisation."""

NEAR_POINTS = 5.0
"""The same from a published utilisation, and from the ends of a published range."""


def claims(runs: Runs) -> list[Claim]:
    """Evaluate all claims that these runs cover, in the paper's order."""
    made: list[Claim] = []
    if ONE in runs.scenarios:
        made += [
            *window_claims.claims(runs),
            *_best(runs, ONE),
        ]
        if len(runs.pers) > 1:
            made += [_insensitive(runs), _compound_over_cubic(runs)]
        made += [_gain(runs, ONE)]
    if STAIRCASE in runs.scenarios:
        made += [
            *_best(runs, STAIRCASE, most=True),
            _small_buffers(runs),
            _gain(runs, STAIRCASE),
            *_shares(runs),
        ]
    if TOGETHER in runs.scenarios:
        made += [*_best(runs, TOGETHER), _near_zero(runs), _gain(runs, TOGETHER)]
    made += [_losses(runs), *_intra(runs)]
    return made


# ---------------------------------------------------------------------------------------------------------- throughput


def _best(runs: Runs, scenario: str, *, most: bool = False) -> Iterable[Claim]:
    """Whether Agile-SD is above both others: in all cases, or in most."""
    points = list(itertools.product(runs.buffers, runs.pers))
    leads = [_lead(runs, scenario, *point)[0] for point in points]
    behind = [lead for lead in leads if not lead > 0]  # also true for NaN, where all runs of a point failed
    worst = min(zip(leads, points, strict=True))
    yield Claim(
        f"Agile-SD has the highest throughput in {'most' if most else 'all'} cases ({SCENARIO_TITLES[scenario]})",
        2 * len(behind) < len(points) if most else not behind,
        f"in {len(points) - len(behind)} of {len(points)} points of buffer and packet error rate; least lead "
        f"{worst[0]:+.1f} points of utilisation, at {worst[1][0]} packets and a rate of {per_in_words(worst[1][1])}",
        rule=f"mean utilisation above both others, by any amount, at {'most' if most else 'all'} points",
    )


def _lead(runs: Runs, scenario: str, buffer: int, per: float) -> tuple[float, str]:
    """Agile-SD's utilisation minus that of the better competitor, in percentage points; and the competitor's name."""
    values = {arm: runs.mean("utilisation", scenario, buffer, arm, per) for arm in OTHERS}
    better = max(values, key=lambda arm: values[arm])
    return runs.mean("utilisation", scenario, buffer, "agile_sd", per) - values[better], better


def _gain(runs: Runs, scenario: str) -> Claim:
    """The largest gain over each competitor. The paper does not say over which, nor whether in points or per cent.

    "Up to" is two-sided: a larger gain than published differs as a smaller one does.
    """
    told = published().the("gain", scenario)
    found: dict[str, tuple[float, int, float]] = {}
    for arm in OTHERS:
        found[arm] = max(
            (
                runs.mean("utilisation", scenario, buffer, "agile_sd", per)
                - runs.mean("utilisation", scenario, buffer, arm, per),
                buffer,
                per,
            )
            for buffer, per in itertools.product(runs.buffers, runs.pers)
        )
    best = max(gain for gain, _, _ in found.values())
    return Claim(
        f"Agile-SD improves the utilisation by up to {told:.0f} % ({SCENARIO_TITLES[scenario]}; the largest gain in "
        f"points over CUBIC or Compound, within {UP_TO:.0f})",
        abs(best - told) <= UP_TO,
        "at most "
        + ", ".join(
            f"{gain:.0f} points over {BY_NAME[arm].title} ({buffer} packets, {per_in_words(per)})"
            for arm, (gain, buffer, per) in found.items()
        ),
        rule="two-sided: the larger of the two largest gains within 10 points of the published",
    )


def _insensitive(runs: Runs) -> Claim:
    most = runs.pers[-1]
    left = {
        arm: sum(_kept(runs, arm, buffer, most) for buffer in runs.buffers) / len(runs.buffers)
        for arm in ("agile_sd", *OTHERS)
    }
    return Claim(
        "Agile-SD is less sensitive to packet errors than CUBIC and Compound (one flow)",
        left["agile_sd"] > max(left[arm] for arm in OTHERS),
        f"of the throughput without errors is left at {per_in_words(most)}, mean over buffers: "
        + ", ".join(f"{BY_NAME[arm].title} {100 * share:.0f} %" for arm, share in left.items()),
        rule="Agile-SD's mean share strictly above both others'",
    )


def _kept(runs: Runs, arm: str, buffer: int, per: float) -> float:
    return runs.mean("utilisation", ONE, buffer, arm, per) / runs.mean("utilisation", ONE, buffer, arm)


def _compound_over_cubic(runs: Runs) -> Claim:
    points = [(buffer, per) for buffer in runs.buffers for per in runs.pers if per > 0]
    above = sum(
        runs.mean("utilisation", ONE, *_at(point, "compound")) > runs.mean("utilisation", ONE, *_at(point, "cubic"))
        for point in points
    )
    return Claim(
        "With packet errors Compound is better than CUBIC in most cases (one flow)",
        2 * above > len(points),
        f"in {above} of {len(points)} points",
        rule="mean utilisation strictly above, in more than half of the points",
    )


def _at(point: tuple[int, float], arm: str) -> tuple[int, str, float]:
    return point[0], arm, point[1]


def _small_buffers(runs: Runs) -> Claim:
    """The gain with the smallest buffer, which the paper gives for the second scenario: "from 10% to 40%"."""
    least, most = published().the("gain_least", STAIRCASE), published().the("gain", STAIRCASE)
    found = {
        (arm, per): runs.gain("utilisation", STAIRCASE, SMALLEST, (arm, "agile_sd"), per).difference.mean
        for arm, per in itertools.product(OTHERS, runs.pers)
    }
    return Claim(
        f"With buffers of {SMALLEST} packets Agile-SD improves the utilisation by {least:.0f} to {most:.0f} points "
        f"over both ({SCENARIO_TITLES[STAIRCASE]}, at every packet error rate, within {NEAR_POINTS:.0f})",
        all(least - NEAR_POINTS <= gain <= most + NEAR_POINTS for gain in found.values()),
        _gains(found),
        rule="two-sided: each mean gain, paired by seed, in the range widened by 5 points",
    )


def _gains(found: Mapping[tuple[str, float], float]) -> str:
    arms = dict.fromkeys(arm for arm, _ in found)
    return "; ".join(
        f"over {BY_NAME[arm].title} "
        + ", ".join(f"{gain:+.0f} at {per_in_words(per)}" for (of, per), gain in found.items() if of == arm)
        for arm in arms
    )


def _near_zero(runs: Runs) -> Claim:
    """The lead over the better competitor, by buffer."""
    gains = {
        (arm, per): runs.gain("utilisation", TOGETHER, SMALLEST, (arm, "agile_sd"), per).difference.mean
        for arm, per in itertools.product(OTHERS, runs.pers)
    }
    leads = {buffer: _lead(runs, TOGETHER, buffer, 0.0)[0] for buffer in runs.buffers}
    return Claim(
        f"Flows together gain most where the buffer is near zero (lead at {SMALLEST} packets, no packet errors)",
        leads[SMALLEST] >= max(leads.values()),
        _gains(gains) + "; lead " + ", ".join(f"{lead:+.1f} at {buffer}" for buffer, lead in leads.items()),
        rule="the mean lead is largest at the smallest buffer",
    )


def _shares(runs: Runs) -> Iterable[Claim]:
    told = published()
    largest = max(
        (runs.mean("utilisation", STAIRCASE, buffer, "agile_sd", per), buffer, per)
        for buffer, per in itertools.product(runs.buffers, runs.pers)
    )
    large = told.the("utilisation_large", "agile_sd")
    yield Claim(
        f"Agile-SD uses up to {large:.0f} % of the link ({SCENARIO_TITLES[STAIRCASE]}; within {NEAR_POINTS:.0f} "
        "points)",
        abs(largest[0] - large) <= NEAR_POINTS,
        f"{largest[0]:.1f} % at {largest[1]} packets, {per_in_words(largest[2])}",
        rule="two-sided: the largest mean within 5 points",
    )
    buffer = runs.buffers[-1]
    tops = {arm: max(runs.mean("utilisation", STAIRCASE, buffer, arm, per) for per in runs.pers) for arm in OTHERS}
    yield Claim(
        f"while the others do not exceed {large:.0f} % with a large buffer ({buffer} packets)",
        all(value <= large for value in tops.values()),
        ", ".join(f"{BY_NAME[arm].title} {value:.1f} %" for arm, value in tops.items()),
        rule="one-sided, without tolerance: the largest mean of each",
    )
    small = told.the("utilisation_small", "agile_sd")
    ours = runs.mean("utilisation", STAIRCASE, SMALLEST, "agile_sd")
    yield Claim(
        f"With a small buffer Agile-SD uses around {small:.0f} % (within {NEAR_POINTS:.0f} points)",
        abs(ours - small) <= NEAR_POINTS,
        f"{ours:.1f} %",
        rule="two-sided: mean within 5 points",
    )
    low, high = told.the("utilisation_small_low", "others"), told.the("utilisation_small_high", "others")
    others = {arm: runs.mean("utilisation", STAIRCASE, SMALLEST, arm) for arm in OTHERS}
    yield Claim(
        f"and the others {low:.0f} to {high:.0f} %",
        all(low <= value <= high for value in others.values()),
        ", ".join(f"{BY_NAME[arm].title} {value:.1f} %" for arm, value in others.items()),
        rule="both means in the range, without tolerance",
    )


# --------------------------------------------------------------------------------------------------- losses, fairness


def _losses(runs: Runs) -> Claim:
    limit = published().the("loss_ratio", "all")
    found = {
        (scenario, buffer, per, arm): runs.mean("loss_ratio", scenario, buffer, arm, per)
        for scenario, buffer, per, arm in itertools.product(
            runs.scenarios, runs.buffers, runs.pers, ("agile_sd", *OTHERS)
        )
    }
    above = sum(not value < limit for value in found.values())  # also true for NaN, where all runs failed
    most = max(found, key=lambda key: found[key])
    told = f"{above} of {len(found)} points are not; " if above else ""
    return Claim(
        f"Loss ratios are below {limit:g} % for all three, in all scenarios",
        not above,
        f"{told}at most {found[most]:.3f} % ({BY_NAME[most[3]].title}, {SCENARIO_TITLES[most[0]]}, {most[1]} packets, "
        f"{per_in_words(most[2])})",
        rule="one-sided: the mean of every point strictly below",
    )


def _intra(runs: Runs) -> Iterable[Claim]:
    for scenario in (one for one in (STAIRCASE, TOGETHER) if one in runs.scenarios):
        found = {
            arm: [runs.mean("shared_jain", scenario, buffer, arm) for buffer in runs.buffers]
            for arm in ("agile_sd", *OTHERS)
        }
        means = {arm: sum(values) / len(values) for arm, values in found.items()}
        yield Claim(
            f"Intra-fairness: all three are close to each other ({SCENARIO_TITLES[scenario]}; means over buffers "
            "within "
            f"{CLOSE})",
            max(means.values()) - min(means.values()) <= CLOSE,
            "Jain's index while flows share: "
            + ", ".join(f"{BY_NAME[arm].title} {value:.3f}" for arm, value in means.items())
            + f"; with {SMALLEST} packets "
            + ", ".join(f"{values[0]:.3f}" for values in found.values()),
            rule="largest minus smallest of the three means at most 0.05",
        )
