"""NGWA's Linux section live: its plan, published figures, measures, storage of runs, claims and the page.

Simulations stand in for live runs where only the handling of runs is tested; the last test runs live.
"""

from __future__ import annotations

import json
import sys
import types
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.python import browser
from tests.python.plainly import as_json
from typer.testing import CliRunner

from narrows.base.errors import InputError, Interrupted, NarrowsError
from narrows.cli import app
from narrows.runs import simulated as runs
from narrows.stats import CONFIDENCE
from narrows.studies.reproduction import reproduce
from narrows.studies.reproduction.request import Request
from narrows_papers.ngwa import linux
from narrows_papers.ngwa.live import check, execute, plan, published, record, result
from narrows_papers.ngwa.rounds import BATCHES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.model.scenario import Scenario
    from narrows.outcome import Run

SHORT = plan.Lengths(table_s=5, table_warmup_s=1, check_s=5, check_warmup_s=1)
CONDITIONS = {"kernel": "6.18", "lateness": {"mean_us": 20.0}, "trusted": True, "doubts": []}


class MissingError(NarrowsError):
    """Raised by a machine without the required rights."""

    exit_code = 3


class Stack:
    """Stands in for `narrows.runs.live`: simulations with conditions, which can also be unavailable or interrupted."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.checked = 0
        self.refuses: str | None = None
        self.stops_after: int | None = None
        self.fails_after: int | None = None
        self.doubts: list[str] = []

    def check(self, _: Scenario) -> None:
        self.checked += 1
        if self.refuses is not None:
            raise MissingError(self.refuses)

    def run(self, scenario: Scenario, *, runs: int, progress: Callable[[float], None] | None) -> Run:
        assert runs == 1
        if self.stops_after is not None and len(self.made) >= self.stops_after:
            raise KeyboardInterrupt
        if self.fails_after is not None and len(self.made) >= self.fails_after:
            raise MissingError("the program was refused")
        self.made.append(scenario.name)
        if progress is not None:
            progress(0.5)
        made = _simulated(scenario)
        doubted = CONDITIONS | {"trusted": not self.doubts, "doubts": self.doubts}
        return replace(made, conditions=doubted)


def _simulated(scenario: Scenario) -> Run:
    made = runs.run_all([runs.Task(scenario, scenario.seed)])
    return made[0]


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Stack:
    return _put(monkeypatch)


def _put(monkeypatch: pytest.MonkeyPatch) -> Stack:
    made = Stack()
    module = types.ModuleType("narrows.runs.live")
    module.check = made.check  # type: ignore[attr-defined]
    module.run = made.run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "narrows.runs.live", module)
    monkeypatch.setattr(plan, "QUICK", SHORT)
    return made


def few(number: int) -> list[plan.Job]:
    return plan.jobs(SHORT)[:number]


def numbers() -> dict[str, float]:
    return {line.key: line.value for line in published.read() if line.value is not None}


def test_every_line_of_what_is_published_says_how_it_is_given() -> None:
    lines = published.read()
    assert len({line.key for line in lines}) == len(lines)
    assert {line.given_as for line in lines} == set(published.KINDS)
    assert all((line.value is not None) == (line.given_as == "number") for line in lines)
    assert all(line.words for line in lines)


def test_the_plan_is_the_published_table() -> None:
    printed = numbers()
    rates = {printed["rate_slow"], printed["rate_fast"]}
    packets = {printed["queue_small"], printed["queue_large"]}
    assert {(s.rate_mbps, s.packets) for s in linux.ONE} == {(rate, queue) for rate in rates for queue in packets}
    assert {(s.rate_mbps, s.packets) for s in linux.TWO} == {(printed["rate_fast"], queue) for queue in packets}
    jobs = plan.jobs(plan.FULL)
    assert len(jobs) == len({job.name for job in jobs}) == 36 + len(plan.CHECK)
    by_name = {job.name: job for job in jobs}
    steady = plan.FULL.table_s - plan.FULL.table_warmup_s
    assert steady == printed["duration"]
    assert printed["batches"] == BATCHES
    assert printed["confidence"] == 100 * CONFIDENCE
    for setting in linux.SETTINGS:
        for method in linux.METHODS:
            resolved = as_json(by_name[plan.name(setting, method)].scenario)
            assert len(resolved["flows"]) == setting.flows
            assert resolved["links"][0]["forward"]["rate_bps"] == setting.rate_mbps * 1_000_000
            tcp = resolved["flows"][0]["tcp"]
            assert (tcp["cc"], tcp["recv_buffer_bytes"]) == ("reno", printed["window"] * 1024)
            ngwa = resolved["ngwa"]
            assert (None if ngwa is None else ngwa["mode"]) == method.mode


def test_red_is_as_published() -> None:
    printed = numbers()
    by_name = {job.name: job for job in plan.jobs(plan.FULL)}
    red = next(method for method in linux.METHODS if method.red)
    for setting in linux.SETTINGS:
        times = setting.packets / printed["queue_small"]
        queue = as_json(by_name[plan.name(setting, red)].scenario)["links"][0]["forward"]["queue"]
        assert queue["limit_bytes"] == 1000 * times * printed["red_limit"]
        assert queue["min_threshold"] == 1000 * times * printed["red_min"]
        assert queue["max_threshold"] == 1000 * times * printed["red_max"]
        assert queue["max_p"] == printed["red_max_p"]
        assert queue["mean_packet_bytes"] == printed["mean_packet"]


def test_the_first_run_needs_all_that_any_needs() -> None:
    first = plan.jobs(plan.QUICK)[0].scenario
    assert as_json(first)["ngwa"] is not None


def test_the_hosts_have_no_setting_that_is_not_linuxs() -> None:
    for job in plan.jobs(plan.QUICK):
        default: dict[str, Any] = {"tcp.cc": "reno", "tcp.recv_buffer": "3 MiB", "tcp.autotuning": True}
        told = as_json(job.scenario.with_overrides(default))["flows"][0]["tcp"]
        plain = _plain_linux()
        differing = {key for key in plain if told[key] != plain[key]} - {"assist"}
        assert not differing, (job.name, differing)


def _plain_linux() -> dict[str, Any]:
    from narrows.model.scenario import Scenario

    text = (
        '[topology]\nkind = "dumbbell"\nbottleneck = { rate = "10 Mb/s", delay = "1 ms" }\n'
        'access = { rate = "1 Gb/s", delay = "1 ms" }\n[tcp]\nstack = "linux"\ncc = "reno"\n'
        '[[flows]]\nfrom = "s1"\nto = "d1"\n'
    )
    tcp: dict[str, Any] = as_json(Scenario.from_text(text))["flows"][0]["tcp"]
    return tcp


def test_a_record_goes_to_json_and_back() -> None:
    job = few(1)[0]
    made = record.record(job, _simulated(job.scenario))
    assert record.Record.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_an_address_is_of_the_scenario_and_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = few(2)
    before = record.address(one)
    assert before != record.address(other)
    assert before == record.address(replace(one, title="another"))
    monkeypatch.setattr("platform.release", lambda: "2.6.34")
    assert record.address(one) != before


def test_what_nobody_counted_stays_unknown() -> None:
    job = few(1)[0]
    run = _simulated(job.scenario)
    uncounted = replace(run, flows=tuple(replace(flow, timeouts=None, window_options=None) for flow in run.flows))
    made = record.record(job, uncounted)
    assert (made.timeouts, made.options) == (None, None)


def test_a_run_of_ngwa_in_which_no_receiver_took_part_is_not_trusted() -> None:
    with_ngwa, _, plain = few(3)
    run = _simulated(with_ngwa.scenario)
    assert record.record(with_ngwa, run).doubts == ()
    deaf = replace(run, flows=tuple(replace(flow, window_options=0) for flow in run.flows))
    assert record.record(with_ngwa, deaf).doubts == (record.UNHEARD,)
    assert record.record(plain, _simulated(plain.scenario)).doubts == ()


def test_a_run_whose_hosts_had_no_time_is_not_trusted() -> None:
    job = few(1)[0]
    run = _simulated(job.scenario)
    frame = run.samples.frame("flow")
    starved = replace(run, samples=_Shortened(frame[(frame["time_s"] < 2) | (frame["time_s"] > 3.05)]))  # type: ignore[arg-type]
    (doubt,) = record.record(job, starved).doubts
    assert doubt == "samples are up to 1.2 s apart (allowed: 0.5): hosts had no time"


class _Shortened:
    """Samples with missing rows."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def frame(self, kind: str) -> Any:
        assert kind == "flow"
        return self._rows


