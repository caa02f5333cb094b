"""The reproduction of Agile-SD: its sweeps, the measures of runs, and claims and cells computed from given results."""

from __future__ import annotations

import itertools
import runpy
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pytest
from tests.python.plainly import as_json
from typer.testing import CliRunner

from narrows.base.errors import InputError
from narrows.cli import app
from narrows.runs.simulated import run
from narrows.studies import reproduction
from narrows.studies.reproduction.request import Request
from narrows.studies.reproduction.result import Claim, Reproduction
from narrows_papers.agile_sd import arms, cells, claims, evidence, execute, fairness, figures, flows, measures, rests
from narrows_papers.agile_sd import parts as sweeps
from narrows_papers.agile_sd.claimed import Found
from narrows_papers.agile_sd.data import Data, Runs
from narrows_papers.agile_sd.published import published
from narrows_papers.agile_sd.report import REPORT
from narrows_papers.frame.write import write

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.model.scenario import Override
    from narrows.outcome import Run

ALL = tuple(arm.name for arm in arms.ARMS)
USED = {"agile_sd": 90.0, "cubic": 60.0, "compound": 55.0, "reno": 60.0, "bbr3": 85.0}
"""Utilisation without packet errors, per cent."""


def made_runs(**changes: float) -> Runs:
    """Return runs that agree with the paper; `changes` apply to single arms, such as ``reached_cubic``."""
    rows = []
    for scenario, buffer, per, arm, seed in itertools.product(arms.SCENARIOS, arms.BUFFERS, arms.PERS, ALL, (1, 2)):
        large = arms.BUFFERS.index(buffer)
        errors = arms.PERS.index(per)
        alone = scenario == arms.ONE
        lost = 3.0 * errors + (25.0 if alone and errors and arm == "cubic" else 0.0)
        base = {(arms.STAIRCASE, "agile_sd"): 95.0, (arms.ONE, "compound"): 40.0}.get((scenario, arm), USED[arm])
        rise = 1.0 if arm == "agile_sd" else 4.0
        used = min(base + 0.4 * rise * large, 99.0) - lost + 0.1 * seed
        reached = {"agile_sd": 17.0, "cubic": 60.0}.get(arm, float("nan"))
        rows.append(
            {
                "scenario": scenario,
                "buffer": buffer,
                "per": per,
                "arm": arm,
                "seed": seed,
                "utilisation": changes.get(f"utilisation_{arm}", used),
                "loss_ratio": changes.get(f"loss_{arm}", 0.1),
                "jain": 0.99,
                "shared_jain": float("nan") if scenario == arms.ONE else changes.get(f"jain_{arm}", 0.95),
                "reached_s": changes.get(f"reached_{arm}", reached) - 0.5 * large,
                "peak_packets": changes.get(f"peak_{arm}", 110.0 if arm == "compound" else 1504.0) + 100 * large,
                "median_packets": 100.0 + 100 * large,
                "timeouts": 0.0,
                "reductions": {"agile_sd": 100.0}.get(arm, 10.0),
            }
        )
    return Runs(pd.DataFrame(rows))


def made_pairs() -> pd.DataFrame:
    """Return pairs with the published indices at 20 packets, and 0.6 at 5."""
    rows = [
        {
            "buffer": buffer,
            "pair": pair,
            "seed": seed,
            "jain": value if buffer == 20 else 0.6,
            "first": 700.0,
            "second": 200.0,
        }
        for pair, value in published().pairs.items()
        for buffer in (5, 20)
        for seed in (1, 2)
    ]
    return pd.DataFrame(rows)


def made_data(**changes: float) -> Data:
    times = np.linspace(0.1, 100.0, 50)
    round_trips = pd.DataFrame(
        [
            {"buffer": buffer, "arm": arm, "seed": 1, "jain": 0.7, "flow1": 400.0, "flow2": 200.0}
            for buffer in (5, 20)
            for arm in ALL
        ]
    )
    return Data(
        printed=made_runs(**changes),
        sack=Runs(made_runs().frame.query("seed == 1 and arm != 'bbr3'")),
        windows={(buffer, arm): (times, np.linspace(2, 1500, 50)) for buffer in arms.BUFFERS for arm in ALL},
        pairs=made_pairs(),
        round_trips=round_trips,
        quick=False,
        flows=4,
        version="1.2.3",
        runs=2400,
        cpu_s=3600.0,
        failures=(),
        digests=dict.fromkeys(sweeps.NAMES, "0" * 64),
    )


