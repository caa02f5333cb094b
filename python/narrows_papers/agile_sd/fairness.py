"""The paper's claims about fairness between congestion controls and between round-trip times, evaluated on our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.stats import mean_ci
from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd import evidence
from narrows_papers.agile_sd.arms import BY_NAME
from narrows_papers.agile_sd.claims import CLOSE
from narrows_papers.agile_sd.published import published

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from narrows.stats import Estimate


def pair_title(pair: str) -> str:
    """Format a pair's two names.

    Examples
    --------
    >>> pair_title("agile_sd cubic")
    'Agile-SD and CUBIC'
    """
    first, second = pair.split()
    return f"{BY_NAME[first].title} and {BY_NAME[second].title}"


def index(pairs: pd.DataFrame, pair: str, buffer: int, column: str = "jain") -> Estimate:
    """Jain's index of a pair (or another column) at a buffer, over the seeds."""
    rows = pairs[(pairs["pair"] == pair) & (pairs["buffer"] == buffer)]
    return mean_ci(rows[column])


def buffers(pairs: pd.DataFrame) -> list[int]:
    """Buffers of the pairs that were run."""
    return sorted(int(buffer) for buffer in pairs["buffer"].unique())


def distances(pairs: pd.DataFrame) -> dict[int, float]:
    """Mean distance of the published pairs' indices from the published values, by buffer."""
    return {
        buffer: distance({pair: index(pairs, pair, buffer).mean for pair in published().pairs})
        for buffer in buffers(pairs)
    }


def distance(indices: Mapping[str, float]) -> float:
    """Mean distance of indices from the published values, over the published pairs that are given.

    Examples
    --------
    >>> told = published().pairs
    >>> distance(told), round(distance({pair: value - 0.1 for pair, value in told.items()}), 3)
    (0.0, 0.1)
    """
    far = [abs(indices[pair] - value) for pair, value in published().pairs.items() if pair in indices]
    return sum(far) / len(far)


def within(indices: Mapping[str, float]) -> int:
    """Number of published indices that these are within `CLOSE` of."""
    told = published().pairs
    return sum(abs(indices[pair] - value) <= CLOSE for pair, value in told.items() if pair in indices)


def on_ns2() -> dict[str, tuple[int, dict[str, float]]]:
    """Results of ns-2.35 by condition: the buffer whose indices are nearest to the published ones, and the indices."""
    made = {}
    for condition, found in evidence.ns2_indices().items():
        at = min(found, key=lambda buffer: distance(found[buffer]))
        made[condition] = at, found[at]
    return made


def nearest(pairs: pd.DataFrame) -> int:
    """The buffer whose indices are nearest to the published ones; the paper does not state its buffer."""
    found = distances(pairs)
    return min(found, key=lambda buffer: found[buffer])


def claims(pairs: pd.DataFrame) -> list[Claim]:
    """Evaluate a claim for each published index, at the buffer that is nearest over all pairs."""
    at = nearest(pairs)
    return [_claim(pairs, pair, value, at) for pair, value in published().pairs.items()]


def _claim(pairs: pd.DataFrame, pair: str, value: float, at: int) -> Claim:
    ours = index(pairs, pair, at)
    first, second = (index(pairs, pair, at, column).mean for column in ("first", "second"))
    others = ", ".join(
        f"{index(pairs, pair, buffer).mean:.2f} with {buffer}" for buffer in buffers(pairs) if buffer != at
    )
    return Claim(
        f"Inter-fairness of {pair_title(pair)}: {value:.2f} (within {CLOSE})",
        abs(ours.mean - value) <= CLOSE,
        f"{ours.mean:.2f} with buffers of {at} packets ({first:.0f} and {second:.0f} Mb/s)"
        + (f"; {others}" if others else "")
        + ". On ns-2.35 "
        + ", ".join(
            f"{found[pair]:.2f} {how} (buffers of {there})" for how, (there, found) in on_ns2().items() if pair in found
        )
        + ("" if abs(ours.mean - value) <= CLOSE else ": see why they differ"),
        rule="two-sided: mean index within 0.05, at the buffer nearest over all pairs",
    )


def between_round_trips(runs: pd.DataFrame) -> list[Claim]:
    """Evaluate the claim that the paper's three congestion controls are close in RTT-fairness."""
    means = {
        arm: float(runs[runs["arm"] == arm].groupby("buffer")["jain"].mean().mean())
        for arm in ("agile_sd", "cubic", "compound")
    }
    return [
        Claim(
            f"RTT-fairness: all three are close to each other (means over buffers within {CLOSE})",
            max(means.values()) - min(means.values()) <= CLOSE,
            "Jain's index over flows of 12, 24, 36 and 48 ms: "
            + ", ".join(f"{BY_NAME[arm].title} {value:.3f}" for arm, value in means.items()),
            rule="largest minus smallest of the three means at most 0.05",
        )
    ]
