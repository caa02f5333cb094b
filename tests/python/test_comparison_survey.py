"""`narrows validate --against live`: cells, yardstick, page. Simulations stand in for live runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.plainly import as_json
from typer.testing import CliRunner

import narrows as nw
from narrows.base.errors import InputError, Interrupted, LiveError
from narrows.cli import app
from narrows.model.scenario import Scenario
from narrows.outcome import Batch
from narrows.studies.comparison import gauge, page, survey

if TYPE_CHECKING:
    from typer.testing import Result

    from narrows.outcome import Run

NETWORK = "10m-40ms-1bdp"
LATE = "the bottleneck was late"


def note(settings: dict[str, Any], scenario: Scenario, control: str, runs: int) -> None:
    """Note that live runs are made, or interrupt them."""
    settings["asked"].append((scenario.name, control, runs))
    if settings.get("stop at") is not None and len(settings["asked"]) > settings["stop at"]:
        raise Interrupted(Batch(scenario=scenario, seed=scenario.seed, runs=()), runs)


def slowed(settings: dict[str, Any], scenario: Scenario) -> Scenario:
    """Return the scenario as the stand-in for a live network runs it."""
    altered = scenario
    if scenario.name == survey.YARDSTICK[0]:
        altered = scenario.with_overrides({"topology.bottleneck.rate": settings["rate"]})
    if settings.get("slower"):
        slower = {"rate-10m": "9.9 Mb/s", "rate-100m": "99 Mb/s", "rate-500m": "480 Mb/s", "rate-1g": "900 Mb/s"}
        late = {"topology.bottleneck.delay": "5.5 ms"}
        rate = slower.get(scenario.name)
        altered = scenario.with_overrides(late if rate is None else {"topology.bottleneck.rate": rate})
    return altered


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace live runs with simulations, which are controlled by the returned dictionary."""
    settings: dict[str, Any] = {"fail": (), "doubt": (), "rate": "100 Mb/s", "asked": []}

    def run(scenario: Scenario, runs: int = 1, progress: Any = None, kept: Any = None) -> Run | Batch:
        control = str(as_json(scenario)["flows"][0]["tcp"]["cc"])
        if kept is None:
            return made(scenario, control, runs, progress)
        if control in settings["fail"]:
            note(settings, scenario, control, 1)
        every = made(scenario, control, runs, progress, asked=False)
        for index, one in enumerate(every.runs):
            if kept.get(scenario, index) is None:
                note(settings, scenario, control, 1)
                kept.put(replace(one, scenario=scenario))
        return every

    def made(scenario: Scenario, control: str, runs: int, progress: Any, *, asked: bool = True) -> Run | Batch:
        if asked:
            note(settings, scenario, control, runs)
        if control in settings["fail"]:
            message = f"{control} is not available here"
            raise LiveError(message, "unavailable")
        if scenario.name in settings.get("too fast", ()):
            message = f"a live network of {scenario.name}: this machine is too slow for this rate"
            raise LiveError(message, "unavailable")
        altered = slowed(settings, scenario)
        result = nw.run(altered, seed=5, runs=runs, progress=progress)
        doubts = [LATE] if control in settings["doubt"] else []
        told = {"kernel_release": "6.18", "cc_source": "kernel", "trusted": not doubts, "doubts": doubts}
        each = tuple(replace(one, conditions=told) for one in result.runs)
        return replace(result, runs=each) if isinstance(result, Batch) else each[0]

    module = ModuleType("narrows.runs.live")
    module.__dict__["run"] = run
    monkeypatch.setitem(sys.modules, "narrows.runs.live", module)
    monkeypatch.setattr(survey, "QUICK_DURATION", "1500 ms")
    monkeypatch.setattr(survey, "SIMULATED_RUNS", 2)
    return settings


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["validate", "--against", "live", *[str(argument) for argument in arguments]])


@pytest.mark.parametrize("cc", survey.CONTROLS)
@pytest.mark.parametrize("network", survey.networks())
def test_every_cell_is_a_scenario_with_linux_habits_and_its_own_name(network: str, cc: str) -> None:
    path = survey.networks()[network]
    made = Scenario.from_file(path, {"tcp.cc": cc})
    assert made.name == path.stem
    assert made.title != made.name
    assert set(made.congestion_controls().values()) == {cc}
    assert 'stack = "linux"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("network", survey.pairs())