def holding(found: list[Claim], start: str) -> bool:
    """Whether the claim whose text starts with `start` holds."""
    (one,) = [claim for claim in found if claim.text.startswith(start)]
    return one.holds


# --------------------------------------------------------------------------------------------------- sweeps, scenarios


def test_the_sweep_is_the_papers() -> None:
    made = {part.name: part.sweep for part in sweeps.parts()}
    assert tuple(made) == sweeps.NAMES
    buffers = made["buffers"]
    assert len(buffers.runs) == 3 * 8 * 4 * 5 * 5
    labels = {name: {point.labels[name] for point in buffers.points} for name in buffers.columns}
    assert labels == {
        "scenario": set(arms.SCENARIOS),
        "buffer": set(arms.BUFFERS),
        "per": set(arms.PERS),
        "arm": set(ALL),
    }


def test_a_published_buffer_counts_the_packet_that_is_being_sent() -> None:
    for part in sweeps.parts():
        for point in part.sweep.points:
            assert point.overrides["queue.limit"] == f"{int(point.labels['buffer']) - 1} packets"


def test_points_have_the_published_parameters() -> None:
    (buffers,) = [part.sweep for part in sweeps.parts() if part.name == "buffers"]
    for point in (buffers.points[0], buffers.points[len(buffers.points) - 1]):
        resolved = as_json(point.scenario)
        tcp = resolved["flows"][0]["tcp"]
        assert resolved["duration_ns"] == 100 * 10**9
        assert tcp["mss_bytes"] + 40 == 1000
        assert tcp["sack"] is (point.labels["arm"] == "bbr3")
        assert {link["forward"]["rate_bps"] for link in resolved["links"]} == {10**9}
        delays = sorted({link["forward"]["delay_ns"] for link in resolved["links"]})
        assert delays == [10**6, 4 * 10**6]
        assert len(resolved["flows"]) == (1 if point.labels["scenario"] == arms.ONE else 4)


def test_packet_errors_are_on_the_shared_link_alone() -> None:
    (buffers,) = [part.sweep for part in sweeps.parts() if part.name == "buffers"]
    point = next(point for point in buffers.points if point.labels["per"] == 1e-4)
    text = point.scenario.to_toml()
    assert text.count("0.0001") == 1


def test_the_first_look_is_part_of_the_whole() -> None:
    whole = {part.name: part.sweep for part in sweeps.parts()}
    quick = {part.name: part.sweep for part in sweeps.parts(quick=True)}
    assert set(quick) == {"buffers", "windows", "pairs"}
    for name, sweep in quick.items():
        assert {run.address for run in sweep.runs} < {run.address for run in whole[name].runs}


@pytest.mark.parametrize("name", ["staircase", "together"])
def test_the_files_are_what_is_made_for_four_flows(name: str) -> None:
    text = (arms.folder() / f"{name}.toml").read_text(encoding="utf-8")
    made = flows.staircase(4, text) if name == "staircase" else flows.together(4, text)
    assert made == text


def test_another_number_of_flows() -> None:
    (buffers,) = [part.sweep for part in sweeps.parts(flows=3) if part.name == "buffers"]
    counts = {str(point.labels["scenario"]): len(as_json(point.scenario)["flows"]) for point in buffers.points[::20]}
    assert counts == {arms.ONE: 1, arms.STAIRCASE: 3, arms.TOGETHER: 3}
    assert flows.times(3, 5.0) == [(0, 3000), (1000, 4000), (2000, 5000)]


# ---------------------------------------------------------------------------------------------------- measures


def test_measures_of_a_run() -> None:
    changes: dict[str, Override] = {"duration": "6 s", "queue.limit": "199 packets", "start_jitter": "1 s"}
    made = run(arms.scenario(arms.TOGETHER), overrides=changes)
    found = measures.of_run(made)
    times, window = measures.cwnd(made)
    assert found["peak_packets"] == pytest.approx(window.max())
    trace = measures.with_trace(made)
    assert trace["cwnd_at_3.0"] == pytest.approx(window[np.searchsorted(times, 2.95)])


def test_a_window_is_reached_when_it_is_1500_packets_for_the_first_time() -> None:
    packets = [float("nan"), 10.0, 1499.9, 1500.0, 1600.0, 900.0]
    frame = pd.DataFrame(
        {
            "name": ["a"] * 6,
            "time_s": np.arange(6.0),
            "cwnd_bytes": 960 * np.array(packets),
            "arrived_bytes": np.arange(6.0),
        }
    )
    flow = SimpleNamespace(name="a", start_s=1.0, active_s=4.0)
    made = SimpleNamespace(flows=(flow,), samples=SimpleNamespace(frame=lambda _: frame))
    found = measures.of_run(cast("Run", made))
    assert found == {"reached_s": 3.0, "peak_packets": 1600.0, "median_packets": 1499.9, "shared_jain": None}


