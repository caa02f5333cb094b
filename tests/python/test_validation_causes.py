"""Causes, held-out networks and the user's own networks in the validation against ns-2."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.python.plainly import as_json
from typer.testing import CliRunner

from narrows.base.errors import InputError
from narrows.cli import app
from narrows.model.scenario import Scenario
from narrows.studies.validation import Validation, description, experiments, inputs, ns2, own, page
from narrows.studies.validation.compare import Flow, compare, verdict
from narrows.studies.validation.description import Description, Experiment, Explanation, Network, Variant
from narrows.studies.validation.experiments import Measured

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.validation.compare import Comparison

NETWORK = Network("10m-50ms", rate=10, rtt=50, duration=60)
HELD_OUT = Network("other", rate=10, rtt=50, duration=60, held_out=True)
CUBIC = Variant("cubic", "linux", "cubic", {"cc": "cubic"}, handshake=False)
SWITCH = Experiment(
    "a-switch", "cubic", (NETWORK,), "a thing is turned", tcp={"sack": False}, ns2={"param": "cubic.beta:512"}, fill=85
)
ISOLATED = Explanation("cubic", "*", (0.2, 0.5), "A cause.", "a-switch", median=0.6)
UNKNOWN = Explanation("cubic", "*", (0.2, 0.5), "Nobody knows.", median=0.6)


def known(*explanations: Explanation) -> Description:
    return Description((NETWORK, HELD_OUT), (CUBIC,), explanations, experiments=(SWITCH,))


def pair(of: Description, ours: float, network: str = NETWORK.name) -> tuple[Comparison, ...]:
    mine, other = ([[Flow(mbps, 4.0, 0.0, np.full(10, mbps))]] for mbps in (ours, 1.0))
    return tuple(compare(of, "cubic", network, mine, other, 0.1))


def validation(of: Description, before: float, after: float | None) -> Validation:
    compared = (*pair(of, before), *pair(of, 1.4, HELD_OUT.name))
    measured = () if after is None else (Measured(SWITCH, NETWORK.name, pair(of, before), pair(of, after)),)
    return Validation(of, compared, (verdict(of, "cubic", compared),), experiments=measured)


def test_a_cause_is_isolated_only_by_an_experiment_that_isolates_it() -> None:
    cases = [(1.01, ISOLATED, True), (1.19, ISOLATED, False), (1.35, ISOLATED, False), (None, ISOLATED, False)]
    for after, explanation, isolated in [*cases, (1.01, UNKNOWN, False)]:
        made = validation(known(explanation), 1.3, after)
        shown = page.text(made, "figures")
        assert made.isolated(explanation) == isolated, (after, explanation)
        assert ("### An experiment isolates the cause" in shown) == isolated
        assert ("### Cause not known" in shown) != isolated
        assert f"For {int(isolated)} of them an experiment isolates the cause; for {int(not isolated)} the" in shown
        assert made.unexplained == 0


def test_a_held_out_network_is_counted_and_never_explained() -> None:
    made = validation(known(ISOLATED), 1.0, 1.0)
    (held_out,) = made.held_out
    assert held_out.beyond
    assert held_out.explanation is None
    assert made.unexplained == 0
    shown = page.text(made, "figures")
    assert "On others, that no range was fitted to, 1 of 1 flows differ by more than 20 %." in shown
    assert "| cubic | 1 | 40 % | +40.0 % on other | 1 | other +40.0 % |" in shown
    assert made.verdicts[0].compared == 1


def test_a_table_shows_what_a_switch_did() -> None:
    shown = page.text(validation(known(ISOLATED), 1.3, 1.01), "figures")
    assert "- a-switch: a thing is turned" in shown
    assert "| a-switch | cubic on 10m-50ms | 1.300 / 1.000 | +30.0 % | 1.010 / 1.000 | +1.0 % | yes |" in shown


def test_a_switch_reaches_the_simulator_that_it_is_turned_in() -> None:
    was, now = (experiments.job(known(), [CUBIC], SWITCH, NETWORK, 1, turned=turned) for turned in (False, True))
    assert (was.variant, was.fill, was.ns2) == (CUBIC, 0, ())
    assert now.variant.tcp == {"cc": "cubic", "sack": False}
    assert (now.fill, now.ns2) == (85, ("param=cubic.beta:512",))


def test_ns2_runs_on_memory_of_one_value() -> None:
    assert ns2.environment(0)["MALLOC_PERTURB_"] == "255"
    assert ns2.environment(85)["MALLOC_PERTURB_"] == "170"
    assert "tcache_count=0" in ns2.environment(0)["GLIBC_TUNABLES"]


def test_every_experiment_of_the_description_can_be_run() -> None:
    every = description.load()
    variants = {variant.name: variant for variant in every.variants}
    keys = description.script().read_text(encoding="utf-8").split("array set opt {")[1].split("}\n")[0].split()
    for one in every.experiments:
        assert one.networks, one.name
        assert one.switch
        for network in one.networks:
            job = experiments.job(every, every.variants, one, network, 1, turned=True)
            scenario = Scenario.from_text(inputs.scenario(job.variant, network, job.rival))
            assert len(as_json(scenario)["flows"]) == network.flows
            assert not network.held_out
        assert set(one.ns2) <= set(keys)
        assert {one.variant, one.rival or one.variant} <= set(variants)


def test_every_explanation_names_an_experiment_of_its_variant_or_none() -> None:
    every = description.load()
    named = {one.name: one for one in every.experiments}
    for one in every.explanations:
        assert one.experiment is None or named[one.experiment].variant == one.variant, one
        networks = {network.name for network in every.networks if not network.held_out}
        if one.experiment is not None:
            assert set(one.networks.split()) <= networks, "an isolated cause holds where it was isolated"
            assert set(one.networks.split()) == {network.name for network in named[one.experiment].networks}


def test_some_networks_are_held_out() -> None:
    held_out = [network for network in description.load().networks if network.held_out]
    assert len(held_out) >= 5
    assert any(network.per >= 0.03 for network in held_out)
    assert any(network.flows > 1 for network in held_out)
    assert not any(network.quick for network in held_out)


def test_own_networks_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[[networks]]\nname = "a"\nrate = 3\nrtt = 70\nduration = 20\npackets = 17\n\n'
        '[[networks]]\nname = "b"\nrate = 3\nrtt = 70\nduration = 20\nflows = 2\nstagger = 1.5\n',
        encoding="utf-8",
    )
    a, b = own.from_file(file)
    assert (a.buffer_packets, a.runs, a.chaotic) == (17, 1, False)
    assert (b.flows, b.stagger, b.runs) == (2, 1.5, own.CHAOTIC_RUNS)
    of = known(ISOLATED).with_networks([a, b])
    assert of.explain("cubic", "a", 0.3) is None, "no range was fitted to it"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("networks = 3", "has no"),
        ("[[networks", "cannot be read as TOML"),
        ('[[networks]]\nname = "a"\nrate = -1\nrtt = 70', r"rate: is -1; allowed: a number from 0.01"),
        ('[[networks]]\nname = "a"\nrate = 1\nrtt = 70', r"duration: is missing"),
        ('[[networks]]\nname = "a"\nrate = 1\nrtt = nan\nduration = 9', r"rtt: is nan"),
        (
            '[[networks]]\nname = "a"\nrate = 1\nrtt = 7\nduration = 9\nflows = true',
            r"flows: is True; allowed: a whole",
        ),
        ('[[networks]]\nname = "a"\nrate = 1\nrtt = 7\nduration = 9\nheld_out = true', r"held_out: unknown key"),
        ('x = 1\n[[networks]]\nname = "a"\nrate = 1\nrtt = 7\nduration = 9', r"x: unknown key"),
    ],
)
def test_a_bad_file_of_networks_is_refused_with_what_is_allowed(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=told) as refused:
        own.from_file(file)
    assert str(file) in str(refused.value)


def test_no_file_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        own.from_file(tmp_path / "none.toml")
    with pytest.raises(InputError, match="is not a file"):
        own.from_file(tmp_path)


def test_a_scenario_that_is_a_dumbbell_becomes_a_network() -> None:
    found = own.from_scenario("dumbbell-cubic")
    assert (found.name, found.rate, found.rtt, found.buffer_packets) == ("dumbbell-cubic", 10, 44, 50)
    assert (found.flows, found.stagger, found.duration, found.per) == (2, 10, 60, 0)
    assert found.runs == own.CHAOTIC_RUNS
    Scenario.from_text(inputs.scenario(CUBIC, found))


def test_losses_of_a_scenario_reach_its_network(tmp_path: Path) -> None:
    file = tmp_path / "lossy.toml"
    network = replace(NETWORK, per=2e-3, packets=33)
    file.write_text(inputs.scenario(CUBIC, network), encoding="utf-8")
    found = own.from_scenario(file)
    assert math.isclose(found.per, 2e-3)
    assert (found.rate, found.rtt, found.buffer_packets, found.flows) == (10, 50, 33, 1)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("wifi-cell", "802.11"),
        ("red-ecn", "not drop-tail"),
        ("rtt-unfairness", "round-trip times"),
        ("request-response", "with an end or pauses"),
        ("changing-rate", "changes"),
        ("reordering", "impairments besides losses"),
        ("acns", "runs acns"),
    ],
)
def test_a_scenario_that_ns2s_script_cannot_run_is_refused_with_reasons(name: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        own.from_scenario(name)
    assert "allowed: a wired dumbbell" in str(refused.value)


def invoke(*options: str) -> tuple[int, str]:
    shown = CliRunner().invoke(app, ["validate", "--no-progress", *options])
    return shown.exit_code, shown.stderr


def test_own_networks_do_not_replace_the_page_of_narrows_own() -> None:
    code, told = invoke("--scenario", "dumbbell-cubic", "--cc", "reno")
    assert code == 2
    assert "need -o FILE" in " ".join(told.split())


def test_a_page_that_is_something_else_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "thesis.md"
    file.write_text("# My thesis\n", encoding="utf-8")
    code, told = invoke("--network", "10m-10ms", "--cc", "reno", "-o", str(file))
    assert code == 2
    assert "holds something other than" in " ".join(told.split())
    assert file.read_text(encoding="utf-8") == "# My thesis\n"


def test_names_of_networks_are_no_scenarios(tmp_path: Path) -> None:
    code, told = invoke("--scenario", "10m-50ms*", "--cc", "reno", "-o", str(tmp_path / "x.md"))
    assert code == 2
    assert "10m-50ms*" in told


def test_networks_from_a_file_are_ns2s_only(tmp_path: Path) -> None:
    code, told = invoke("--against", "live", "--networks", "x.toml", "-o", str(tmp_path / "x.md"))
    assert code == 2
    assert "--scenario FILE" in " ".join(told.split())
