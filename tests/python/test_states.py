"""State of algorithms: one long table, the same from the engine and from a file, and figures with BBR's state."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import narrows as nw
from narrows.base.errors import InputError
from narrows.outcome.states import COLUMNS, States
from narrows.report import states as figures
from narrows.store import results

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

TEXT = """
format = 1
duration = "14 s"
sampling = { interval = "50 ms", state = true }

[topology]
kind = "dumbbell"
pairs = 2
access = { rate = "100 Mb/s", delay = "1 ms" }

[topology.bottleneck]
rate = "10 Mb/s"
delay = "20 ms"

[topology.bottleneck.queue]
kind = "red"
limit = "60 packets"
min_threshold = 10
max_threshold = 30

[[flows]]
name = "cubic"
from = "s1"
to = "d1"
cc = "cubic"

[[flows]]
name = "bbr"
from = "s2"
to = "d2"
cc = "bbr"
start = "1 s"
"""


@pytest.fixture(scope="module")
def ran() -> Run:
    return nw.run(nw.Scenario.from_text(TEXT, "state.toml"))


def test_a_row_is_a_variable_at_a_time(ran: Run) -> None:
    frame = ran.samples.state.frame()
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == len(ran.samples.state) > 5000
    assert set(frame["kind"].unique()) == {"flow", "queue"}
    average = frame[(frame["name"] == "r1->r2") & (frame["variable"] == "avg")]
    assert len(average) == 14 * 20 + 1
    assert 5 < average["value"].max() < 60
    bandwidth = ran.samples.state.frame(name="bbr", variable="bw_bps")
    assert set(bandwidth["unit"]) == {"bit/s"}
    assert bandwidth["value"].iloc[-1] == pytest.approx((ran.flows[1].throughput_mbps or 0) * 1e6, rel=0.5)
    assert bandwidth["time_s"].min() >= 1


def test_variables_say_what_they_are(ran: Run) -> None:
    known = {(v.algorithm, v.name): v for v in ran.samples.state.variables}
    assert known["bbr", "phase"].words == ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT")
    assert known["red", "avg"].kind == "queue"
    assert known["tcp", "pacing_rate"].unit == "bit/s"
    assert all(v.doc.endswith(".") for v in known.values())


def test_a_scheme_describes_its_senders_variables() -> None:
    states = nw.run("acns", overrides={"sampling.state": True, "duration": "45 s"}).samples.state
    own = {v.name: v for v in states.variables if v.name.startswith("acns_")}
    assert set(own) == {v["name"] for v in nw.list_algorithms("schemes")[0]["variables"]}
    assert all(variable.doc for variable in own.values())
    assert own["acns_command"].words == ("none", "normal", "freeze", "fallback")


def test_wide_has_a_column_per_variable(ran: Run) -> None:
    wide = ran.samples.state.wide("bbr")
    assert wide.index.name == "time_s"
    assert {"tcp.phase", "bbr.phase", "bbr.min_rtt_s"} <= set(wide.columns)
    # BBR has started up, and after ten seconds it has probed for the round-trip time.
    assert wide["bbr.phase"].iloc[0] == 0
    assert set(wide["bbr.phase"]) == {0, 1, 2, 3}


def test_what_is_not_there_is_refused_by_name(ran: Run) -> None:
    with pytest.raises(InputError, match="name is 'nobody'; allowed: bbr, cubic"):
        ran.samples.state.wide("nobody")
    with pytest.raises(InputError, match="variable is 'cwnd'; allowed"):
        ran.samples.state.frame(variable="cwnd")
    with pytest.raises(InputError, match="no state was sampled"):
        States().wide("bbr")


def test_a_directory_keeps_it(ran: Run, tmp_path: Path) -> None:
    ran.save(tmp_path / "r")
    again = results.load(tmp_path / "r")
    pd.testing.assert_frame_equal(again.samples.state.frame(), ran.samples.state.frame(), check_categorical=False)
    assert again.samples.state.variables == ran.samples.state.variables


def test_a_batch_keeps_runs_apart(tmp_path: Path) -> None:
    scenario = nw.Scenario.from_text(TEXT.replace("14 s", "3 s"), "state.toml")
    batch = nw.run(scenario, runs=2)
    batch.save(tmp_path / "b")
    for some in (batch, results.load(tmp_path / "b")):
        frame = some.samples.state.frame(name="cubic", variable="phase")
        assert frame.groupby("run").size().tolist() == [61, 61]
        assert set(some.runs[1].samples.state.frame()["run"]) == {1}


def test_without_the_switch_there_is_none(tmp_path: Path) -> None:
    text = TEXT.replace('{ interval = "50 ms", state = true }', '"50 ms"').replace("14 s", "2 s")
    run = nw.run(nw.Scenario.from_text(text, "state.toml"))
    assert len(run.samples.state) == 0
    assert figures.figures(run.samples.state, {}, 2.0) == []
    run.save(tmp_path / "r")
    assert not (tmp_path / "r" / "state.parquet").exists()


def test_figures_show_the_state_as_bands(ran: Run) -> None:
    made = {figure.name: figure for figure in figures.figures(ran.samples.state, {"cubic": 0, "bbr": 1}, 14.0)}
    assert list(made) == ["state-flow-cubic", "state-flow-bbr", "state-queue-r1-to-r2"]
    bands = made["state-flow-bbr"].panels[0].bands
    assert [band.name for band in bands][:3] == ["STARTUP", "DRAIN", "PROBE_BW"]
    assert bands[-1].end == 14.0
    assert all(one.end == pytest.approx(other.start) for one, other in itertools.pairwise(bands))
    labels = [panel.y_label for panel in made["state-queue-r1-to-r2"].panels]
    assert labels[0] == "avg (packets)"
    # CUBIC has no state of its own, so the background is the phase of loss recovery.
    assert {band.name for band in made["state-flow-cubic"].panels[0].bands} >= {"open", "recovery"}
