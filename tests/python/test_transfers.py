"""Transfers: completion times, slow-downs, video players, and their way into results, reports and comparisons."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.console import Console

import narrows as nw
from narrows.cli import tables
from narrows.metrics.transfers import class_names, nearest_rank, playback_metrics, transfer_metrics
from narrows.report import transfers as drawn
from narrows.studies.comparison import comparison
from narrows.studies.comparison.comparison import Arm, Comparison

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
duration = "10 s"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "50 Mb/s", delay = "5 ms", queue = { limit = "100 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }
[[workloads]]
name = "web"
from = "s*"
to = "d*"
pairs = 2
load = 0.5
size = { distribution = "pareto", mean = "60 kB", max = "5 MB" }
[[flows]]
name = "video"
kind = "video"
from = "d1"
to = "s1"
start = "1 s"
ladder = ["1 Mb/s", "4 Mb/s"]
segment = "1 s"
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


def test_metrics_are_those_of_finished_transfers() -> None:
    size, took = np.array([10.0, 20.0, 30.0, 40.0]), np.array([0.1, 0.2, 0.4, np.nan])
    made = transfer_metrics("x", size, took, np.array([1.0, 2.0, np.nan, np.nan]))
    assert (made.begun, made.finished, made.size_mean_bytes) == (4, 3, 20)
    assert (made.fct_p50_ms, made.fct_p95_ms, made.fct_p99_ms) == (200, 400, 400)
    assert made.fct_mean_ms == pytest.approx(700 / 3)
    assert (made.slowdown_mean, made.slowdown_p50, made.slowdown_p99) == (1.5, 1, 2)
    none = transfer_metrics("x", size[:0], took[:0], took[:0])
    assert (none.begun, none.fct_mean_ms, none.slowdown_p99) == (0, None, None)


def test_a_percentile_is_a_value_that_occurred() -> None:
    values = np.arange(1.0, 101.0)
    assert [nearest_rank(values, p) for p in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert nearest_rank(values[:3], 1) == 1


def test_classes_have_names() -> None:
    assert class_names((1000,)) == ["up to 1 kB", "above 1 kB"]
    assert class_names((500, 2_500_000)) == ["up to 500 B", "500 B to 2.5 MB", "above 2.5 MB"]
    assert class_names(()) == ["all"]


def test_a_player_that_never_started_has_no_startup() -> None:
    totals = dict.fromkeys(("segments", "switches", "media_ns", "media_bits", "stalls", "stalled_ns", "played_ns"), 0)
    made = playback_metrics("v", 1.0, totals | {"started_ns": None})
    assert (made.startup_s, made.rate_mean_mbps, made.stalled_ratio) == (None, None, None)
    later = {"started_ns": 3_000_000_000, "media_ns": 4_000_000_000, "media_bits": 8_000_000, "played_ns": 3}
    assert playback_metrics("v", 1.0, totals | later | {"stalled_ns": 1}).startup_s == 2
    assert playback_metrics("v", 1.0, totals | later | {"stalled_ns": 1}).rate_mean_mbps == 2
    assert playback_metrics("v", 1.0, totals | later | {"stalled_ns": 1}).stalled_ratio == 0.25


def test_every_transfer_has_a_row(run: nw.Run) -> None:
    frame = run.transfers.frame()
    assert run.transfers.names == ["web", "video"]
    web = run.transfers.frame("web")
    assert len(web) + len(run.transfers.frame("video")) == len(frame) == len(run.transfers)
    assert web["number"].tolist() == list(range(len(web)))
    done = web[web["finished_s"].notna()]
    assert np.allclose(done["fct_s"], done["finished_s"] - done["start_s"])
    assert (done["slowdown"] >= 1).all()
    assert (done["delivered_bytes"] == done["size_bytes"]).all()
    assert web["pair"].isin([0, 1]).all()
    assert run.transfers.table().schema.field("fct_s").metadata[b"unit"] == b"s"
    with pytest.raises(nw.InputError, match="allowed: web, video"):
        run.transfers.frame("other")


def test_classes_part_the_transfers_of_a_name(run: nw.Run) -> None:
    rows = {row.name: row for row in run.transfer_classes}
    parts = [row for name, row in rows.items() if name.startswith("web ") and name != "web all"]
    assert sum(part.begun for part in parts) == rows["web all"].begun
    assert [row.name for row in run.transfers.metrics(bounds=(1_000_000,))][:3] == [
        "web all",
        "web up to 1 MB",
        "web above 1 MB",
    ]
    only = run.transfers.metrics(bounds=())
    assert [row.name for row in only] == ["web all", "video all"]


def test_a_bound_is_in_the_class_below_it() -> None:
    text = TEXT.replace('{ distribution = "pareto", mean = "60 kB", max = "5 MB" }', '"100 kB"')
    made = nw.run(nw.Scenario.from_text(text, "t.toml"), seed=1)
    assert [row.name for row in made.transfer_classes if row.name.startswith("web")] == ["web all"]


def test_what_a_player_did_is_in_the_results(run: nw.Run) -> None:
    (player,) = run.playbacks
    assert player.name == "video"
    # From the start at 1 s to the end it waits, plays or stands still.
    assert (player.startup_s or 0) + player.played_s + player.stalled_s == pytest.approx(9)
    assert 1 <= (player.rate_mean_mbps or 0) <= 4
    assert 0 < (player.startup_s or 0) < 1


def test_results_read_back(tmp_path: Path, run: nw.Run, batch: nw.Batch) -> None:
    for name, outcome in (("run", run), ("batch", batch)):
        outcome.save(tmp_path / name)
        back = nw.load(tmp_path / name)
        assert back.transfers.table().equals(outcome.transfers.table())
        assert back.transfer_classes == outcome.transfer_classes
        assert back.playbacks == outcome.playbacks
        assert back.digest == outcome.digest
    again = nw.load(tmp_path / "batch")
    assert [len(one.transfers) for one in again.runs] == [len(one.transfers) for one in batch.runs]


def test_a_damaged_file_of_transfers_is_named(tmp_path: Path, run: nw.Run) -> None:
    run.save(tmp_path / "run")
    (tmp_path / "run" / "transfers.parquet").write_bytes(b"nothing")
    with pytest.raises(nw.InputError, match="is damaged"):
        nw.load(tmp_path / "run")


def test_runs_draw_anew_and_means_leave_out_runs_without_a_class(batch: nw.Batch) -> None:
    starts = [one.transfers.frame("web")["start_s"][0] for one in batch.runs]
    assert len(set(starts)) == 3
    assert set(batch.transfers.frame()["run"]) == {0, 1, 2}
    (every,) = [row for row in batch.transfer_classes if row.name == "web all"]
    assert every.begun == pytest.approx(np.mean([len(one.transfers.frame("web")) for one in batch.runs]))


def test_the_summary_has_them(run: nw.Run, batch: nw.Batch) -> None:
    assert run.summary["transfers"][0] == run.transfer_classes[0].to_dict()
    assert run.summary["playbacks"][0]["name"] == "video"
    assert batch.summary["runs_detail"][2]["transfers"][0] == batch.runs[2].transfer_classes[0].to_dict()
    json.dumps(batch.summary, allow_nan=False)
    plain = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"})
    assert not {"transfers", "playbacks"} & set(plain.summary)
    assert len(plain.transfers) == 0
    assert plain.transfers.frame().empty


def test_a_report_has_tables_and_figures(tmp_path: Path, batch: nw.Batch) -> None:
    page = batch.report(tmp_path / "out").read_text(encoding="utf-8")
    for text in (
        "Completion times of transfers, by size",
        "web up to 100 kB",
        "What the video players did",
        "Workload",
    ):
        assert text in page
    assert {"completion-times.svg", "slow-downs.svg"} <= {
        path.name for path in (tmp_path / "out" / "figures").iterdir()
    }


def test_figures_have_a_group_of_ten_and_rising_shares(batch: nw.Batch) -> None:
    shares, slowed = drawn.figures(batch.transfers)
    assert shares.x_log
    for line in shares.panels[0].lines:
        assert line.y[-1] == 1
        assert (np.diff(line.x) >= 0).all()
    median, tail = (panel.lines[0] for panel in slowed.panels)
    assert (tail.y >= median.y).all()
    assert len(median.x) == drawn.MOST_GROUPS
    assert drawn.figures(nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"}).transfers) == []


def test_a_scenario_of_workloads_alone_runs_and_reports(tmp_path: Path) -> None:
    text = TEXT[: TEXT.index("[[flows]]")]
    alone = nw.Scenario.from_text(text, "t.toml")
    made = nw.run(alone, seed=1)
    assert made.flows == ()
    assert made.jain is None
    assert "Completion times" in made.report(tmp_path / "out").read_text(encoding="utf-8")
    assert "<table" in made._repr_html_()
    assert alone.resolved.workloads[0].load == 0.5
    assert alone.resolved.workloads[0].size is not None


def test_two_outcomes_are_compared_by_transfers(run: nw.Run, batch: nw.Batch) -> None:
    made = Comparison(Arm("one", batch), Arm("other", run))
    names = [subject.name for subject in made.transfers]
    assert "web all" in names
    assert [subject.name for subject in made.playbacks] == ["video"]
    told = made.to_json()
    assert {"fct_mean_ms", "slowdown_mean"} <= set(told["transfers"][0]["measures"])
    assert comparison.FORMAT == 1


def test_the_terminal_shows_them(run: nw.Run) -> None:
    out = Console(file=io.StringIO(), width=120)
    tables.print_result(run, 1.0, out)
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    for word in ("transfers", "slowed", "web up to 100 kB", "startup"):
        assert word in shown
