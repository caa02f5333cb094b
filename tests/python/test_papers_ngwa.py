"""The reproduction of NGWA: its published figures, its arms, and claims and cells computed from given results."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.python.plainly import as_json

from narrows.report import style
from narrows.runs.simulated import Task, run_all
from narrows.stats import batch_means
from narrows.studies.reproduction.result import Claim
from narrows_papers.ngwa import (
    arms,
    cells,
    claims,
    evidence,
    linux,
    linux_claims,
    rests,
    rounds,
    text,
    window,
    window_claims,
)
from narrows_papers.ngwa.published import published

TABLE_2 = dict(zip((arm.name for arm in arms.ARMS), (4001, 328, 7, 0, 1063, 869, 0, 0, 0, 0), strict=True))
TRIPLES = {"mode1": 30, "mode2": 0, "mode3": 5279, "mode4": 2833, "mode5": 0, "mode6": 0, "mode7": 0, "mode8": 0}


def made_rounds(
    shares: tuple[float, ...] = (1, 1, 1, 1), lost: float = 0.0, triples: float = 0.0, total: float = 187_500.0
) -> rounds.Rounds:
    """Return two equal rounds with the given shares of a total rate, and with losses and triples of flow 1."""
    rates = [total * share / sum(shares) for share in shares]
    one = rounds.Round(
        arrived=tuple(rates),
        delivered=tuple(0.95 * rate for rate in rates),
        triples=(triples, 0, 0, 0),
        series=(triples / 4, 0, 0, 0),
        lost=(lost, 0, 0, 0),
        timeouts=(0, 0, 0, 0),
    )
    noise = np.random.default_rng(1).normal(size=600)
    means = {flow: batch_means(rate + noise, warmup=0) for flow, rate in zip(arms.FLOWS, rates, strict=True)}
    return rounds.Rounds((one, one), means | {"total": batch_means(total + noise, warmup=0)}, ("a", "b"))


def as_published() -> dict[str, rounds.Rounds]:
    """Return arms that agree with the paper."""
    unfair, less, even = (1, 4, 1, 4), (2, 3, 2, 3), (1, 1, 1, 1)
    shares = dict.fromkeys((arm.name for arm in arms.ARMS), even)
    shares |= {"rfc793": (1, 60, 1, 60), "mode1": unfair, "mode3": unfair, "mode2": less, "mode4": less}
    triples = {**TRIPLES, "rfc793": 9000, "newreno": 8000}
    return {name: made_rounds(shares[name], TABLE_2[name], triples[name]) for name in shares}


def decided(given: dict[str, rounds.Rounds]) -> dict[str, bool]:
    return {claim.text: claim.holds for claim in claims.claims(given, published())}


def test_what_is_published_is_what_the_paper_prints() -> None:
    values = published().values
    assert {arm: values["lost", arm] for arm in TABLE_2} == TABLE_2
    assert {arm: values["triples", arm] for arm in TRIPLES} == TRIPLES
    assert {arm: values["window_two", arm] for arm in arms.DIVIDED} == dict.fromkeys(arms.DIVIDED, 50_000)
    assert len(values) == len(TABLE_2) + len(TRIPLES) + 4


def test_the_scenario_has_the_published_values() -> None:
    made = arms.scenario()
    resolved = as_json(made)
    assert made.duration_s == 600
    assert resolved["ngwa"]["alpha"] == 0.3
    assert resolved["ngwa"]["flow_factor"] == 0.98
    flows = resolved["flows"]
    assert [(flow["name"], flow["from"], flow["to"]) for flow in flows] == [
        (f"flow{n}", f"s{n}", f"d{n}") for n in range(1, 5)
    ]
    assert {flow["traffic"]["rate_bps"] for flow in flows} == {500_000}
    assert {flow["tcp"]["mss_bytes"] for flow in flows} == {1000}
    assert {flow["tcp"]["recv_buffer_bytes"] for flow in flows} == {64_000}
    assert window.formula(2) == 47_530
    assert window.formula(4) == 23_765
    assert window.formula(1) == 64_000


@pytest.mark.parametrize("arm", arms.ARMS, ids=lambda arm: arm.name)
def test_the_arms_differ_as_the_paper_says(arm: arms.Arm) -> None:
    made = as_json(arms.scenario().with_overrides(dict(arm.overrides)))
    ngwa, tcp = made["ngwa"], made["flows"][0]["tcp"]
    if arm.name == "rfc793":
        assert (ngwa, tcp["cc"], tcp["recovery"]) == (None, "none", "rto_only")
    elif arm.name == "newreno":
        assert (ngwa, tcp["cc"], tcp["recovery"]) == (None, "reno", "newreno")
    else:
        plain = as_json(arms.scenario())
        assert ngwa == plain["ngwa"] | {"mode": int(arm.name.removeprefix("mode"))}
        assert made["flows"] == plain["flows"]
    assert made["links"] == as_json(arms.scenario())["links"]


def test_arms_can_be_run_by_hand() -> None:
    assert arms.RFC793.options == "--set ngwa.enabled=false --set tcp.cc=none --set tcp.recovery=rto_only"
    assert arms.BY_NAME["mode3"].options == "--set ngwa.mode=3"


def test_rounds_are_paired_and_only_the_first_is_sampled() -> None:
    tasks = rounds.tasks(2)
    assert [task.index for task in tasks] == [0, 1] * len(arms.ARMS)
    assert {task.seed for task in tasks} == {arms.scenario().seed}
    sampled = [as_json(task.scenario)["sampling"] for task in tasks]
    assert sampled[0] != sampled[1]
    assert sampled[::2] == [sampled[0]] * len(arms.ARMS)


def test_results_as_published_meet_every_claim() -> None:
    assert [what for what, holds in decided(as_published()).items() if not holds] == []


@pytest.mark.parametrize(
    ("arm", "changed", "words"),
    [
        ("rfc793", {"shares": (1, 1, 1, 1), "lost": 4001, "triples": 9000}, "the most unfair"),
        ("rfc793", {"shares": (60, 60, 1, 1), "lost": 4001, "triples": 9000}, "flows 2 and 4"),
        ("newreno", {"shares": (1, 4, 1, 4), "lost": 328, "triples": 8000}, "NewReno shares fairly"),
        ("mode1", {"shares": (1, 1, 1, 1), "lost": 7, "triples": 30}, "Modes 1 and 3 are unfair"),
        ("mode2", {"shares": (1, 9, 1, 9)}, "Smoothing makes mode 2 less unfair"),
        ("mode6", {"shares": (1, 1, 1, 1.6)}, "Modes 5 to 8 are fair"),
        ("mode7", {"total": 187_000.0}, "at least as much as NewReno"),
        ("mode3", {"shares": (1, 4, 1, 4), "lost": 1063, "triples": 8500}, "Standard TCP and NewReno get the most"),
        ("mode4", {"shares": (2, 3, 2, 3), "lost": 869, "triples": 6000}, "mode 3 has most"),
        ("mode8", {"triples": 1}, "Modes 5 to 8 get no triple duplicate ACK"),
        ("mode2", {"shares": (2, 3, 2, 3), "triples": 31}, "Smoothing spares"),
        ("newreno", {"lost": 2000, "triples": 8000}, "Losses, from most to least"),
        ("mode5", {"lost": 1}, "Modes 5 to 8 lose nothing"),
        ("mode2", {"shares": (2, 3, 2, 3), "lost": 1}, "Mode 2 loses nothing"),
        ("mode2", {"shares": (2, 3, 2, 3), "triples": 2}, "Mode 2 gets no triple duplicate ACK"),
        ("mode3", {"shares": (1, 4, 1, 4), "lost": 4000, "triples": 5279}, "order of magnitude"),
    ],
)
def test_one_result_that_differs_fails_its_claim(arm: str, changed: dict[str, object], words: str) -> None:
    given = as_published() | {arm: made_rounds(**changed)}  # type: ignore[arg-type]
    failing = [what for what, holds in decided(given).items() if not holds]
    assert any(words in what for what in failing), failing


def made_windows() -> dict[str, window.Window]:
    """Return windows as the paper draws them: NewReno a sawtooth, the modes at the formula's level."""
    time = np.arange(1, 1801) / 10
    flows = np.select([time <= 15, time <= 30, time <= 45, time <= 120], [1, 2, 3, 4], default=2)
    level = np.array([window.formula(int(n)) for n in flows])
    saw = 20_000 + 2000 * (time % 10)
    newreno = np.where(time < 2, 2000.0, np.where(time <= 30, 64_000.0, saw))
    slow = np.where(time < 2, newreno, level)
    made = {arm: window.Window(time, slow if arm in window_claims.WITH_CWND else level) for arm in arms.DIVIDED}
    return {"newreno": window.Window(time, newreno), **made}


