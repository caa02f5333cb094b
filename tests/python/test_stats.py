"""Means, intervals and paired differences, compared with tables, manual calculations and scipy."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import narrows
from narrows.stats import mean_ci, paired_difference

numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


def test_interval_is_that_of_the_printed_table_of_student() -> None:
    # t(0.975; 4) = 2.776 in every table of Student's distribution; s = sqrt(2.5).
    estimate = mean_ci([1, 2, 3, 4, 5])
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(2.776 * math.sqrt(2.5) / math.sqrt(5), rel=3e-4)
    assert estimate.n == 5


@given(numbers, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_interval_agrees_with_scipy(values: list[float], confidence: float) -> None:
    estimate = mean_ci(values, confidence)
    if estimate.sd < 1e-6:
        return  # scipy divides by it
    low, high = stats.t.interval(confidence, len(values) - 1, loc=estimate.mean, scale=stats.sem(values))
    assert estimate.low == pytest.approx(low, rel=1e-9, abs=1e-6)
    assert estimate.high == pytest.approx(high, rel=1e-9, abs=1e-6)


@given(numbers)
def test_mean_lies_within_the_values_and_the_interval(values: list[float]) -> None:
    estimate = mean_ci(values)
    assert min(values) - 1e-9 <= estimate.mean <= max(values) + 1e-9
    assert estimate.low <= estimate.mean <= estimate.high


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=40),
    st.integers(-1000, 1000),
    st.sampled_from([-4.0, 0.5, 8.0]),
)
def test_shift_and_scale_move_the_interval(values: list[int], shift: int, scale: float) -> None:
    one, other = mean_ci(values), mean_ci([scale * value + shift for value in values])
    ends = sorted((scale * one.low + shift, scale * one.high + shift))
    assert [other.low, other.high] == pytest.approx(ends, abs=1e-8)
    assert other.mean == pytest.approx(scale * one.mean + shift, abs=1e-8)


@given(numbers, st.integers(2, 5))
def test_more_of_the_same_values_narrow_the_interval(values: list[float], times: int) -> None:
    one, more = mean_ci(values), mean_ci(values * times)
    assert more.half_width < one.half_width or one.sd <= 1e-6
    assert mean_ci(values, 0.9).half_width <= one.half_width


def test_equal_values_have_an_interval_of_no_width() -> None:
    estimate = mean_ci([0.1] * 3)
    assert (estimate.low, estimate.mean, estimate.high, estimate.sd) == (0.1, 0.1, 0.1, 0.0)


def test_missing_values_are_left_out() -> None:
    assert mean_ci([1, None, 3, math.nan]).n == 2
    assert mean_ci([1, None, 3]).mean == 2


def test_one_value_has_no_interval_and_no_value_no_mean() -> None:
    assert mean_ci([7]).mean == 7
    assert math.isnan(mean_ci([7]).low)
    assert math.isnan(mean_ci([]).mean)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95])
def test_confidence_outside_zero_and_one_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="allowed"):
        mean_ci([1, 2], confidence)


def test_paired_difference_by_hand() -> None:
    # Differences 5, 6, 5: mean 16/3, s = 1/sqrt(3), t(0.975; 2) = 4.303.
    made = paired_difference([10, 12, 11], [15, 18, 16])
    assert made.difference.mean == pytest.approx(16 / 3)
    assert made.difference.half_width == pytest.approx(4.303 / 3, rel=1e-3)
    assert made.percent.mean == pytest.approx(100 * 16 / 33)


@given(st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e3)), min_size=3, max_size=30))
def test_p_value_is_that_of_the_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    before, after = [b for b, _ in pairs], [a for _, a in pairs]
    made = paired_difference(before, after)
    if made.difference.sd < 1e-6:
        return
    assert made.p_value == pytest.approx(float(stats.ttest_rel(after, before).pvalue), rel=1e-6, abs=1e-12)


def test_pairing_sees_what_the_arms_alone_hide() -> None:
    before = [10.0, 20.0, 30.0, 40.0]
    made = paired_difference(before, [value + 1 + 0.01 * value for value in before])
    assert made.difference.low > 0
    assert made.baseline.half_width > made.difference.mean


def test_a_pair_with_a_missing_half_is_left_out() -> None:
    assert paired_difference([1, None, 3], [2, 5, 4]).difference.n == 2


def test_percent_of_a_negative_baseline_keeps_its_ends_in_order() -> None:
    made = paired_difference([-10, -12, -11], [-5, -6, -6])
    assert made.percent.low < made.percent.mean < made.percent.high


def test_no_percent_of_nothing() -> None:
    assert math.isnan(paired_difference([0, 0], [1, 2]).percent.mean)


def test_arms_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3 runs"):
        paired_difference([1, 2], [1, 2, 3])


def test_nothing_but_the_statistics_makes_intervals_of_its_own() -> None:
    package = Path(narrows.__file__).parent
    private = re.compile(r"\bscipy\b.*\bstats\b|\bstdev\b|\bt\.ppf\b|\b1\.96\b|ttest|\.sem\(")
    found = [
        f"{path.relative_to(package)}: {line.strip()}"
        for path in sorted(package.rglob("*.py"))
        if path.parent != package / "stats"
        for line in path.read_text(encoding="utf-8").splitlines()
        if private.search(line)
    ]
    assert not found
