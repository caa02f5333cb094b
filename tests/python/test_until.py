"""Runs until a wanted precision is reached: equal for any number of jobs, in order, interruptible and reported."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows import _core
from narrows.base.errors import InputError, Interrupted, RunError
from narrows.cli import app
from narrows.outcome import Batch
from narrows.runs.until import metric_of, run_until
from narrows.stats import Precision, mean_ci

if TYPE_CHECKING:
    from narrows.model.scenario import Scenario
    from narrows.outcome import Run
    from narrows.runs.until import State

METRIC = "flow.second.throughput_mbps"
WANTED = Precision(relative=0.3, least=3)
SEED = 5  # some of its first runs have a timeout, so three runs are not enough


@pytest.fixture(scope="module")
def made(short: Scenario) -> Batch:
    """Return the runs that are needed for the second flow's throughput within 30 %."""
    return run_until(short, WANTED, METRIC, seed=SEED)


def test_it_stops_at_the_first_run_that_will_do(made: Batch) -> None:
    values = made.values("flow", "second", "throughput_mbps")
    assert made.until is not None
    assert made.until.met
    assert made.until.runs == len(made.runs) > 3
    assert all(not WANTED.met(mean_ci(values[:n])) for n in range(1, len(values)))
    assert made.until.estimate == made.estimate("flow", "second", "throughput_mbps")


def test_it_is_the_batch_of_as_many_runs(short: Scenario, made: Batch) -> None:
    assert nw.run(short, seed=SEED, runs=len(made.runs)).digest == made.digest


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_the_number_of_jobs_changes_nothing(jobs: int, short: Scenario, made: Batch) -> None:
    assert run_until(short, WANTED, METRIC, seed=SEED, jobs=jobs).summary == made.summary


