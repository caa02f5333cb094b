"""`narrows validate --against linux`: runs, causes, kernels and page. Simulations stand in for runs on Linux."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows import _core
from narrows.base import bundled
from narrows.base.errors import InputError, Interrupted, LiveError
from narrows.cli import app
from narrows.outcome import Batch
from narrows.studies.linux import description, experiments, overview, page, validate, write
from narrows.studies.linux.compare import relative, spread
from narrows.studies.linux.description import Cause, Experiment
from narrows.studies.linux.experiments import FEWEST, FURTHER

if TYPE_CHECKING:
    from typer.testing import Result

    from narrows.model.scenario import Scenario
    from narrows.outcome import Run

SCENARIO = "10m-40ms-1bdp"
TWO = "10m-40ms-two"
LOSS = "10m-60ms-loss"
STARTS = next(scene.starts for scene in description.load().scenes if scene.name == TWO)
SLOWER = {"topology.bottleneck.rate": "8 Mb/s"}


@dataclass(frozen=True)
class Kernel:
    """A kernel that stands in for a real one."""

    name: str
    release: str


KERNELS = {"6.1": Kernel("debian:bookworm", "6.1.0-56-amd64"), "6.12": Kernel("6.12.9-amd64", "6.12.9-amd64")}


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace runs on Linux with simulations, which are controlled by the returned dictionary."""
    settings: dict[str, Any] = {"asked": [], "differ": {}, "missing": {}, "stop at": None}

    def find(name: str | None = None) -> Kernel:
        if settings.get("none"):
            message = "no kernel is at hand; `narrows kernels add debian:bookworm` adds one"
            raise LiveError(message, "unavailable")
        return KERNELS[name or "6.1"]

    def run(scenario: Scenario, kernel: Kernel, seed: int, gauge: _core.Progress) -> Run:
        gauge.check()
        control = str(scenario.overrides["tcp.cc"])
        settings["asked"].append((scenario.name, control, kernel.release, seed))
        if settings["stop at"] is not None and len(settings["asked"]) > settings["stop at"]:
            raise Interrupted(Batch(scenario=scenario, seed=seed, runs=()), 1)
        if control in settings["missing"]:
            raise LiveError(settings["missing"][control], "unsupported")
        changed = settings["differ"].get(kernel.release, {}) if seed <= settings.get("until seed", seed) else {}
        made = nw.run(scenario.with_overrides({"tcp.kernel": "linux-6.1", **changed}), seed=seed)
        doubts = settings.get("doubts", [])
        return replace(made, conditions={"kernel": kernel.release, "trusted": not doubts, "doubts": doubts})

    fakes: dict[str, dict[str, Any]] = {
        "narrows.kernels": {"find": find},
        "narrows.runs.vm": {
            "run": run,
            "address": lambda kernel: f"vm {kernel.release} {settings.get('program', 'first')}",
            "machine_address": lambda kernel: f"vm {kernel.release}",
        },
    }
    for name, content in fakes.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(experiments, "SPREAD_RUNS", 4)
    return settings


