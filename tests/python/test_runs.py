"""Runs: equal for any number of jobs, in order, with errors that name the failed run."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.plainly import as_json

import narrows as nw
from narrows import _core
from narrows.base.errors import InputError, Interrupted, RunError, ScenarioError
from narrows.outcome import Batch, Run
from narrows.runs import captures
from narrows.runs.simulated import Task, processors, run_all

if TYPE_CHECKING:
    from narrows.model.scenario import Scenario


def test_the_same_seed_gives_the_same_digest(short: Scenario, one: Run) -> None:
    again = nw.run(short, seed=3)
    assert again.digest == one.digest
    assert again.summary == one.summary


def test_dctcp_keeps_the_queue_at_the_marking_threshold_and_the_link_full() -> None:
    dctcp, reno = (
        nw.run("dctcp-marking", overrides={"duration": "5 s", "tcp.cc": cc}).queues[0] for cc in ("dctcp", "reno")
    )
    used = [queue.utilisation or 0 for queue in (dctcp, reno)]
    assert used[0] > 0.99
    assert used[1] < 0.97 * used[0]
    assert 0 < (dctcp.delay_p95_ms or 0) < 1.5 * 20 * 1500 * 8 / 1e6
    assert dctcp.marked_packets > 1000 * dctcp.dropped_packets


def test_triple_duplicate_acks_come_with_losses_and_not_without() -> None:
    small, large = (
        nw.run("dumbbell-cubic", overrides={"duration": "12 s", "topology.bottleneck.queue.limit": limit}).flows[0]
        for limit in ("20 packets", "100000 packets")
    )
    assert small.lost_packets > 0
    assert (small.fast_retransmits or 0) > 0
    assert (small.triple_duplicate_acks or 0) >= (small.fast_retransmits or 0)
    assert (small.later_duplicate_acks or 0) > (small.triple_duplicate_acks or 0)
    assert (large.lost_packets, large.triple_duplicate_acks) == (0, 0)


def test_window_options_are_counted_where_ngwa_runs() -> None:
    limits = {"topology.bottleneck.queue.limit": "75000 B", "topology.access.queue.limit": "1500 kB"}
    on, off = (
        nw.run("dumbbell-cubic", overrides={"duration": "12 s", **limits, "ngwa.enabled": enabled}).flows[0]
        for enabled in (True, False)
    )
    # Besides the data, the SYN and the ACK of its answer have the option.
    assert 1000 < (on.window_options or 0) <= on.arrived_packets + 2
    assert on.window_options_ignored == 0
    assert (off.window_options, off.window_options_ignored) == (0, 0)


def test_another_seed_gives_another_digest(short: Scenario, one: Run) -> None:
    assert nw.run(short, seed=4).digest != one.digest


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_digests_and_order_do_not_depend_on_the_number_of_jobs(jobs: int, short: Scenario, three: Batch) -> None:
    made = nw.run(short, seed=3, runs=3, jobs=jobs)
    assert isinstance(made, Batch)
    assert [run.index for run in made.runs] == [0, 1, 2]
    assert [run.digest for run in made.runs] == [run.digest for run in three.runs]
    assert made.digest == three.digest


def test_a_run_alone_is_the_first_of_a_batch(one: Run, three: Batch) -> None:
    assert three.runs[0].digest == one.digest
    assert len({run.digest for run in three.runs}) == 3


def test_results_are_in_order_even_if_the_first_ends_last(short: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _core.run
    ended: list[int] = []
    others_are_over = threading.Event()

    def slow_first(scenario: Any, seed: int, index: int, progress: Any, where: str | None, *own: Any) -> Any:
        if index == 0:
            assert others_are_over.wait(20)
        made = real(scenario, seed, index, progress, where, *own)
        ended.append(index)
        if len(ended) == 2:
            others_are_over.set()
        return made

    monkeypatch.setattr(_core, "run", slow_first)
    made = run_all([Task(short, 3, index) for index in range(3)], jobs=3)
    assert ended[-1] == 0
    assert [run.index for run in made] == [0, 1, 2]


def test_means_and_estimates_are_over_the_runs(three: Batch) -> None:
    name = three.flows[0].name
    values = three.values("flow", name, "throughput_mbps")
    assert len(values) == 3
    numbers = [value for value in values if value is not None]
    assert three.flow(name).throughput_mbps == pytest.approx(sum(numbers) / 3)
    estimate = three.estimate("flow", name, "throughput_mbps")
    assert estimate.low <= estimate.mean <= estimate.high
    assert three.estimate("queue", three.queues[0].name, "utilisation").n == 3


def test_names_that_do_not_exist_are_refused_with_those_that_do(three: Batch) -> None:
    with pytest.raises(InputError, match=f"allowed: {three.flows[0].name}"):
        three.flow("nobody")
    with pytest.raises(InputError, match="throughput_mbps"):
        three.values("flow", three.flows[0].name, "luck")


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"seed": 2**64}, {"runs": 0}, {"jobs": 0}])
def test_numbers_out_of_range_are_refused(arguments: dict[str, int], short: Scenario) -> None:
    name, value = next(iter(arguments.items()))
    with pytest.raises(InputError, match=f"{name} is {value}; allowed"):
        nw.run(short, **arguments)  # type: ignore[call-overload]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to write to")
def test_packets_that_fill_the_disk_are_a_failed_run_with_the_systems_reason(short: Scenario, tmp_path: Path) -> None:
    (tmp_path / "r1-r2.pcapng").symlink_to("/dev/full")
    with pytest.raises(RunError, match=r"r1-r2\.pcapng: No space left on device"):
        nw.run(short, pcap=captures.Staged(tmp_path))


def test_captures_replace_earlier_ones_and_no_file_of_the_users(short: Scenario, tmp_path: Path) -> None:
    folder = tmp_path / "captured"
    nw.run(short, seed=1, pcap=folder)
    first = (folder / "r1-r2.pcapng").read_bytes()
    (folder / "notes.txt").write_text("mine")
    nw.run(short, seed=2, pcap=folder)
    assert (folder / "r1-r2.pcapng").read_bytes() != first
    (folder / "r1-r2.pcapng").write_bytes(b"mine too")
    with pytest.raises(InputError, match=r"r1-r2\.pcapng: was not written by Narrows, or has been changed since"):
        nw.run(short, seed=3, pcap=folder)
    assert (folder / "r1-r2.pcapng").read_bytes() == b"mine too"
    assert (folder / "notes.txt").read_text() == "mine"
    (tmp_path / "several" / "run-1").mkdir(parents=True)
    theirs = tmp_path / "several" / "run-1" / "s1-r1.pcapng"
    theirs.write_bytes(b"theirs")
    with pytest.raises(InputError, match=r"run-1/s1-r1\.pcapng: was not written by Narrows"):
        nw.run(short, runs=2, pcap=tmp_path / "several")
    assert [path for path in (tmp_path / "several").rglob("*") if path.is_file()] == [theirs]


def test_progress_ends_at_one_and_never_falls(short: Scenario) -> None:
    seen: list[float] = []
    nw.run(short, runs=4, jobs=2, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_no_runs_are_no_runs() -> None:
    assert run_all([]) == []


def test_there_is_a_processor() -> None:
    assert processors() >= 1


def test_a_failed_run_says_which_and_stops_the_others(short: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[int] = []

    def fail_second(_scenario: Any, _seed: int, index: int, progress: Any, _where: str | None, *_own: Any) -> Any:
        if index == 1:
            message = "out of luck"
            raise ValueError(message)
        wait_until_stopped(progress, stopped, index)

    monkeypatch.setattr(_core, "Progress", Gauge)
    monkeypatch.setattr(_core, "run", fail_second)
    with pytest.raises(RunError, match="run 1 with seed 3 failed: out of luck"):
        nw.run(short, seed=3, runs=3, jobs=3)
    assert set(stopped) <= {0, 2}  # a run that had not begun does not begin


def test_an_interruption_stops_what_runs_and_keeps_what_is_finished(
    short: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _core.run
    stopped: list[int] = []

    def second_never_ends(scenario: Any, seed: int, index: int, progress: Any, where: str | None, *own: Any) -> Any:
        if index == 0:
            return real(scenario, seed, index, None, where, *own)
        return wait_until_stopped(progress, stopped, index)

    def press_ctrl_c(fraction: float) -> None:
        if fraction > 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(_core, "Progress", Gauge)
    monkeypatch.setattr(_core, "run", second_never_ends)
    with pytest.raises(Interrupted) as caught:
        nw.run(short, seed=3, runs=5, jobs=2, progress=press_ctrl_c)
    assert [run.index for run in caught.value.finished.runs] == [0]
    assert caught.value.asked == 5
    assert set(stopped) <= {1, 2}
    assert isinstance(caught.value, KeyboardInterrupt)


def test_a_capture_that_fails_is_a_failed_run(short: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        message = "cannot write the capture a-b.pcapng: No space left on device"
        raise OSError(message)

    monkeypatch.setattr(_core, "run", full)
    with pytest.raises(RunError, match="No space left"):
        nw.run(short)


def test_every_problem_of_a_scenario_is_told_with_its_place() -> None:
    with pytest.raises(ScenarioError) as caught:
        nw.Scenario.from_text('nonsense = 1\nmore_nonsense = "2"\n', "a.toml")
    places = [problem.place for problem in caught.value.problems]
    assert {"a.toml:1", "a.toml:2"} <= set(places)
    assert all(problem.message for problem in caught.value.problems)


def test_an_override_that_is_refused_names_itself() -> None:
    with pytest.raises(ScenarioError, match="--set"):
        nw.Scenario.from_file("dumbbell-cubic", {"no.such.field": 1})


def test_a_dictionary_overrides_a_table() -> None:
    given = {"cc": "cubic", "cc_params": {"profile": "linux", "beta": 0.5, "abe": True}}
    scenario = nw.Scenario.from_file("standard", {"tcp": given})
    assert 'profile = "linux", c = 0.4, beta = 0.5' in scenario.to_toml()
    assert "abe = true" in scenario.to_toml()
    with pytest.raises(ScenarioError, match="is not a parameter of cubic"):
        scenario.with_overrides({"tcp.cc_params": {'odd "name"': 1}})


def test_overrides_add_up(short: Scenario) -> None:
    more = short.with_overrides({"seed": 99})
    assert (more.duration_s, more.seed) == (12.0, 99)
    assert more.overrides == {"duration": "12 s", "seed": "99"}


def test_what_show_prints_is_a_scenario_that_means_the_same(short: Scenario, one: Run) -> None:
    again = nw.Scenario.from_text(short.to_toml())
    assert as_json(again) == as_json(short)
    assert nw.run(again, seed=3).digest == one.digest


@pytest.mark.parametrize("name", ["no-such-scenario", "no/such/file.toml"])
def test_a_file_that_does_not_exist_is_told(name: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        nw.Scenario.from_file(name)


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(InputError, match="did you mean dumbbell-cubic"):
        nw.Scenario.from_file("dumbell-cubic")


def test_notebooks_get_tables(short: Scenario, one: Run, three: Batch) -> None:
    flow = one.flows[0].name
    assert flow in short._repr_html_()
    assert "polyline" in one._repr_html_()
    assert "±" in three._repr_html_()
    assert f"<td>{flow}</td>" in three._repr_html_()
    assert one.digest in one._repr_html_()


class Gauge:
    """A progress whose stop is visible in Python."""

    def __init__(self) -> None:
        """Create a progress that is not stopped."""
        self.stopped = threading.Event()

    def fraction(self) -> float:
        """Return no progress."""
        return 0.0

    def stop(self) -> None:
        """Stop."""
        self.stopped.set()

    def check(self) -> None:
        """Raise if stopped."""
        if self.stopped.is_set():
            message = "the run was stopped before its end"
            raise _core.Stopped(message)


def wait_until_stopped(progress: Gauge, stopped: list[int], index: int) -> Any:
    assert progress.stopped.wait(20), "nobody stopped this run"
    stopped.append(index)
    message = "the run was stopped before its end"
    raise _core.Stopped(message)