def test_windows_as_published_meet_every_claim() -> None:
    assert [claim.text for claim in window_claims.claims(made_windows()) if not claim.holds] == []


@pytest.mark.parametrize(
    ("arm", "change", "words"),
    [
        ("newreno", lambda t, v: np.where(t > 0, 64_000.0, v), "NewReno starts low"),
        ("newreno", lambda t, v: np.where(t > 5, 20_000.0, v), "NewReno starts low"),
        ("newreno", lambda t, v: np.where((t > 2) & (t < 60), 64_000.0, v), "NewReno starts low"),
        ("newreno", lambda t, v: np.where((t > 2) & (t < 42), 64_000.0, v), "NewReno starts low"),
        ("mode7", lambda t, v: np.where(t < 10, 1000.0, v), "Modes 5 and 6 begin"),
        ("mode5", lambda t, v: np.where((t > 15) & (t <= 30), 14_000.0, v), "with two flows, modes 5 to 8 come down"),
        ("mode6", lambda t, v: np.where((t > 30) & (t <= 45), 60_000.0, v), "For each new flow"),
        ("mode8", lambda t, v: np.where((t > 60) & (t <= 90), 2 * v, v), "With four flows (60 to 120 s)"),
        ("mode5", lambda t, v: np.where(t > 160, v / 2, v), "stable until the end"),
        ("mode6", lambda t, v: np.where((t > 120) & (t < 135), v / 2, v), "adjust the window rapidly"),
        ("mode5", lambda t, v: np.where((t > 45) & (t <= 120), 30_000.0, v), "With four flows modes 5 to 8 sit"),
        ("mode7", lambda t, v: np.where(t > 120, 30_000.0, v), "With two flows again modes 5 to 8 sit"),
    ],
)
def test_one_window_that_differs_fails_its_claim(arm: str, change: object, words: str) -> None:
    given = made_windows()
    assert callable(change)
    given[arm] = window.Window(given[arm].time_s, change(given[arm].time_s, given[arm].value))
    failing = [claim.text for claim in window_claims.claims(given) if not claim.holds]
    assert any(words in what for what in failing), failing


