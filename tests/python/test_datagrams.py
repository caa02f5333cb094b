"""Datagrams: one-way delays, frames and calls, and their way into results, reports and comparisons."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import narrows as nw
from narrows.cli import tables
from narrows.metrics.datagrams import datagram_metrics
from narrows.studies.comparison.comparison import Arm, Comparison

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
duration = "10 s"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "20 Mb/s", delay = "5 ms", queue = { limit = "100 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }
[[flows]]
name = "call"
kind = "call"
from = "d1"
to = "s1"
[[flows]]
name = "short"
kind = "udp"
from = "s2"
to = "d2"
rate = "10 kb/s"
payload = "8 B"
[[flows]]
name = "bulk"
from = "s2"
to = "d2"
start = "1 s"
"""


@pytest.fixture(scope="module")
def scenario() -> nw.Scenario:
    return nw.Scenario.from_text(TEXT, "t.toml")


@pytest.fixture(scope="module")
def run(scenario: nw.Scenario) -> nw.Run:
    made = nw.run(scenario, seed=1)
    assert isinstance(made, nw.Run)
    return made


@pytest.fixture(scope="module")
def batch(scenario: nw.Scenario) -> nw.Batch:
    made = nw.run(scenario, seed=1, runs=3)
    assert isinstance(made, nw.Batch)
    return made


def test_metrics_are_those_of_the_totals() -> None:
    totals = {"delay_samples": 4, "delay_sum_ns": 10_000_000, "delay_p99_ns": 4_000_000, "late_packets": 1}
    made = datagram_metrics("x", totals | {"frames": 8, "complete_frames": 6, "jitter_ns": None})
    assert (made.arrived_packets, made.delay_mean_ms, made.delay_p99_ms, made.late_packets) == (4, 2.5, 4, 1)
    assert (made.incomplete_ratio, made.jitter_ms, made.duplicate_packets) == (0.25, None, 0)
    none = datagram_metrics("x", {"delay_samples": 0, "delay_sum_ns": 0, "frames": 0, "complete_frames": 0})
    assert (none.delay_mean_ms, none.delay_p50_ms, none.incomplete_ratio) == (None, None, None)
    assert datagram_metrics("x", {}).frames is None


def test_a_call_waits_behind_a_bulk_flow(run: nw.Run) -> None:
    up, down = run.datagrams
    assert (up.name, down.name) == ("call-up", "call-down")
    assert up.frames is None
    assert down.frames == 300
    assert up.delay_min_ms is not None
    assert down.delay_min_ms is not None
    assert up.delay_min_ms > 7
    # 100 packets at 20 Mb/s take 60 ms; the bulk flow has the direction of the frames.
    assert down.delay_p99_ms is not None
    assert down.delay_max_ms is not None
    assert up.delay_max_ms is not None
    assert 40 < down.delay_p99_ms < down.delay_max_ms < 75
    assert up.delay_max_ms < 10


def test_the_summary_has_them(run: nw.Run, batch: nw.Batch) -> None:
    assert run.summary["datagrams"][0] == run.datagrams[0].to_dict()
    means = [one.datagrams[1].delay_mean_ms for one in batch.runs]
    assert batch.datagrams[1].delay_mean_ms == pytest.approx(sum(m for m in means if m is not None) / 3)
    assert batch.summary["runs_detail"][2]["datagrams"][0] == batch.runs[2].datagrams[0].to_dict()
    json.dumps(batch.summary, allow_nan=False)
    assert "datagrams" not in nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"}).summary


def test_report_comparison_and_terminal_show_them(tmp_path: Path, run: nw.Run, batch: nw.Batch) -> None:
    page = batch.report(tmp_path / "out").read_text(encoding="utf-8")
    assert "call-down" in page
    assert "Incomplete" in page
    made = Comparison(Arm("one", batch), Arm("other", run))
    assert [subject.name for subject in made.datagrams] == ["call-up", "call-down"]
    assert {"delay_mean_ms", "delay_p99_ms"} <= set(made.to_json()["datagrams"][0]["measures"])
    out = Console(file=io.StringIO(), width=120)
    tables.print_result(run, 1.0, out)
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "datagrams" in shown
    assert "call-up" in shown


def test_a_stored_result_has_them(tmp_path: Path, run: nw.Run) -> None:
    run.save(tmp_path / "out")
    again = nw.load(tmp_path / "out")
    assert again.datagrams == run.datagrams