def test_in_simulation_the_check_comes_out() -> None:
    jobs = plan.jobs(plan.QUICK)[: len(plan.CHECK)]
    made = {job.name: record.record(job, _simulated(job.scenario)) for job in jobs}
    assert [one.text for one in check.claims(made, plan.QUICK.check_warmup_s) if not one.holds] == []


@pytest.mark.parametrize(
    ("arm", "changed", "words"),
    [
        ("mode1", {"dropped": 1.0}, "drops nothing"),
        ("plain", {"dropped": 0.0}, "drops nothing"),
        ("mode2", {"rtt_ms": (45.0,)}, "round-trip time"),
        ("plain", {"rtt_ms": (40.0,)}, "round-trip time"),
        ("mode1", {"rtt_ms": (None,)}, "round-trip time"),
        ("mode1", {"rates": ((1_180_000,) * 100,)}, "of what it can"),
    ],
)
def test_one_run_that_differs_fails_its_claim(arm: str, changed: dict[str, Any], words: str) -> None:
    full = {one.name: round(check.ceiling(one.name)) for one in plan.CHECK}
    made = {
        plan.check_name(one): record.Record(
            key="",
            name="",
            rates=((full[one.name],) * 100,),
            rtt_ms=(check.RTT_NGWA_MS if one.name in check.MODES else check.RTT_PLAIN_MS,),
            lost=0.0,
            dropped=0.0 if one.name in check.MODES else 8.0,
            timeouts=None,
            filled=40_000.0,
            used=1.0,
            options=None,
            digest="",
        )
        for one in plan.CHECK
    }
    assert all(one.holds for one in check.claims(made, 1))
    name = plan.check_name(next(one for one in plan.CHECK if one.name == arm))
    made[name] = replace(made[name], **changed)
    failing = [one.text for one in check.claims(made, 1) if not one.holds]
    assert len(failing) == 1
    assert words in failing[0]


