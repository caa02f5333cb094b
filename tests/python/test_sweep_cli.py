"""``narrows sweep``: output, output streams and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from narrows.base.format import clock
from narrows.cli import app
from narrows.studies.sweep import address
from narrows.sweep import load

if TYPE_CHECKING:
    from typer.testing import Result

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

TINY = """
name = "tiny"
scenario = "speed-w1"
seeds = 2
[set]
duration = "300 ms"
start_jitter = "1 ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic"]
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
range = { from = 10, to = 100, step = 10 }
unit = "packets"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "tiny.toml"
    made.write_text(TINY)
    return made


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_sweep_tells_its_size_its_time_and_what_came_of_it(file: Path, tmp_path: Path) -> None:
    shown = narrows("sweep", file, "-o", tmp_path / "out", "--no-progress")
    assert shown.exit_code == 0, shown.stderr
    assert "cc      reno, cubic  (2)" in shown.stderr
    assert "buffer  10, 20, 30, 40, 50, 60, 70, 80, 90, 100 packets  (10)" in shown.stderr
    assert "20 points, 40 runs" in shown.stderr
    assert re.search(r"disk: at most [0-9.]+ [kM]B of .* free, into .*out", shown.stderr)
    assert "throughput_mbps" in shown.stdout
    assert "40 runs; 40 made in" in shown.stdout
    again = narrows("sweep", file, "-o", tmp_path / "out", "--no-progress")
    assert "20 points, 40 runs, 40 of them there already" in again.stderr
    assert "disk" not in again.stderr
    assert "40 runs, 40 of them there before; " in again.stdout


def test_json_tells_the_same_for_machines(file: Path, tmp_path: Path) -> None:
    shown = narrows("sweep", file, "-o", tmp_path / "out", "--json", "--no-progress")
    told = json.loads(shown.stdout)
    assert (told["format"], told["name"], told["points"], told["runs"], told["made"]) == (1, "tiny", 20, 40, 40)
    assert told["axes"][1]["values"] == list(range(10, 101, 10))
    assert (told["kept"], told["failed"], told["failures"], told["seeds"]) == (0, 0, [], [1, 2])
    assert told["digest"] == load(tmp_path / "out").digest
    assert (told["version"], told["build"]) == (address.engine().version, address.engine().build)
    page = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    section = page.partition("## `narrows sweep FILE --json`")[2].partition("\n## ")[0]
    assert [key for key in told if f"`{key}`" not in section] == []
    assert told["data_set"] == str(tmp_path / "out" / "runs")


def test_results_go_into_a_directory_of_the_sweeps_name(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert narrows("sweep", file, "--no-progress").exit_code == 0
    assert len(load("results/tiny").runs) == 40


def test_plan_prints_points_and_runs_nothing(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = narrows("sweep", file, "--plan")
    assert shown.exit_code == 0
    assert ".. 4 more" in shown.stdout
    assert shown.stdout.strip().endswith("20 points under 2 seeds: 40 runs")
    assert re.search(r"20 +cubic +100", shown.stdout)
    told = json.loads(narrows("sweep", file, "--plan", "--json").stdout)
    assert len(told["points"]) == 20
    assert told["points"][19]["labels"] == {"cc": "cubic", "buffer": 100}
    assert told["points"][19]["set"]["topology.link.queue.limit"] == "100 packets"
    assert not (tmp_path / "results").exists()


def test_estimate_keeps_nothing(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = narrows("sweep", file, "--estimate")
    assert re.search(r"tiny: 40 runs, about \d+ s.*, by \d+ runs", shown.stdout)
    told = json.loads(narrows("sweep", file, "--estimate", "--json").stdout)
    assert told["runs"] == 40
    assert told["seconds"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


def test_failures_are_listed_at_the_end_and_the_exit_code_is_1(file: Path, tmp_path: Path) -> None:
    file.write_text(TINY.replace('"cubic"', '"cubbic"'))
    shown = narrows("sweep", file, "-o", tmp_path / "out", "--no-progress")
    assert shown.exit_code == 1
    assert "10 points are refused; the runs will be listed as failed" in shown.stderr
    assert "error: 20 of 40 runs failed; the same command tries them again" in shown.stderr
    assert "cc = cubbic, buffer = 10 packets, seed 1 and 19 more runs" in shown.stderr
    assert f'{file}:8: tcp.cc: "cubbic" is not a congestion control' in shown.stderr
    assert list(load(tmp_path / "out").runs["status"]).count("ok") == 20
    told = json.loads(narrows("sweep", file, "-o", tmp_path / "out", "--no-progress", "--json").stdout)
    assert (told["kept"], told["made"], told["failed"]) == (20, 20, 20)
    assert told["failures"][0]["labels"] == {"cc": "cubbic", "buffer": 10}


def test_a_bad_file_is_refused_with_all_problems(file: Path) -> None:
    file.write_text(TINY.replace("seeds = 2", "seeds = -2").replace("step = 10", "step = 0"))
    shown = narrows("sweep", file)
    assert shown.exit_code == 2
    assert shown.stderr.startswith("error: the sweep is refused: 2 problems\n")
    assert f"{file}:4: seeds is -2; allowed: how many" in shown.stderr
    assert f"{file}:15: axes[1].range.step is 0; allowed: a step that leads from 10 to 100" in shown.stderr


def test_too_many_runs_are_refused_and_plan_still_shows_them(file: Path) -> None:
    file.write_text(TINY + '[[axes]]\npath = "tcp.mss"\nrange = { from = 500, to = 59999, step = 1 }\nunit = "B"\n')
    shown = narrows("sweep", file)
    assert shown.exit_code == 2
    assert "has 1,190,000 points and 2,380,000 runs; allowed: 100,000 runs, or more with --large" in shown.stderr
    assert narrows("sweep", file, "--estimate").exit_code == 2
    assert "1,190,000 points under 2 seeds: 2,380,000 runs" in narrows("sweep", file, "--plan").stdout


def test_a_bar_is_drawn_on_a_terminal_and_leaves_no_trace(file: Path, tmp_path: Path) -> None:
    file.write_text(TINY.replace('"300 ms"', '"20 s"'))
    ours, theirs = pty.openpty()
    command = [*NARROWS, "sweep", str(file), "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    text = seen.decode()
    assert process.returncode == 0
    assert "of 40 runs" in text
    assert "left" in text
    assert re.search(r"time: .*about", text)
    assert text.rstrip().endswith("\x1b[2K"), "the bar is taken away"


def test_times_are_told_as_people_do() -> None:
    assert [clock(seconds) for seconds in (0, 99.4, 99.6, 5399, 5401, 172_799, 172_801)] == [
        "0 s", "99 s", "2 min", "1 h 30 min", "1 h 30 min", "2 d 0 h", "2 d 0 h",
    ]  # fmt: skip
