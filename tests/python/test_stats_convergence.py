"""Convergence times: manual calculations, closed forms, simulated flows, and their use in contests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import narrows as nw
from narrows import metrics
from narrows.stats import convergence_time, convergence_times, fair_convergence_time, jains_index
from narrows.stats.convergence import lasting_from
from narrows.studies.contest.behaviour import Criteria, equilibrium_s

if TYPE_CHECKING:
    from narrows.outcome import Run

positive = st.floats(0.01, 1000)


def test_an_exponential_approach_converges_when_the_algebra_says() -> None:
    # 1 - exp(-t / tau) is within b of 1 from t = -tau log(b).
    time = np.arange(0, 40, 0.01)
    found = convergence_time(time, 10 * (1 - np.exp(-time / 4)), 10.0, band=0.25)
    assert found == pytest.approx(-4 * math.log(0.25), abs=0.01)


def test_overshoot_is_not_convergence() -> None:
    time = np.arange(30.0)
    rate = np.where(time < 3, 0.0, np.where(time < 5, 10.0, np.where(time < 15, 20.0, 10.0)))
    assert convergence_time(time, rate, 10.0) == 15
    assert convergence_time(time, rate, 10.0, hold_s=2.0) == 3


def test_time_counts_from_the_start_and_shares_may_change() -> None:
    time = np.arange(40.0)
    share = np.where(time < 20, 10.0, 5.0)
    rate = np.where(time < 25, 10.0, 5.0)
    assert convergence_time(time, rate, share, start_s=2.0) == 0
    assert convergence_time(time, rate, share, start_s=20.0) == 5
    assert convergence_time(time, rate, share, hold_s=None) == 25


def test_the_edge_of_the_band_is_within_it() -> None:
    assert convergence_time(range(10), [0.7] * 10, 1.0, band=0.3) == 0
    assert convergence_time(range(10), [1.31] * 10, 1.0, band=0.3) is None


def test_too_short_a_stay_at_the_end_is_none() -> None:
    assert convergence_time(range(10), [0] * 6 + [10] * 4, 10.0) is None
    assert convergence_time(range(10), [0] * 4 + [10] * 6, 10.0) == 4
    assert convergence_time([], [], 10.0) is None


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="3 times, 2 rates and 1 shares"):
        convergence_time([0, 1, 2], [1, 2], 10.0)
    with pytest.raises(ValueError, match="band is 0; allowed"):
        convergence_time([0, 1], [1, 2], 10.0, band=0)
    with pytest.raises(ValueError, match="delta is -1; allowed"):
        fair_convergence_time([0, 1], [[1, 2], [1, 2]], delta=-1)
    with pytest.raises(ValueError, match=r"shape \(1, 2\); allowed"):
        fair_convergence_time([0, 1], [[1, 2]])
    with pytest.raises(ValueError, match="2 times and 3 values"):
        lasting_from([0, 1], [True, True, False])


@given(st.lists(positive, min_size=2, max_size=6), st.sampled_from([0.05, 0.1, 0.3, 1.0]))
def test_delta_fair_is_jains_index_above_one_over_one_plus_delta_squared(rates: list[float], delta: float) -> None:
    index = jains_index(rates) or 0.0
    if abs(index - 1 / (1 + delta**2)) < 1e-9:
        return
    found = fair_convergence_time([0.0], [[rate] for rate in rates], delta=delta, hold_s=0)
    assert (found == 0.0) == (index > 1 / (1 + delta**2))


@given(positive, positive, st.sampled_from([0.1, 0.3]))
def test_of_two_flows_it_is_the_share_that_the_rfc_says(first: float, second: float, delta: float) -> None:
    share = first / (first + second)
    if min(abs(share - (1 + delta) / 2), abs(share - (1 - delta) / 2)) < 1e-9:
        return
    found = fair_convergence_time([0.0], [[first], [second]], delta=delta, hold_s=0)
    assert (found == 0.0) == ((1 - delta) / 2 < share < (1 + delta) / 2)


def test_additive_increase_and_multiplicative_decrease_converge_as_chiu_and_jain_say() -> None:
    # Two synchronised flows on a link of 100: each grows by 1 per step, and is halved at every overload. Only halving
    # reduces their difference: 90 is halved until it is at most a tenth of their sum.
    x, y = 95.0, 5.0
    rates, halvings = [], 0
    for _ in range(1500):
        x, y = x + 1, y + 1
        if x + y > 100:
            x, y, halvings = x / 2, y / 2, halvings + 1
        rates.append((x, y))
    time = np.arange(len(rates), dtype=float)
    found = fair_convergence_time(time, np.array(rates).T, delta=0.1, hold_s=100.0)
    assert found is not None
    at = rates[round(found)]
    before = rates[round(found) - 1]
    assert abs(at[0] - at[1]) <= 0.1 * sum(at)
    assert abs(before[0] - before[1]) > 0.1 * sum(before)


def test_silence_is_not_fairness() -> None:
    assert fair_convergence_time(range(10), np.zeros((2, 10))) is None


def test_curves_that_cross_have_not_converged() -> None:
    time = np.arange(20.0)
    crossing = [time, 10 - time / 2]
    assert fair_convergence_time(time, crossing, hold_s=0) == 6
    assert fair_convergence_time(time, crossing) is None


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=60),
    st.integers(0, 10),
    st.sampled_from([0.1, 0.3, 0.5]),
    st.sampled_from([0.0, 2.0, 5.0]),
)
def test_equilibrium_of_a_contest_is_the_same_by_its_own_words(
    pairs: list[tuple[int, int]], start: int, band: float, hold: float
) -> None:
    def balanced(pair: tuple[int, int]) -> bool:
        return sum(pair) > 0 and abs(pair[0] - pair[1]) <= band * sum(pair) + 1e-9

    expected = None
    for i in range(start, len(pairs)):
        begins = balanced(pairs[i]) and (i == start or not balanced(pairs[i - 1]))
        end = next((k for k in range(i, len(pairs)) if not balanced(pairs[k])), len(pairs) - 1)
        if begins and end - i >= hold:
            expected = i - start
            break
    first, second = zip(*pairs, strict=True)
    found = equilibrium_s(range(len(pairs)), first, second, start, Criteria(band=band, hold_s=hold))
    assert found == expected


def test_there_is_one_jains_index() -> None:
    assert jains_index is metrics.jains_index


@pytest.fixture(scope="module")
def late() -> Run:
    """Two CUBIC flows, the second of which starts at 10 s."""
    overrides: dict[str, Any] = {"duration": "60 s", "sampling": "100 ms"}
    return nw.run("dumbbell-cubic", seed=1, overrides=overrides)


def test_flows_of_a_run_converge_or_say_that_they_do_not(late: Run) -> None:
    found = convergence_times(late)
    assert list(found) == [flow.name for flow in late.flows]
    assert found["first"] is not None
    # It is alone on the link for ten seconds, where its fair share is the whole link, reached after slow start.
    assert found["first"] < 5


def test_a_stated_share_is_taken(late: Run) -> None:
    even = late.flow("first").throughput_mbps or 0.0
    assert convergence_times(late, share_mbps=1000 * even) == {"first": None, "second": None}
    by_name = convergence_times(late, share_mbps={"first": 10.0, "second": 5.0})
    assert by_name["first"] == convergence_times(late, share_mbps=10.0)["first"]
    with pytest.raises(ValueError, match="no 'second'"):
        convergence_times(late, share_mbps={"first": 10.0})


def test_a_run_without_samples_converges_nowhere() -> None:
    run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s", "sampling": "off"})
    assert convergence_times(run) == {"first": None, "second": None}