def told(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Add causes and experiments to the description."""
    known = description.load()
    monkeypatch.setattr(description, "load", lambda: replace(known, **changed))


def narrows(*arguments: str | Path) -> Result:
    given = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, ["validate", "--against", "linux", "--no-progress", *given])


def test_every_variant_has_every_scenario_with_linux_as_its_stack() -> None:
    known = description.load()
    assert len(known.scenes) >= 10
    assert len(known.variants) >= 15
    assert any(one.quick for one in known.scenes)
    assert any(one.drawn for one in known.scenes)
    for scene in known.scenes:
        assert 'stack = "linux"' in Path(scene.path).read_text(encoding="utf-8")
        for variant in known.variants:
            made = scene.scenario(variant)
            assert made.name == scene.name
            assert set(made.congestion_controls().values()) == {variant.name}
            assert not made.warnings


def test_the_scenarios_span_what_was_promised() -> None:
    known = description.load()
    scenarios = [scene.scenario(known.variants[0]) for scene in known.scenes]
    bottlenecks = [min(one.resolved.links, key=lambda link: link.forward.rate_bps) for one in scenarios]
    rates = [link.forward.rate_bps / 1e6 for link in bottlenecks]
    assert (min(rates), max(rates)) == (1, 50)
    assert {len(one.resolved.flows) for one in scenarios} == {1, 2}
    files = {path.stem for path in bundled.directory("validation/linux").glob("*.toml")}
    assert files == {one.name for one in known.scenes} | {"description"}


def test_scenarios_whose_seeds_matter_have_several() -> None:
    known = description.load()
    for scene in known.scenes:
        drawn = scene.scenario(known.variants[0]).resolved.start_jitter_ns > 0
        assert (scene.starts > 1) == drawn, scene.name


def test_causes_name_known_experiments_variants_and_scenarios() -> None:
    known = description.load()
    names = [one.name for one in known.experiments]
    assert len(set(names)) == len(names)
    for cause in (*known.causes, *known.changes):
        assert cause.experiment in names
        assert any(
            cause.covers(v.name, s.name, "6.1") or cause.kernels != "*" for v in known.variants for s in known.scenes
        )
    for one in known.experiments:
        assert one.simulated or one.both


def test_the_same_seeds_give_the_same_starts_and_no_difference(linux: dict[str, Any]) -> None:
    made = validate(["reno"], [TWO])
    assert linux["asked"] == [(TWO, "reno", "6.1.0-56-amd64", seed) for seed in range(1, STARTS + 1)]
    assert [(one.flow, one.starts) for one in made.pairs] == [("first", STARTS), ("second", STARTS)]
    assert all(one.difference("throughput_mbps") == 0 and one.distance == 0 for one in made.pairs)
    assert not made.cells
    assert not made.missed


def test_runs_replace_the_seeds_of_all_scenarios(linux: dict[str, Any]) -> None:
    made = validate(["reno"], [TWO], runs=1)
    assert [seed for *_, seed in linux["asked"]] == [1]
    assert f"--cc reno --scenario {TWO} --runs 1 --kernel 6.1`" in page.text(made, "linux", set())


def test_a_cell_beyond_the_limit_is_unexplained_without_a_cause(linux: dict[str, Any]) -> None:
    linux["differ"]["6.1.0-56-amd64"] = SLOWER
    made = validate(["reno"], [SCENARIO])
    rate = next(one for one in made.cells if one.key == "throughput_mbps")
    assert rate.difference == pytest.approx(0.25, abs=0.02)
    assert rate.unexplained
    assert rate.spread is not None
    assert rate.spread < 0.01
    shown = page.text(made, "linux", set())
    assert "### Unexplained" in shown
    assert "**unexplained**" in shown


def test_an_experiment_that_takes_the_difference_away_isolates_its_cause(
    linux: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    linux["differ"]["6.1.0-56-amd64"] = SLOWER
    told(
        monkeypatch,
        experiments=(Experiment("rate", "the link is as slow as Linux's", simulated=SLOWER),),
        causes=(Cause("re*", "10m-*", "rate", "The link of Linux is slower."),),
    )
    made = validate(["reno"], [SCENARIO])
    assert made.cells
    assert all(one.isolated for one in made.cells)
    assert made.unexplained == 0
    shown = page.text(made, "linux", set())
    assert "`rate`: The link of Linux is slower. The experiment: the link is as slow as Linux's." in shown


def test_an_experiment_without_effect_isolates_nothing(linux: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    linux["differ"]["6.1.0-56-amd64"] = SLOWER
    told(
        monkeypatch,
        experiments=(Experiment("nagle", "Nagle's algorithm", simulated={"tcp.nagle": True}),),
        causes=(Cause("reno", "*", "nagle", "Nothing."),),
    )
    made = validate(["reno"], [SCENARIO])
    assert made.unexplained == len(made.cells) > 0
    assert "| nagle: +" in page.text(made, "linux", set())


def test_a_difference_that_further_seeds_do_not_show_is_the_choice_of_seeds(linux: dict[str, Any]) -> None:
    linux["differ"]["6.1.0-56-amd64"] = {"topology.bottleneck.rate": "4 Mb/s"}
    made = validate(["reno"], [LOSS])
    assert made.unexplained == len(made.cells) > 0
    assert {one.further.starts for one in made.cells if one.further is not None} == {3 * FURTHER}
    assert "9 further seeds: +" in page.text(made, "linux", set())
    linux["until seed"] = 3
    made = validate(["reno"], [LOSS])
    assert all(one.vanishes for one in made.cells)
    assert len(made.cells) > 0 == made.unexplained
    shown = page.text(made, "linux", set())
    assert "### Not under further seeds" in shown
    assert "### Unexplained" not in shown
    assert json.loads(json.dumps(made.to_json()["cells"]))[0]["vanishes"] is True


def test_a_change_between_kernels_that_further_seeds_do_not_show_is_the_choice_of_seeds(linux: dict[str, Any]) -> None:
    linux["differ"]["6.12.9-amd64"] = {"topology.bottleneck.rate": "4 Mb/s"}
    made = validate(["reno"], [LOSS], kernels=["6.1", "6.12"])
    assert all(one.unexplained and one.further is not None for one in made.shifts)
    assert "**unexplained** (−" in page.text(made, "linux", set())
    linux["until seed"] = 3
    made = validate(["reno"], [LOSS], kernels=["6.1", "6.12"])
    assert all(one.vanishes for one in made.shifts)
    assert len(made.shifts) > 0
    assert "the seeds (" in page.text(made, "linux", set())
    # Where all starts are fixed, others are drawn.
    linux["asked"].clear()
    linux["until seed"] = 1
    made = validate(["reno"], [SCENARIO], kernels=["6.1", "6.12"])
    assert all(one.vanishes for one in made.shifts)
    assert {seed for *_, release, seed in linux["asked"] if release == "6.12.9-amd64"} == set(range(1, 2 + FEWEST))


def test_only_what_has_changed_runs_again(linux: dict[str, Any], tmp_path: Path) -> None:
    command = ("--cc", "reno", "--scenario", TWO, "-o", tmp_path / "page.md")
    shown = narrows(*command)
    assert shown.exit_code == 0, shown.output
    assert len(linux["asked"]) == STARTS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page", "page.md", "page.runs"]
    first = (tmp_path / "page.md").read_text(encoding="utf-8")
    again = narrows(*command)
    assert again.exit_code == 0, again.output
    assert len(linux["asked"]) == STARTS
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == first
    assert f"runs on Linux, by Narrows {_core.version()}, took" in first
    narrows("--cc", "reno,cubic", "--scenario", TWO, "-o", tmp_path / "page.md")
    assert [control for _, control, _, _ in linux["asked"]] == ["reno"] * STARTS + ["cubic"] * STARTS


def test_runs_of_an_earlier_program_count_if_asked(linux: dict[str, Any], tmp_path: Path) -> None:
    command = ("--cc", "reno", "--scenario", TWO, "-o", tmp_path / "page.md")
    narrows(*command)
    linux["program"] = "second"
    assert narrows(*command, "--earlier").exit_code == 0
    assert len(linux["asked"]) == STARTS, "the machine and the scenarios are the same"
    narrows(*command)
    assert len(linux["asked"]) == 2 * STARTS, "another program may give other results"
    linux["program"] = "third"
    narrows("--cc", "cubic", "--scenario", TWO, "--earlier", "-o", tmp_path / "page.md")
    assert len(linux["asked"]) == 3 * STARTS, "CUBIC was not run before"


def test_after_ctrl_c_finished_runs_are_kept(linux: dict[str, Any], tmp_path: Path) -> None:
    command = ("--cc", "reno", "--scenario", TWO, "--jobs", "1", "-o", tmp_path / "page.md")
    linux["stop at"] = 2
    shown = narrows(*command)
    assert shown.exit_code == 130, shown.output
    linux["stop at"] = None
    linux["asked"].clear()
    assert narrows(*command).exit_code == 0
    assert [seed for *_, seed in linux["asked"]] == list(range(3, STARTS + 1))


def test_kernels_are_compared_with_each_other(linux: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    linux["differ"]["6.12.9-amd64"] = SLOWER
    made = validate(["reno"], [SCENARIO], kernels=["6.1", "6.12"])
    assert made.kernels == {"6.1": "6.1.0-56-amd64", "6.12": "6.12.9-amd64"}
    shift = next(one for one in made.shifts if one.key == "throughput_mbps")
    assert shift.share == pytest.approx(-0.2, abs=0.02)
    assert shift.unexplained
    shown = page.text(made, "linux", set())
    assert "## From kernel to kernel" in shown
    assert f"| reno | {SCENARIO} | 6.1 to 6.12 | throughput | −" in shown
    told(
        monkeypatch,
        experiments=(Experiment("rate", "the link is slower", simulated=SLOWER),),
        changes=(Cause("reno", "*", "rate", "The later kernel's link is slower.", kernels="6.12"),),
    )
    made = validate(["reno"], [SCENARIO], kernels=["6.1", "6.12"])
    assert all(one.isolated for one in made.shifts)
    assert "reno: The later kernel's link is slower." in page.text(made, "linux", set())


def test_the_simulation_has_the_profile_of_each_kernel(linux: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    known = description.load()
    settings = {name: dict(known.profile(name).settings) for name in ("5.15", "6.1.0-50-amd64", "6.12.9-amd64", "7.2")}
    assert [one["tcp.kernel"] for one in settings.values()] == ["linux-6.1", "linux-6.1", "linux-6.12", "linux-7.2"]
    assert dict(replace(known, profiles=()).profile("6.1").settings) == {}
    # A kernel that changes as its profile does is explained by it; one that changes more is not.
    slower = replace(known.profiles[1], settings=SLOWER, why="The later kernel's link is slower.")
    told(monkeypatch, profiles=(known.profiles[0], slower))
    linux["differ"]["6.12.9-amd64"] = SLOWER
    made = validate(["reno"], [SCENARIO], kernels=["6.1", "6.12"])
    assert [one.modelled for one in made.shifts] == [True] * len(made.shifts) != []
    assert not any(one.unexplained for one in made.shifts)
    assert made.unexplained == 0
    shown = page.text(made, "linux", set())
    assert "reno: The later kernel's link is slower." in shown
    assert "| as in Narrows |" in shown
    assert made.to_json()["changes"][0]["modelled"] is True
    linux["differ"]["6.12.9-amd64"] = {"topology.bottleneck.rate": "4 Mb/s"}
    made = validate(["reno"], [SCENARIO], kernels=["6.1", "6.12"])
    assert not next(one for one in made.shifts if one.key == "throughput_mbps").modelled


def test_a_variant_that_a_kernel_lacks_is_told_and_the_others_are_run(linux: dict[str, Any], tmp_path: Path) -> None:
    linux["missing"] = {"lp": "the kernel has no congestion control lp"}
    shown = narrows("--cc", "lp,reno", "--scenario", SCENARIO, "--json", "-o", tmp_path / "page.md")
    assert shown.exit_code == 1
    made = json.loads(shown.stdout)
    assert [one["failure"] for one in made["failures"]] == ["the kernel has no congestion control lp"]
    assert [one["variant"] for one in made["flows"]] == ["reno"]
    assert "lp could not be run on Linux 6.1" in shown.stderr
    assert "## Not run" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_doubts_are_on_the_page(linux: dict[str, Any]) -> None:
    linux["doubts"] = ["the guest was busy"]
    made = validate(["reno"], [SCENARIO])
    assert f"- reno in {SCENARIO} on 6.1, seed 1: the guest was busy" in page.text(made, "linux", set())
    assert not made.to_json()["trusted"]


def test_without_a_kernel_the_command_says_what_to_do(linux: dict[str, Any], tmp_path: Path) -> None:
    linux["none"] = True
    shown = narrows("--quick", "-o", tmp_path / "page.md")
    assert shown.exit_code == 3
    assert "narrows kernels add" in shown.stderr
    assert not (tmp_path / "page.md").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--cc", "nonesuch"], "--cc is 'nonesuch'; allowed: reno"),
        (["--scenario", "nonesuch"], "nonesuch"),
        (["--runs", "0"], "runs is 0; allowed: 1 to 1000"),
        (["--estimate"], "--estimate: goes with --against ns2"),
        (["--networks", "mine.toml"], "--networks: is for --against ns2"),
    ],
)
def test_what_is_not_known_is_refused_before_anything_runs(
    options: list[str], part: str, linux: dict[str, Any], tmp_path: Path
) -> None:
    shown = narrows(*options, "-o", tmp_path / "page.md")
    assert shown.exit_code == 2
    assert part in " ".join(shown.stderr.split())
    assert linux["asked"] == []


def test_kernels_belong_to_linux(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["validate", "--against", "ns2", "--kernel", "6.1", "-o", str(tmp_path)])
    assert shown.exit_code == 2
    assert "--kernel 6.1: is for --against linux" in shown.stderr


def test_scenarios_of_the_users_need_a_page_of_their_own(linux: dict[str, Any], tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(Path(description.load().scene(SCENARIO).path).read_text().replace(SCENARIO, "own"), encoding="utf-8")
    shown = narrows("--scenario", own)
    assert shown.exit_code == 2
    assert "need -o FILE" in " ".join(shown.stderr.split())
    assert narrows("--scenario", own, "--cc", "reno", "-o", tmp_path / "page.md").exit_code == 0
    assert [one[0] for one in linux["asked"]] == ["own"]
    own.write_text(Path(description.load().scene(SCENARIO).path).read_text(), encoding="utf-8")
    with pytest.raises(InputError, match="the name '10m-40ms-1bdp' is given twice"):
        description.load().choose(None, [SCENARIO, str(own)])


def test_page_and_figures_are_written_side_by_side(linux: dict[str, Any], tmp_path: Path) -> None:
    made = validate(["reno"], quick=True)
    assert {seed for *_, seed in linux["asked"]} == {1}
    paths = write(made, tmp_path / "linux.md")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["linux.md", "linux/cwnd-reno.png"]
    shown = paths[0].read_text(encoding="utf-8")
    assert shown.startswith(f"{page.TITLE}\n")
    assert "![Windows of reno over time](linux/cwnd-reno.png)" in shown


def test_json_is_finite_and_complete(linux: dict[str, Any]) -> None:
    linux["differ"]["6.1.0-56-amd64"] = SLOWER
    made = json.loads(json.dumps(validate(["reno"], [SCENARIO]).to_json(), allow_nan=False))
    assert (made["format"], made["against"], made["kernels"]) == (
        1,
        "linux",
        [{"name": "6.1", "release": "6.1.0-56-amd64"}],
    )
    assert made["unexplained"] == len(made["cells"]) > 0
    assert made["flows"][0]["simulated"]["throughput_mbps"] > made["flows"][0]["linux"]["throughput_mbps"]


def test_the_overview_shows_three_pages_side_by_side(linux: dict[str, Any]) -> None:
    linux["differ"]["6.1.0-56-amd64"] = SLOWER
    text = page.text(validate(["reno"], [SCENARIO]), "linux", set())
    docs = Path(__file__).resolve().parents[2] / "docs"
    ns2, live = ((docs / name).read_text(encoding="utf-8") for name in ("validation/ns2.md", "live.md"))
    shown = overview.table(ns2, text, live).splitlines()
    assert "Linux 6.1 in virtual time: throughput" in shown[0]
    assert shown[2].startswith("| reno | 0.1 % | 24.8 % |")
    assert len(shown[2].split("|")) == len(shown[0].split("|"))
    assert not any("agile_sd +" in line or "cubic +" in line for line in shown)
    assert any(line.startswith("| bbr | – |") for line in shown)
    overview.PLACE.around(docs / "validation.md")


def test_spread_and_relative_differences() -> None:
    assert relative(2.0, None) is None
    assert relative(2.0, 2.0) == 0
    wide, narrow = spread([8.0, 10.0, 12.0], 1), spread([9.9, 10.0, 10.1], 1)
    assert wide > 10 * narrow
    assert spread([8.0, 10.0, 12.0], 3) < wide


@pytest.mark.slow
def test_reno_is_near_linux_in_virtual_time(tmp_path: Path) -> None:
    """One variant in one small scenario, on a real kernel."""
    vm = pytest.importorskip("narrows.runs.vm", reason="this version has no virtual machines")
    from narrows import kernels

    try:
        vm.address(kernels.find("6.1"))
    except LiveError as error:
        pytest.skip(str(error))
    shown = narrows("--kernel", "6.1", "--cc", "reno", "--scenario", "1m-100ms-1bdp", "--json", "-o", tmp_path)
    made = json.loads(shown.stdout)
    (flow,) = made["flows"]
    assert made["trusted"], made["doubts"]
    assert flow["simulated"]["throughput_mbps"] == pytest.approx(flow["linux"]["throughput_mbps"], rel=0.02)
    assert flow["simulated"]["rtt_mean_ms"] == pytest.approx(flow["linux"]["rtt_mean_ms"], rel=0.05)
    assert (tmp_path / "linux.md").is_file()
