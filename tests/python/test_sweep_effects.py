"""Effects of axes, and means over parts of a sweep, on results with a known answer."""

from __future__ import annotations

import itertools
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.python.sweeps_made import result, sweep

from narrows.base.errors import InputError
from narrows.stats import mean_ci, paired_difference
from narrows.studies.sweep.cells import cells
from narrows.studies.sweep.effects import effects
from narrows.studies.sweep.measured import measured
from narrows.studies.sweep.page import verdict
from narrows.studies.sweep.view import Wanted, choose, first_measures

if TYPE_CHECKING:
    from narrows.studies.sweep.measured import Measured
    from narrows.studies.sweep.view import View

TWO = """
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic", "vegas"]
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = ["80 packets", "5 packets", "20 packets"]
"""

ZIPPED = """
[[axes]]
zip = { "tcp.cc" = ["reno", "cubic", "reno"], "topology.link.queue.limit" = ["5 packets", "5 packets", "9 packets"] }
[[axes]]
name = "delay"
path = "topology.link.delay"
values = [1, 2]
unit = "ms"
"""

CC = {"reno": 0.0, "cubic": 1.0, "vegas": 5.0}


def test_an_axis_that_explains_everything_has_the_whole_variance() -> None:
    made = measured(result(sweep(TWO), lambda point, _: {"throughput_mbps": float(point["buffer"])}))
    found = effects(made, "throughput_mbps")
    assert [one.name for one in found.axes] == ["buffer", "cc"]
    assert [one.share for one in found.axes] == pytest.approx([1.0, 0.0])
    assert found.interactions == pytest.approx(0, abs=1e-12)
    assert found.seeds == 0
    assert found.complete
    largest = found.axes[0]
    assert (largest.low, largest.high) == ("5 packets", "80 packets")
    assert (largest.low_mean, largest.high_mean) == (5.0, 80.0)
    assert (largest.difference.mean, largest.difference.low, largest.difference.high) == (75.0, 75.0, 75.0)
    assert largest.sure
    assert not found.axes[1].sure


def test_axes_that_act_only_together_leave_all_to_interactions() -> None:
    signs = {"reno": 1, "cubic": -1, "vegas": 0, 5: 1, 20: -1, 80: 0}
    made = measured(result(sweep(TWO), lambda p, _: {"rtt_mean_ms": float(signs[p["cc"]] * signs[p["buffer"]])}))
    found = effects(made, "rtt_mean_ms")
    assert [one.share for one in found.axes] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found.interactions == pytest.approx(1.0)


def test_seeds_that_explain_everything_leave_nothing_to_axes() -> None:
    made = measured(result(sweep(TWO), lambda _, seed: {"throughput_mbps": float(seed)}))
    found = effects(made, "throughput_mbps")
    assert found.seeds == pytest.approx(1.0)
    assert all(one.share == pytest.approx(0.0, abs=1e-12) and not one.sure for one in found.axes)


def noisy(point: dict[str, object], seed: int) -> dict[str, float]:
    place = [list(CC).index(str(point["cc"])), int(str(point["buffer"])), seed]
    noise = float(np.random.default_rng(place).normal(0, 0.8))
    return {"throughput_mbps": CC[str(point["cc"])] + 0.05 * float(str(point["buffer"])) + noise + 0.3 * seed}


def test_shares_are_those_of_the_analysis_of_variance() -> None:
    """Sums of squares by their textbook definitions, run by run, for a balanced crossing."""
    data = result(sweep(TWO, seeds=5), noisy)  # type: ignore[arg-type]
    found = effects(measured(data), "throughput_mbps")
    frame = data.flows
    grand = frame["throughput_mbps"].mean()
    total = ((frame["throughput_mbps"] - grand) ** 2).sum()
    shares = {}
    for axis in ("cc", "buffer"):
        means = frame.groupby(axis)["throughput_mbps"].transform("mean")
        shares[axis] = ((means - grand) ** 2).sum() / total
    points = frame.groupby(["cc", "buffer"])["throughput_mbps"].transform("mean")
    within = ((frame["throughput_mbps"] - points) ** 2).sum() / total
    assert {one.name: one.share for one in found.axes} == pytest.approx(shares)
    assert found.seeds == pytest.approx(within)
    assert sum(shares.values()) + found.interactions + found.seeds == pytest.approx(1.0)


