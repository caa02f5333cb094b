"""What is legal but odd in a scenario: warnings in Python, on the terminal and in JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows.base import bundled
from narrows.cli import app

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """duration = "2 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "5 ms", queue = { kind = "fq_codel", quantum = "300 B" } }
access = { rate = "1 Gb/s", delay = "1 ms" }
[[flows]]
from = "s1"
to = "d1"
"""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.toml"
    path.write_text(TEXT)
    return path


def test_a_scenario_has_its_warnings(odd: Path) -> None:
    (warning,) = nw.Scenario.from_file(odd).warnings
    assert (warning.field, warning.line, warning.value) == ("topology.bottleneck.queue.quantum", 4, '"300 B"')
    assert warning.place == f"{odd}:4"
    assert "is less than one packet" in warning.message
    assert nw.Scenario.from_file(odd, {"topology.bottleneck.queue.quantum": "1514 B"}).warnings == ()


def test_commands_print_them_once_and_json_has_them(odd: Path, tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["run", str(odd), "--json", "--runs", "2", "--output", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    assert made.stderr.count("warning:") == 1
    assert f"{odd}:4: topology.bottleneck.queue.quantum:" in made.stderr
    (told,) = json.loads(made.stdout)["warnings"]
    assert told["field"] == "topology.bottleneck.queue.quantum"
    assert nw.load(tmp_path / "out").summary["warnings"][0]["field"].endswith("quantum")
    assert CliRunner().invoke(app, ["show", str(odd)]).stderr.count("warning:") == 1


@pytest.mark.parametrize("name", sorted(bundled.scenarios()))
def test_no_bundled_scenario_is_odd(name: str) -> None:
    assert nw.Scenario.from_file(name).warnings == ()
