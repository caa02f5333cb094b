"""The executor that every command shares: what is kept, what is made again, and what reaches a cluster."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from narrows import contest
from narrows.base.errors import InputError, Interrupted, RunError
from narrows.cli import app
from narrows.execution.backend import choose
from narrows.execution.job import Job
from narrows.execution.loop import drive
from narrows.execution.means import Means
from narrows.execution.threads import Threads
from narrows.model.scenario import Scenario
from narrows.runs import simulated as runs
from narrows.runs import tasks
from narrows.store import pending
from narrows.studies.validation import validate
from narrows_papers.frame import execute

if TYPE_CHECKING:
    from pathlib import Path

    from narrows import _core
    from narrows.execution.job import Done
    from narrows.execution.work import Progress

FAKE_NS2 = """#!{python}
import json, sys
{counter}
flows = next(int(one[6:]) for one in sys.argv if one.startswith("flows="))
seconds = next(float(one[9:]) for one in sys.argv if one.startswith("duration="))
flow = {{"delivered_bytes": 1e6, "lost_packets": 1, "timeouts": 0, "cwnd": [10.0] * round(seconds * 10)}}
print(json.dumps({{"version": "2.35", "flows": [flow] * flows}}), file=sys.stderr)
"""


class Square(Job[int]):
    """A job that squares a number; an odd one may fail."""

    def __init__(self, number: int, *, fails: bool = False) -> None:
        self.number = number
        self.fails = fails

    @property
    def key(self) -> str:
        return str(self.number)

    def make(self, gauge: _core.Progress) -> int:
        gauge.check()
        if self.fails:
            message = f"{self.number} failed"
            raise RunError(message)
        return self.number**2


@pytest.fixture
def scenario() -> Scenario:
    return Scenario.from_file("dumbbell-cubic", {"duration": "12 s", "start_jitter": "10 ms"})


def test_all_jobs_end_whatever_the_number_of_threads() -> None:
    for workers in (1, 3):
        backend, waiting, found = Threads(workers), iter([Square(n) for n in range(50)]), dict[str, int]()

        def took(done: Done[int], found: dict[str, int] = found) -> None:
            found[done.job.key] = done.value()

        drive(backend, lambda waiting=waiting: next(waiting, None), took)  # type: ignore[misc]
        backend.stop()
        assert found == {str(n): n**2 for n in range(50)}
        assert not any(thread.is_alive() for thread in backend._threads)


def test_a_failed_job_is_raised_where_its_result_is_asked_for() -> None:
    backend, waiting, ended = Threads(1), iter([Square(1, fails=True), Square(2)]), list[Any]()
    drive(backend, lambda: next(waiting, None), ended.append)
    backend.stop()
    assert [done.error is None for done in ended] == [False, True]
    with pytest.raises(RunError, match="1 failed"):
        ended[0].value()


def test_a_job_that_cannot_travel_says_so_and_options_exclude_each_other() -> None:
    with pytest.raises(InputError, match="can only run on this machine"):
        Square(1).parcel()
    with pytest.raises(InputError, match="--jobs and --dask exclude each other"):
        choose(2, "tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="jobs is 0; allowed: 1 to 4096"):
        choose(0)


def test_a_run_that_travels_comes_back_whole(scenario: Scenario) -> None:
    here = runs.make(runs.Task(scenario, 3, 2), Threads_gauge())
    parcel = tasks.of_task(runs.Task(scenario, 3, 2))
    assert parcel.unpack is not None
    back = parcel.unpack(parcel.function(*parcel.arguments, Threads_gauge()))
    assert (back.digest, back.seed, back.index) == (here.digest, 3, 2)
    assert back.flows == here.flows
    assert back.queues == here.queues
    pd.testing.assert_frame_equal(back.samples.frame("flow"), here.samples.frame("flow"), check_categorical=False)


def Threads_gauge() -> _core.Progress:  # noqa: N802 - made like a class
    from narrows import _core

    return _core.Progress()


def test_an_interrupted_paper_makes_no_run_twice(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [runs.Task(scenario, 5, index) for index in range(6)]
    whole = execute.run_all(wanted, Means(jobs=1), "whole")
    made: list[int] = []
    real = runs.make

    held_back = threading.Event()

    def counted(task: runs.Task, gauge: _core.Progress) -> runs.Run:
        made.append(task.index)
        # The fourth run lasts until Ctrl-C, however late a busy machine looks at the progress.
        while len(made) > 3 and not held_back.is_set():
            gauge.check()
            time.sleep(0.01)
        return real(task, gauge)

    monkeypatch.setattr(runs, "make", counted)

    def press(share: float) -> None:
        if share > 0.4:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(Interrupted, match=r"of 6 runs had finished; the same command continues from there"):
        _kept(wanted, out, press)
    kept = list((tmp_path / "out.runs").glob("*.zip"))
    assert 1 <= len(kept) < 6
    kept[0].write_bytes(b"damaged")
    made.clear()
    held_back.set()
    again = _kept(wanted, out, None)
    assert len(made) == 6 - len(kept) + 1
    assert [run.digest for run in again] == [run.digest for run in whole]
    assert [run.flows for run in again] == [run.flows for run in whole]
    assert not (tmp_path / "out.runs").exists()


def _kept(wanted: list[runs.Task], out: Path, progress: Any) -> list[runs.Run]:
    with pending.kept(out) as held:
        return execute.run_all(wanted, Means(1, None, held, None, progress), "some")


def test_the_runs_beside_an_output_are_never_a_users_directory(scenario: Scenario, tmp_path: Path) -> None:
    theirs = tmp_path / "out.runs"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="holds something other than a set of unfinished runs"):
        _kept([runs.Task(scenario, 1)], tmp_path / "out", None)
    (theirs / "thesis.tex").unlink()
    with pending.kept(tmp_path / "out") as held:
        execute.run_all([runs.Task(scenario, 1)], Means(1, None, held), "some")
        (theirs / "thesis.tex").write_text("precious")
    assert [path.name for path in theirs.iterdir()] == ["thesis.tex"]


@pytest.fixture
def ns2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands in for ns-2 and counts its runs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    count = tmp_path / "count"
    program = folder / "ns"
    counter = f"open({str(count)!r}, 'a').write('x')"
    program.write_text(FAKE_NS2.format(python=sys.executable, counter=counter))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return count


def test_an_interrupted_validation_goes_on_and_removes_its_runs_at_the_end(ns2: Path, tmp_path: Path) -> None:
    shares: list[float] = []

    def press(share: float) -> None:
        shares.append(share)
        if share > 0.3:
            raise KeyboardInterrupt

    page = tmp_path / "page.md"
    with pytest.raises(Interrupted, match="the same command continues from there"), pending.kept(page) as held:
        validate(cc=["reno"], quick=True, jobs=1, keep=held, progress=press)
    journal = tmp_path / "page.runs" / "runs.jsonl"
    before = len(journal.read_text().splitlines())
    assert before > 0
    told: list[Progress] = []

    class Shown:
        def __enter__(self) -> Any:
            return told.append

        def __exit__(self, *_: object) -> None:
            pass

    shares.clear()
    with pending.kept(page) as held:
        made = validate(cc=["reno"], quick=True, jobs=2, keep=held, watch=lambda _: Shown(), progress=shares.append)
    assert shares == sorted(shares)
    assert (told[0].kept, told[-1].done) == (before, told[-1].total)
    assert len(ns2.read_text()) == told[-1].total // 2
    plain = validate(cc=["reno"], quick=True, jobs=2)
    assert made.to_json() == plain.to_json()
    assert not journal.parent.exists()


@pytest.mark.usefixtures("ns2")
def test_a_stopped_ns2_ends_at_once(ns2: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ns"
    program.write_text(f"#!{sys.executable}\nimport time\nopen({str(ns2)!r}, 'a').write('x')\ntime.sleep(600)\n")

    def press(_: float) -> None:
        if ns2.exists():
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="nothing is kept without a directory"):
        validate(cc=["reno"], quick=True, jobs=2, progress=press)


def test_contests_and_papers_are_estimated_like_sweeps() -> None:
    overrides = ["--set", "duration=14 s"]
    shown = CliRunner().invoke(
        app, ["contest", "--cc", "reno,vegas", "--on", "dumbbell-cubic", *overrides, "--estimate", "--json"]
    )
    assert shown.exit_code == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert (told["format"], told["name"], told["runs"]) == (1, "contest", 40)
    assert 0 < told["low"] <= told["seconds"] <= told["high"]
    plan = contest.make("dumbbell-cubic", ["reno"], runs=1, overrides={"duration": "14 s"}, solo=False)
    assert contest.estimate(plan, jobs=1).runs == 1
    shown = CliRunner().invoke(app, ["reproduce", "acns", "--live", "--estimate"])
    assert shown.exit_code == 2
    assert "--estimate: cannot be combined with --live" in shown.stderr