def test_a_difference_is_paired_by_seed_and_simultaneous_over_all_pairs() -> None:
    data = result(sweep(TWO, seeds=5), noisy)  # type: ignore[arg-type]
    effect = next(one for one in effects(measured(data), "throughput_mbps").axes if one.name == "cc")
    assert (effect.low, effect.high) == ("reno", "vegas")
    by_seed = data.flows.groupby(["cc", "seed"])["throughput_mbps"].mean()
    level = 1 - 0.05 / 3  # three pairs of three values
    expected = paired_difference(by_seed["reno"], by_seed["vegas"], level).difference
    assert effect.difference.mean == pytest.approx(expected.mean)
    assert (effect.difference.low, effect.difference.high) == pytest.approx((expected.low, expected.high))


def test_a_result_ranks_its_axes_as_a_data_frame() -> None:
    data = result(sweep(TWO, seeds=5), noisy)  # type: ignore[arg-type]
    table = data.effects()
    assert list(table["measure"].unique()) == ["throughput_mbps"]
    assert list(table["axis"]) == ["cc", "buffer"]
    assert table["share"].is_monotonic_decreasing
    assert (table["difference_low"] < table["difference"]).all()
    assert (table["difference"] < table["difference_high"]).all()
    with pytest.raises(InputError, match="measure is 'speed'; allowed: throughput_mbps"):
        data.effects(["speed"])


def test_failed_runs_do_not_shift_shares() -> None:
    def some(point: dict[str, object], seed: int) -> dict[str, float] | None:
        lost = point["cc"] == "reno" and point["buffer"] == 5 and seed > 1
        return None if lost else {"throughput_mbps": float(str(point["buffer"]))}

    made = measured(result(sweep(TWO), some))  # type: ignore[arg-type]
    found = effects(made, "throughput_mbps")
    assert (made.total, made.failed, made.asked_points) == (27, 2, 9)
    assert [one.share for one in found.axes] == pytest.approx([1.0, 0.0], abs=1e-12)
    assert found.complete


def test_a_point_without_runs_is_told() -> None:
    def some(point: dict[str, object], _: int) -> dict[str, float] | None:
        lost = point["cc"] == "reno" and point["buffer"] == 5
        return None if lost else {"throughput_mbps": float(str(point["buffer"]))}

    made = measured(result(sweep(TWO), some))  # type: ignore[arg-type]
    assert not effects(made, "throughput_mbps").complete
    assert (0, 0) not in cells(made, "throughput_mbps", ["cc", "buffer"])


def test_columns_that_change_together_are_one_axis() -> None:
    value = {("reno", 5): 1.0, ("cubic", 5): 2.0, ("reno", 9): 9.0}
    made = measured(
        result(
            sweep(ZIPPED),
            lambda p, _: {"throughput_mbps": value[p["tcp.cc"], p["topology.link.queue.limit"]]},  # type: ignore[index]
        )
    )
    found = effects(made, "throughput_mbps")
    assert [one.name for one in found.axes] == ["tcp.cc, topology.link.queue.limit", "delay"]
    assert found.axes[0].share == pytest.approx(1.0)
    assert (found.axes[0].low, found.axes[0].high) == ("reno, 5 packets", "reno, 9 packets")


def test_one_seed_has_no_intervals() -> None:
    made = measured(result(sweep(TWO, seeds=1), noisy))  # type: ignore[arg-type]
    found = effects(made, "throughput_mbps")
    assert found.seeds == 0
    assert all(one.difference.n == 1 and not one.sure for one in found.axes)


def test_a_cell_is_the_mean_of_its_seeds_with_students_interval() -> None:
    data = result(sweep(TWO, seeds=4), noisy)  # type: ignore[arg-type]
    made = measured(data)
    found = cells(made, "throughput_mbps", ["buffer"])
    assert made.column("buffer").levels == (5, 20, 80)
    for level, buffer in enumerate((5, 20, 80)):
        rows = data.flows[data.flows["buffer"] == buffer]
        expected = mean_ci(rows.groupby("seed")["throughput_mbps"].mean().tolist())
        assert found[level,].runs == 12
        estimate = found[level,].estimate
        assert (estimate.mean, estimate.low, estimate.high) == pytest.approx(
            (expected.mean, expected.low, expected.high)
        )
        assert estimate.n == 4
    both = cells(made, "throughput_mbps", ["cc", "buffer"])
    assert list(both) == list(itertools.product(range(3), range(3)))
    assert fmean(cell.estimate.mean for cell in both.values()) == pytest.approx(data.flows["throughput_mbps"].mean())


def test_a_measure_is_the_mean_over_the_runs_flows() -> None:
    made = measured(result(sweep(TWO), lambda _, seed: {"rtt_mean_ms": float(seed), "loss_ratio": float("nan")}))
    assert list(made.measures) == ["rtt_mean_ms"]
    assert (made.measures["rtt_mean_ms"].unit, made.measures["rtt_mean_ms"].kind) == ("ms", "flow")


