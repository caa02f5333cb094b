"""Welch's difference, compared with scipy and manual calculations, and without enough values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from narrows.stats import welch_difference

# Use tenths: if values differ by rounding only, scipy warns about loss of precision.
samples = st.lists(st.integers(-10_000, 10_000).map(lambda n: n / 10), min_size=2, max_size=20).filter(
    lambda values: min(values) < max(values)
)


@given(samples, samples)
def test_interval_and_p_value_agree_with_scipy(first: list[float], second: list[float]) -> None:
    made = welch_difference(first, second)
    theirs = stats.ttest_ind(second, first, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    assert made.difference.low == pytest.approx(interval.low, rel=1e-6, abs=1e-6)
    assert made.difference.high == pytest.approx(interval.high, rel=1e-6, abs=1e-6)
    assert made.p_value == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-9)


def test_an_arm_that_never_varies_adds_nothing() -> None:
    made = welch_difference([10.0] * 3, [11.0, 12.0, 13.0])
    alone = stats.ttest_1samp([11.0, 12.0, 13.0], 10.0).confidence_interval(0.95)
    assert (made.difference.low, made.difference.high) == pytest.approx((alone.low - 10, alone.high - 10))
    assert made.percent.low == pytest.approx(made.difference.low * 10)


def test_two_arms_that_never_vary_differ_exactly() -> None:
    made = welch_difference([10, 10], [12, 12, 12])
    assert (made.difference.low, made.difference.mean, made.difference.high) == (2, 2, 2)
    assert (made.percent.mean, made.p_value) == (20, 0)
    assert welch_difference([3, 3], [3, 3]).p_value == 1


@pytest.mark.parametrize(
    ("first", "second"), [([10], [11, 12]), ([10, 11], [12]), ([10], [12]), ([10, None], [11, 12])]
)
def test_one_run_has_a_difference_and_no_interval(first: list[float | None], second: list[float | None]) -> None:
    made = welch_difference(first, second)
    assert made.difference.mean > 0
    assert made.percent.mean > 0
    assert math.isnan(made.difference.half_width)
    assert math.isnan(made.percent.half_width)
    assert math.isnan(made.p_value)


def test_nothing_measured_is_no_difference() -> None:
    assert math.isnan(welch_difference([None], [1, 2]).difference.mean)
    assert math.isnan(welch_difference([0, 0], [1, 2]).percent.mean)
    assert welch_difference([0, 0], [1, 2]).difference.mean == 1.5


def test_the_relative_interval_knows_that_the_baseline_is_measured_too() -> None:
    # The delta method, calculated manually: means 10 and 20, variances of the means 1/3 and 1/3, ratio 2.
    made = welch_difference([9, 10, 11], [19, 20, 21])
    variance = 100**2 * (1 / 3 + 4 / 3) / 10**2
    degrees = (1 / 3 + 4 / 3) ** 2 / ((4 / 3) ** 2 / 2 + (1 / 3) ** 2 / 2)
    assert made.percent.mean == 100
    assert made.percent.half_width == pytest.approx(stats.t.ppf(0.975, degrees) * math.sqrt(variance))


def test_a_negative_baseline_turns_the_sign_and_not_the_interval() -> None:
    made = welch_difference([-10, -11, -12], [-5, -6, -7])
    assert made.percent.mean < 0
    assert made.percent.low < made.percent.mean < made.percent.high