def test_pairs_keep_their_own_congestion_controls(network: str) -> None:
    path = survey.pairs()[network]
    made = Scenario.from_file(path, {"tcp.cc": "reno"})
    assert (made.name, list(made.congestion_controls().values())) == (path.stem, ["cubic", "bbr"])
    assert 'stack = "linux"' in path.read_text(encoding="utf-8")


def test_pairs_are_run_once_and_only_where_they_are_asked_for(live: dict[str, Any]) -> None:
    made = survey.survey(names=["cubic-bbr-*"], runs=1, quick=True)
    assert [name for name, _, _ in live["asked"]] == ["cubic-bbr-half", "cubic-bbr-1bdp", "cubic-bbr-2bdp"]
    assert {cell.cc for cell in made.cells} == {"cubic + bbr"}
    told = page.text(made)
    assert "| cubic + bbr, cubic |" in told
    assert "| cubic + bbr, bbr |" in told
    live["asked"].clear()
    survey.survey(["cubic"], runs=1, quick=True)
    assert not [name for name, _, _ in live["asked"] if name in survey.pairs()]


def test_bursts_of_bbr_give_cubic_beside_it_more() -> None:
    """In live runs, CUBIC also loses this much if BBR's host sends segments one by one (docs/live.md)."""
    rates = {}
    for bursts in (True, False):
        changed = {"flows[1].tcp.gso": bursts, "flows[1].tcp.tso": bursts, "sampling": "off"}
        scenario = Scenario.from_file(survey.pairs()["cubic-bbr-1bdp"], changed)
        made = nw.run(scenario, runs=4)
        assert isinstance(made, Batch)
        rates[bursts] = sum(run.flow("cubic").throughput_mbps or 0 for run in made.runs) / 4
    assert rates[True] > 1.2 * rates[False]


def test_the_pairs_take_a_few_minutes() -> None:
    total_s = sum(Scenario.from_file(path).duration_s for path in survey.pairs().values())
    assert len(survey.pairs()) == 3
    assert total_s * survey.RUNS <= 3 * 60


def test_the_whole_table_takes_less_than_a_quarter_of_an_hour() -> None:
    total_s = sum(Scenario.from_file(path).duration_s for path in survey.networks().values())
    assert len(survey.networks()) == 6
    assert next(iter(survey.networks())) == survey.YARDSTICK[0]
    assert total_s * len(survey.CONTROLS) * survey.RUNS < 0.9 * 15 * 60
    gauges_s = sum(Scenario.from_file(path).duration_s for path in gauge.networks().values())
    assert (total_s * len(survey.CONTROLS) + gauges_s) * survey.RUNS < 15 * 60