def test_fairness_is_of_stretches_with_the_same_flows() -> None:
    """Flow 1 is alone for 10 s, then both send for 10 s: at a ratio of 3 to 1 for 2 s, and evenly for 8 s."""
    times = np.arange(1.0, 21.0)
    first = np.where(
        times <= 10, 100 * times, np.where(times <= 12, 1000 + 75 * (times - 10), 1150 + 50 * (times - 12))
    )
    second = np.where(times <= 12, 25 * (times - 10), 50 + 50 * (times - 12))
    frame = pd.DataFrame(
        {
            "name": ["a"] * 20 + ["b"] * 10,
            "time_s": [*times, *times[10:]],
            "arrived_bytes": [*first, *second[10:]],
        }
    )
    frames = SimpleNamespace(frame=lambda _: frame)
    both = (
        SimpleNamespace(name="a", start_s=0.0, active_s=20.0),
        SimpleNamespace(name="b", start_s=10.0, active_s=10.0),
    )
    shared = measures.shared_jain(cast("Run", SimpleNamespace(flows=both, samples=frames)))
    assert shared == pytest.approx((550 + 450) ** 2 / (2 * (550**2 + 450**2)))
    alone = cast("Run", SimpleNamespace(flows=both[:1], samples=frames))
    assert measures.shared_jain(alone) is None


# ---------------------------------------------------------------------------------------------------- claims


def test_what_is_published_is_what_the_paper_prints() -> None:
    told = published()
    assert told.the("reached", "agile_sd") == 17
    assert told.the("reached", "cubic") == 60
    assert told.the("peak", "compound") == 110
    assert len(told.pairs) == 6
    assert told.of("reached", "compound") is None


def test_claims_hold_on_runs_as_published() -> None:
    differing = [f"{claim.text}: {claim.measured}" for claim in claims.claims(made_runs()) if not claim.holds]
    assert not differing


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({"reached_agile_sd": 30.0}, "With buffers of 5 packets Agile-SD reaches"),
        ({"reached_cubic": 40.0}, "CUBIC reaches it later"),
        ({"reached_cubic": float("nan")}, "CUBIC reaches it later"),
        ({"loss_compound": float("nan")}, "Loss ratios are below"),
        ({"utilisation_cubic": float("nan")}, "Agile-SD has the highest throughput in all cases (one flow)"),
        ({"reached_cubic": float("nan")}, "The larger the buffer"),
        ({"peak_compound": 1500.0}, "Compound does not reach it"),
        ({"loss_cubic": 0.6}, "Loss ratios are below"),
        ({"jain_compound": 0.8}, "Intra-fairness: all three are close to each other (flows together"),
        ({"utilisation_cubic": 99.9}, "Agile-SD has the highest throughput in all cases (one flow)"),
        (
            {"utilisation_cubic": 99.9},
            "With buffers of 5 packets Agile-SD improves the utilisation by 10 to 40 points over both (flows one",
        ),
        (
            {"utilisation_compound": 20.0},
            "With buffers of 5 packets Agile-SD improves the utilisation by 10 to 40 points over both (flows one",
        ),
        ({"utilisation_compound": 10.0}, "Agile-SD improves the utilisation by up to 55 % (one flow"),
        ({"utilisation_compound": 10.0}, "Agile-SD improves the utilisation by up to 40 % (flows together"),
        ({"utilisation_agile_sd": 62.0}, "Agile-SD improves the utilisation by up to 40 % (flows one after"),
        ({"utilisation_cubic": 96.0}, "while the others do not exceed 95 % with a large buffer"),
    ],
)
def test_claims_can_fail(changes: dict[str, float], start: str) -> None:
    assert holding(claims.claims(made_runs()), start)
    assert not holding(claims.claims(made_runs(**changes)), start)


def test_claims_rest_on_sack_where_the_runs_with_it_decide_otherwise() -> None:
    late = Claim("CUBIC reaches it later, in about 60 s", True, "50 s", runs=5)
    other = Claim("Agile-SD has the highest throughput", True, "all", runs=5)
    with_sack = (replace(late, runs=1), replace(other, holds=False, runs=1))
    told = rests.choices(Found((late, other), (), (), with_sack))
    assert told[late.text] == "ns-2's CUBIC (Linux's: 21.3 s)"
    assert told[other.text] == "recovery without SACK (does not hold with it, one run)"


