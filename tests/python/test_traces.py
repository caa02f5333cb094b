"""Traces of deliveries: where they are found, what is refused, and that results carry them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.base import bundled

if TYPE_CHECKING:
    from narrows.model.resolved import Trace

TEXT = """
name = "t"
duration = "2 s"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = { trace = "x.trace" }, delay = "5 ms" }]
flows = [{ name = "f", from = "a", to = "b" }]
"""


def _trace(scenario: nw.Scenario) -> Trace:
    trace = scenario.resolved.links[0].forward.trace
    assert trace is not None
    return trace


def test_a_trace_is_relative_to_its_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.toml").write_text(TEXT)
    (tmp_path / "x.trace").write_text("1\n3\n")
    scenario = nw.Scenario.from_file(tmp_path / "t.toml")
    assert (_trace(scenario).rows, _trace(scenario).period_ns) == (2, 3_000_000)
    assert _trace(scenario.with_overrides({"duration": "1 s"})).rows == 2
    monkeypatch.chdir(tmp_path)
    assert _trace(nw.Scenario.from_text(TEXT)).rows == 2


def test_a_bundled_scenario_finds_its_trace_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _trace(nw.Scenario.from_file("cellular")).kind == "opportunities"
    assert _trace(nw.Scenario.from_file("cellular").with_overrides({"duration": "5 s"})).repeat


def test_a_saved_result_needs_no_trace(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TEXT)
    (tmp_path / "x.trace").write_text("1\n3\n")
    made = nw.run(nw.Scenario.from_file(tmp_path / "t.toml"))
    (tmp_path / "x.trace").unlink()
    again = nw.run(nw.Scenario.from_text(made.scenario.to_toml()))
    assert isinstance(made, nw.Run)
    assert isinstance(again, nw.Run)
    assert made.digest == again.digest


def test_a_wrong_trace_is_refused_with_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TEXT)
    (tmp_path / "x.trace").write_text("3\n1\n")
    with pytest.raises(nw.ScenarioError, match=r'x\.trace:2: links\[0\]\.rate\.trace: "1" is before the 3 ms above it'):
        nw.Scenario.from_file(tmp_path / "t.toml")
    (tmp_path / "x.trace").unlink()
    with pytest.raises(nw.ScenarioError, match=r"x\.trace does not exist"):
        nw.Scenario.from_file(tmp_path / "t.toml")
    (tmp_path / "x.trace").mkdir()
    with pytest.raises(nw.ScenarioError, match="is something else"):
        nw.Scenario.from_file(tmp_path / "t.toml")


def test_the_traces_that_travel_with_narrows_are_those_of_their_seeds() -> None:
    tool = Path(__file__).parents[2] / "tools" / "traces.py"
    assert subprocess.run([sys.executable, str(tool)], check=False).returncode == 0
    folder = bundled.directory("scenarios") / "traces"
    for path in sorted(folder.iterdir()):
        scenario = nw.Scenario.from_text(TEXT, str(folder / "t.toml"), {"links[0].rate.trace": f'"{path.name}"'})
        assert _trace(scenario).rows > 500
