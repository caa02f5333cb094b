"""Number of required runs: manual calculations, monotonicity, the sequential rule, and coverage of its interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from narrows.stats import Precision, Reached, mean_ci, required_runs

pilots = st.lists(st.integers(1, 1000).map(float), min_size=2, max_size=12)


def stopped_at(values: list[float], wanted: Precision) -> int:
    return next(n for n in range(1, len(values) + 1) if n == wanted.most or wanted.met(mean_ci(values[:n])))


def test_required_runs_by_the_printed_table() -> None:
    # s = 1, h = 1: t(0.975; 5) = 2.571 over sqrt(6) is 1.049, t(0.975; 6) = 2.447 over sqrt(7) is 0.925.
    pilot = [-1.0, 1.0, 0.0]
    assert mean_ci(pilot).sd == 1
    assert required_runs(pilot, absolute=1) == 7
    # Stein: t(0.975; 2) = 4.303, squared 18.5.
    assert required_runs(pilot, absolute=1, rule="stein") == 19


@given(pilots, st.sampled_from([0.5, 0.1, 0.02]))
def test_it_is_the_least_number_whose_half_width_will_do(values: list[float], relative: float) -> None:
    found, estimate = required_runs(values, relative=relative), mean_ci(values)

    def half(n: int) -> float:
        return float(stats.t.ppf(0.975, n - 1)) * estimate.sd / math.sqrt(n)

    goal = relative * estimate.mean
    assert half(found) <= goal * (1 + 1e-9)
    assert found == len(values) or half(found - 1) > goal * (1 - 1e-9)


@given(pilots, st.sampled_from([0.5, 2.0, 4.0]))
def test_a_relative_number_does_not_depend_on_the_unit(values: list[float], scale: float) -> None:
    assert required_runs(values, relative=0.1) == required_runs([scale * v for v in values], relative=0.1)


@given(pilots)
def test_narrower_or_surer_takes_more_runs(values: list[float]) -> None:
    made = [required_runs(values, relative=one) for one in (0.2, 0.1, 0.05)]
    assert made == sorted(made)
    assert required_runs(values, relative=0.1, confidence=0.99) >= made[1] >= len(values)
    assert required_runs(values, relative=0.1, rule="stein") >= made[1]


def test_an_estimate_will_do_for_a_pilot() -> None:
    values = [98, 102, 101, 97, 103]
    assert required_runs(mean_ci(values), relative=0.01) == required_runs(values, relative=0.01)


def test_values_that_are_all_the_same_need_no_more() -> None:
    assert required_runs([5, 5, 5], relative=0.01) == 3
    assert required_runs([0, 0], relative=0.01) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pilot": [1], "relative": 0.1}, "1 values; needed: at least 2"),
        ({"pilot": [1, 2]}, "exactly one"),
        ({"pilot": [1, 2], "relative": 0.1, "absolute": 1}, "exactly one"),
        ({"pilot": [1, 2], "relative": 0}, "relative is 0; allowed"),
        ({"pilot": [1, 2], "absolute": math.inf}, "absolute is inf; allowed"),
        ({"pilot": [1, 2], "absolute": 1, "confidence": 95}, "confidence is 95; allowed"),
        ({"pilot": [-1, 1], "relative": 0.1}, "relative to a mean of 0"),
        ({"pilot": [-1, 1], "relative": 0.1, "rule": "stein"}, "relative to a mean of 0"),
        ({"pilot": [1, 2], "relative": 0.1, "rule": "luck"}, "rule is 'luck'; allowed"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        required_runs(**arguments)


@pytest.mark.parametrize(("least", "most"), [(1, 10), (11, 10)])
def test_numbers_of_runs_out_of_range_are_refused(least: int, most: int) -> None:
    with pytest.raises(ValueError, match=f"least is {least} and most is {most}; allowed"):
        Precision(relative=0.1, least=least, most=most)


def test_the_rule_stops_at_the_first_prefix_that_will_do() -> None:
    values = np.random.default_rng(1).normal(10, 1, size=500).tolist()
    wanted = Precision(relative=0.05, least=5, most=500)
    n = stopped_at(values, wanted)
    assert 5 <= n < 100
    assert mean_ci(values[:n]).half_width <= 0.05 * mean_ci(values[:n]).mean
    assert all(mean_ci(values[:k]).half_width > 0.05 * mean_ci(values[:k]).mean for k in range(5, n))


def test_runs_without_a_value_do_not_count() -> None:
    wanted = Precision(relative=0.5, least=3)
    assert not wanted.met(mean_ci([10, None, 10.1]))
    assert wanted.met(mean_ci([10, None, 10.1, 10.2]))


def test_an_absolute_width_is_in_the_unit_of_the_metric() -> None:
    wanted = Precision(absolute=0.5, least=2)
    assert wanted.met(mean_ci([-0.01, 0.01]))
    assert not wanted.met(mean_ci([-1, 1]))


def test_what_is_foreseen_is_not_less_than_the_least() -> None:
    assert Precision(relative=0.5).needed(mean_ci([10, 10.1])) == 10
    assert Precision(relative=0.5).needed(mean_ci([10])) is None
    assert Precision(relative=0.5).needed(mean_ci([-1, 1])) is None


def test_what_was_reached_survives_being_written() -> None:
    one = Reached("jain", Precision(relative=0.02, least=3, most=50), mean_ci([0.9, 0.91, None, 0.9]), 4)
    again = Reached.from_dict(one.to_dict())
    assert (again.metric, again.precision, again.runs, again.met) == (one.metric, one.precision, one.runs, one.met)
    assert again.estimate == one.estimate
    nothing = Reached("jain", Precision(relative=0.02), mean_ci([]), 0)
    written = nothing.to_dict() | {"mean": None, "interval": [None, None], "sd": None}  # as JSON has them
    assert math.isnan(Reached.from_dict(written).estimate.mean)
    assert "no interval" in nothing.told()
    assert not nothing.met


def test_it_is_said_that_all_runs_are_the_same() -> None:
    assert "all have the same value" in Reached("jain", Precision(relative=0.1), mean_ci([1.0] * 10), 10).told()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "low", "high"),
    [(2, 0.85, 0.91), (5, 0.90, 0.945), (10, 0.92, 0.955), (20, 0.93, 0.965)],
)
def test_coverage_of_the_sequential_rule_is_what_the_documentation_says(least: int, low: float, high: float) -> None:
    # A width for which twenty runs would suffice if the deviation were known.
    half = float(stats.norm.ppf(0.975)) / math.sqrt(20)
    wanted = Precision(absolute=half, least=least, most=300)
    draws = np.random.default_rng(2).normal(size=(2000, 300)).tolist()
    made = [mean_ci(row[: stopped_at(row, wanted)]) for row in draws]
    assert low <= sum(one.low <= 0 <= one.high for one in made) / len(made) <= high


def test_coverage_of_steins_two_stages_is_at_least_what_it_says() -> None:
    draws = np.random.default_rng(3).normal(10, 1, size=(2000, 400)).tolist()
    hits = 0
    for row in draws:
        n = min(400, required_runs(row[:5], absolute=0.5, rule="stein"))
        hits += abs(mean_ci(row[:n]).mean - 10) <= 0.5
    assert hits >= stats.binom.ppf(0.001, 2000, 0.95)