def test_gains_are_of_common_seeds() -> None:
    whole = made_runs()
    point = ("utilisation", arms.ONE, 5, ("cubic", "agile_sd"))
    assert whole.gain(*point).difference.n == 2
    rows = whole.frame
    failed = (rows["arm"] == "cubic") & (rows["seed"] == 1)
    assert Runs(rows[~failed]).gain(*point).difference.n == 1
    assert Runs(rows[~failed]).gain(*point).difference.mean == pytest.approx(30.0)


def test_inter_fairness_is_decided_where_it_is_nearest() -> None:
    pairs = made_pairs()
    assert fairness.nearest(pairs) == 20
    assert all(claim.holds for claim in fairness.claims(pairs))
    moved = pairs.assign(jain=pairs["jain"].where(pairs["pair"] != "agile_sd cubic", 0.7))
    assert [claim.holds for claim in fairness.claims(moved)].count(False) == 1


def test_a_differing_index_says_what_ns2_has_and_where_it_is_explained() -> None:
    pairs = made_pairs()
    moved = pairs.assign(jain=pairs["jain"].where(pairs["pair"] != "agile_sd cubic", 0.7))
    (differing,) = [claim for claim in fairness.claims(moved) if not claim.holds]
    at, indices = fairness.on_ns2()["without SACK"]
    assert f"{indices['agile_sd cubic']:.2f} without SACK (buffers of {at})" in differing.measured
    assert differing.measured.endswith("see why they differ")
    assert not any(claim.measured.endswith("see why they differ") for claim in fairness.claims(pairs))


def test_distances_are_over_the_pairs_that_are_there() -> None:
    told = published().pairs
    some = {"agile_sd reno": told["agile_sd reno"] + 0.2, "cubic reno": told["cubic reno"] - 0.04}
    assert fairness.distance(some) == pytest.approx(0.12)
    assert fairness.within(some) == 1


def test_ns2_has_each_condition_at_its_nearest_buffer() -> None:
    every = evidence.ns2_indices()
    assert set(every) == {"without SACK", "with SACK", "with SACK, no phases"}
    for condition, (at, indices) in fairness.on_ns2().items():
        assert fairness.distance(indices) == min(fairness.distance(found) for found in every[condition].values())
        assert every[condition][at] == indices


def test_conditions_of_the_search_change_what_they_say() -> None:
    search = runpy.run_path(str(arms.folder() / "pairs-search.py"))
    conditions = {one.name: one for one in search["CONDITIONS"]}
    assert {row["condition"] for row in evidence.pairs_search().rows} == {*conditions, "one-flow.toml"}

    def resolved(name: str) -> dict[str, Any]:
        made: dict[str, Any] = as_json(search["prepared"](conditions[name], "agile_sd reno", 20))
        return made

    def recovery(name: str) -> list[str]:
        return [flow["tcp"]["recovery"] for flow in resolved(name)["flows"]]

    assert recovery("side-by-side.toml") == ["newreno", "newreno"]
    assert recovery("SACK, but not for NewReno") == ["sack", "newreno"]
    assert recovery("losses by the timer alone, but not for NewReno") == ["rto_only", "newreno"]
    four = resolved("two flows of each")["flows"]
    assert [flow["tcp"]["cc"] for flow in four] == ["agile_sd", "agile_sd", "reno", "reno"]
    assert len({flow["from"] for flow in four}) == 4
    limits = {str(link["forward"]["queue"]["limit"]) for link in resolved("limit on the shared link alone")["links"]}
    assert limits == {"19 packets", "99999 packets"}


def test_readings_of_an_index() -> None:
    search = runpy.run_path(str(arms.folder() / "pairs-search.py"))
    changes: dict[str, Override] = {"duration": "6 s", "flows[1].start": "3 s", "sampling": "100 ms"}
    made = search["readings"](run(arms.scenario("side-by-side"), overrides=changes))
    assert set(made) == {"whole run", "while both are there", "mean cwnd while both are there"}
    assert made["whole run"] < made["while both are there"]


def test_rtt_fairness_is_of_the_papers_three() -> None:
    runs = made_data().round_trips
    assert runs is not None
    assert all(claim.holds for claim in fairness.between_round_trips(runs))
    apart = runs.assign(jain=runs["jain"].where(runs["arm"] != "cubic", 0.95))
    assert not any(claim.holds for claim in fairness.between_round_trips(apart))


# ------------------------------------------------------------------------------------------------ cells and page


