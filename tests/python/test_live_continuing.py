"""Batches of live runs, and of both worlds, that are interrupted and continue; how soon a batch ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.test_continuing import NARROWS, command, ended

import narrows as nw
from narrows.base.errors import LiveError
from narrows.runs import live

if TYPE_CHECKING:
    from pathlib import Path

PROMPT_S = 1.0
"""Within how many seconds a command ends after a signal."""

SETTINGS = ["linux-vs-rfc", "--set", "duration=3 s", "--runs", "3", "--no-progress"]


@pytest.fixture(autouse=True)
def possible() -> None:
    """Skip the tests of live runs where there can be none."""
    try:
        live.check(nw.Scenario.load("linux-vs-rfc"))
    except LiveError as error:
        pytest.skip(str(error))


def finished(*arguments: str) -> tuple[Any, str]:
    """Run a command to its end, and return its JSON and its messages."""
    shown = subprocess.run([*NARROWS, *arguments, "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout), shown.stderr


def test_one_signal_ends_a_batch_at_once(tmp_path: Path) -> None:
    """The command ends within a second on a machine that has time for it, also when many runs have finished."""
    delays = []
    for attempt in range(3):
        out = tmp_path / f"r{attempt}"
        # The last --runs counts.
        _, told, delay = ended(command(out, "--runs", "10000"), signal.SIGINT, tmp_path / f"r{attempt}.runs", 200)
        assert "interrupted" in told
        delays.append(delay)
        if delay < PROMPT_S:
            return
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    assert min(delays) < PROMPT_S * max(1.0, 2 * load), delays


def test_live_runs_continue(tmp_path: Path) -> None:
    """The same command makes the rest, and the kept run is the one that was made."""
    out = str(tmp_path / "r")
    code, told, delay = ended([*NARROWS, "live", *SETTINGS, "-o", out], signal.SIGINT, tmp_path / "r.runs", 1)
    assert code == 130, told
    assert "interrupted: 1 of 3 runs had finished; the same command continues from there" in told
    assert delay < 3 * PROMPT_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    (archive,) = (tmp_path / "r.runs").glob("*.zip")
    first = json.loads(zipfile.ZipFile(archive).read("summary.json"))["digest"]
    made, told = finished("live", *SETTINGS, "-o", out)
    assert "1 run kept in" in told
    assert [run["run"] for run in made["runs_detail"]] == [0, 1, 2]
    assert made["runs_detail"][0]["digest"] == first
    assert made["runs_detail"][0]["conditions"]["kernel"].startswith(os.uname().release)
    assert not (tmp_path / "r.runs").exists()


def test_both_worlds_continue(tmp_path: Path) -> None:
    """Live runs that are there are not made again, and those of the simulator follow."""
    out = str(tmp_path / "r")
    both = ["run", *SETTINGS, "--both", "-o", out]
    code, told, _ = ended([*NARROWS, *both], signal.SIGINT, tmp_path / "r.runs", 2)
    assert code == 130, told
    assert "of 6 runs had finished, live and simulated together; the same command continues from there" in told
    there = sorted(path.name for path in (tmp_path / "r.runs").glob("*.zip"))
    made, _ = finished(*both)
    assert len(there) >= 2
    assert made["arms"]
    assert [len(nw.load(tmp_path / "r" / name).runs) for name in ("live", "simulated")] == [3, 3]
    assert not (tmp_path / "r.runs").exists()
