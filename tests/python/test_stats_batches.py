"""Batch means and MSER-5: coverage over processes with a known mean, manual calculations, and scipy."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import signal, stats

from narrows.stats import batch_means, mean_ci, warmup_mser

REPLICATIONS = 300

Floats = NDArray[np.float64]

whole_numbers = st.lists(st.integers(-1000, 1000), min_size=60, max_size=200)


def processes(rho: float, length: int, seed: int, count: int = REPLICATIONS) -> Floats:
    """Generate AR(1) processes of mean 0 and variance 1, stationary from the start."""
    noise = np.random.default_rng(seed).normal(size=(count, length))
    noise[:, 1:] *= math.sqrt(1 - rho**2)
    return np.asarray(signal.lfilter([1], [1, -rho], noise, axis=1))


def hits(low: float, high: float, p: float = 0.95) -> tuple[int, int]:
    """Bounds of a binomial count over the replications, at the given quantiles."""
    return int(stats.binom.ppf(low, REPLICATIONS, p)), int(stats.binom.ppf(high, REPLICATIONS, p))


@pytest.mark.parametrize("warmup", ["mser", None])
def test_long_batches_cover_the_mean_as_often_as_they_say(warmup: Literal["mser"] | None) -> None:
    made = [batch_means(x, warmup=warmup) for x in processes(0.5, 3000, seed=1)]
    low, high = hits(0.001, 0.999)
    assert low <= sum(b.estimate.low <= 0 <= b.estimate.high for b in made) <= high
    assert low <= sum(b.independent for b in made) <= high
    assert low <= sum(b.normal_p_value >= 0.05 for b in made) <= high


def test_the_interval_over_single_values_covers_far_too_seldom() -> None:
    made = [mean_ci(x) for x in processes(0.5, 3000, seed=1)]
    assert sum(e.low <= 0 <= e.high for e in made) < hits(0.001, 0.999)[0]


def test_short_batches_of_a_slow_process_are_flagged() -> None:
    made = [batch_means(x, warmup=None) for x in processes(0.99, 300, seed=2)]
    assert sum(b.estimate.low <= 0 <= b.estimate.high for b in made) < 0.5 * REPLICATIONS
    flagged = [b for b in made if not b.independent]
    assert len(flagged) >= 0.99 * REPLICATIONS
    for b in flagged:
        assert any(f"correlated (lag 1: {b.autocorrelation:.2f})" in said for said in b.warnings)
        assert b.p_value < 0.05


def test_independence_is_rejected_as_often_as_the_level_says() -> None:
    noise = np.random.default_rng(3).normal(size=(2000, 30))
    rejected = sum(not batch_means(x, warmup=None).independent for x in noise)
    assert stats.binom.ppf(0.001, 2000, 0.05) <= rejected <= stats.binom.ppf(0.999, 2000, 0.05)


def test_negative_correlation_is_told_but_no_warning() -> None:
    made = batch_means([1.0, -1.0] * 20, batches=40, warmup=None)
    assert made.autocorrelation == pytest.approx(-39 / 40)
    assert made.independent
    assert not any("correlated" in said for said in made.warnings)


def test_von_neumanns_ratio_by_hand() -> None:
    # 1..10: squared steps 9, squared deviations 82.5, lag-1 products 57.75.
    made = batch_means(range(1, 11), batches=10, warmup=None)
    assert made.autocorrelation == pytest.approx(57.75 / 82.5)
    assert made.p_value == pytest.approx(stats.norm.sf((1 - 9 / 82.5 / 2) * math.sqrt(99 / 8)))


def test_batch_means_that_are_not_normal_are_flagged() -> None:
    values = np.random.default_rng(4).permutation([0.0] * 28 + [10.0, 100.0])
    made = batch_means(values, warmup=None)
    assert made.normal_p_value == pytest.approx(float(stats.shapiro(values).pvalue))
    assert any("not normal" in said for said in made.warnings)


def test_a_batch_per_value_is_the_interval_over_the_values() -> None:
    values = np.random.default_rng(5).normal(size=50)
    made = batch_means(values, batches=50, warmup=None, confidence=0.9)
    expected = mean_ci(values.tolist(), 0.9)
    assert made.batch_size == 1
    assert made.means == pytest.approx(values)
    assert (made.estimate.mean, made.estimate.low, made.estimate.high) == pytest.approx(
        (expected.mean, expected.low, expected.high)
    )


def test_the_remainder_goes_from_the_front_with_the_warm_up() -> None:
    made = batch_means(range(103), batches=10, warmup=20)
    assert (made.warmup, made.remainder, made.batch_size) == (20, 3, 8)
    assert made.means == pytest.approx([np.mean(range(start, start + 8)) for start in range(23, 103, 8)])


def test_a_constant_series_has_an_interval_of_no_width_and_no_warning() -> None:
    made = batch_means([0.1] * 100)
    assert (made.estimate.low, made.estimate.mean, made.estimate.high) == (0.1, 0.1, 0.1)
    assert (made.autocorrelation, made.p_value, made.independent, made.normal_p_value) == (0.0, 1.0, True, 1.0)
    assert (made.warmup, made.warnings) == (0, ())


def test_rounding_of_a_constant_rate_is_not_taken_for_correlation() -> None:
    made = batch_means(1e6 + np.arange(300) * 1e-9, warmup=None)
    assert made.warnings == ()


def test_the_warm_up_is_removed() -> None:
    x = processes(0.5, 3000, seed=6, count=1)[0]
    x[:200] += 50
    made = batch_means(x)
    assert 200 <= made.warmup <= 300
    assert made.settled
    assert made.estimate.low <= 0 <= made.estimate.high
    assert batch_means(x, warmup=None).estimate.mean > made.estimate.high


def test_a_run_that_does_not_settle_says_so() -> None:
    made = batch_means(np.arange(300.0))
    assert not made.settled
    assert made.warmup == 150
    assert any("no end of the warm-up" in said and "first 150" in said for said in made.warnings)


@given(whole_numbers, st.integers(-1000, 1000), st.sampled_from([-4.0, -0.5, 0.25, 8.0]))
def test_shift_and_scale_move_the_interval_and_leave_the_tests(values: list[int], shift: int, scale: float) -> None:
    x = np.array(values, dtype=float)
    one, other = batch_means(x, warmup=5), batch_means(scale * x + shift, warmup=5)
    ends = sorted((scale * one.estimate.low + shift, scale * one.estimate.high + shift))
    assert [other.estimate.low, other.estimate.high] == pytest.approx(ends, abs=1e-7)
    assert other.estimate.mean == pytest.approx(scale * one.estimate.mean + shift, abs=1e-7)
    assert other.autocorrelation == pytest.approx(one.autocorrelation, abs=1e-6)
    assert other.p_value == pytest.approx(one.p_value, abs=1e-6)
    assert other.normal_p_value == pytest.approx(one.normal_p_value, abs=1e-5)
    assert other.independent == one.independent or one.p_value == pytest.approx(0.05, abs=1e-6)


@given(whole_numbers, st.integers(10, 30))
def test_the_mean_is_that_of_what_is_kept_whatever_the_batches(values: list[int], batches: int) -> None:
    made = batch_means(values, batches=batches)
    kept = values[made.warmup + made.remainder :]
    assert len(kept) == batches * made.batch_size
    assert made.remainder < batches
    assert made.estimate.mean == pytest.approx(sum(kept) / len(kept), abs=1e-9)
    assert -1 <= made.autocorrelation <= 1


@given(whole_numbers)
def test_mser_is_whites_formula(values: list[int]) -> None:
    z = np.array(values[: len(values) // 5 * 5], dtype=float).reshape(-1, 5).mean(axis=1)
    errors = [np.sum((z[j:] - z[j:].mean()) ** 2) / (z.size - j) ** 2 for j in range(z.size - 5)]
    found = warmup_mser(values)
    if found is None:
        assert min(errors) < min(errors[: z.size // 2 + 1]) + 1e-9
    else:
        assert found % 5 == 0
        assert errors[found // 5] == pytest.approx(min(errors), abs=1e-9)
        assert found <= len(values) / 2


def test_mser_finds_where_an_exponential_transient_is_over() -> None:
    # 10 exp(-t/100) under noise of deviation 1: at t = 235 it is still 0.95, at t = 400 it is 0.2.
    t = np.arange(3000)
    found = [warmup_mser(10 * np.exp(-t / 100) + x) for x in processes(0.0, 3000, seed=7, count=100)]
    lengths = [d for d in found if d is not None]
    assert len(lengths) == 100
    assert min(lengths) >= 200
    assert max(lengths) <= 450


def test_mser_finds_next_to_nothing_in_white_noise() -> None:
    found = [warmup_mser(x) for x in processes(0.0, 3000, seed=8, count=100)]
    lengths = sorted(math.inf if d is None else d for d in found)
    assert lengths[50] == 0
    assert lengths[90] <= 30


def test_mser_takes_the_first_of_equal_minima() -> None:
    assert warmup_mser([7.0] * 25 + [3.0] * 175) == 25
    assert warmup_mser([3.0] * 200) == 0


def test_too_few_values_are_refused_with_the_number_needed() -> None:
    with pytest.raises(ValueError, match="there are 49 values; needed: at least 50"):
        batch_means([1.0] * 49)
    with pytest.raises(ValueError, match="29 without the warm-up of 71; needed: at least 30"):
        batch_means(range(100), warmup=71)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_gaps_are_refused(bad: float) -> None:
    values = [1.0] * 70 + [bad] + [1.0] * 29
    with pytest.raises(ValueError, match=r"values\[70\].*allowed: finite"):
        batch_means(values)


def test_arguments_out_of_range_are_refused() -> None:
    x = np.random.default_rng(9).normal(size=100)
    with pytest.raises(ValueError, match="batches is 9; allowed: 10 or more"):
        batch_means(x, batches=9)
    with pytest.raises(ValueError, match="warmup is -1; allowed"):
        batch_means(x, warmup=-1)
    with pytest.raises(ValueError, match="confidence is 95; allowed"):
        batch_means(x, confidence=95)
    with pytest.raises(ValueError, match="2 dimensions"):
        batch_means(x.reshape(50, 2))
    with pytest.raises(ValueError, match="batch is 0; allowed"):
        warmup_mser(x, batch=0)
