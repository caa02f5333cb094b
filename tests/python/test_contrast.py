"""`narrows.compare`: what differs, how differences are estimated, and which are marked."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import narrows as nw
from narrows.base.errors import InputError
from narrows.comparison import Arm, Comparison
from narrows.outcome import Batch
from narrows.studies.comparison.values import ALL
from narrows.studies.contrast import changes, shown, words
from narrows.studies.contrast.changes import Change
from narrows.studies.contrast.differences import Against, difference

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

SCENARIO = """
name = "pair"
title = "Two flows & <one> bottleneck"
duration = "6 s"
start_jitter = "50 ms"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "4 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[[flows]]
name = "bulk"
from = "s1"
to = "d1"

[[flows]]
name = "other"
from = "s2"
to = "d2"
"""


def made(runs: int, seed: int = 4, /, **settings: str) -> Run | Batch:
    return nw.run(nw.Scenario.from_text(SCENARIO, overrides=settings), seed=seed, runs=runs)


def live(result: Run | Batch, **told: Any) -> Batch:
    conditions = {"kernel": "6.18.0-test", "trusted": True, "doubts": [], **told}
    kept = tuple(replace(run, conditions=conditions, digest=f"{n:064x}") for n, run in zip(count(), result.runs))
    return Batch(scenario=result.scenario, seed=result.seed, runs=kept)


@pytest.fixture(scope="module")
def reno() -> Run | Batch:
    return made(4, **{"tcp.cc": "reno"})


@pytest.fixture(scope="module")
def cubic() -> Run | Batch:
    return made(4, **{"tcp.cc": "cubic"})


@pytest.fixture(scope="module")
def both(reno: Run | Batch, cubic: Run | Batch) -> nw.Contrast:
    return nw.compare(reno, cubic, names=("reno", "cubic"))


def test_every_metric_of_every_object_is_compared(both: nw.Contrast, reno: Run | Batch) -> None:
    found = {(row.kind, row.name, row.measure.key) for row in both.rows}
    for flow in reno.runs[0].flows:
        for key, value in flow.to_dict().items():
            if key not in ("name", "cc", "start_s") and value is not None:
                assert ("flow", flow.name, key) in found
        assert ("flow", flow.name, "cwnd_mean_bytes") in found
    for queue in reno.runs[0].queues:
        assert ("queue", queue.name, "delay_mean_ms") in found
    assert ("run", ALL, "jain") in found
    assert not any(key == "start_s" for _, _, key in found)


def test_runs_with_the_same_seeds_are_paired(both: nw.Contrast, reno: Run | Batch, cubic: Run | Batch) -> None:
    assert (both.against[0].method, both.against[0].reason) == ("paired", "both have the same seeds")
    before, after = ([run.flow("bulk").throughput_mbps for run in one.runs] for one in (reno, cubic))
    row = both.row("flow", "bulk", "throughput_mbps").differences[0]
    expected = nw.stats.paired_difference(before, after)
    assert (row.difference, row.p_value) == (expected.difference, expected.p_value)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"seed": 5}, "the seeds or"),
        ({"runs": 3}, "the seeds or"),
        ({"start_jitter": "60 ms"}, "a random input differs: start_jitter"),
        ({"links[0].per": "1 %"}, "a random input differs: links"),
    ],
)
def test_runs_that_share_no_random_numbers_are_not_paired(
    other: dict[str, Any], reason: str, reno: Run | Batch
) -> None:
    settings = {key: value for key, value in other.items() if key not in ("seed", "runs")}
    if "links[0].per" in settings:
        settings = {"topology.bottleneck.per": "1 %"}
    second = made(other.get("runs", 4), other.get("seed", 4), **{"tcp.cc": "reno"}, **settings)
    how = nw.compare(reno, second).against[0]
    assert how.method == "welch"
    assert how.reason.startswith(reason)


def test_live_runs_are_independent_of_simulated_ones(reno: Run | Batch) -> None:
    contrast = nw.compare(reno, live(reno))
    assert contrast.against[0].method == "welch"
    assert contrast.to_json()["results"][1]["world"] == "live"  # type: ignore[index]
    assert contrast.to_json()["results"][1]["kernel"] == "6.18.0-test"  # type: ignore[index]
    row = contrast.row("flow", "bulk", "throughput_mbps")
    values = [run.flow("bulk").throughput_mbps for run in reno.runs]
    assert row.differences[0].difference == nw.stats.welch_difference(values, values).difference


def test_one_run_has_no_interval_and_the_verdict_says_so(reno: Run | Batch) -> None:
    contrast = nw.compare(reno, made(1, **{"tcp.cc": "cubic"}), names=("many", "one"))
    assert contrast.against[0].method == "none"
    assert (contrast.tests, contrast.beyond) == (0, 0)
    assert words.verdict(contrast, 0)[-1] == "No intervals: one has one run: its spread is unknown."
    assert all(math.isnan(one.difference.low) for row in contrast.rows for one in row.differences)


def test_runs_without_randomness_have_no_interval(reno: Run | Batch) -> None:
    contrast = nw.compare(reno, made(3, start_jitter="0 s"), names=("random", "fixed"))
    assert contrast.against[0].method == "none"
    assert "the 3 runs of fixed are the same" in contrast.against[0].reason


def test_the_same_result_is_the_same_to_the_bit(reno: Run | Batch) -> None:
    contrast = nw.compare(reno, reno, names=("a", "b"))
    assert contrast.against[0].method == "same"
    assert words.verdict(contrast, 0) == ["b gives the same as a, to the bit."]
    assert contrast.beyond == 0


def test_marks_are_those_of_the_correction_over_all_tests(both: nw.Contrast) -> None:
    tested = [one for row in both.rows for one in row.differences if not math.isnan(one.p_adjusted)]
    expected = scipy_stats.false_discovery_control([one.p_value for one in tested], method="bh")
    assert [one.p_adjusted for one in tested] == pytest.approx(list(expected))
    assert both.tests == len(tested)
    assert both.beyond == sum(p <= 0.05 for p in expected)


def test_chosen_metrics_are_the_only_tests(reno: Run | Batch, cubic: Run | Batch, both: nw.Contrast) -> None:
    some = nw.compare(reno, cubic, metrics=("throughput_mbps", "delay_p95_ms"))
    assert {row.measure.key for row in some.rows} == {"throughput_mbps", "delay_p95_ms"}
    assert 0 < some.tests < both.tests
    with pytest.raises(InputError, match="metric is 'speed'; allowed: throughput_mbps, "):
        nw.compare(reno, cubic, metrics=("speed",))


def test_a_constant_difference_has_the_p_value_of_an_exact_test() -> None:
    paired = difference(Against("paired", "", ()), [0, 0, 0, 0], [1, 1, 1, 1])
    assert paired.p_value == 2 / 2**4
    assert math.isnan(paired.difference.low)
    assert not paired.beyond
    assert difference(Against("welch", "", ()), [0, 0, 0], [1, 1]).p_value == 2 / 10
    assert math.isnan(difference(Against("welch", "", ()), [1, 1, 1], [1, 1, 1]).p_value)


def test_what_differs_is_a_path_and_two_values(both: nw.Contrast) -> None:
    listed = both.against[0].changes
    assert listed[0] == Change("flows.*.cc", "reno", "cubic")
    assert [one.path for one in listed if not one.follows] == ["flows.*.cc"]
    assert all(one.path.startswith("flows.*.tcp.cc_params.") for one in listed[1:])


def test_a_change_of_one_flow_names_it_whatever_the_common_table_says() -> None:
    first = nw.Scenario.from_text(SCENARIO)
    second = first.with_overrides({"flows.other.cc": "reno", "topology.bottleneck.rate": "5 Mb/s", "seed": 9})
    found = {one.path: (one.before, one.after) for one in changes.between(first, second) if not one.follows}
    assert found == {"flows.other.cc": ("cubic", "reno"), "links.r1-r2.rate": ("4 Mb/s", "5 Mb/s")}
    assert changes.between(first, first) == ()


def test_another_discipline_is_one_change() -> None:
    first = nw.Scenario.from_text(SCENARIO)
    found = changes.between(first, first.with_queue("codel"))
    assert [one.path for one in found if not one.follows][:1] == ["links.r1-r2.queue.kind"]
    assert all(changes.ABSENT in (one.before, one.after) for one in found if one.follows)
    assert any(one.path == "links.r1-r2.queue.target" for one in found if one.follows)


def test_flows_are_matched_by_name_and_others_listed(reno: Run | Batch) -> None:
    more = nw.run(nw.Scenario.from_text(SCENARIO.replace('"other"', '"third"')), seed=4, runs=4)
    contrast = nw.compare(reno, more, names=("a", "b"))
    assert {row.name for row in contrast.rows if row.kind == "flow"} == {"bulk"}
    assert shown.unmatched(contrast, 0)[:2] == [("a", "flow", ["other"]), ("b", "flow", ["third"])]
    none = nw.run(nw.Scenario.from_text(SCENARIO.replace('"other"', '"x"').replace('"bulk"', '"y"')), seed=4)
    with pytest.raises(InputError, match="a and b have no flow in common: a has bulk, other; b has y, x"):
        nw.compare(reno, none, names=("a", "b"))


def test_more_than_two_results_are_all_beside_the_first(reno: Run | Batch, cubic: Run | Batch) -> None:
    contrast = nw.compare(reno, cubic, made(4, 4, **{"tcp.cc": "bbr"}), names=("reno", "cubic", "bbr"))
    row = contrast.row("queue", "r1->r2", "delay_mean_ms")
    assert len(row.estimates) == 3
    assert [one.difference.mean for one in row.differences] == pytest.approx(
        [other.mean - row.estimates[0].mean for other in row.estimates[1:]]
    )
    assert [how.changes[0].after for how in contrast.against] == ["cubic", "bbr"]


def test_the_table_has_a_row_for_each_difference(both: nw.Contrast) -> None:
    frame = both.to_pandas()
    assert len(frame) == sum(len(row.differences) for row in both.rows)
    one = frame.query("kind == 'flow' and name == 'bulk' and metric == 'throughput_mbps'").iloc[0]
    row = both.row("flow", "bulk", "throughput_mbps")
    assert one["difference"] == row.differences[0].difference.mean
    assert (one["baseline"], one["result"], one["method"], one["baseline_runs"]) == ("reno", "cubic", "paired", 4)
    assert int(frame["survives"].sum()) == both.beyond


def test_directories_and_values_give_the_same(
    both: nw.Contrast, reno: Run | Batch, cubic: Run | Batch, tmp_path: Path
) -> None:
    reno.save(tmp_path / "reno")
    cubic.save(tmp_path / "cubic")
    read = nw.compare(tmp_path / "reno", tmp_path / "cubic" / "summary.json")
    assert [arm.label for arm in read.arms] == ["reno", "cubic"]
    assert read.to_json() == both.to_json()


def test_labels_are_what_tells_directories_apart(reno: Run | Batch, tmp_path: Path) -> None:
    for folder in ("one/run", "two/run"):
        reno.save(tmp_path / folder)
    assert [arm.label for arm in nw.compare(tmp_path / "one/run", tmp_path / "two/run").arms] == ["one/run", "two/run"]
    twice = nw.compare(tmp_path / "one/run", tmp_path / "one/run")
    assert [arm.label for arm in twice.arms] == ["run (1)", "run (2)"]


def test_a_comparison_of_both_worlds_is_two_results(reno: Run | Batch) -> None:
    contrast = nw.compare(Comparison(Arm("simulated", reno), Arm("live", live(reno))))
    assert [arm.label for arm in contrast.arms] == ["simulated", "live"]


@pytest.mark.parametrize(
    ("names", "message"),
    [(("a",), "names are a; allowed: 2"), (("a", "a"), "have 'a' twice"), (("a", " "), "a name is empty")],
)
def test_names_are_one_for_each_result(names: tuple[str, ...], message: str, reno: Run | Batch) -> None:
    with pytest.raises(InputError, match=message):
        nw.compare(reno, reno, names=names)


def test_one_result_alone_is_refused(reno: Run | Batch) -> None:
    with pytest.raises(InputError, match="needs two results or more, and got 1"):
        nw.compare(reno)


def test_a_notebook_shows_verdict_and_chief_metrics(both: nw.Contrast) -> None:
    html = both._repr_html_()
    assert words.verdict(both, 0)[0].replace("->", "-&gt;") in html
    assert "<td>Throughput</td>" in html
    assert "flows.*.cc: reno → cubic" in html


def test_doubts_of_live_runs_are_told(reno: Run | Batch) -> None:
    contrast = nw.compare(reno, live(reno, trusted=False, doubts=["late"]), names=("a", "b"))
    assert contrast.doubts == tuple(f"b: run {run.index}: late" for run in reno.runs)
    assert contrast.to_json()["trusted"] is False


def test_802_11_stations_and_transfers_are_compared(cells: Batch) -> None:
    contrast = nw.compare(cells, cells.runs[0])
    assert {"station", "channel", "queue", "flow"} <= {row.kind for row in contrast.rows}
    web = nw.compare(*(nw.run("web-search", seed=seed, overrides={"duration": "3 s"}) for seed in (1, 2)))
    assert "transfer_class" in {row.kind for row in web.rows}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_p_values_are_those_of_scipy(values: list[float]) -> None:
    expected = scipy_stats.false_discovery_control(values, method="bh")
    assert nw.stats.adjusted_p(values) == pytest.approx(np.atleast_1d(expected).tolist(), rel=1e-12, abs=0)


def test_adjusted_p_values_keep_their_places() -> None:
    adjusted = nw.stats.adjusted_p([0.04, float("nan"), 0.001])
    assert adjusted[0] == pytest.approx(0.04)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.002)
    with pytest.raises(ValueError, match=r"a p-value is 1\.5; allowed: 0 to 1"):
        nw.stats.adjusted_p([1.5])
