"""Examples for clusters: the Slurm script runs with a stand-in for `srun`; the Kubernetes file is consistent."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest
import yaml
from tests.python import held
from typer.testing import CliRunner

from narrows.base.errors import InputError
from narrows.cli import app
from narrows.sweep import Sweep, execute, load

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

ROOT: Final = Path(__file__).resolve().parents[2]
SCRIPT: Final = ROOT / "examples" / "cluster" / "slurm.sh"
PATIENCE_S: Final = 900

SRUN: Final = """#!/bin/bash
trap 'kill $(jobs -p) 2>/dev/null' TERM EXIT
while [[ $1 == --* ]]; do shift; done
"$@" &
"$@" &
wait
"""
"""Runs its command as two tasks, as Slurm does on two nodes."""

DASK: Final = """#!/bin/bash
if [[ $1 == worker ]]; then set -- "$@" --preload {preload}; fi
exec {python} -m dask "$@"
"""

SWEEP: Final = """
name = "some"
scenario = "speed-w1"
seeds = {seeds}
[set]
duration = "2 s"
start_jitter = "1 ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic"]
"""


class Sbatch(Protocol):
    """Starts the script on a sweep of so many seeds, with workers that make so many runs and then wait."""

    def __call__(self, seeds: int, free: int) -> AbstractContextManager[subprocess.Popen[str]]: ...


@pytest.fixture
def sbatch(tmp_path: Path) -> Sbatch:
    """Return a function that starts the script on a sweep of so many seeds, as `sbatch` does.

    A worker makes so many runs, and waits before the next.
    """
    pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install 'narrows[dask]'")
    programs = tmp_path / "bin"
    programs.mkdir()
    preload = tmp_path / "hold.py"
    for name, text in {
        "srun": SRUN,
        "dask": DASK.format(python=sys.executable, preload=preload),
        "narrows": f'#!/bin/bash\nexec {sys.executable} -c "from narrows.cli import main; main()" "$@"\n',
        "python3": f'#!/bin/bash\nexec {sys.executable} "$@"\n',
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "SLURM_JOB_ID": "7",
        "SLURM_CPUS_PER_TASK": "1",
        "TMPDIR": str(tmp_path),
    }

    def start(seeds: int, free: int) -> AbstractContextManager[subprocess.Popen[str]]:
        (tmp_path / "sweep.toml").write_text(SWEEP.format(seeds=seeds))
        preload.write_text(held.hold(free, tmp_path / "never"))
        return held.started(["bash", str(SCRIPT), "sweep.toml", "out"], env=environment, cwd=tmp_path)

    return start


@pytest.mark.slow
def test_the_slurm_script_runs_a_sweep_and_leaves_nothing_else(sbatch: Sbatch, tmp_path: Path) -> None:
    with sbatch(4, 8) as running:
        _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, errors
    here = execute(Sweep.from_file(tmp_path / "sweep.toml"))
    assert load(tmp_path / "out").digest == here.digest
    assert not list(tmp_path.glob(".narrows-dask-*"))


@pytest.mark.slow
def test_at_slurms_time_limit_finished_runs_are_kept_and_the_same_command_continues(
    sbatch: Sbatch, tmp_path: Path
) -> None:
    with sbatch(10, 4) as running:
        deadline = time.monotonic() + PATIENCE_S
        while running.poll() is None and time.monotonic() < deadline and stored(tmp_path / "out") < 8:
            time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 128 + signal.SIGTERM, errors
    assert "the same command continues from there" in errors
    again = execute(Sweep.from_file(tmp_path / "sweep.toml"), tmp_path / "out")
    assert (again.kept, again.made) == (8, 12)


def stored(out: Path) -> int:
    """Return how many runs are stored."""
    with suppress(InputError):
        return len(load(out).runs)
    return 0


def test_the_slurm_script_is_clean_shell() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    subprocess.run(["shellcheck", str(SCRIPT)], check=True)


def test_the_kubernetes_file_agrees_with_itself_and_with_the_commands() -> None:
    text = (ROOT / "examples" / "cluster" / "kubernetes.yaml").read_text("utf-8")
    objects: dict[tuple[str, str], Any] = {
        (one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)
    }
    pods = {name: one["spec"]["template"] for (kind, name), one in objects.items() if kind in {"Deployment", "Job"}}
    assert set(pods) == {"narrows-scheduler", "narrows-worker", "narrows-sweep"}
    containers = {name: pod["spec"]["containers"][0] for name, pod in pods.items()}
    assert len({one["image"] for one in containers.values()}) == 1  # workers of another build are refused

    service = objects["Service", "narrows-scheduler"]["spec"]
    port = service["ports"][0]["port"]
    assert str(port) in containers["narrows-scheduler"]["command"]
    assert service["selector"] == pods["narrows-scheduler"]["metadata"]["labels"]
    address = f"tcp://narrows-scheduler:{port}"
    assert address in containers["narrows-worker"]["command"]
    command = containers["narrows-sweep"]["command"]
    assert command[command.index("--dask") + 1] == address
    for name in ("narrows-scheduler", "narrows-worker"):
        assert objects["Deployment", name]["spec"]["selector"]["matchLabels"] == pods[name]["metadata"]["labels"]

    sweep = pods["narrows-sweep"]["spec"]
    mounts = {one["name"]: one["mountPath"] for one in sweep["containers"][0]["volumeMounts"]}
    assert {one["name"] for one in sweep["volumes"]} == set(mounts)
    assert command[command.index("-o") + 1].startswith(mounts["results"])
    assert command[2].startswith(mounts["sweep"])
    claims = {one["persistentVolumeClaim"]["claimName"] for one in sweep["volumes"] if "persistentVolumeClaim" in one}
    assert claims == {name for kind, name in objects if kind == "PersistentVolumeClaim"}

    shown = CliRunner().invoke(app, ["sweep", "--help"]).stdout
    assert all(word in shown for word in command if isinstance(word, str) and word.startswith("--"))


@pytest.mark.parametrize("what", ["scheduler", "worker"])
def test_dask_knows_the_options_of_the_kubernetes_file(what: str) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install 'narrows[dask]'")
    text = (ROOT / "examples" / "cluster" / "kubernetes.yaml").read_text("utf-8")
    (command,) = [line for line in text.splitlines() if f"[dask, {what}," in line]
    shown = subprocess.run([sys.executable, "-m", "dask", what, "--help"], capture_output=True, text=True, check=True)
    options = [word.strip(",]") for word in command.split() if word.startswith("--")]
    assert options
    assert all(option in shown.stdout for option in options)
