"""Sweeps on a Dask cluster: a scheduler and two workers in separate processes; one worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python import held

from narrows import contest
from narrows.base.errors import InputError, RunError
from narrows.execution.cluster import remote
from narrows.execution.means import Means
from narrows.model import own
from narrows.runs.simulated import Task, run_all
from narrows.studies.sweep import address as addresses
from narrows.sweep import Sweep, execute, load
from narrows_papers.frame import execute as papers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install 'narrows[dask]'")

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]
DASK = [sys.executable, "-m", "dask"]
ROOT = str(Path(__file__).resolve().parents[2] / "python")

OWN = """
import narrows

@narrows.congestion_control("steady")
class Steady:
    "A window that stays."
    def on_ack(self, ack, path, window):
        if path.now_s > {patience}:
            raise RuntimeError("enough")
        window.cwnd = 10 * path.smss
    def on_congestion(self, event, path, window):
        window.ssthresh = window.cwnd
"""

SOME = """
name = "some"
scenario = "speed-w1"
seeds = 8
[set]
duration = "4 s"
start_jitter = "1 ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic", "agile_sd"]
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = [5, 50]
unit = "packets"
"""
RUNS = 48

PATIENCE_S = 900
"""Longest wait for a sweep, s: workers share this machine with other tests."""


class LocalCluster:
    """A scheduler and workers in separate processes."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self._contact = folder / "scheduler.json"
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._contact)
        )
        deadline = time.monotonic() + 60
        # The scheduler creates the file before it writes to it.
        while not self._is_told() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.address: str = json.loads(self._contact.read_text())["address"]

    def _is_told(self) -> bool:
        return self._contact.exists() and self._contact.read_text().rstrip().endswith("}")

    def start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": ROOT, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
        log = (self._folder / f"{what}-{time.monotonic_ns()}.log").open("wb")
        command = [*DASK, what, *arguments, "--no-dashboard"]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self._folder)

        def end() -> None:
            process.kill()
            process.wait()
            log.close()

        self._stack.callback(end)
        return process

    def worker(self, *more: str | Path) -> subprocess.Popen[bytes]:
        return self.start(
            "worker", "--scheduler-file", str(self._contact), "--nthreads", "1", "--no-nanny",
            "--local-directory", str(self._folder), *map(str, more),
        )  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with ExitStack() as stack:
        yield LocalCluster(stack, folder)
    own.unregister("steady")