def test_only_the_order_of_indices_counts_even_if_the_first_ends_last(
    short: Scenario, made: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, third = _core.run, threading.Event()
    ended: list[int] = []

    def slow_first(scenario: Any, seed: int, index: int, progress: Any, where: str | None, *own: Any) -> Any:
        if index == 0:
            assert third.wait(20)
        result = real(scenario, seed, index, progress, where, *own)
        ended.append(index)
        if len(ended) == 3:
            third.set()
        return result

    monkeypatch.setattr(_core, "run", slow_first)
    assert run_until(short, WANTED, METRIC, seed=SEED, jobs=2).digest == made.digest
    assert ended.index(0) >= 3


def test_a_failure_beyond_what_is_needed_does_not_matter(
    short: Scenario, made: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = _core.run, len(made.runs)

    def fails_from(first: int) -> Any:
        def run(scenario: Any, seed: int, index: int, progress: Any, where: str | None, *own: Any) -> Any:
            if index >= first:
                message = "out of luck"
                raise ValueError(message)
            return real(scenario, seed, index, progress, where, *own)

        return run

    monkeypatch.setattr(_core, "run", fails_from(count))
    assert run_until(short, WANTED, METRIC, seed=SEED, jobs=4).digest == made.digest
    monkeypatch.setattr(_core, "run", fails_from(count - 1))
    with pytest.raises(RunError, match=f"run {count - 1} with seed {SEED} failed: out of luck"):
        run_until(short, WANTED, METRIC, seed=SEED, jobs=4)


def test_the_most_runs_end_it_and_that_is_said(short: Scenario) -> None:
    batch = run_until(short, Precision(relative=1e-4, least=2, most=4), METRIC, seed=SEED)
    assert batch.until is not None
    assert (len(batch.runs), batch.until.met) == (4, False)
    assert "NOT reached" in batch.until.told()
    assert "4 runs, the most allowed" in batch.until.told()
    assert batch.summary["until"]["reached"] is False


def test_ctrl_c_keeps_the_runs_without_a_gap(short: Scenario) -> None:
    def press(state: State) -> None:
        if state.runs >= 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run_until(short, Precision(relative=1e-4, most=1000), METRIC, seed=SEED, jobs=2, progress=press)
    finished = caught.value.finished
    assert [run.index for run in finished.runs] == list(range(len(finished.runs)))
    assert finished.until is not None
    assert not finished.until.met
    assert finished.until.runs == len(finished.runs) >= 2
    assert f"{len(finished.runs)} of at most 1000 runs had finished" in str(caught.value)


def test_progress_tells_how_many_runs_and_ends_at_one(short: Scenario) -> None:
    seen: list[State] = []
    batch = run_until(short, WANTED, METRIC, seed=SEED, progress=seen.append)
    assert (seen[-1].fraction, seen[-1].runs, seen[-1].needed) == (1.0, len(batch.runs), len(batch.runs))
    assert all(0 <= state.fraction <= 1 and state.runs <= state.needed for state in seen)


def test_a_result_directory_remembers(made: Batch, tmp_path: Path) -> None:
    made.save(tmp_path / "out")
    again = nw.load(tmp_path / "out")
    assert isinstance(again, Batch)
    assert again.until == made.until
    assert again.digest == made.digest


def test_every_view_says_why_there_are_so_many_runs(made: Batch, tmp_path: Path) -> None:
    assert made.until is not None
    assert made.until.told() in made._repr_html_()
    assert made.until.told() in made.report(tmp_path / "out").read_text(encoding="utf-8")


def test_packets_of_runs_begun_ahead_are_dropped(short: Scenario, tmp_path: Path) -> None:
    batch = run_until(short, Precision(relative=0.9, least=2), seed=SEED, jobs=4, pcap=tmp_path / "pcap")
    assert sorted(path.name for path in (tmp_path / "pcap").glob("run-*")) == [f"run-{run.index}" for run in batch.runs]


def test_metrics_are_found_by_name(one: Run) -> None:
    begin, end = min(flow.start_s for flow in one.flows), one.scenario.duration_s
    arrived = sum(flow.arrived_bytes for flow in one.flows)
    assert metric_of("throughput_mbps")(one) == pytest.approx(8e-6 * arrived / (end - begin))
    assert (metric_of("goodput_mbps")(one) or 0) < (metric_of("throughput_mbps")(one) or 0) <= 10
    assert metric_of("jain")(one) == one.jain
    assert metric_of("queue.r1->r2.utilisation")(one) == one.queue("r1->r2").utilisation


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("luck", "metric is 'luck'; allowed: throughput_mbps"),
        ("flow.first", "metric is 'flow.first'; allowed"),
        ("flow.first.luck", "'luck' is not a metric of a flow; allowed: start_s"),
        ("flow.nobody.rtt_mean_ms", "allowed flows: first, second"),
        ("queue.nowhere.utilisation", "queue is 'nowhere'; allowed: r1->r2"),
    ],
)
def test_metrics_that_do_not_exist_are_refused(name: str, message: str, short: Scenario) -> None:
    with pytest.raises(InputError, match=message):
        run_until(short, 0.1, name)


def command(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["run", "dumbbell-cubic", "--set", "duration=12 s", "--seed", str(SEED), *arguments])


def test_the_command_line_runs_until(made: Batch) -> None:
    done = command("--until", "30%", "--until-metric", METRIC, "--runs", "3", "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told == json.loads(json.dumps(made.summary))
    assert told["until"]["reached"] is True
    assert told["until"]["relative_half_width"] <= 0.3


def test_the_documentation_of_the_json_has_every_key(made: Batch) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    missing = [key for key in made.summary["until"] if f"`{key}`" not in page]
    assert not missing


def test_the_command_line_says_plainly_that_it_gave_up() -> None:
    done = command("--until", "1%", "--until-metric", METRIC, "--max-runs", "3")
    assert done.exit_code == 0
    assert "NOT reached" in done.stdout
    assert f"warning: {METRIC}: NOT reached" in done.stderr
    assert "--max-runs allows more" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--until", "2"], "--until 2: is not a width; allowed"),
        (["--until", "0%"], "--until 0%: is not a width; allowed"),
        (["--until", "nan%"], "--until nan%: is not a width; allowed"),
        (["--until", "2%", "--runs", "1"], "--runs 1: is too few with --until"),
        (["--until", "2%", "--max-runs", "1"], "--max-runs 1: is too few with --until"),
        (["--until", "2%", "--runs", "9", "--max-runs", "8"], "--max-runs 8: allowed"),
        (["--max-runs", "8"], "--max-runs 8: needs --until"),
        (["--until-metric", "jain"], "--until-metric jain: needs --until"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], message: str) -> None:
    done = command(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