def test_cells_are_the_results_beside_what_is_published() -> None:
    printed = published()
    given = as_published()
    made = {cell.name: cell for cell in (*cells.of_windows(made_windows(), printed), *cells.of_rounds(given, printed))}
    assert (made["lost/mode3"].published, made["lost/mode3"].measured) == (1063, 1063)
    assert made["triples/rfc793"].published is None
    assert made["window/mode5/two"].published == 50_000
    assert made["window/mode5/two"].measured == window.formula(2)
    assert made["window/mode5/four"].published is None
    rate = given["mode1"].rates["2"].estimate
    assert (made["rate/mode1/2"].measured, made["rate/mode1/2"].low) == (rate.mean, rate.low)


def test_no_interval_of_a_count_goes_below_zero() -> None:
    one, other = (made_rounds(lost=lost).rounds[0] for lost in (0.0, 30.0))
    made = rounds.Rounds((one, other), made_rounds().rates)
    by_name = {cell.name: cell for cell in cells.of_rounds({"mode1": made}, published())}
    assert made.estimate("lost").low < 0
    assert by_name["lost/mode1"].low == 0


def made_transfers(rates: dict[str, tuple[float, float]] | None = None) -> linux.Transfers:
    """Return transfers of the Linux section: for each method the rate, and the share of the first of two flows."""
    given = {method.name: (12e6, 0.5) for method in linux.METHODS} | (rates or {})
    made = {}
    for name in linux.WINDOWS:
        for setting in linux.SETTINGS:
            for method in linux.METHODS:
                total, share = given[method.name]
                parts = (total,) if setting.flows == 1 else (share * total, (1 - share) * total)
                means = tuple(batch_means(np.full(300, part), warmup=0) for part in parts)
                made[name, setting.name, method.name] = linux.Transfer(means, 0, 0, 66_000, 0.999)
    return made