def sweep(*arguments: str | Path) -> AbstractContextManager[subprocess.Popen[str]]:
    return held.started([*NARROWS, "sweep", *map(str, arguments)])


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Return a file that does not exist: workers wait for it before their fifth run."""
    return tmp_path / "gate"


@pytest.fixture
def holding(gate: Path, tmp_path: Path) -> tuple[str, Path]:
    """Return the arguments that let a worker wait for the gate."""
    preload = tmp_path / "hold.py"
    preload.write_text(held.hold(4, gate))
    return "--preload", preload


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(
    cluster: LocalCluster, holding: tuple[str, Path], gate: Path, tmp_path: Path
) -> None:
    victim, survivor = cluster.worker(*holding), cluster.worker(*holding)
    file, out = tmp_path / "some.toml", tmp_path / "out"
    file.write_text(SOME)
    with sweep(file, "-o", out, "--dask", cluster.address, "--json") as running:
        under_way(running, out, 8)
        assert (victim.poll(), survivor.poll()) == (None, None)
        victim.send_signal(signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
        gate.touch()
        output, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, errors
    told: dict[str, Any] = json.loads(output)
    assert (told["made"], told["failed"]) == (RUNS, 0)
    assert survivor.poll() is None
    assert told["digest"] == execute(Sweep.from_file(file)).digest
    # Content addresses do not depend on the backend: here the same directory has nothing left to run.
    here = execute(Sweep.from_file(file), out)
    assert (here.kept, here.made) == (RUNS, 0)


def under_way(running: subprocess.Popen[str], out: Path, least: int) -> None:
    """Wait until so many runs are stored, which leaves others that are held."""
    deadline = time.monotonic() + PATIENCE_S
    while running.poll() is None and time.monotonic() < deadline:
        with suppress(InputError):  # nothing is stored yet
            if len(load(out).runs) >= least:
                break
        time.sleep(0.1)
    assert running.poll() is None, running.communicate()
    assert len(load(out).runs) == least


@pytest.mark.slow
def test_a_scheduler_that_dies_is_told_and_the_sweep_goes_on_elsewhere(
    cluster: LocalCluster, holding: tuple[str, Path], tmp_path: Path
) -> None:
    cluster.worker(*holding)
    file, out = tmp_path / "some.toml", tmp_path / "out"
    file.write_text(SOME)
    with sweep(file, "-o", out, "--dask", cluster.address, "--no-progress") as running:
        under_way(running, out, 4)
        cluster.scheduler.kill()
        _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1
    assert f"error: --dask {cluster.address}: the scheduler is gone; finished runs are kept, and the same" in errors
    assert "Traceback" not in errors
    here = execute(Sweep.from_file(file), out)
    assert (here.kept, here.made, here.failures) == (4, RUNS - 4, [])


@pytest.mark.slow
def test_own_congestion_controls_and_failures_travel(cluster: LocalCluster, tmp_path: Path) -> None:
    cluster.worker()
    cluster.worker()
    file, code = tmp_path / "some.toml", tmp_path / "steady.py"
    code.write_text(OWN.format(patience=0.5))
    text = SOME.replace('"reno", "cubic", "agile_sd"', '"steady", "reno", "cubbic"').replace('"4 s"', '"700 ms"')
    file.write_text(text.replace("seeds = 8", "seeds = 2"))
    with sweep(file, "-o", tmp_path / "out", "--dask", cluster.address, "--load", code) as running:
        _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1
    assert "error: 8 of 12 runs failed; the same command tries them again" in errors
    assert "steady: on_ack raised RuntimeError: enough" in errors
    assert 'tcp.cc: "cubbic" is not a congestion control' in errors
    code.write_text(OWN.format(patience=9))
    with sweep(file, "-o", tmp_path / "out", "--dask", cluster.address, "--load", code, "--json") as mended:
        output, _ = mended.communicate(timeout=PATIENCE_S)
    told = json.loads(output)
    assert (told["kept"], told["made"], told["failed"]) == (4, 8, 4)
    own.load(code)
    assert told["digest"] == execute(Sweep.from_file(file)).digest


@pytest.mark.slow
def test_contests_and_papers_run_on_a_cluster_with_the_same_results(cluster: LocalCluster, tmp_path: Path) -> None:
    cluster.worker()
    code = tmp_path / "steady.py"
    code.write_text(OWN.format(patience=99))
    own.load(code)
    plan = contest.make("dumbbell-cubic", ["reno", "steady"], runs=1, overrides={"duration": "12 s"}, solo=False)
    there = contest.execute(plan, tmp_path / "c", dask=cluster.address)
    assert there.records == contest.execute(plan, jobs=2).records
    assert contest.execute(plan, tmp_path / "c", jobs=1).kept == 4
    tasks = [Task(plan.scenario, 3, index) for index in range(3)]
    made = papers.run_all(tasks, Means(dask=cluster.address), "some")
    here = run_all(tasks)
    assert [run.digest for run in made] == [run.digest for run in here]
    assert [run.flows for run in made] == [run.flows for run in here]


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(SOME)
    with sweep(file, "-o", tmp_path / "out", "--dask", "tcp://127.0.0.1:9", "--no-progress") as process:
        _, errors = process.communicate(timeout=90)
    assert process.returncode == 2
    assert "error: --dask tcp://127.0.0.1:9: no scheduler answers there" in errors
    assert not (tmp_path / "out").exists()
    with sweep(file, "-o", tmp_path / "out", "--dask", "not an address", "--no-progress") as odd:
        _, errors = odd.communicate(timeout=90)
    assert odd.returncode == 2
    assert "Traceback" not in errors


def test_a_worker_with_another_engine_makes_no_run() -> None:
    mine = addresses.engine()
    other = replace(mine, release="0.0.1")
    with pytest.raises(RunError, match=r"the worker has narrows .*, and the job needs .*0\.0\.1"):
        remote(other, {}, print)
