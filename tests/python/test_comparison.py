"""Comparison of two outcomes: which measures, with which interval, and which doubts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats

import narrows as nw
from narrows import comparison
from narrows.base.errors import InputError
from narrows.comparison import Arm, Comparison
from narrows.model.scenario import Scenario
from narrows.outcome import Batch, Run
from narrows.studies.comparison import measures
from narrows.studies.comparison.values import mean_windows
from narrows.studies.kinds import kind_of

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
name = "pair"
duration = "4 s"
sampling = "20 ms"
start_jitter = "50 ms"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "4 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[[flows]]
name = "first"
from = "s1"
to = "d1"

[[flows]]
name = "voice"
kind = "udp"
from = "s2"
to = "d2"
rate = "64 kb/s"
payload = "160 B"
"""
LATE = "the bottleneck was late"
CONDITIONS = {"kernel_release": "6.18", "trusted": True, "doubts": []}


@pytest.fixture(scope="module")
def arms() -> tuple[Batch, Batch]:
    """Return three runs with CUBIC, and four with Reno that stand in for live runs."""
    cubic, reno = (
        nw.run(Scenario.from_text(SCENARIO, overrides={"tcp.cc": cc}), seed=seed, runs=n)
        for cc, seed, n in (("cubic", 1, 3), ("reno", 9, 4))
    )
    assert isinstance(cubic, Batch)
    assert isinstance(reno, Batch)
    live = replace(reno, runs=tuple(replace(run, conditions=CONDITIONS) for run in reno.runs))
    return cubic, live


@pytest.fixture(scope="module")
def both(arms: tuple[Batch, Batch]) -> Comparison:
    return Comparison(Arm("simulated", arms[0]), Arm("live", arms[1]))


def doubted(batch: Batch, index: int) -> Batch:
    bad: dict[str, Any] = CONDITIONS | {"trusted": False, "doubts": [LATE]}
    return replace(batch, runs=tuple(replace(run, conditions=bad) if run.index == index else run for run in batch.runs))


def test_differences_are_the_second_against_the_first(both: Comparison, arms: tuple[Batch, Batch]) -> None:
    first, second = ([run.flows[0].rtt_mean_ms or 0.0 for run in arm.runs] for arm in arms)
    made = both.flow("first").of("rtt_mean_ms")
    assert made is not None
    theirs = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    assert made.first.mean == pytest.approx(sum(first) / 3)
    assert (made.first.n, made.second.n) == (3, 4)
    assert made.difference.difference.low == pytest.approx(theirs.low)
    assert made.difference.difference.high == pytest.approx(theirs.high)
    assert made.difference.percent.mean == pytest.approx(100 * made.difference.difference.mean / made.first.mean)


def test_what_is_compared_of_a_flow(both: Comparison) -> None:
    assert [one.measure.key for one in both.flow("first").compared] == [measure.key for measure in measures.FLOW]
    voice = both.flow("voice")
    assert voice.cc is None
    assert {one.measure.key for one in voice.compared}.isdisjoint({"rtt_mean_ms", "cwnd_mean_bytes"})


def test_the_mean_window_is_that_of_the_samples_while_the_flow_lasts(arms: tuple[Batch, Batch]) -> None:
    run = arms[0].runs[0]
    frame = run.samples.frame("flow")
    own = frame[(frame["name"] == "first") & (frame["time_s"] >= run.flow("first").start_s)]
    made = mean_windows(run)
    assert made["voice"] is None
    assert made["first"] == pytest.approx(own["cwnd_bytes"].mean(), rel=0.01)


def test_queues_are_those_that_packets_passed(both: Comparison) -> None:
    names = [queue.name for queue in both.queues]
    assert "r1->r2" in names
    used = next(queue for queue in both.queues if queue.name == "r1->r2").of("utilisation")
    assert used is not None
    assert 0.5 < used.first.mean <= 1


def test_all_flows_together_stand_beside_the_single_ones(both: Comparison) -> None:
    assert both.together is not None
    rate = both.together.of("throughput_mbps")
    single = both.flow("first").of("throughput_mbps")
    assert rate is not None
    assert single is not None
    assert rate.first.mean > single.first.mean


