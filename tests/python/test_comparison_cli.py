"""`narrows run --both`: what it runs, prints, keeps and refuses. Simulations stand in for live runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows import comparison
from narrows.base.errors import Interrupted, LiveError
from narrows.cli import app
from narrows.outcome import Batch
from narrows.studies.comparison import measures

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

    from narrows.model.scenario import Scenario
    from narrows.outcome import Run

DOC = Path(__file__).resolve().parents[2] / "docs" / "json.md"
SCENARIO = """
name = "pair"
title = "One flow"
duration = "2 s"
start_jitter = "50 ms"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "4 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[[flows]]
name = "bulk"
from = "s1"
to = "d1"

[[flows]]
name = "other"
from = "s2"
to = "d2"
"""
LATE = "the bottleneck was late"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Return a function that replaces live runs with simulations and returns the list of requested numbers of runs."""

    def install(*, trusted: bool = True, fail: LiveError | None = None) -> list[int]:
        asked: list[int] = []

        def run(scenario: Scenario, runs: int = 1, progress: Any = None, kept: Any = None) -> Run | Batch:
            asked.append(runs)
            if fail is not None:
                raise fail
            made = nw.run(scenario, seed=scenario.seed + 7, runs=runs, progress=progress, kept=kept)
            told = {"kernel_release": "6.18", "trusted": trusted, "doubts": [] if trusted else [LATE]}
            kept = tuple(replace(one, conditions=told) for one in made.runs)
            return replace(made, runs=kept) if isinstance(made, Batch) else kept[0]

        module = ModuleType("narrows.runs.live")
        module.__dict__["run"] = run
        monkeypatch.setitem(sys.modules, "narrows.runs.live", module)
        return asked

    return install


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_both_are_run_compared_and_kept(file: Path, stand_in: Callable[..., list[int]], tmp_path: Path) -> None:
    asked = stand_in()
    shown = narrows("run", file, "--both", "--runs", "2", "-o", tmp_path / "r")
    assert (shown.exit_code, asked) == (0, [2])
    for part in ("2 simulated and 2 live runs", "bulk", "Throughput", "cwnd, mean", "r1->r2", "Kernel release: 6.18"):
        assert part in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    made = comparison.load(tmp_path / "r")
    assert [len(arm.outcome.runs) for arm in made.arms] == [2, 2]
    assert made.first.outcome.digest != made.second.outcome.digest
    assert nw.load(tmp_path / "r" / "simulated").digest == nw.run(file, runs=2).digest


def test_a_page_is_made_of_both(file: Path, stand_in: Callable[..., list[int]], tmp_path: Path) -> None:
    stand_in()
    narrows("run", file, "--both", "-q", "-o", tmp_path / "r")
    shown = narrows("report", tmp_path / "r")
    assert shown.exit_code == 0
    text = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "simulated beside live" in text
    assert sorted(p.name for p in (tmp_path / "r").iterdir()) == [
        ".narrows.json",
        "comparison.json",
        "figures",
        "live",
        "report.html",
        "simulated",
    ]


