"""Killed sweeps: no finished run is lost or repeated, whenever it happens."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from narrows.base.errors import InputError
from narrows.sweep import Sweep, execute, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from narrows.sweep import SweepResult

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

SOME = """
name = "some"
scenario = "speed-w1"
seeds = 6
[set]
duration = "30 s"
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
RUNS = 36


def start(file: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [*NARROWS, "sweep", str(file), "-o", str(out), "--no-progress", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def there(out: Path) -> SweepResult | None:
    with suppress(InputError):
        return load(out)
    return None


def stored(out: Path) -> Iterator[tuple[str, int]]:
    """Names of the files with runs, and when they were written."""
    for path in (out / "runs").glob("part-*.parquet"):
        with suppress(OSError):
            yield path.name, path.stat().st_mtime_ns


def wait_for_more(process: subprocess.Popen[str], out: Path, before: int) -> None:
    """Wait until more runs are stored than before, or the sweep has ended."""
    deadline = time.monotonic() + 90
    seen: set[tuple[str, int]] = set()
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
        parts = set(stored(out))
        if parts <= seen:  # reading the same again takes processor time from the sweep
            continue
        seen |= parts
        made = there(out)
        if made is not None and len(made.table) and len(made.runs) > before:
            return


def undisturbed(file: Path) -> SweepResult:
    return execute(Sweep.from_file(file))


def same(made: SweepResult, other: SweepResult) -> None:
    """Check for the same addresses, once each, with the same digests and metrics."""
    assert made.runs["address"].is_unique
    left, right = (result.to_pandas().drop(columns=["cpu_s", "wall_s"]) for result in (made, other))
    pd.testing.assert_frame_equal(left, right)
    assert made.digest == other.digest


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_and_repeats_nothing(tmp_path: Path) -> None:
    file, out = tmp_path / "some.toml", tmp_path / "out"
    file.write_text(SOME)
    seed = random.randrange(2**32)  # noqa: S311 - times of kills, not secrets
    draw = random.Random(seed)  # noqa: S311
    safe: dict[str, float] = {}
    kills = 0
    for _ in range(5):
        process = start(file, out)
        wait_for_more(process, out, len(safe))
        time.sleep(draw.uniform(0, 0.4))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        made = there(out)
        if made is None or not len(made.table):
            continue
        now = dict(zip(made.runs["address"], made.runs["cpu_s"], strict=True))
        # Processor time differs from run to run, so equal times show that a run was not repeated.
        assert {key: now.get(key) for key in safe} == safe, f"seed {seed}"
        safe = now
    assert kills >= 2, f"seed {seed}: the sweep was over too soon to be killed"
    told, _ = start(file, out, "--json").communicate(timeout=120)
    last: dict[str, Any] = json.loads(told)
    assert (last["kept"], last["made"], last["failed"]) == (len(safe), RUNS - len(safe), 0), f"seed {seed}"
    final = load(out)
    cpu = dict(zip(final.runs["address"], final.runs["cpu_s"], strict=True))
    assert {key: cpu[key] for key in safe} == safe, f"seed {seed}"
    same(final, undisturbed(file))
    names = [".narrows.json", "figures", "lock", "report.html", "runs", "scenarios", "sweep.json", "sweep.toml"]
    assert sorted(path.name for path in out.iterdir()) == names


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(tmp_path: Path) -> None:
    file, out = tmp_path / "some.toml", tmp_path / "out"
    file.write_text(SOME)
    process = start(file, out, "--jobs", "1")
    wait_for_more(process, out, 0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == ""
    assert "Traceback" not in errors
    made = load(out)
    kept = len(made.runs)
    assert 0 < kept < RUNS
    assert f"error: interrupted: {kept} of 36 runs had finished; the same command continues from there" in errors
    assert not [path for path in (out / "runs").iterdir() if path.name.startswith(".")]


def test_a_second_sweep_on_the_directory_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    file, out = tmp_path / "some.toml", tmp_path / "out"
    file.write_text(SOME)
    first = start(file, out, "--jobs", "1")
    wait_for_more(first, out, 0)
    second = start(file, out)
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 2
    assert f"error: {out}: another sweep is writing there; allowed: one at a time" in errors
    first.kill()
    first.communicate()