def test_one_run_has_differences_and_no_interval(arms: tuple[Batch, Batch]) -> None:
    made = Comparison(Arm("simulated", arms[0].runs[0]), Arm("live", arms[1].runs[0]))
    rtt = made.flow("first").of("rtt_mean_ms")
    assert rtt is not None
    assert not made.has_intervals
    assert rtt.difference.difference.mean == rtt.difference.difference.mean
    told = made.to_json()["flows"][0]["measures"]["rtt_mean_ms"]
    assert told["difference"]["mean"] is not None
    assert (told["difference"]["low"], told["percent"]["high"], told["p_value"]) == (None, None, None)


def test_a_doubted_run_marks_the_comparison_and_is_named(both: Comparison, arms: tuple[Batch, Batch]) -> None:
    assert both.trusted
    made = Comparison(both.first, Arm("live", doubted(arms[1], 2)))
    assert not made.trusted
    assert made.doubts == (f"live: run 2: {LATE}",)
    told = made.to_json()
    assert told["trusted"] is False
    assert [arm["trusted"] for arm in told["arms"]] == [True, False]
    assert told["doubts"] == list(made.doubts)


def test_other_flows_are_refused(arms: tuple[Batch, Batch], one: Run) -> None:
    with pytest.raises(InputError, match=r"simulated has the flows first, voice and live first, second; allowed"):
        Comparison(Arm("simulated", arms[0]), Arm("live", one))


def test_an_arm_without_runs_is_refused(arms: tuple[Batch, Batch]) -> None:
    with pytest.raises(InputError, match="needs a finished run"):
        Comparison(Arm("simulated", arms[0]), Arm("live", replace(arms[1], runs=())))


def test_a_directory_gives_the_comparison_back(both: Comparison, arms: tuple[Batch, Batch], tmp_path: Path) -> None:
    made = Comparison(both.first, Arm("live", doubted(arms[1], 0)))
    comparison.write(made, tmp_path / "r")
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        ".narrows.json",
        "comparison.json",
        "live",
        "simulated",
    ]
    assert kind_of(tmp_path / "r") == "comparison"
    back = comparison.load(tmp_path / "r")
    # The saved scenario is the one as run: its overrides are part of the file.
    assert back.to_json() == made.to_json() | {"overrides": {}}
    kept = json.loads((tmp_path / "r" / "comparison.json").read_text())
    assert [arm.pop("directory") for arm in kept["arms"]] == ["simulated", "live"]
    assert kept == json.loads(json.dumps(made.to_json()))
    assert nw.load(tmp_path / "r" / "live").digest == arms[1].digest


def test_a_directory_of_a_comparison_may_be_written_again_and_no_other(both: Comparison, tmp_path: Path) -> None:
    comparison.write(both, tmp_path / "r")
    comparison.write(both, tmp_path / "r")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something other than"):
        comparison.write(both, tmp_path / "other")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"format": 2, "kind": "comparison"}', '{"format": 1, "kind": "comparison", "arms": []}']
)
def test_a_damaged_directory_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text(content)
    with pytest.raises(InputError, match=r"comparison\.json"):
        comparison.load(tmp_path)


def test_an_arm_outside_the_directory_is_not_read(both: Comparison, tmp_path: Path) -> None:
    comparison.write(both, tmp_path / "r")
    path = tmp_path / "r" / "comparison.json"
    content = json.loads(path.read_text())
    content["arms"][0]["directory"] = "../../elsewhere"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"r/elsewhere: is not a result directory"):
        comparison.load(tmp_path / "r")


def test_a_directory_of_a_comparison_is_no_result_directory_and_the_message_says_so(
    both: Comparison, tmp_path: Path
) -> None:
    comparison.write(both, tmp_path / "r")
    with pytest.raises(InputError, match="holds a comparison; allowed: a result directory, such as those within it"):
        nw.load(tmp_path / "r")


def test_a_notebook_shows_both_and_what_is_doubted(both: Comparison, arms: tuple[Batch, Batch]) -> None:
    shown = both._repr_html_()
    assert "<th>simulated</th><th>live</th><th>difference</th>" in shown
    assert "Not to be trusted" not in shown
    assert f"<li>live: run 1: {LATE}</li>" in Comparison(both.first, Arm("live", doubted(arms[1], 1)))._repr_html_()
    assert f"<li>run 1: {LATE}</li>" in doubted(arms[1], 1)._repr_html_()
