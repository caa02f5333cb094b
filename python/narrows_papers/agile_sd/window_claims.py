"""The paper's claims about windows over time, and their consequences (section 4.2.1), evaluated on our runs."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd.arms import BY_NAME, ONE, SMALLEST
from narrows_papers.agile_sd.published import published

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows_papers.agile_sd.data import Runs

NEAR = 0.15
"""Relative distance from a published time or window within which ours agrees."""

CUBIC_S = (50.0, 80.0)
"""Range in which CUBIC's "about 60 seconds" must lie, s: the curve is flat there."""

OTHERS = ("cubic", "compound")
"""The congestion controls that the paper compares Agile-SD with."""


def claims(runs: Runs) -> list[Claim]:
    """Evaluate all claims about one flow's window, in the paper's order."""
    return [
        _reaches_agile(runs),
        _reaches_cubic(runs),
        _compound_stays(runs),
        _sooner(runs),
        _epochs(runs),
        _compound_rises(runs),
        _order(runs),
    ]


def _reaches_agile(runs: Runs) -> Claim:
    told = published().the("reached", "agile_sd")
    low, high = told * (1 - NEAR), told * (1 + NEAR)
    mean = runs.mean("reached_s", ONE, SMALLEST, "agile_sd")
    return Claim(
        f"With buffers of {SMALLEST} packets Agile-SD reaches the maximum of about 1500 packets in around "
        f"{told:.0f} s ({low:.1f} to {high:.1f} s)",
        _all_reach(runs, "agile_sd") and low <= mean <= high,
        _times(runs, "agile_sd"),
        rule="two-sided: mean time within 15 % of the published, and every run reaches the window",
    )


def _reaches_cubic(runs: Runs) -> Claim:
    told = published().the("reached", "cubic")
    mean = runs.mean("reached_s", ONE, SMALLEST, "cubic")
    low, high = CUBIC_S
    return Claim(
        f"CUBIC reaches it later, in about {told:.0f} s ({low:.0f} to {high:.0f} s)",
        _all_reach(runs, "cubic") and low <= mean <= high and mean > runs.mean("reached_s", ONE, SMALLEST, "agile_sd"),
        _times(runs, "cubic"),
        rule="two-sided: mean time in the range, after Agile-SD's, and every run reaches the window",
    )


def _all_reach(runs: Runs, arm: str) -> bool:
    """Whether every run reached the window: a mean over those that did would hide the others."""
    return not any(math.isnan(value) for value in runs.values("reached_s", ONE, SMALLEST, arm))


def _times(runs: Runs, arm: str) -> str:
    values = runs.values("reached_s", ONE, SMALLEST, arm)
    there = [value for value in values if not math.isnan(value)]
    if not there:
        return "never reached"
    never = f"; not in {len(values) - len(there)} of {len(values)} runs" if len(there) < len(values) else ""
    return f"{sum(there) / len(there):.1f} s{_range(there, 1)}{never}"


def _range(values: Sequence[float], digits: int) -> str:
    """Format the smallest and the largest value, if they differ.

    >>> _range([1.0, 2.0], 1), _range([1.0, 1.0], 1)
    (' (1.0 to 2.0)', '')
    """
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return "" if low == high else f" ({low} to {high})"


def _compound_stays(runs: Runs) -> Claim:
    told = published().the("peak", "compound")
    peak = runs.mean("peak_packets", ONE, SMALLEST, "compound")
    return Claim(
        f"Compound does not reach it: its window touches {told:.0f} packets (within {100 * NEAR:.0f} %)",
        abs(peak / told - 1) <= NEAR,
        f"at most {peak:.0f} packets{_range(runs.values('peak_packets', ONE, SMALLEST, 'compound'), 0)}",
        rule="two-sided: mean of the largest windows within 15 %",
    )


def _sooner(runs: Runs) -> Claim:
    times = {
        arm: [runs.mean("reached_s", ONE, buffer, arm) for buffer in runs.buffers] for arm in ("agile_sd", "cubic")
    }
    holds = all(
        not any(math.isnan(time) or time > 1.05 * series[0] for time in series) and series[-1] < series[0]
        for series in times.values()
    )
    return Claim(
        "The larger the buffer, the sooner Agile-SD and CUBIC reach the maximum (never 5 % later than with the "
        "smallest)",
        holds,
        "; ".join(
            f"{BY_NAME[arm].title} " + ", ".join("never" if math.isnan(time) else f"{time:.1f}" for time in series)
            for arm, series in times.items()
        )
        + f" s with buffers of {_listed(runs.buffers)}",
        rule="mean times, every buffer against the smallest; the largest buffer strictly sooner",
    )


def _epochs(runs: Runs) -> Claim:
    counts = {arm: _over(runs, "reductions", arm) for arm in ("agile_sd", "cubic")}
    return Claim(
        "Agile-SD shows short epochs and CUBIC long ones, at every buffer (more reductions in 100 s)",
        all(a > b for a, b in zip(counts["agile_sd"], counts["cubic"], strict=True)),
        "; ".join(f"{BY_NAME[arm].title} {_rounded(row)}" for arm, row in counts.items())
        + f" with buffers of {_listed(runs.buffers)}",
        rule="mean counts, strictly more at every buffer",
    )


def _compound_rises(runs: Runs) -> Claim:
    medians = _over(runs, "median_packets", "compound")
    return Claim(
        "Compound heightens its window towards the maximum as the buffer grows (median of cwnd)",
        all(b > a for a, b in itertools.pairwise(medians)),
        f"{_rounded(medians)} packets with buffers of {_listed(runs.buffers)}",
        rule="mean of the medians, strictly larger from each buffer to the next",
    )


def _order(runs: Runs) -> Claim:
    found = {arm: _over(runs, "utilisation", arm) for arm in ("agile_sd", *OTHERS)}
    wrong = [
        buffer
        for buffer, a, b, c in zip(runs.buffers, found["agile_sd"], found["cubic"], found["compound"], strict=True)
        if not a > b > c
    ]
    return Claim(
        "Agile-SD uses most of the link, then CUBIC, then Compound (one flow, no packet errors)",
        not wrong,
        "; ".join(f"{BY_NAME[arm].title} {_listed(f'{value:.0f}' for value in row)}" for arm, row in found.items())
        + f" % with buffers of {_listed(runs.buffers)}"
        + (f"; another order with {_listed(wrong)}" if wrong else ""),
        rule="mean utilisation, strictly in this order at every buffer",
    )


def _over(runs: Runs, what: str, arm: str) -> list[float]:
    return [runs.mean(what, ONE, buffer, arm) for buffer in runs.buffers]


def _listed(values: Iterable[object]) -> str:
    """Format values separated by commas.

    >>> _listed([5, 10])
    '5, 10'
    """
    return ", ".join(style.count(value) if isinstance(value, int) else str(value) for value in values)


def _rounded(values: Iterable[float]) -> str:
    """Format whole numbers separated by commas, with a dash where all runs of a point failed.

    >>> _rounded([5.2, float("nan")])
    '5, –'
    """
    return _listed("–" if math.isnan(value) else round(value) for value in values)