def test_finished_runs_are_kept_and_not_run_again(stack: Stack, tmp_path: Path) -> None:
    told: list[str] = []
    stack.stops_after = 2
    with pytest.raises(Interrupted, match="2 of 3 live runs had finished; the same command continues from there"):
        execute.execute(few(3), tmp_path / "out", Request(say=told.append))
    stack.stops_after = None
    made = execute.execute(few(3), tmp_path / "out", Request(say=told.append))
    assert (len(stack.made), made.kept) == (3, 2)
    assert set(made.live) == set(made.simulated) == {job.name for job in few(3)}
    assert "3 live runs to make, one after the other in real time: about 1 min" in told[0]
    assert "1 live run to make (2 are there already)" in told[1]
    again = execute.execute(few(3), tmp_path / "out", Request(say=told.append))
    assert again.live == made.live
    assert told[2].startswith("all 3 live runs are there already")


def test_live_runs_side_by_side_yield_what_one_after_the_other_does(stack: Stack, tmp_path: Path) -> None:
    told: list[str] = []
    one = execute.execute(few(3), tmp_path / "one", Request())
    three = execute.execute(few(3), tmp_path / "three", Request(live_jobs=3, say=told.append))
    assert three.live == one.live
    assert len(stack.made) == 6
    assert "3 live runs to make, 3 at a time in real time" in told[0]
    assert len((tmp_path / "three" / "runs.jsonl").read_text().splitlines()) == 3
    with pytest.raises(InputError, match="at_once is 0; allowed: 1 to 64"):
        execute.execute(few(1), tmp_path / "none", Request(live_jobs=0))


def test_live_runs_at_a_time_are_of_ngwa(tmp_path: Path) -> None:
    called = CliRunner().invoke(app, ["reproduce", "acns", "--live", "--live-jobs", "2", "-o", str(tmp_path / "out")])
    assert called.exit_code == 2
    assert "live_jobs is 2; allowed with live of: ngwa" in called.stderr


def test_where_live_is_not_available_nothing_is_written(stack: Stack, tmp_path: Path) -> None:
    stack.refuses = "live runs need root; run it with sudo"
    with pytest.raises(MissingError):
        reproduce("ngwa", tmp_path / "out", live=True, quick=True)
    assert list(tmp_path.iterdir()) == []
    assert stack.made == []
    called = CliRunner().invoke(app, ["reproduce", "ngwa", "--live", "-o", str(tmp_path / "out")])
    assert called.exit_code == 3
    assert "run it with sudo" in called.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_first_run_that_fails_leaves_nothing(stack: Stack, tmp_path: Path) -> None:
    stack.fails_after = 0
    with pytest.raises(MissingError):
        execute.execute(few(1), tmp_path / "out", Request())
    assert list(tmp_path.iterdir()) == []


