"""Batches that are interrupted or killed, and continue with the same command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.python import held
from typer.testing import CliRunner

import narrows as nw
from narrows.base.errors import Interrupted
from narrows.cli import app
from narrows.outcome import Batch
from narrows.runs import kept, simulated
from narrows.store import results
from narrows.studies.sweep import address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

RUNS = 12


@pytest.fixture
def scenario() -> nw.Scenario:
    """A short scenario with samples."""
    return nw.Scenario.load("dumbbell-cubic", {"duration": "12 s"})


def command(out: Path, *more: str, narrows: Sequence[str] = NARROWS) -> list[str]:
    """Return a batch of some runs."""
    settings = ["--set", "duration=12 s", "--runs", str(RUNS), "--jobs", "2", "--no-progress", "-q"]
    return [*narrows, "run", "dumbbell-cubic", *settings, "-o", str(out), *more]


def ended(arguments: list[str], number: signal.Signals, store: Path, least: int) -> tuple[int, str, float]:
    """Start a command, send a signal once some runs are kept, and return its exit code, messages and delay."""
    with held.started(["env", "--default-signal", *arguments]) as process:
        deadline = time.monotonic() + 120
        while len(list(store.glob("*.zip"))) < least:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "too few runs were kept"
            time.sleep(0.05)
        begun = time.monotonic()
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
        return process.returncode, told, time.monotonic() - begun


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_batch_continues_with_the_same_command(number: signal.Signals, tmp_path: Path) -> None:
    """Nothing that had finished is made again, and the result equals that of a batch that nothing interrupted."""
    out, store = tmp_path / "r", tmp_path / "r.runs"
    code, told, _ = ended(command(out, narrows=held.narrows(3, tmp_path / "never")), number, store, 3)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    there = {path.name: path.stat().st_mtime_ns for path in store.glob("*.zip")}
    assert len(there) == 3
    assert not out.exists(), "results are left to the command that continues"
    if number != signal.SIGKILL:
        assert f"the same command continues from there, and with --runs {len(there)} writes the results" in told
    again = command(out)
    again.remove("-q")
    shown = subprocess.run(again, capture_output=True, text=True, timeout=300, check=False)
    assert shown.returncode == 0, shown.stderr
    assert f"{len(there)} runs kept in {store}, which this command continues" in shown.stderr
    assert not store.exists(), "the runs are removed once the results are written"
    made = nw.load(out)
    wanted = nw.run("dumbbell-cubic", runs=RUNS, overrides={"duration": "12 s"})
    assert made.digest == wanted.digest
    assert made.summary["flows"] == wanted.summary["flows"]
    assert made.samples.to_arrow().equals(wanted.samples.to_arrow())


@pytest.mark.parametrize("options", [[], ["--until", "0.01%", "--max-runs", "6"]], ids=["runs", "until"])
def test_a_stop_writes_no_results_and_the_named_options_do(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever number of runs has finished, a stop does no work for them; nothing of them is lost."""
    whole = simulated.make
    made: list[int] = []

    def make(task: nw.Task, gauge: Any) -> nw.Run:
        if task.index == 3 and 3 not in made:
            made.append(3)
            os.kill(os.getpid(), signal.SIGINT)
            while True:  # until the main thread hears it, which stops the run
                gauge.check()
                time.sleep(0.01)
        made.append(task.index)
        return whole(task, gauge)

    monkeypatch.setattr(simulated, "make", make)
    out = tmp_path / "r"
    fixed = ["run", "dumbbell-cubic", "--set", "duration=12 s", "--jobs", "1", "--no-progress", "-o", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr(results, "fill", _only_on_threads(results.fill))
        shown = CliRunner().invoke(app, [*fixed, *(options or ["--runs", "6"])])
    assert (shown.exit_code, shown.stdout) == (130, ""), shown.output
    fewer = "--runs 3 --max-runs 3" if options else "--runs 3"
    assert f"the same command continues from there, and with {fewer} writes the results of 3 runs" in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["r.runs"]
    made.clear()
    named = [*options[:2], *fewer.split()]
    assert CliRunner().invoke(app, [*fixed, *named]).exit_code == 0
    assert made == [], "the finished runs are not made again"
    assert nw.load(out).digest == nw.run("dumbbell-cubic", runs=3, overrides={"duration": "12 s"}).digest


def _only_on_threads(fill: Any) -> Any:
    """Return a function that fails on the main thread: only the threads of runs write, each the run that it made."""

    def checked(*arguments: Any) -> None:
        assert threading.current_thread() is not threading.main_thread()
        fill(*arguments)

    return checked


def test_what_ran_is_told_apart_by_scenario_seed_and_index(scenario: nw.Scenario) -> None:
    """Another scenario, seed or index has another address; the name has none."""
    first = address.of_runs(scenario, 1)
    assert first(0) != first(1)
    assert first(0) != address.of_runs(scenario, 2)(0)
    assert first(0) != address.of_runs(scenario.with_overrides({"tcp.cc": "reno"}), 1)(0)
    assert first(0) != address.of_runs(scenario, 1, ["live on 6.1"])(0)
    assert first(0) == address.of_runs(scenario.with_overrides({"name": "other"}), 1)(0)


@pytest.fixture
def store(scenario: nw.Scenario, tmp_path: Path) -> Iterator[kept.Kept]:
    """An empty set of kept runs."""
    with kept.beside(tmp_path / "r") as opened:
        yield kept.Kept(opened, address.of_runs(scenario, 1))


def test_a_kept_run_comes_back_whole(scenario: nw.Scenario, store: kept.Kept) -> None:
    """Metrics, samples and state are those of the run, and the scenario is the caller's."""
    sampled = scenario.with_overrides({"sampling": '{ interval = "100 ms", state = true }'})
    run = nw.run(sampled, seed=1)
    assert store.get(sampled, 0) is None
    store.put(run)
    found = store.get(sampled, 0)
    assert found is not None
    assert found.scenario is sampled
    assert found.summary == run.summary
    assert found.samples.to_arrow().equals(run.samples.to_arrow())
    assert found.samples.state.frame().equals(run.samples.state.frame())
    assert store.count(5) == 1


def test_a_damaged_run_is_made_again(scenario: nw.Scenario, store: kept.Kept, tmp_path: Path) -> None:
    """A torn archive counts as none, and is removed."""
    run = nw.run(scenario, seed=1)
    store.put(run)
    (archive,) = (tmp_path / "r.runs").glob("*.zip")
    whole = archive.read_bytes()
    method = whole.index(b"PK\x01\x02") + 10  # how the first file is compressed
    unknown = whole[:method] + b"\x63" + whole[method + 1 :]
    encrypted = whole[: method - 2] + b"\x01" + whole[method - 1 :]
    for torn in (whole[: len(whole) // 2], b"", b"\0" * len(whole), unknown, encrypted):
        archive.write_bytes(torn)
        assert store.get(scenario, 0) is None
        assert not archive.exists()


def test_kept_runs_are_read_without_a_file_each(scenario: nw.Scenario, store: kept.Kept, tmp_path: Path) -> None:
    """Samples stay readable when their archives are gone, and leave no files to remove at the end of a command."""
    runs = [nw.run(scenario, seed=1).runs[0], nw.run(scenario, seed=1, runs=2).runs[1]]
    for run in runs:
        store.put(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        patch.setattr(tempfile, "tempdir", None)
        found = [store.get(scenario, index) for index in (0, 1)]
        assert [path.name for path in tmp_path.iterdir()] == ["r.runs"]
    for archive in (tmp_path / "r.runs").glob("*.zip"):
        archive.unlink()
    for run, one in zip(runs, found, strict=True):
        assert one is not None
        assert one.samples.to_arrow().equals(run.samples.to_arrow())


def test_runs_until_a_precision_continue_too(scenario: nw.Scenario, store: kept.Kept) -> None:
    """The rule looks at kept runs as at others."""
    batch = nw.run(scenario, seed=1, runs=3, kept=store)
    assert isinstance(batch, Batch)

    def make(task: nw.Task, gauge: Any) -> nw.Run:
        pytest.fail(f"run {task.index} is made again with {gauge}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "make", make)
        until = nw.run_until(scenario, nw.stats.Precision(relative=0.5, least=3, most=3), seed=1, kept=store)
    assert until.digest == batch.digest


def test_an_interruption_in_python_keeps_what_finished(
    scenario: nw.Scenario, store: kept.Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next call makes the rest alone."""
    interrupted = threading.Event()
    whole = simulated.make

    def make(task: nw.Task, gauge: Any) -> nw.Run:
        # However late the hook is called, these have not finished by then.
        if task.index >= 3:
            interrupted.wait(timeout=300)
        return whole(task, gauge)

    def stop(fraction: float) -> None:
        if fraction >= 0.5:
            interrupted.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(simulated, "make", make)
    with pytest.raises(Interrupted):
        nw.run(scenario, seed=1, runs=6, jobs=1, progress=stop, kept=store)
    assert 0 < store.count(6) < 6
    assert nw.run(scenario, seed=1, runs=6, kept=store).digest == nw.run(scenario, seed=1, runs=6).digest


def test_captures_begin_again(tmp_path: Path) -> None:
    """A batch with captures keeps no runs: captures are in its results alone."""
    arguments = [*NARROWS, "run", "dumbbell-cubic", "--set", "duration=12 s", "--runs", "2", "-q", "--pcap", "-o"]
    subprocess.run([*arguments, str(tmp_path / "r")], check=True, timeout=300)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_another_directory_of_that_name_is_left_alone(tmp_path: Path) -> None:
    """What is in NAME.runs and not ours blocks the command before anything runs."""
    (tmp_path / "r.runs").mkdir()
    (tmp_path / "r.runs" / "mine.txt").write_text("mine")
    shown = subprocess.run(command(tmp_path / "r"), capture_output=True, text=True, timeout=300, check=False)
    assert shown.returncode == 2
    assert "r.runs: holds something other than" in shown.stderr
    assert (tmp_path / "r.runs" / "mine.txt").read_text() == "mine"