def test_where_live_is_not_available_nothing_is_simulated_and_nothing_kept(
    file: Path, stand_in: Callable[..., list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(fail=LiveError("live runs are not available here: not root; run it with sudo", "unavailable"))

    def never(*_: object, **__: object) -> None:
        pytest.fail("something was simulated")

    monkeypatch.setattr("narrows.runs.simulated.run", never)
    shown = narrows("run", file, "--both", "-o", tmp_path / "r")
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert "not available here" in shown.stderr
    assert not (tmp_path / "r").exists()


def test_a_doubted_run_is_told(file: Path, stand_in: Callable[..., list[int]]) -> None:
    stand_in(trusted=False)
    assert "NOT TO BE TRUSTED" in narrows("run", file, "--both").stdout
    shown = narrows("run", file, "--both", "--json")
    assert json.loads(shown.stdout)["doubts"] == [f"live: {LATE}"]
    assert LATE in shown.stderr


@pytest.mark.parametrize("option", [["--until", "2%"], ["--pcap", "-o", "x"], ["--load", "a.py"]])
def test_what_does_not_go_together_is_refused(
    option: list[str], file: Path, stand_in: Callable[..., list[int]]
) -> None:
    asked = stand_in()
    shown = narrows("run", file, "--both", *option)
    assert (shown.exit_code, shown.stdout, asked) == (2, "", [])
    assert f"{option[0]} cannot be combined with --both" in shown.stderr


@pytest.mark.parametrize(("option", "part"), [("--runs", "runs is 0"), ("--jobs", "jobs is 0")])
def test_a_bad_number_is_refused_before_anything_runs(
    option: str, part: str, file: Path, stand_in: Callable[..., list[int]]
) -> None:
    asked = stand_in()
    shown = narrows("run", file, "--both", option, "0")
    assert (shown.exit_code, asked) == (2, [])
    assert part in shown.stderr


def test_the_seed_is_that_of_both(file: Path, stand_in: Callable[..., list[int]], tmp_path: Path) -> None:
    stand_in()
    narrows("run", file, "--both", "--seed", "5", "-q", "-o", tmp_path / "r")
    made = comparison.load(tmp_path / "r")
    assert made.scenario.seed == 5
    assert made.first.outcome.digest == nw.run(file, seed=5).digest


@pytest.mark.parametrize("phase", ["live", "simulated"])
def test_ctrl_c_keeps_the_finished_runs_of_both_arms(
    phase: str,
    file: Path,
    stand_in: Callable[..., list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in()
    real, ended, asked = nw.run, tmp_path / "r", 3

    def interrupted(scenario: Scenario, runs: int = 1, seed: int | None = None, **given: Any) -> Run | Batch:
        in_phase = (seed is not None) == (phase == "live")  # the stand-in for live runs gives a seed
        made = real(scenario, runs=2 if in_phase else runs, seed=seed, kept=given["kept"])
        if in_phase:
            raise Interrupted(replace(made, scenario=scenario), runs)  # type: ignore[arg-type]  # a Batch, of 2 runs
        return made

    with monkeypatch.context() as patch:
        patch.setattr(nw, "run", interrupted)
        patch.setattr("narrows.runs.simulated.run", interrupted)
        shown = narrows("run", file, "--both", "--runs", str(asked), "-o", ended)
    assert shown.exit_code == 130
    finished = 2 if phase == "live" else 5
    assert f"interrupted: {finished} of 6 runs had finished" in shown.stderr
    assert "continues from there, and with --runs 2 writes the results of 2 runs" in shown.stderr
    assert shown.stdout == ""
    assert not ended.exists()
    assert len(list((tmp_path / "r.runs").glob("*.zip"))) == finished
    for out in (ended, tmp_path / "whole"):
        assert narrows("run", file, "--both", "--runs", str(asked), "-q", "-o", out).exit_code == 0
    assert comparison.load(ended).to_json() == comparison.load(tmp_path / "whole").to_json()
    assert not (tmp_path / "r.runs").exists()


NUMBER = {"type": ["number", "null"]}
ESTIMATE = {
    "type": "object",
    "properties": {**dict.fromkeys(["mean", "low", "high"], NUMBER), "n": {"type": "integer"}},
    "required": ["mean", "low", "high", "n"],
    "additionalProperties": False,
}
MEASURE = {
    "type": "object",
    "properties": {**dict.fromkeys(["first", "second", "difference", "percent"], ESTIMATE), "p_value": NUMBER},
    "required": ["first", "second", "difference", "percent", "p_value"],
    "additionalProperties": False,
}


def measured(wanted: tuple[measures.Measure, ...]) -> dict[str, Any]:
    properties = {measure.key: MEASURE for measure in wanted}
    return {"type": "object", "properties": properties, "minProperties": 1, "additionalProperties": False}


def test_json_has_the_promised_shape(file: Path, stand_in: Callable[..., list[int]]) -> None:
    stand_in()
    made = json.loads(narrows("run", file, "--both", "--json", "--runs", "2").stdout)
    arm: dict[str, Any] = {
        "label": {"type": "string"},
        "seed": {"type": "integer"},
        "runs": {"const": 2},
        "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "trusted": {"type": "boolean"},
        "doubts": {"type": "array", "items": {"type": "string"}},
        "conditions": {"type": "array", "items": {"type": ["object", "null"]}, "minItems": 2, "maxItems": 2},
    }
    name = {"name": {"type": "string"}}
    flow = {**name, "cc": {"type": ["string", "null"]}, "measures": measured(measures.FLOW)}
    queue = {**name, "measures": measured(measures.QUEUE)}
    properties: dict[str, Any] = {
        "format": {"const": 1},
        "kind": {"const": "comparison"},
        "scenario": {"const": "pair"},
        "duration_s": {"const": 2},
        "overrides": {"type": "object"},
        "version": {"type": "string"},
        "confidence": {"const": 0.95},
        "arms": {"type": "array", "items": closed(arm), "minItems": 2, "maxItems": 2},
        "trusted": {"type": "boolean"},
        "doubts": {"type": "array"},
        "flows": {"type": "array", "items": closed(flow), "minItems": 2, "maxItems": 2},
        "queues": {"type": "array", "items": closed(queue), "minItems": 1},
        "together": measured(measures.TOGETHER),
    }
    jsonschema.validate(made, closed(properties))
    assert [one["label"] for one in made["arms"]] == ["simulated", "live"]
    rate = made["flows"][0]["measures"]["throughput_mbps"]
    assert rate["difference"]["mean"] == pytest.approx(rate["second"]["mean"] - rate["first"]["mean"])
    assert rate["difference"]["low"] < rate["difference"]["mean"] < rate["difference"]["high"]


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def test_every_measure_is_documented() -> None:
    text = DOC.read_text(encoding="utf-8").split("## `narrows run FILE --both --json`")[1].split("\n## ")[0]
    for measure in (*measures.FLOW, *measures.QUEUE, *measures.TOGETHER):
        assert f"`{measure.key}`" in text, measure.key
