"""Killed sweeps: no finished run is lost or repeated, whenever it happens."""

from __future__ import annotations

import json
import random
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.python import held

from narrows.base.errors import InputError
from narrows.sweep import Sweep, execute, load

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from narrows.sweep import SweepResult

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

PATIENCE_S = 300

FEW = 6
"""Runs that a process makes before it waits to be killed."""


def start(file: Path, out: Path, *more: str, free: int = FEW) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start a sweep that waits after so many runs, for a file that never exists."""
    narrows = held.narrows(free, file.parent / "never")
    return held.started([*narrows, "sweep", str(file), "-o", str(out), "--no-progress", *more])


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
    """Wait until more runs are stored than before."""
    deadline = time.monotonic() + PATIENCE_S
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
    raise AssertionError(f"no more than {before} runs were stored; the sweep's exit code is {process.poll()}")


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
    for _ in range(5):
        with start(file, out) as process:
            wait_for_more(process, out, len(safe))
            time.sleep(draw.uniform(0, 0.4))
            process.kill()
            process.communicate()
        assert process.returncode == -signal.SIGKILL, f"seed {seed}"
        made = there(out)
        assert made is not None
        now = dict(zip(made.runs["address"], made.runs["cpu_s"], strict=True))
        # Processor time differs from run to run, so equal times show that a run was not repeated.
        assert {key: now.get(key) for key in safe} == safe, f"seed {seed}"
        safe = now
    assert 5 <= len(safe) <= 5 * FEW, f"seed {seed}"
    with start(file, out, "--json", free=RUNS) as process:
        told, _ = process.communicate(timeout=PATIENCE_S)
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
    with start(file, out, "--jobs", "1") as process:
        wait_for_more(process, out, FEW - 1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert output == ""
    assert "Traceback" not in errors
    assert len(load(out).runs) == FEW
    assert f"error: interrupted: {FEW} of 36 runs had finished; the same command continues from there" in errors
