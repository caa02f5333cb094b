"""Live ACNS: its runs, their evaluation and storage. Simulations stand in for live runs."""

from __future__ import annotations

import csv
import json
import os
import sys
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.python.plainly import as_json
from typer.testing import CliRunner

import narrows as nw
from narrows.base.errors import InputError, Interrupted, NarrowsError
from narrows.cli import app
from narrows.outcome import Batch
from narrows.runs.simulated import Task, run_all
from narrows.store import results
from narrows.studies import reproduction
from narrows.studies.reproduction.request import Request
from narrows.studies.reproduction.result import Cell, on_runs
from narrows_papers.acns import evaluation
from narrows_papers.acns.live import cells, claims, measured, obeyed, page, plan, text
from narrows_papers.acns.live.measured import Measured, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.model.scenario import Scenario
    from narrows.outcome import Run

LATE = "the bottleneck was late"
CONDITIONS = {"kernel": "6.18", "lateness": {"mean_us": 31.0}, "trusted": True, "doubts": []}


class NotHereError(NarrowsError):
    """Raised where this machine cannot run live."""

    exit_code = 3


class StandIn:
    """Simulations in place of live runs."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool, int]] = []
        self.doubts: list[str] = []
        self.fail: BaseException | None = None
        self.fail_at = 0

    def run(
        self, scenario: Scenario, runs: int = 1, progress: Callable[[float], None] | None = None, kept: Any = None
    ) -> Run | Batch:
        if kept is None:
            return self.made(scenario, runs, progress)
        each: list[Run] = []
        for index in range(runs):
            one = kept.get(scenario, index)
            if one is None:
                try:
                    one = self.made(scenario, 1, progress, index)
                except Interrupted:
                    raise Interrupted(Batch(scenario=scenario, seed=scenario.seed, runs=tuple(each)), runs) from None
                kept.put(one)
            each.append(one)
        return each[0] if runs == 1 else Batch(scenario=scenario, seed=scenario.seed, runs=tuple(each))

    def made(
        self, scenario: Scenario, runs: int, progress: Callable[[float], None] | None, first: int = 0
    ) -> Run | Batch:
        self.asked.append((scenario.name, as_json(scenario)["acns"] is not None, runs))
        if self.fail is not None and len(self.asked) > self.fail_at:
            raise self.fail
        conditions = CONDITIONS | {"trusted": not self.doubts, "doubts": self.doubts}
        # Use another seed, because live results are never equal to simulated ones.
        tasks = [Task(scenario, scenario.seed + 7, index) for index in range(first, first + runs)]
        made = [replace(one, conditions=conditions) for one in run_all(tasks)]
        if progress is not None:
            progress(1.0)
        return made[0] if runs == 1 else Batch(scenario=scenario, seed=scenario.seed, runs=tuple(made))


def installed(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    module = ModuleType("narrows.runs.live")
    module.run = stand_in.run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "narrows.runs.live", module)
    monkeypatch.setattr(nw, "live", module, raising=False)
    return stand_in


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return installed(monkeypatch)


@pytest.fixture(scope="module")
def both() -> Measured:
    with pytest.MonkeyPatch.context() as patch:
        installed(patch)
        return measured.run(Request(quick=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("acns") / "live"
    with pytest.MonkeyPatch.context() as patch:
        installed(patch)
        return folder, reproduction.reproduce("acns", folder, live=True, quick=True, runs=2)


def test_the_evaluation_is_the_calibrated_one_but_for_what_linux_has_in_its_own_way() -> None:
    there, here = as_json(evaluation.scenario()), as_json(plan.evaluated(quick=False))
    for key in ("nodes", "links", "acns", "duration_ns", "start_jitter_ns"):
        assert here[key] == there[key]
    for flow, own in zip(there["flows"], here["flows"], strict=True):
        assert {**flow, "tcp": None} == {**own, "tcp": None}
    kept = {"mss_bytes", "timestamps", "initial_window", "cc", "assist"}
    tcp, own = there["flows"][0]["tcp"], here["flows"][0]["tcp"]
    assert kept <= set(tcp)
    assert {key: own[key] for key in kept} == {key: tcp[key] for key in kept}
    assert (own["stack"], own["recovery"], own["initial_ssthresh_bytes"]) == ("linux", "sack", None)
    assert (own["max_cwnd_bytes"], own["recv_buffer_bytes"]) == (None, tcp["max_cwnd_bytes"])


def test_the_arms_differ_in_acns_alone() -> None:
    for scenario in (plan.evaluated(quick=True), plan.demonstrated(quick=True)):
        plain, treated = dict(as_json(plan.without(scenario))), dict(as_json(scenario))
        assert plain.pop("acns") is None
        assert treated.pop("acns") is not None
        for arm in (plain, treated):
            arm["flows"] = [{**f, "tcp": f["tcp"] and {**f["tcp"], "assist": None}} for f in arm["flows"]]
        assert plain == treated


def test_a_first_look_passes_time_five_times_as_fast_and_says_so() -> None:
    whole, short = (plan.evaluated(quick=quick) for quick in (False, True))
    assert short.duration_s == pytest.approx(whole.duration_s / plan.SHORTER)
    for slow, fast in zip(as_json(whole)["flows"], as_json(short)["flows"], strict=True):
        assert fast["start_ns"] / 1e9 - 0.1 == pytest.approx((slow["start_ns"] / 1e9 - 0.1) / plan.SHORTER)
        assert fast["start_ns"] < as_json(short)["duration_ns"]
    assert "shortened from 118 s and 10 s" in plan.estimate(quick=True, runs=1)
    assert "shortened" not in plan.estimate(quick=False, runs=1)


def test_the_estimate_is_that_of_all_live_runs() -> None:
    assert plan.live_seconds(quick=False, runs=1) == pytest.approx(2 * (118 + 10) + 4 * plan.SETUP_S)
    assert plan.live_seconds(quick=False, runs=3) == pytest.approx(3 * plan.live_seconds(quick=False, runs=1))
    said = plan.estimate(quick=False, runs=1)
    assert "2 x 118 s" in said
    assert "2 x 10 s" in said
    assert "about 4 minutes" in said


def test_the_demonstration_shows_what_it_is_for() -> None:
    arms = [plan.without(plan.demonstrated(quick=False)), plan.demonstrated(quick=False)]
    plain, treated = (Batch(scenario=arm, seed=1, runs=tuple(run_all([Task(arm, 1)]))) for arm in arms)
    found = claims.of_demonstration(evaluation.Evaluation(plain, treated))
    assert [claim.text for claim in found if not claim.holds] == []
    same = claims.of_demonstration(evaluation.Evaluation(plain, plain))
    assert not any(claim.holds for claim in same)


def test_the_arm_that_asks_most_of_a_machine_comes_first_and_simulations_last(live: StandIn) -> None:
    said: list[str] = []
    seen: list[float] = []
    measured.run(Request(quick=True, runs=2, progress=seen.append, say=said.append))
    assert live.asked == [
        ("acns-demonstration", True, 2),
        ("acns-demonstration", False, 2),
        ("acns", True, 2),
        ("acns", False, 2),
    ]
    assert len(said) == 1
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_both_worlds_run_the_same_scenarios(both: Measured) -> None:
    for arm in evaluation.ARMS:
        for part in ("evaluation", "demonstration"):
            ours, real = (getattr(both.world(name), part).arm(arm).scenario for name in measured.WORLDS)
            assert ours.to_toml() == real.to_toml()
    assert len(both.simulated.evaluation.acns.runs) == plan.QUICK_SIMULATED_RUNS
    assert len(both.conditions) == 4
    assert both.doubts == ()


def test_every_figure_of_the_papers_is_there_in_both_worlds(both: Measured) -> None:
    found = {cell.name: cell for cell in cells.cells(both)}
    for arm, quantity, flow in evaluation.Published.read().values:
        assert {f"{world}/{arm}/{quantity}/{flow}" for world in measured.WORLDS} <= set(found)
    assert found["live/change/sent/total"].published == 44.0
    assert found["live/acns/rtt_mean/1"].published == 327
    assert (found["live/acns/sent/1"].published, found["live/acns/lost/total"].published) == (None, None)


def test_a_whole_run_has_the_published_amounts(both: Measured) -> None:
    found = {cell.name: cell for cell in cells.cells(replace(both, quick=False))}
    assert found["live/acns/sent/total"].published == 29.99
    assert found["simulated/without/lost/total"].published == 236


def test_commands_are_counted_where_they_are_written_and_where_they_are_heard(both: Measured) -> None:
    found = {cell.name: cell for cell in cells.cells(both)}
    run = both.live.evaluation.acns.runs[0]
    assert found["live/acns/commands_fallback/1"].measured == run.flow("tcp1").commands_fallback
    assert found["live/acns/wrote_fallback/routers"].measured == sum(one.wrote_fallback for one in run.routers)
    heard = sum(run.flow(f"tcp{flow}").commands_fallback or 0 for flow in evaluation.FLOWS)
    assert 0 < heard == claims.commands(both.live.evaluation.acns, "commands_fallback")
    last = claims.claims(both)[0][-1]
    assert last.holds
    silent = both.live.evaluation.without
    assert claims.commands(silent, "commands_freeze") == 0


def test_what_nobody_counted_is_no_command() -> None:
    plain = plan.without(plan.demonstrated(quick=True))
    (run,) = run_all([Task(plain, 1)])
    uncounted = replace(run, flows=tuple(replace(flow, commands_freeze=None) for flow in run.flows))
    assert claims.commands(Batch(scenario=plain, seed=1, runs=(uncounted,)), "commands_freeze") == 0


def test_steps_count_under_the_command_that_rules() -> None:
    none = [0, 0, 0, 0, 0, 0, 0]
    heard = np.array([[0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1, 1], none], dtype=float)
    assert obeyed.of(np.array([1, 2, 3, 3, 3, 4, 2], dtype=float), heard) == obeyed.Course(1, 4, 1, 0, 0)
    free = np.array([[0, 1, 1, 1, 1, 1, 1], none, none], dtype=float)
    assert obeyed.of(np.array([1, 2, 3, 3, 3, 4, 5], dtype=float), free) == obeyed.Course(0, 0, 0, 4, 2)
    both = np.array([[0, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1], none], dtype=float)
    assert obeyed.of(np.array([1, 2, 3, 3, 3, 4, 5], dtype=float), both) == obeyed.Course(0, 0, 0, 0, 0)
    uncounted = np.full((3, 2), np.nan)
    assert obeyed.of(np.array([2.0, 1.0]), uncounted) == obeyed.Course(1, 0, 0, 0, 0)
    assert obeyed.of(np.array([2.0]), np.zeros((3, 1))) == obeyed.Course(0, 0, 0, 0, 0)


def test_a_window_that_grows_under_freeze_is_told(both: Measured) -> None:
    batch = both.live.demonstration.acns
    grown = replace(batch.runs[0], samples=_growing(batch.runs[0]))
    shown = evaluation.Evaluation(both.live.demonstration.without, replace(batch, runs=(grown,)))
    frozen = claims.of_demonstration(shown)[1]
    assert "Freeze" in frozen.text
    assert not frozen.holds
    assert claims.of_demonstration(both.live.demonstration)[1].holds


def _growing(run: Run) -> Any:
    """Return samples in which the window grows at every sample."""

    class Growing:
        def frame(self, kind: Any) -> Any:
            frame = run.samples.frame(kind).copy()
            frame["cwnd_bytes"] = np.arange(len(frame), dtype=float)
            return frame

    return Growing()


def test_a_flow_that_was_not_sampled_has_no_course(both: Measured) -> None:
    run = both.live.demonstration.acns.runs[0]
    assert obeyed.course(run, "nobody") is None
    assert obeyed.course(run, "tcp1") is not None


def test_the_claims_of_the_papers_are_those_of_the_simulated_reproduction(both: Measured) -> None:
    of_paper, of_demonstration = claims.claims(both)
    runs = len(both.live.evaluation.acns.runs)
    assert of_paper[:-1] == on_runs(evaluation.claims(both.live.evaluation), runs)
    assert len(of_demonstration) == 4
    swapped = replace(
        both,
        live=World(
            evaluation.Evaluation(both.live.evaluation.acns, both.live.evaluation.without), both.live.demonstration
        ),
    )
    assert not claims.claims(swapped)[0][-1].holds


def test_the_headline_has_all_three_figures_and_why_the_gain_is_missing(both: Measured) -> None:
    found = cells.cells(both)
    said = text.headline(both, found, [])
    live, ours = (next(c for c in found if c.name == f"{world}/change/sent/total") for world in ("live", "simulated"))
    for cell in (live, ours):
        assert f"{cell.measured:+.1f}".replace("-", "−") in said
    assert "published +44.0" in said
    assert "ns-2's loss recovery" in said
    assert "first look" in said
    gained = [replace(c, measured=50.0) if c.name.endswith("change/sent/total") else c for c in found]
    assert "ns-2's loss recovery" not in text.headline(both, gained, [])


def test_what_differs_from_the_calibration_is_told(both: Measured) -> None:
    told = text.calibration(both)
    assert told["TCP: recovery"] == "sack; calibrated: reno"
    assert told["TCP: stack"].startswith("linux; calibrated: ")
    assert told["TCP: sack"] == "on; calibrated: off"
    assert "TCP: mss" not in told


def test_a_value_that_is_missing_is_a_dash() -> None:
    assert page.value(Cell("a", None, float("nan"), None, None, "ms")) == page.Value("–")
    assert page.against(Cell("a", None, 2.0, None, None, "ms"), Cell("b", None, 0.0, None, None, "ms")) == page.Value(
        "–"
    )
    assert page.against(Cell("a", None, 9.0, None, None, "ms"), Cell("b", None, 10.0, None, None, "ms")) == page.Value(
        "−10 %"
    )
    assert page.against(Cell("a", None, 9.99, None, None, "ms"), Cell("b", None, 10.0, None, None, "ms")) == page.Value(
        "0 %"
    )
    assert page.value(None) is None


def test_the_directory_holds_what_it_says(made: tuple[Path, Any]) -> None:
    folder, result = made
    assert all(path.is_file() for path in result.paths)
    assert result.paths[0] == folder / "report.html"
    summary = json.loads((folder / "summary.json").read_text())
    contract = result.to_json()
    assert {key: summary[key] for key in contract} == contract
    assert summary["trusted"] is True
    assert len(summary["conditions"]) == 8
    assert summary["runs"] == {"simulated": plan.QUICK_SIMULATED_RUNS, "live": 2}
    rows = list(csv.DictReader((folder / "cells.csv").read_text().splitlines()))
    assert len(rows) == len(result.cells)
    kept = results.load(folder / "live" / "evaluation-with-acns")
    assert len(kept.runs) == 2
    assert kept.digest == summary["digests"]["live"]["evaluation with ACNS"]


def test_the_page_has_claims_conditions_and_the_command(made: tuple[Path, Any]) -> None:
    folder, result = made
    shown = (folder / "report.html").read_text()
    for claim in result.claims:
        assert claim.text.split("(")[0].replace(">", "&gt;").replace("'", "&#39;").strip() in shown
    assert "narrows reproduce acns --live --quick --runs 2" in shown
    assert "Lateness, mean" in shown
    assert "Not to be trusted" not in shown


def test_a_run_whose_hosts_took_no_part_is_doubted(both: Measured) -> None:
    run = both.live.demonstration.acns.runs[0]
    silent = replace(run, routers=tuple(replace(router, asked=0) for router in run.routers))
    batch = replace(both.live.demonstration.acns, runs=(silent,))
    live = replace(both.live, demonstration=replace(both.live.demonstration, acns=batch))
    assert replace(both, live=live).doubts == (f"demonstration with ACNS, run 0: {measured.UNASKED}",)


def test_doubts_are_carried_everywhere(live: StandIn, tmp_path: Path) -> None:
    live.doubts = [LATE]
    made = reproduction.reproduce("acns", tmp_path / "out", live=True, quick=True)
    assert made.to_json()["trusted"] is False
    assert made.doubts[0] == f"evaluation without ACNS, run 0: {LATE}"
    assert "Not to be trusted" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.usefixtures("live")
def test_the_command_prints_what_was_found(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["reproduce", "acns", "--live", "--quick", "-o", str(tmp_path / "out")])
    assert shown.exit_code == 0, shown.output
    assert "On Linux's own TCP" in " ".join(shown.stdout.split())
    assert "live/acns/lost/total" in shown.stdout
    assert "No loss where CUBIC loses" in shown.stdout
    assert "in real time" in shown.stderr


def test_where_live_is_not_available_nothing_is_written(live: StandIn, tmp_path: Path) -> None:
    live.fail = NotHereError("live runs are not available here: no root; run it as root")
    shown = CliRunner().invoke(app, ["reproduce", "acns", "--live", "-o", str(tmp_path / "deep" / "out")])
    assert shown.exit_code == 3
    assert "run it as root" in shown.stderr
    assert list(tmp_path.iterdir()) == []
    assert len(live.asked) == 1


def test_after_ctrl_c_the_same_command_goes_on(live: StandIn, tmp_path: Path) -> None:
    empty = Batch(scenario=plan.demonstrated(quick=True), seed=1, runs=())
    live.fail, live.fail_at = Interrupted(empty, 1), 3
    command = ["reproduce", "acns", "--live", "--quick", "-n", "2", "-o", str(tmp_path / "out")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 130
    told = " ".join(shown.stderr.split())
    assert "3 of 8 live runs had finished; they are kept, and the same command continues from there" in told
    assert [path.name for path in tmp_path.iterdir()] == ["out.runs"]
    live.fail, live.asked = None, []
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert len(live.asked) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    kept = results.load(tmp_path / "out" / "live" / "demonstration-with-acns")
    assert [run.conditions for run in kept.runs] == [CONDITIONS, CONDITIONS]
    assert [run.index for run in kept.runs] == [0, 1]


def test_a_directory_with_something_else_is_refused_before_the_long_wait(live: StandIn, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError):
        reproduction.reproduce("acns", tmp_path, live=True)
    assert live.asked == []


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0, reason="skipped: live runs need root")
def test_two_live_seconds_of_the_demonstration_have_freezes_and_no_drops() -> None:
    from narrows.studies.comparison.make import run_live

    pytest.importorskip("narrows.runs.live", reason="skipped: this installation has no live runs")
    scenario = plan.demonstrated(quick=True).with_overrides({"duration": "2 s"})
    try:
        made = run_live(scenario, 1)
    except NarrowsError as error:
        if error.exit_code == 3:
            pytest.skip(f"skipped: {error}")
        raise
    flow = made.runs[0].flow("tcp1")
    # A busy machine may be late; whether routers write and senders receive commands does not depend on that.
    assert sum(router.wrote_freeze + router.wrote_fallback for router in made.runs[0].routers) > 0
    assert (flow.commands_freeze or 0) + (flow.commands_fallback or 0) > 0
    assert flow.lost_packets == 0
