"""Scenarios and sweeps from standard input: ``-`` where a verb takes a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import narrows as nw

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
SHORT = ["--set", "duration=12 s"]


def piped(text: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command with a text on standard input."""
    command = [*NARROWS, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def dumbbell() -> str:
    """The text of the reference scenario."""
    return (SCENARIOS / "dumbbell-cubic.toml").read_text(encoding="utf-8")


def test_a_run_takes_standard_input(dumbbell: str, tmp_path: Path) -> None:
    """Results are those of the file, also with an output directory and several runs."""
    shown = piped(dumbbell, "run", "-", *SHORT, "--runs", "2", "--json", "-o", str(tmp_path / "r"))
    assert shown.returncode == 0, shown.stderr
    wanted = nw.run("dumbbell-cubic", runs=2, overrides={"duration": "12 s"})
    assert json.loads(shown.stdout)["digest"] == wanted.digest
    assert nw.load(tmp_path / "r").digest == wanted.digest


def test_what_show_prints_can_be_run(dumbbell: str) -> None:
    """A pipe from one verb to another gives the same run."""
    shown = piped(dumbbell, "show", "-", *SHORT)
    assert shown.stdout.startswith("#:schema ")
    digest = nw.run("dumbbell-cubic", overrides={"duration": "12 s"}).digest
    assert digest in piped(shown.stdout, "run", "-").stdout


def test_a_scenario_without_a_name_is_called_stdin() -> None:
    """A dash is no name."""
    first = nw.Scenario.from_text((SCENARIOS / "dumbbell-cubic.toml").read_text(encoding="utf-8")).text
    nameless = "\n".join(line for line in first.splitlines() if not line.startswith("name"))
    assert 'name = "stdin"' in piped(nameless, "show", "-").stdout


def test_a_sweep_takes_standard_input(tmp_path: Path) -> None:
    """Without a name the sweep is called so, and its results are in results/sweep."""
    text = 'scenario = "dumbbell-cubic"\naxes = [{ path = "tcp.cc", values = ["reno", "cubic"] }]\n'
    shown = piped(text, "sweep", "-", *SHORT, "--no-progress", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    frame = nw.sweep.load(tmp_path / "results" / "sweep").to_pandas()
    assert sorted(frame[frame["kind"] == "run"]["tcp.cc"]) == ["cubic", "reno"]


def test_a_contest_takes_standard_input() -> None:
    """Also where the file is the value of an option."""
    text = (SCENARIOS / "contest-wired.toml").read_text(encoding="utf-8")
    settings = ["--runs", "1", "--no-solo", "--no-progress", "--set", "duration=15 s", "--json"]
    shown = piped(text, "contest", "--cc", "cubic,reno", "--on", "-", *settings)
    assert shown.returncode == 0, shown.stderr


def test_what_is_wrong_in_standard_input_has_its_line() -> None:
    """A dash stands for the file; an empty input points to `narrows init`."""
    wrong = piped('duration = "10mins"\n', "run", "-")
    assert wrong.returncode == 2
    assert '-:1: duration: "10mins" is not a time, did you mean "10 min"?' in wrong.stderr
    empty = piped("", "run", "-")
    assert (
        "-: this file has no settings; allowed: a scenario in TOML; `narrows init` writes a first one" in empty.stderr
    )
    table = piped(":\n  - a\n", "run", "-")
    assert "-:1: this is not TOML" in table.stderr
    assert "`narrows init` writes a first one" in table.stderr