def test_methods_that_are_all_alike_meet_only_claims_of_fairness_and_stability() -> None:
    holding = [claim.text for claim in linux_claims.claims(made_transfers(), "64kB") if claim.holds]
    assert len(holding) == 2
    assert "size of the queue does not matter" in holding[0]
    assert "division among flows is fair" in holding[1]


def test_an_advantage_on_linux_is_seen() -> None:
    given = made_transfers({"newreno": (11e6, 0.9), "red": (10e6, 0.5)})
    held = {claim.text: claim.holds for claim in linux_claims.claims(given, "64kB")}
    assert next(holds for what, holds in held.items() if "in all four settings NGWA carries more" in what)
    assert next(holds for what, holds in held.items() if "NGWA in general carries more" in what)
    assert next(holds for what, holds in held.items() if "but not both" in what)
    assert not next(holds for what, holds in held.items() if "fairer than NewReno" in what)


def test_the_text_on_linux_says_whether_queues_overflow() -> None:
    said = text.linux_text(made_transfers())
    assert "one flow of NewReno over a FIFO loses nothing in any setting" in said
    assert "66 kB" in said
    assert "the same payload to within 0.00 %" in said


def test_queues_and_red_are_as_the_paper_sets_them() -> None:
    methods = {method.name: method for method in linux.METHODS}
    for packets, times in ((100, 1), (1000, 10)):
        setting = linux.Setting(10, packets, 1)
        made = {
            name: as_json(linux.scenario().with_overrides(linux.overrides(setting, method)))["links"][0]["forward"]
            for name, method in methods.items()
        }
        red = made["red"]["queue"]
        assert (red["limit_bytes"], red["max_p"], red["mean_packet_bytes"]) == (170_000 * times, 0.02, 1700)
        assert (red["min_threshold"], red["max_threshold"]) == (20_000 * times, 84_000 * times)
        assert (red["bytes_mode"], red["ecn"]) == (True, False)
        assert made["newreno"]["queue"]["limit_packets"] == packets
        assert made["mode5"]["queue"] == made["newreno"]["queue"]
        assert made["mode5"]["rate_bps"] == 10_000_000
    assert as_json(linux.scenario())["ngwa"]["packet_size_bytes"] == linux.PACKET_BYTES


def test_the_search_has_every_point_once_and_the_scenario_among_them() -> None:
    found = evidence.search()
    names = [point.name for point in found.points]
    assert len(set(names)) == len(names)
    assert "scenario.toml" in names
    assert found.runs > 1, "a mean of one run has no interval"
    assert [point.distance for point in found.points] == sorted(point.distance for point in found.points)


def test_losses_of_standard_tcp_have_their_phases_beside_them() -> None:
    told = rests.phases(evidence.search())
    assert told == (
        "a phase effect: 4,219 with the middle link 1 b/s faster, 20,631 with the access links 1 b/s faster; 15 rounds"
    )
    said = text.headline(made_windows(), as_published(), [], [], published(), told)
    assert re.search(rf"RFC 793: [\d,]+ \({re.escape(told)}\); NewReno:", said)
    assert rests.phases(evidence.Search((), 15)) == ""