def test_after_ctrl_c_the_same_command_goes_on(live: dict[str, Any], tmp_path: Path) -> None:
    command = ("--network", NETWORK, "--cc", "reno,cubic", "--runs", "2", "--quick", "-o", tmp_path / "page.md")
    live["stop at"] = 3
    shown = narrows(*command)
    assert shown.exit_code == 130, shown.output
    assert "finished live runs are kept in" in " ".join(shown.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["page.runs"]
    assert [control for _, control, _ in live["asked"]] == ["reno", "reno", "cubic", "cubic"]
    live["stop at"] = None
    live["asked"].clear()
    again = narrows(*command)
    assert again.exit_code == 0, again.output
    assert [control for _, control, _ in live["asked"]] == ["cubic"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_cells_hold_both_arms_one_pair_after_the_other(live: dict[str, Any]) -> None:
    told: list[float] = []
    made = survey.survey(["reno", "cubic"], [NETWORK], runs=2, quick=True, progress=told.append)
    assert live["asked"] == [(NETWORK, "reno", 2), (NETWORK, "cubic", 2)]
    assert [(cell.cc, cell.live_runs, cell.simulated_runs) for cell in made.cells] == [("reno", 2, 2), ("cubic", 2, 2)]
    rate = made.cells[0].flows[0].of("throughput_mbps")
    assert rate is not None
    assert 0 < rate.first.mean <= 10
    assert told == sorted(told)
    assert told[-1] == 1


def test_the_yardstick_is_met_and_missed(live: dict[str, Any]) -> None:
    assert not survey.survey(["cubic"], [survey.YARDSTICK[0]], quick=True).missed
    live["rate"] = "90 Mb/s"
    made = survey.survey(["cubic", "bbr"], [survey.YARDSTICK[0]], quick=True)
    assert [cell.cc for cell in made.missed] == ["cubic"]
    assert "**missed** by cubic" in page.text(made)


def test_the_decrease_factor_at_a_small_queue_is_told_on_both_sides(live: dict[str, Any]) -> None:
    made = survey.survey(["cubic", "agile_sd"], ["100m-12ms-small"], runs=1)
    assert live["asked"] == [("100m-12ms-small", "cubic", 1), ("100m-12ms-small", "agile_sd", 1)]
    told = page.text(made)
    cubic, agile = (cell.flows[0].of("throughput_mbps") for cell in made.cells)
    assert cubic is not None
    assert agile is not None
    assert agile.first.mean > cubic.first.mean
    over = 100 * (agile.first.mean / cubic.first.mean - 1)
    assert f"simulated +{over:.1f} % and live +{over:.1f} %: the same direction" in told


def test_a_cell_that_fails_is_kept_as_a_failure_and_the_others_are_run(live: dict[str, Any]) -> None:
    live["fail"] = ("agile_sd",)
    made = survey.survey(["reno", "agile_sd", "cubic"], [NETWORK], quick=True)
    assert [cell.failure for cell in made.cells] == [None, "agile_sd is not available here", None]
    text = page.text(made)
    assert "| could not be run |" in text
    assert f"- agile_sd on {NETWORK}: agile_sd is not available here" in text


def test_where_not_even_the_first_can_be_run_there_is_no_survey(live: dict[str, Any], tmp_path: Path) -> None:
    live["fail"] = ("cubic",)
    shown = narrows("--quick", "-o", tmp_path / "live.md")
    assert shown.exit_code == 3
    assert "cubic is not available here" in shown.stderr
    assert not (tmp_path / "live.md").exists()
    assert len(live["asked"]) == 1


def test_doubted_runs_are_marked_in_the_table(live: dict[str, Any]) -> None:
    live["doubt"] = ("cubic",)
    text = page.text(survey.survey(["reno", "cubic"], ["20m-two-rtts"], quick=True))
    rows = [line for line in text.splitlines() if line.startswith(("| reno", "| cubic"))]
    assert [row.split("|")[1].strip() for row in rows] == ["reno, near", "reno, far", "cubic, near", "cubic, far"]
    assert ["not to be trusted" in row for row in rows] == [False, False, True, True]
    assert f"- cubic on 20m-two-rtts: {LATE}" in text
    assert "1 of 2 cells have runs that are not to be trusted" in text
    assert "| Kernel release | 6.18 |" in text


def test_the_table_takes_its_place_in_a_page_and_the_rest_stays(live: dict[str, Any], tmp_path: Path) -> None:
    target = tmp_path / "live.md"
    target.write_text(f"# Mine\n\nbefore\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n", encoding="utf-8")
    shown = narrows("--quick", "--cc", "reno", "--network", "10m-40*", "-o", target)
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert live["asked"] == [(NETWORK, "reno", 1)]
    text = target.read_text(encoding="utf-8")
    assert text.startswith(f"# Mine\n\nbefore\n\n{page.BEGIN}\n")
    assert text.endswith(f"{page.END}\n\nafter\n")
    assert "old" not in text
    once = text
    narrows("--quick", "--cc", "reno", "--network", "10m-40*", "-o", target)
    assert target.read_text(encoding="utf-8") == once


def test_a_page_without_a_place_is_refused_before_anything_runs(live: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "live.md").write_text("# Mine\n", encoding="utf-8")
    shown = narrows("--quick", "-o", tmp_path)
    assert shown.exit_code == 2
    assert "has no place for the table" in shown.stderr
    assert live["asked"] == []
    assert (tmp_path / "live.md").read_text(encoding="utf-8") == "# Mine\n"


@pytest.mark.parametrize("name", gauge.networks())
def test_a_gauge_is_met_by_the_simulator_and_missed_by_a_slower_link(name: str, live: dict[str, Any]) -> None:
    scenario = Scenario.from_file(gauge.networks()[name], {"duration": "3 s"})
    made = gauge.gauge(scenario, 1)
    assert (made.network, made.title) == (name, scenario.title)
    assert made.within
    assert made.off == pytest.approx(0, abs=0.1), "a packet more or less in the second that is measured"
    assert made.live.mean == pytest.approx(made.simulated)
    live["slower"] = True
    slower = gauge.gauge(scenario, 2)
    assert slower.live.n == 2
    assert slower.within == (name not in gauge.RATE_WITHIN and name != "idle")


def test_gauges_are_told_where_nothing_is_chosen(
    live: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: path for name, path in gauge.networks().items() if name in ("rate-10m", "idle")}
    monkeypatch.setattr(gauge, "networks", lambda: kept)
    monkeypatch.setattr(survey, "QUICK_DURATION", "3 s")
    monkeypatch.setattr(survey, "CONTROLS", ("reno",))
    monkeypatch.setattr(survey, "networks", lambda: {NETWORK: Path("validation/live") / f"{NETWORK}.toml"})
    shown = narrows("--quick", "--json", "-o", tmp_path / "live.md")
    assert shown.exit_code == 0
    assert [one[:2] for one in live["asked"]] == [("rate-10m", "cubic"), ("idle", "cubic"), (NETWORK, "reno")]
    told = json.loads(shown.stdout)["gauges"]
    assert [(one["network"], one["unit"], one["within"]) for one in told] == [
        ("rate-10m", "Mb/s", True),
        ("idle", "ms", True),
    ]
    text = (tmp_path / "live.md").read_text(encoding="utf-8")
    assert "| 10.0 | 9.996 | 9.996 | −0.04 % |" in text
    assert "simulated 12.02 ms, live 12.02 ms, 0.00 ms." in text
    live["slower"] = True
    shown = narrows("--quick", "-o", tmp_path / "live.md")
    assert shown.exit_code == 1
    assert "misses its target on rate-10m" in shown.stderr


def test_a_rate_that_this_machine_does_not_hold_is_told_and_the_rest_is_made(
    live: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: path for name, path in gauge.networks().items() if name in ("rate-10m", "rate-1g")}
    monkeypatch.setattr(gauge, "networks", lambda: kept)
    monkeypatch.setattr(survey, "QUICK_DURATION", "3 s")
    monkeypatch.setattr(survey, "CONTROLS", ("reno",))
    monkeypatch.setattr(survey, "networks", lambda: {NETWORK: Path("validation/live") / f"{NETWORK}.toml"})
    live["too fast"] = ("rate-1g",)
    shown = narrows("--quick", "-o", tmp_path / "live.md")
    assert "not held by this machine" in shown.stdout
    text = (tmp_path / "live.md").read_text(encoding="utf-8")
    assert "| **not held** |" in text
    assert "- rate-1g: a live network of rate-1g: this machine is too slow for this rate" in text
    assert f"validation/live/{NETWORK}.toml" in text, "the rest is made"


def test_the_documentation_has_a_place_for_the_table() -> None:
    page.check(Path(__file__).resolve().parents[2] / "docs" / "live.md")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--cc", "nonesuch"], "nonesuch"),
        (["--network", "nonesuch"], "--network is 'nonesuch'; allowed: 100m-12ms-1bdp, "),
        (["--runs", "0"], "runs is 0"),
    ],
)
def test_what_is_not_known_is_refused_before_anything_runs(
    options: list[str], part: str, live: dict[str, Any], tmp_path: Path
) -> None:
    shown = narrows(*options, "-o", tmp_path / "live.md")
    assert shown.exit_code == 2
    assert part in shown.stderr
    assert live["asked"] == []


def test_runs_belong_to_live(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["validate", "--against", "ns2", "--runs", "2", "-o", str(tmp_path)])
    assert shown.exit_code == 2
    assert "--runs 2: is for --against linux and live" in shown.stderr


def test_json_tells_cells_and_failures(live: dict[str, Any], tmp_path: Path) -> None:
    live["fail"] = ("bbr",)
    shown = narrows("--quick", "--cc", "reno,bbr", "--network", NETWORK, "--json", "-o", tmp_path / "live.md")
    assert shown.exit_code == 1
    made = json.loads(shown.stdout)
    assert (made["format"], made["kind"], made["yardstick_met"]) == (1, "survey", True)
    assert [cell["failure"] for cell in made["cells"]] == [None, "bbr is not available here"]
    assert made["cells"][0]["flows"][0]["measures"]["rtt_mean_ms"]["first"]["n"] == 2
    assert f"bbr on {NETWORK} could not be run" in shown.stderr


def test_an_unreadable_page_is_refused(tmp_path: Path) -> None:
    (tmp_path / "live.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        page.check(tmp_path / "live.md")