def test_cells_have_published_beside_measured() -> None:
    made = {cell.name: cell for cell in cells.cells(made_data())}
    reached = made["reached/cubic"]
    assert (reached.published, reached.measured) == (60.0, 60.0)
    assert made["inter-fairness/agile_sd-cubic"].published == 0.99
    assert made["utilisation/one-flow/5/0/agile_sd"].measured == pytest.approx(90.15)
    low, high = made["utilisation/one-flow/5/0/agile_sd"].low, made["utilisation/one-flow/5/0/agile_sd"].high
    assert low is not None
    assert high is not None
    assert low < 90.15 < high
    assert "reached/one-flow/5/0/compound" not in made


def test_figures_have_all_arms_and_buffers() -> None:
    drawn = {figure.name: figure for figure in figures.all_of(made_data())}
    assert len(drawn["throughput-one-flow"].panels) == 4
    assert drawn["throughput-together"].ticks == tuple(str(buffer) for buffer in arms.BUFFERS)
    assert {line.name for line in drawn["losses"].panels[0].lines} == {arm.title for arm in arms.ARMS}
    assert len(drawn["windows"].panels) == 8


def test_the_page_is_written_from_data(tmp_path: Path) -> None:
    made = write(tmp_path, REPORT.contents(made_data(), Request()))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The other reading: with SACK" in text
    assert "Why the inter-fairness indices differ" in text
    assert "losses by the timer alone, but not for NewReno" in text
    assert "A first look" not in text
    assert made.paths[0] == tmp_path / "report.html"
    assert all(path.exists() for path in made.paths)
    first = replace(made_data(), quick=True, sack=None, round_trips=None, failures=("buffers: arm = reno, seed 1: no",))
    first = replace(first, printed=Runs(first.printed.frame.query("seed == 1 and per == 0")))
    assert write(tmp_path, REPORT.contents(first, Request())).failures == first.failures
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "A first look" in text
    assert "1 runs failed" not in text
    assert "buffers: arm = reno, seed 1: no" in text
    assert "RTT-fairness, the runs with SACK" in text


def test_evidence_is_there() -> None:
    assert {row["name"] for row in evidence.search().rows} >= {"one-flow.toml", "SACK"}
    assert {row["receiver"] for row in evidence.ns2().rows} == {"with SACK", "without SACK"}


# ------------------------------------------------------------------------------------------------------------ the whole


def test_runs_are_kept_and_the_page_is_made_from_them(tmp_path: Path) -> None:
    wanted = [part for part in sweeps.parts(quick=True) if part.name != "buffers"]
    short = [
        replace(part, sweep=replace(part.sweep, settings={**part.sweep.settings, "duration": "2 s"})) for part in wanted
    ]
    (buffers,) = [part for part in sweeps.parts(quick=True) if part.name == "buffers"]
    together = tuple(
        axis if axis.name != "scenario" else replace(axis, values=axis.values[1:]) for axis in buffers.sweep.axes
    )
    short.insert(0, replace(buffers, sweep=replace(buffers.sweep, axes=together, settings={"duration": "2 s"})))
    seen: list[float] = []
    data = execute.run(tmp_path, short, Request(progress=seen.append))
    assert data.quick
    assert seen[-1] == 1.0
    assert (data.runs, data.failures) == (9 + 9 + 6, ())
    again = execute.run(tmp_path, short, Request())
    assert again.digests == data.digests
    assert execute.read(tmp_path).runs == data.runs
    made = reproduction.reproduce("agile-sd", tmp_path, page_only=True)
    assert made.cell("reached/agile_sd").published == 17
    assert (tmp_path / "report.html").exists()


def test_bad_input() -> None:
    with pytest.raises(InputError, match="flows is 1; allowed: 2 to 100"):
        reproduction.reproduce("agile-sd", flows=1)
    with pytest.raises(InputError, match="not made of sweeps; allowed with flows or page: agile-sd"):
        reproduction.reproduce("acns", page_only=True)


def test_a_page_without_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lacks runs/buffers"):
        reproduction.reproduce("agile-sd", tmp_path, page_only=True)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_failed_runs_are_listed_and_the_exit_code_is_1(more: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Reproduction("agile-sd", (), (), {}, "Most of it.", failures=("buffers: arm = reno, seed 1: no luck",))
    monkeypatch.setattr(reproduction, "reproduce", lambda *_, **__: failed)
    shown = CliRunner().invoke(app, ["reproduce", "agile-sd", *more])
    assert shown.exit_code == 1
    assert (
        "error: 1 run failed and is missing from these results; narrows reproduce agile-sd tries again" in shown.stderr
    )
    assert "  buffers: arm = reno, seed 1: no luck" in shown.stderr