def test_a_later_run_that_fails_keeps_those_before(stack: Stack, tmp_path: Path) -> None:
    stack.fails_after = 1
    with pytest.raises(MissingError):
        execute.execute(few(2), tmp_path / "out", Request())
    assert len((tmp_path / "out" / "runs.jsonl").read_text().splitlines()) == 1


def test_a_directory_with_something_else_is_left_alone(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="holds something other than a live reproduction of NGWA"):
        execute.execute(few(1), tmp_path, Request())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert stack.made == []


def test_more_runs_of_each_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="runs is 3; allowed with live of ngwa: 1"):
        reproduce("ngwa", tmp_path / "out", live=True, runs=3)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("ngwa-live") / "out"
    told: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        stack = _put(patch)
        stack.doubts = ["the bottleneck was late"]
        made = reproduce("ngwa", folder, live=True, quick=True, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
    return folder, made, stack


def test_the_page_has_both_worlds_and_their_trust(written: Any) -> None:
    folder, made, stack = written
    assert stack.checked == len(stack.made) == 36 + len(plan.CHECK)
    assert all(path.is_file() for path in made.paths)
    assert made.paths[0] == folder / "report.html"
    page = (folder / "report.html").read_text()
    assert "Not to be trusted." in page
    assert "A first look:" in page
    assert "figure lost" in page
    assert "Lateness, mean" in page
    assert page.count("✓ holds") == sum(claim.holds for claim in made.claims)
    assert len(made.doubts) == len(stack.made)
    assert made.doubts[0] == "check, NGWA mode 1: the bottleneck was late"


def test_the_simulator_agrees_with_itself(written: Any) -> None:
    _, made, _ = written
    cells = {cell.name: cell for cell in made.cells}
    for name, cell in cells.items():
        if name.startswith("live/"):
            assert cells[name.replace("live/", "simulated/", 1)].measured == cell.measured
    half = len(made.claims) // 2
    assert [claim.holds for claim in made.claims[:half]] == [claim.holds for claim in made.claims[half:]]
    assert all(claim.text.startswith("Simulated: ") for claim in made.claims[half:])


def test_the_summary_is_the_contract(written: Any) -> None:
    folder, made, _ = written
    summary = json.loads((folder / "summary.json").read_text())
    contract = made.to_json()
    assert {key: summary[key] for key in contract} == contract
    assert summary["trusted"] is False
    assert len(summary["conditions"]) == len(summary["digests"]["live"]) == 36 + len(plan.CHECK)


def test_the_headline_counts_both_worlds(written: Any) -> None:
    _, made, _ = written
    assert "On 12 of 12 both agree." in made.text
    assert "39 of the live runs are not to be trusted." in made.text
    assert result.signed(-0.5) == "−0.50"


@pytest.mark.live
def test_on_a_real_kernel_the_window_is_lowered_and_nothing_is_lost() -> None:
    live = pytest.importorskip("narrows.runs.live")
    job = plan.jobs(plan.Lengths(table_s=2, table_warmup_s=0, check_s=2, check_warmup_s=0.5))[0]
    try:
        live.check(job.scenario)
    except NarrowsError as error:
        pytest.skip(str(error))
    made = record.record(job, live.run(job.scenario))
    assert made.conditions is not None
    assert made.options is not None
    assert made.options > 500, "1600 full packets fit through 10 Mb/s in two seconds"
    assert made.dropped == 0
    (rtt,) = made.rtt_ms
    assert rtt is not None
    assert rtt < 60, "the queue would stand at 60 ms if nothing lowered the window"


@pytest.mark.parametrize("width", [1280, 360])
def test_wide_tables_scroll_in_their_frames_and_the_page_does_not(written: Any, width: int) -> None:
    folder, _, _ = written
    frame = folder / "frame.html"
    inner = f'<iframe src="report.html" style="width:{width}px;height:700px"></iframe>'
    frame.write_text(f"<html><head></head><body>{inner}</body></html>")
    try:
        page, room, tables = browser.evaluated(
            frame,
            """
            const inner = document.querySelector('iframe').contentWindow;
            const boxes = [...inner.document.querySelectorAll('.scroll')];
            const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth + 1);
            const root = inner.document.documentElement;
            return [root.scrollWidth, inner.innerWidth, wide.map((box) => box.tabIndex)];
            """,
        )
    finally:
        frame.unlink()
    assert page <= room
    assert set(tables) <= {0}, "the keyboard reaches a table that scrolls"
    assert width > 1000 or len(tables) >= 4