def test_claims_about_losses_say_how_many_choices_keep_them() -> None:
    found = rests.choices(claims.claims(as_published(), published()), evidence.search(), published())
    by_start = {text.split()[0] + text.split()[-1]: told for text, told in found.items()}
    assert not any(text.startswith("Modes 5 to 8 lose nothing") for text in found), "every choice keeps it"
    assert len(found) == 3, by_start
    for told in found.values():
        kept, number = map(int, re.findall(r"under (\d+) of (\d+) choices", told)[0])
        assert 0 < kept < number == len(evidence.search().points)


def test_who_takes_nearly_all_is_decided_on_all_rounds() -> None:
    made = as_published()
    (one,) = [claim for claim in claims.claims(made, published()) if "flows 2 and 4" in claim.text]
    assert one.holds
    even = made_rounds((1, 1, 1, 1), 4001, 9000).rounds
    threefold = {name: replace(arm, rounds=3 * arm.rounds) for name, arm in made.items()}
    first = made["rfc793"].rounds
    mixed = {**threefold, "rfc793": replace(made["rfc793"], rounds=(*first, *even, *even))}
    (one,) = [claim for claim in claims.claims(mixed, published()) if "flows 2 and 4" in claim.text]
    assert not one.holds
    assert f"so in {len(first)} of {3 * len(first)} rounds" in one.measured


def test_the_headline_counts_claims_and_names_few() -> None:
    one, other = Claim("the sky is green", False, ""), Claim("water is wet", True, "")
    on_linux = Claim("it is fast (window of 64 KB)", False, "")
    said = text.headline(made_windows(), as_published(), [one, other, on_linux], [], published())
    assert "hold here: 1 of 2;" in said
    assert "Linux section, in simulation: 0 of 1;" in said
    assert "“the sky is green”" in said
    assert "47,530" in said
    assert "none in modes 5 to 8" in said
    losing = text.headline(made_windows(), {**as_published(), "mode6": as_published()["mode1"]}, [one], [], published())
    assert "mode 5: 0; mode 6: 7.00; mode 7: 0" in losing
    many = text.headline(made_windows(), as_published(), [one] * 9, [], published())
    assert "the sky is green" not in many
    assert "9 claims of the simulations that do not hold" in many


@pytest.mark.slow
def test_the_table_of_the_readme_is_what_comes_out() -> None:
    found = rounds.collect(run_all(rounds.tasks(rounds.ROUNDS)))
    readme = (arms.folder() / "README.md").read_text()
    for arm in arms.ARMS:
        made = found[arm.name]
        triples, lost = (style.count(round(made.estimate(name).mean, 1)) for name in ("triples", "lost"))
        (row,) = (line for line in readme.splitlines() if line.startswith(f"| {arm.title} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert (cells[2], cells[4], cells[5]) == (triples, lost, f"{made.estimate('jain').mean:.3f}")
    for mode in ("mode3", "mode4"):
        least, most = (style.count(end(found[mode].values("lost"))) for end in (min, max))
        assert f"from {least} to {most}" in readme


def test_the_window_is_the_smaller_of_cwnd_and_rwnd() -> None:
    short = {"duration": "20 s", "flows[2].start": "19 s", "flows[3].start": "19 s"}
    stops = {"flows[2].stop": "end", "flows[3].stop": "end"}
    made = {}
    for arm in ("newreno", "mode7"):
        overrides = {**arms.BY_NAME[arm].overrides, **window.OVERRIDES, **short, **stops}
        (run,) = run_all([Task(arms.scenario().with_overrides(overrides), 1)])
        made[arm] = window._window(run)
    assert made["mode7"].between(5, 15) == pytest.approx(window.formula(1), rel=0.001)
    assert made["mode7"].between(17, 18.9) == pytest.approx(window.formula(2), rel=0.001)
    assert made["newreno"].between(0, 0.1).max() < 10_000
    assert made["newreno"].value.max() <= 64_000
