"""Bootstrap intervals and the signed-rank test: scipy, manual calculations, invariances, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from narrows.stats import (
    Estimate,
    bootstrap_ci,
    bootstrap_difference,
    mean_ci,
    paired_difference,
    signed_rank_p,
    sum_of_independent,
)

whole = st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=30)
anything = st.lists(st.floats(-1e150, 1e150), min_size=2, max_size=12)  # beyond, squares overflow


def test_the_interval_is_scipys_bca() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 3.0]
    estimate = bootstrap_ci(values, 0.9, resamples=999, seed=7)
    expected = stats.bootstrap(
        (np.sort(values),), np.mean, confidence_level=0.9, n_resamples=999, rng=np.random.default_rng(7)
    ).confidence_interval
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))


@given(whole, st.randoms())
@settings(max_examples=25, deadline=None)
def test_the_same_values_give_the_same_interval_in_any_order(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert bootstrap_ci(values, resamples=200) == bootstrap_ci(shuffled, resamples=200)


def test_another_seed_gives_another_interval_but_not_by_much() -> None:
    values = np.random.default_rng(1).normal(size=30).tolist()
    one, other = bootstrap_ci(values, seed=0), bootstrap_ci(values, seed=1)
    assert one != other
    assert one.low == pytest.approx(other.low, abs=0.05 * one.half_width)
    assert one.high == pytest.approx(other.high, abs=0.05 * one.half_width)


@given(whole, st.integers(-1000, 1000), st.sampled_from([0.25, 0.5, 2.0, 64.0]))
@settings(max_examples=25, deadline=None)
def test_shift_and_scale_move_the_interval(values: list[float], shift: int, scale: float) -> None:
    one = bootstrap_ci(values, resamples=200)
    other = bootstrap_ci([scale * value + shift for value in values], resamples=200)
    expected = (scale * one.low + shift, scale * one.high + shift)
    assert (other.low, other.high) == pytest.approx(expected, abs=1e-6)


@given(whole)
@settings(max_examples=50, deadline=None)
def test_the_interval_holds_the_mean_and_stays_within_the_values(values: list[float]) -> None:
    estimate = bootstrap_ci(values, resamples=500)
    assert min(values) - 1e-9 <= estimate.low <= estimate.mean + 1e-9
    assert estimate.mean - 1e-9 <= estimate.high <= max(values) + 1e-9


@given(anything)
@settings(max_examples=50, deadline=None)
def test_no_finite_values_make_it_fail(values: list[float]) -> None:
    estimate = bootstrap_ci(values, resamples=100)
    assert math.isfinite(estimate.mean)
    assert estimate.low <= estimate.high


def test_it_leans_to_where_the_values_are_spread() -> None:
    values = np.random.default_rng(3).exponential(size=40).tolist()
    estimate = bootstrap_ci(values)
    assert estimate.high - estimate.mean > 1.1 * (estimate.mean - estimate.low)


def test_equal_single_and_missing_values() -> None:
    assert bootstrap_ci([3.0, 3.0, None, math.nan]) == Estimate(3.0, 3.0, 3.0, 2, 0.0)
    assert math.isnan(bootstrap_ci([7]).low)
    assert bootstrap_ci([]).n == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"resamples": 99}, "resamples is 99"), ({"seed": -1}, "seed is -1"), ({"confidence": 95}, "confidence is 95")],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"{message}; allowed"):
        bootstrap_ci([1, 2, 3], **arguments)


def test_a_paired_bootstrap_is_that_of_the_differences() -> None:
    before, after = [10.0, 12, None, 11, 14], [15.0, 18, 3, 16, 17]
    assert bootstrap_difference(before, after) == bootstrap_ci([5, 6, 5, 3])


def test_pairing_narrows_the_bootstrap_too() -> None:
    before = np.random.default_rng(4).normal(100, 10, size=20)
    after = before + np.random.default_rng(5).normal(1, 0.2, size=20)
    paired = bootstrap_difference(before.tolist(), after.tolist())
    student = paired_difference(before.tolist(), after.tolist()).difference
    assert 0.5 < paired.low < 1 < paired.high < 1.5
    assert paired.half_width == pytest.approx(student.half_width, rel=0.2)


def test_signed_ranks_by_the_printed_table() -> None:
    # All 2^6 sign patterns are equally likely. All six of one sign: 1 in 32. With a rank of 1 of the other sign: 2 in
    # 32.
    assert signed_rank_p([0] * 6, [1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 64)
    assert signed_rank_p([0] * 6, [-1, 2, 3, 4, 5, 6]) == pytest.approx(4 / 64)
    assert signed_rank_p([0] * 5, [1, 2, 3, 4, 5]) == pytest.approx(2 / 32)


def test_one_run_that_went_astray_does_not_hide_a_difference_from_ranks() -> None:
    before = [10.0] * 12
    after = [11.0 + 0.01 * i for i in range(11)] + [-200.0]
    assert paired_difference(before, after).p_value > 0.3
    assert signed_rank_p(before, after) < 0.05


def test_signed_ranks_without_pairs_or_differences() -> None:
    assert math.isnan(signed_rank_p([], []))
    assert signed_rank_p([1, 2, None], [1, 2, 5]) == 1.0
    with pytest.raises(ValueError, match="2 and 1 runs"):
        signed_rank_p([1, 2], [1])


def test_a_sum_of_independent_means_covers_as_often_as_it_says() -> None:
    draws = np.random.default_rng(6).normal(size=(1000, 4, 10))
    made = [sum_of_independent(mean_ci(row) for row in block.tolist()) for block in draws]
    hits = sum(one.low <= 0 <= one.high for one in made)
    assert hits >= stats.binom.ppf(0.001, 1000, 0.95)


def test_a_sum_of_one_is_the_one() -> None:
    one = mean_ci([1.0, 2.0, 4.0])
    assert sum_of_independent([one]).half_width == pytest.approx(one.half_width)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "least", "most"),
    [(5, 0.80, 0.88), (20, 0.89, 0.94), (50, 0.92, 0.97)],
)
def test_coverage_of_the_bootstrap_is_what_the_documentation_says(size: int, least: float, most: float) -> None:
    draws = np.random.default_rng(7).normal(size=(2000, size)).tolist()
    made = [bootstrap_ci(row, resamples=999) for row in draws]
    assert least <= sum(one.low <= 0 <= one.high for one in made) / len(made) <= most


@pytest.mark.parametrize("size", [5, 20])
def test_coverage_of_students_interval_is_what_it_says(size: int) -> None:
    draws = np.random.default_rng(8).normal(size=(3000, size)).tolist()
    hits = sum(one.low <= 0 <= one.high for one in map(mean_ci, draws))
    assert stats.binom.ppf(0.001, 3000, 0.95) <= hits <= stats.binom.ppf(0.999, 3000, 0.95)
