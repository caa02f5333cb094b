"""The validation against ns-2: the input of each simulator, the arithmetic of the comparison, and the page."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.python.plainly import as_json

from narrows.base.errors import InputError
from narrows.model.scenario import Scenario
from narrows.studies.validation import Validation, description, execute, figures, inputs, ns2, page, validate
from narrows.studies.validation.compare import Comparison, Flow, Side, compare, distance, relative, verdict
from narrows.studies.validation.description import Description, Experiment, Explanation, Network, Variant
from narrows.studies.validation.validate import write

if TYPE_CHECKING:
    from pathlib import Path

NETWORK = Network("10m-50ms", rate=10, rtt=50, buffer=1.0, duration=60, drawn=True)
LOSSY = Network("two", rate=2, rtt=100, buffer=0.5, duration=30, per=1e-3, flows=2, stagger=5, runs=3)
LINUX = Variant("cubic", "linux", "cubic", {"cc": "cubic", "mss": "1000 B"}, handshake=False)
OWN = Variant("NewReno", "own", "Newreno", {"cc": "reno", "recovery": "newreno"}, handshake=True)
KNOWN = Explanation("cubic", "10m-*", (0.2, 0.5), "A named difference.", "a-switch", median=0.4)
SWITCH = Experiment(
    "a-switch", "cubic", (NETWORK,), "a thing is turned", tcp={"sack": False}, ns2={"param": "cubic.b:1"}
)
ALL = Description((NETWORK,), (LINUX,), (KNOWN,), ("Something is old.",), (SWITCH,))


def flow(mbps: float, lost: float = 4.0) -> Flow:
    return Flow(mbps=mbps, lost=lost, timeouts=1.0, cwnd=np.full(100, 10.0 * mbps))


def pair(ours: float, theirs: float) -> list[Comparison]:
    return compare(ALL, "cubic", "10m-50ms", [[flow(ours, 5.0)]], [[flow(theirs)]], 0.1)


def validation(ours: float, theirs: float) -> Validation:
    compared = pair(ours, theirs)
    return Validation(ALL, tuple(compared), (verdict(ALL, "cubic", compared),))


def test_every_scenario_of_the_description_is_valid() -> None:
    known = description.load()
    for variant in known.variants:
        for network in known.networks:
            scenario = Scenario.from_text(inputs.scenario(variant, network))
            assert len(as_json(scenario)["flows"]) == network.flows
            assert scenario.duration_s == network.duration


def test_the_networks_span_what_was_promised() -> None:
    networks = [network for network in description.load().networks if not network.held_out]
    assert len(networks) >= 12
    assert {network.flows for network in networks} == {1, 2}
    for values, low, high in (
        ([network.rate for network in networks], 1, 100),
        ([network.rtt for network in networks], 10, 200),
        ([network.buffer for network in networks], 0.2, 2),
        ([network.per for network in networks], 0, 1e-3),
    ):
        assert (min(values), max(values)) == (low, high)


def test_every_chaotic_network_is_averaged_over_seeds() -> None:
    for network in description.load().networks:
        assert (network.runs > 1) == network.chaotic, network.name


def test_ns2_counts_the_packet_in_service_and_we_do_not() -> None:
    assert NETWORK.buffer_packets == 60
    ours = tomllib.loads(inputs.scenario(LINUX, NETWORK))
    assert ours["links"][0]["forward"]["queue"]["limit"] == "60 packets"
    assert "limit=61" in inputs.arguments(LINUX, NETWORK, 1)


def test_the_path_takes_one_round_trip_time_in_both() -> None:
    ours = tomllib.loads(inputs.scenario(LINUX, NETWORK))
    one_way = sum(float(link["delay"].removesuffix(" ms")) for link in ours["links"])
    assert 2 * one_way == pytest.approx(50)
    assert "rtt=50" in inputs.arguments(LINUX, NETWORK, 1)


def test_an_agent_without_a_handshake_starts_a_round_trip_later() -> None:
    assert "start=0.15" in inputs.arguments(LINUX, NETWORK, 1)
    assert "start=0.1" in inputs.arguments(OWN, NETWORK, 1)
    assert tomllib.loads(inputs.scenario(LINUX, NETWORK))["flows"][0]["start"] == "0.1 s"


def test_agent_and_module_are_named_as_ns2_does() -> None:
    assert {"agent=Linux", "module=cubic"} <= set(inputs.arguments(LINUX, NETWORK, 1))
    own = inputs.arguments(OWN, NETWORK, 1)
    assert "agent=Newreno" in own
    assert not any(argument.startswith("module=") for argument in own)


def test_losses_and_flows_and_jitter_reach_both() -> None:
    ours = tomllib.loads(inputs.scenario(OWN, LOSSY))
    assert [link.get("forward", {}).get("per") for link in ours["links"]] == [None, None, 0.001, None, 0.001]
    assert [one["start"] for one in ours["flows"]] == ["0.1 s", "5.1 s"]
    assert ours["start_jitter"] == "200 ms"
    assert {"per=0.001", "flows=2", "stagger=5", "jitter=0.2", "seed=7"} <= set(inputs.arguments(OWN, LOSSY, 7))
    assert tomllib.loads(inputs.scenario(OWN, NETWORK))["start_jitter"] == "0 ms"


def test_the_script_knows_every_argument() -> None:
    known = description.script().read_text(encoding="utf-8").split("array set opt {")[1].split("}")[0].split()[::2]
    for argument in [*inputs.arguments(LINUX, LOSSY, 1), *inputs.arguments(OWN, LOSSY, 1)]:
        assert argument.split("=")[0] in known


def test_ns2s_line_becomes_flows() -> None:
    read = '{"delivered_bytes": 7487500, "lost_packets": 3, "timeouts": 1, "cwnd": [2,4.5]}'
    (one,) = execute.theirs(NETWORK, f'{{"version": "2.35", "flows": [{read}]}}')
    assert one.mbps == pytest.approx(1.0)
    assert (one.lost, one.timeouts) == (3, 1)
    assert one.cwnd.tolist() == [2, 4.5]


def test_means_and_deviations_are_over_the_runs() -> None:
    side = Side.of([flow(1.0, 2), flow(3.0, 4)])
    assert (side.mbps, side.lost) == (2.0, 3.0)
    assert side.mbps_sd == pytest.approx(2**0.5)
    assert side.cwnd.tolist() == [20.0] * 100
    assert side.first.tolist() == [10.0] * 100
    assert Side.of([flow(1.0)]).mbps_sd == 0.0


def test_a_difference_is_relative_to_theirs() -> None:
    assert relative(1.2, 1.0) == pytest.approx(0.2)
    assert relative(0.0, 0.0) == 0.0
    assert relative(1.0, 0.0) == float("inf")


def test_equal_windows_have_no_distance_and_a_shifted_sawtooth_little() -> None:
    saw = np.tile(np.linspace(10.0, 20.0, 20), 30)
    assert distance(saw, saw, 0.1) == 0.0
    assert distance(saw, np.roll(saw, 7), 0.1) < 0.05
    assert distance(2 * saw, saw, 0.1) == pytest.approx(1.0)


def test_windows_of_other_lengths_are_compared_where_both_are() -> None:
    assert distance(np.full(101, 10.0), np.full(100, 10.0), 0.1) == 0.0
    late = np.concatenate([np.zeros(500), np.full(100, 10.0)])
    assert distance(1.1 * late, late, 0.1) == pytest.approx(0.1)


def test_an_explanation_holds_for_its_range_only() -> None:
    (within,), (above,), (target,) = pair(1.3, 1.0), pair(1.6, 1.0), pair(1.1, 1.0)
    assert within.beyond
    assert within.explanation == KNOWN
    assert not within.unexplained
    assert above.unexplained
    assert not target.beyond
    assert target.explanation is None


def test_a_verdict_takes_median_and_worst_of_its_own_variant() -> None:
    compared = [*pair(1.1, 1.0), *pair(1.0, 1.0), *pair(0.5, 1.0)]
    found = verdict(ALL, "cubic", compared)
    assert (found.compared, found.beyond, found.unexplained) == (3, 1, 1)
    assert found.median == pytest.approx(0.1)
    assert found.worst == pytest.approx(0.5)
    assert found.losses == pytest.approx(0.25)


def test_a_median_beyond_its_target_needs_an_explanation_too() -> None:
    explained, not_so, near = (verdict(ALL, "cubic", pair(ours, 1.0)) for ours in (1.3, 1.6, 1.01))
    assert (explained.far, explained.explanation) == (True, KNOWN)
    assert (not_so.far, not_so.explanation) == (True, None)
    assert (near.far, near.explanation) == (False, None)
    assert validation(1.3, 1.0).unexplained == 0


def test_a_median_over_chosen_networks_is_held_to_no_target() -> None:
    some = ALL.choose(None, [ALL.networks[0].name])
    assert not verdict(some, "cubic", pair(1.6, 1.0)).far
    assert verdict(ALL.choose(["cubic"], None), "cubic", pair(1.6, 1.0)).far


def test_the_page_shows_numbers_explanations_and_faults() -> None:
    shown = page.text(validation(1.3, 1.0), "validation")
    for part in (
        "| 10m-50ms | 1.300 | 1.000 | +30.0 % | 5 | 4 |",
        "A named difference.",
        "Something is old.",
        "(cause not known)",
    ):
        assert part in shown
    assert "UNEXPLAINED" not in shown
    assert "![Windows of cubic over time](validation/cwnd-cubic.png)" in shown


def test_the_page_names_what_nothing_accounts_for() -> None:
    shown = page.text(validation(1.6, 1.0), "validation")
    assert "1 are **UNEXPLAINED**: no recorded range has them." in shown
    assert shown.count("**UNEXPLAINED**") == 5  # the headline, median and worst, their sentence, and the row


def test_the_figure_overlays_both_windows() -> None:
    drawn = figures.figure(ALL, "cubic", pair(1.3, 1.0))
    (panel,) = drawn.panels
    assert [line.name for line in panel.lines] == ["ns-2.35", "Narrows"]
    assert panel.lines[1].y.tolist() == [13.0] * 100


def test_page_and_figures_are_written_side_by_side(tmp_path: Path) -> None:
    paths = write(validation(1.3, 1.0), tmp_path / "deep" / "page.md")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["deep/page.md", "deep/page/cwnd-cubic.png"]
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert write(validation(1.3, 1.0), tmp_path / "dir")[0].name == "ns2.md"


def test_figures_of_the_user_s_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    figure = write(validation(1.3, 1.0), target)[1]
    page.check_figures(target)  # ours
    write(validation(1.3, 1.0), target)
    (figure.parent / "thesis.tex").write_text("mine")
    page.check_figures(target)  # not in the way of a figure
    figure.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"cwnd-cubic\.png: was not written by Narrows, or has been changed since"):
        page.check_figures(target)
    with pytest.raises(InputError, match=r"cwnd-cubic\.png: was not written by Narrows"):
        write(validation(1.3, 1.0), target)
    assert (figure.read_bytes(), (figure.parent / "thesis.tex").read_text()) == (b"mine", "mine")


def test_the_json_is_finite_and_says_what_is_unexplained() -> None:
    told = json.loads(json.dumps(validation(1.6, 1.0).to_json(), allow_nan=False))
    assert (told["format"], told["against"], told["unexplained"]) == (2, "ns2", 2)
    assert told["flows"][0]["difference"] == pytest.approx(0.6)
    assert told["variants"][0]["worst_network"] == "10m-50ms"


def test_unknown_names_are_refused_with_what_is_allowed() -> None:
    known = description.load()
    with pytest.raises(InputError, match="cc is 'qubic'; allowed: reno"):
        known.choose(variants=["qubic"])
    with pytest.raises(InputError, match="network is 'nowhere'"):
        known.choose(networks=["nowhere"])
    with pytest.raises(InputError, match="--against is 'ns3'; allowed: ns2"):
        validate("ns3")
    with pytest.raises(InputError, match="jobs is 0"):
        validate(jobs=0)


def test_stars_choose_by_pattern_and_quick_keeps_a_few() -> None:
    known = description.load()
    assert {network.rate for network in known.choose(networks=["100m-*"]).networks} == {100}
    quick = known.choose(quick=True)
    assert 0 < len(quick.networks) < len(known.networks)
    assert 0 < len(quick.variants) < len(known.variants)


def test_without_ns2_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=r"ns-2 is not installed.*Debian's package ns2"):
        ns2.find()