def shown(made: Measured, **wanted: str) -> View:
    measures = tuple(filter(None, wanted.pop("measures", "").split(",")))
    names = {*made.measures}
    return choose(made, {name: effects(made, name) for name in names}, Wanted(measures, **wanted))


def test_the_page_begins_with_the_numeric_axis_that_matters_most() -> None:
    made = measured(result(sweep(TWO), lambda p, _: {"throughput_mbps": CC[str(p["cc"])] + float(p["buffer"])}))
    assert first_measures(made) == ("throughput_mbps",)
    view = shown(made)
    assert (view.x, view.series, view.facet, view.heat) == ("buffer", "cc", None, ("buffer", "cc"))
    view = shown(made, x="cc", series="none", facet="buffer")
    assert (view.x, view.series, view.facet) == ("cc", None, "buffer")


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"measures": "speed"}, "--measure: 'speed' is no measure of this sweep; allowed: throughput_mbps"),
        ({"x": "bufer"}, "--x: 'bufer' is no axis of this sweep; allowed: cc, buffer"),
        ({"series": "bufer"}, "--series: 'bufer' is no axis of this sweep; allowed: cc, buffer, none"),
        ({"x": "cc", "facet": "cc"}, "--facet: cc is given for --x too; allowed: different axes"),
        ({"series": "many"}, "--series: many has 13 values; allowed: an axis with at most 12, or none"),
    ],
)
def test_what_the_page_cannot_show_is_refused_with_what_it_can(wanted: dict[str, str], told: str) -> None:
    axes = TWO
    if "many" in wanted.values():
        axes = (
            f'{TWO}[[axes]]\nname = "many"\npath = "topology.link.rate"\nvalues = {list(range(1, 14))}\nunit = "Mb/s"\n'
        )
    made = measured(result(sweep(axes, seeds=1), lambda p, _: {"throughput_mbps": CC[str(p["cc"])]}))
    with pytest.raises(InputError) as caught:
        shown(made, **wanted)
    assert told in str(caught.value)


def test_axes_have_a_logarithmic_scale_from_a_decade_on() -> None:
    axes = '[[axes]]\nname = "a"\npath = "topology.link.queue.limit"\nunit = "packets"\n'
    for values, log in (
        ("values = [10, 99]", False),
        ("values = [10, 100]", True),
        ("values = [0, 100]", False),
        ("log_range = { from = 10, to = 40, count = 3 }", True),
    ):
        made = measured(result(sweep(axes + values), lambda _, seed: {"throughput_mbps": float(seed)}))
        assert made.columns[0].log == log, values


def test_columns_that_change_together_have_one_place_on_the_page() -> None:
    value = {("reno", 5): 1.0, ("cubic", 5): 2.0, ("reno", 9): 9.0}
    made = measured(
        result(
            sweep(ZIPPED),
            lambda p, _: {"throughput_mbps": value[p["tcp.cc"], p["topology.link.queue.limit"]]},  # type: ignore[index]
        )
    )
    view = shown(made)
    places = [made.column(name).axis for name in (view.x, view.series, view.facet) if name is not None]
    assert len(places) == len(set(places)) == 2
    assert view.heat is not None
    assert made.column(view.heat[0]).axis != made.column(view.heat[1]).axis


def test_the_verdict_says_why_no_axis_matters() -> None:
    def one_point(point: dict[str, object], seed: int) -> dict[str, float] | None:
        kept = point["cc"] == "reno" and point["buffer"] == 5
        return {"throughput_mbps": float(seed), "rtt_mean_ms": 1.0} if kept else None

    made = measured(result(sweep(TWO), one_point))  # type: ignore[arg-type]
    told = verdict(made, [effects(made, "throughput_mbps"), effects(made, "rtt_mean_ms")])
    assert told.sentences == (
        "27 runs: 9 points under 3 seeds; 24 failed and are missing from these results.",
        "throughput_mbps: no axis has two values with results.",
        "rtt_mean_ms: the same in all runs.",
    )
    made = measured(result(sweep(TWO, seeds=2), lambda p, _: {"throughput_mbps": 100 + CC[str(p["cc"])] / 100}))
    assert verdict(made, [effects(made, "throughput_mbps")]).sentences[1] == (
        "throughput_mbps depends most on cc: 100 % of its variance, from 100.00 Mb/s at reno to 100.05 Mb/s at vegas."
    )
