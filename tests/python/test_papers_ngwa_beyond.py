"""Questions that NGWA's paper leaves open: scenario files, conclusions from fabricated runs, and the whole report."""

from __future__ import annotations

import csv
import json
import re
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json
from tests.python.questions import fabricated, holding

from narrows.model.scenario import Scenario
from narrows.report import style
from narrows.runs.simulated import run
from narrows.studies.reproduction import reproduce
from narrows_papers.frame.beyond.question import Results
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond import (
    against,
    gigabit,
    hosts,
    idle,
    joins,
    options,
    over,
    parking_lot,
    routers,
    rtts,
    syn,
    udp,
)
from narrows_papers.ngwa.beyond.questions import QUESTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.reproduction.result import Reproduction
    from narrows_papers.frame.beyond.question import Key, Question

CASES = [question for question in QUESTIONS if question.key in ("routers", "hosts", "options")]
"""Questions that compare cases of a scenario; the others calculate with values of their own."""

OWN = [question for question in QUESTIONS if question not in CASES]


@pytest.mark.parametrize("question", CASES, ids=lambda one: one.key)
def test_the_setting_names_the_files_rates_and_queues(question: Question) -> None:
    resolved = as_json(Scenario.from_file(question.file))
    links = [link["forward"] for link in resolved["links"]]
    rates = {float(one) for one in re.findall(r"([\d.]+) Mb/s", question.setting)}
    queues = {float(one) for one in re.findall(r"([\d.]+) kB", question.setting)}
    assert rates <= {link["rate_bps"] / 1e6 for link in links}
    assert queues <= {link["queue"]["limit_bytes"] / 1e3 for link in links}
    assert rates
    assert queues
    assert [float(one) for one in re.findall(r"to (\d+) s", question.setting)] == [resolved["duration_ns"] / 1e9]
    assert re.findall(r"([\d]+) ms", question.setting) == [f"{2e-6 * sum(link['delay_ns'] for link in links):.0f}"]


@pytest.mark.parametrize("question", OWN, ids=lambda one: one.key)
def test_what_a_question_reckons_with_is_in_its_file(question: Question) -> None:
    """Rates, limits, round-trip times and segment sizes are also in the code, for formulas and descriptions."""
    code = import_module(question.measure.__module__)
    resolved = as_json(Scenario.from_file(question.file))
    routers = {node["name"] for node in resolved["nodes"] if node["kind"] == "router"}
    middle = [link["forward"] for link in resolved["links"] if {link["a"], link["b"]} <= routers]
    tcp = [flow["tcp"] for flow in resolved["flows"] if flow["tcp"]]
    (payload,) = {one["mss_bytes"] - (12 if one["timestamps"] else 0) - 8 for one in tcp}
    limits = [one["queue"]["limit_bytes"] for one in middle]
    trips = sorted(
        2e-6 * (middle[0]["delay_ns"] + 2 * link["forward"]["delay_ns"])
        for link in resolved["links"]
        if link["b"] == "r1"
    )
    wanted = {
        "RATE_MBPS": middle[0]["rate_bps"] / 1e6,
        "LIMIT_BYTES": limits[0],
        "LIMIT_KB": limits[0] / 1e3,
        "RTT_S": trips[0] / 1e3,
        "RTTS_MS": tuple(trips),
        "QUEUES": {f"r{i}->r{i + 1}": limit / 1e3 for i, limit in enumerate(limits, start=1)},
        "PAYLOAD_BYTES": payload,
        "SEGMENT_BYTES": payload,
        "FLOW_FACTOR": resolved["ngwa"]["flow_factor"],
    }
    for name in wanted.keys() & vars(code).keys():
        assert vars(code)[name] == pytest.approx(wanted[name]), name
    assert {one["rate_bps"] for one in middle} == {1e6 * code.RATE_MBPS}
    assert resolved["ngwa"]["flow_factor"] == 0.98
    if question is over.QUESTION:
        assert middle == [link["forward"] for link in as_json(Scenario.from_file(against.QUESTION.file))["links"]][:1]
        return
    words = [style.rate(middle[0]["rate_bps"])]
    if len(middle) == 1:
        words += [f"{limits[0] / 1e3:,g} kB", *(f"{trip:g}" for trip in trips[:1])]
    assert all(word in question.setting for word in words), (words, question.setting)


def test_shares_decide_whether_ngwa_yields() -> None:
    def value(key: Key, name: str) -> float:
        column = key[1]
        shares = {"off": 45.0, "1": 10.0, "2": 12.0}
        if name == "share":
            return shares.get(column, 30.0)
        return {"lost_ours": 0.0, "waiting": 60.0}.get(name, 1.0)

    assert holding(against.QUESTION, value) == [True, True, True, True]
    louder = holding(
        against.QUESTION, lambda key, name: 55.0 if (*key, name) == ("bbr", "6", "share") else value(key, name)
    )
    assert louder == [False, True, True, True]
    lossy = holding(
        against.QUESTION, lambda key, name: 0.1 if (*key, name) == ("cubic", "5", "lost_ours") else value(key, name)
    )
    assert lossy == [True, True, False, True]
    drained = holding(
        against.QUESTION, lambda key, name: 20.0 if (*key, name) == ("reno", "6", "waiting") else value(key, name)
    )
    assert drained == [True, True, True, False]


def test_a_share_that_is_less_by_chance_yields_to_nobody() -> None:
    even = {arm.key: [dict.fromkeys(against.UNITS, 40.0)] * 3 for arm in against.arms(False)}
    noisy = [dict.fromkeys(against.UNITS, share) for share in (30.0, 45.0, 44.0)]
    lower = [dict.fromkeys(against.UNITS, share) for share in (30.0, 31.0, 30.0)]
    results = Results(even | {("bbr", "6"): noisy, ("cubic", "6"): lower})
    assert results.mean(("bbr", "6"), "share") < 40
    assert against.yielding(results, "6") == ["cubic"]


def test_the_conclusion_about_shares_follows_the_runs() -> None:
    def value(key: Key, name: str) -> float:
        if name == "share":
            return {"off": 45.0, "1": 10.0}.get(key[1], 31.0)
        return 5.0 if (key[1], name) == ("8", "lost_ours") else 1.0

    told = against.conclusion(fabricated(against.QUESTION, value))
    assert "Reno 31 % (45 %)" in told[0]
    assert "it has less: Reno 10 %" in told[0]
    assert "nothing but the timer answers" in told[1]
    calm = against.conclusion(fabricated(against.QUESTION, lambda _key, name: 40.0 if name == "share" else 0.0))
    assert "not always less" in calm[0]
    assert "no more than Reno" in calm[1]


def test_base_variants_are_compared_with_themselves() -> None:
    def value(key: Key, name: str) -> float:
        on = key[1] != "off"
        return {"used": 99.0, "loss": 0.0 if on else 0.3, "rtt": 70.0 if on else 100.0, "jain": 1.0}.get(name, 1.0)

    assert holding(over.QUESTION, value) == [True, True, True, True]
    worse = holding(over.QUESTION, lambda key, name: 90.0 if (*key, name) == ("bbr", "6", "used") else value(key, name))
    assert worse == [True, False, True, True]
    text = over.conclusion(fabricated(over.QUESTION, lambda key, name: 1.0 if key[0] == "bbr" else value(key, name)))[0]
    assert text.startswith("Even where all flows know NGWA, flow division leaves losses to BBR.")


def test_udp_overflows_flow_division_where_arithmetic_says_so() -> None:
    """Two windows of 33 segments of 1500 bytes against 97,000 bytes of queue and 55,000 bytes in flight."""
    assert udp.overflow_at() == pytest.approx(10 * (1 - 2 * 33 * 1500 / (97_000 + 55_000)))

    def value(key: Key, name: str) -> float:
        column, rate = key[0], int(key[1])
        if name in ("lost_tcp", "lost_udp"):
            return {"1": 0.01, "6": 0.2 if rate >= 4 else 0.0, "reno": 0.3}.get(column, 1.0)
        return 2.0 if (name, column) == ("tcp", "8") else 4.0

    assert holding(udp.QUESTION, value) == [True, True, True, True]
    results = fabricated(udp.QUESTION, value)
    assert udp.first_loss(results, "6", list(udp.RATES)) == 4
    assert "from 4 Mb/s of UDP on packets are lost" in udp.conclusion(results, list(udp.RATES))[0]
    never = fabricated(udp.QUESTION, lambda key, name: 0.0 if name.startswith("lost") else value(key, name))
    assert udp.first_loss(never, "6", list(udp.RATES)) is None
    assert "nothing is lost" in udp.conclusion(never, list(udp.RATES))[0]


def test_one_window_a_round_trip() -> None:
    for limit in rtts.LIMITS_KB:
        rates = rtts.theory(limit)
        assert sum(rates) == pytest.approx(10 * 1440 / 1500)
        # The queueing delay is the same for all flows: window over rate differs by the propagation delay only.
        segments = int(0.98 * limit * 1000 / 4 / 1440)
        waits = [segments * 1440 * 8e-3 / rate - rtt for rate, rtt in zip(rates, rtts.RTTS_MS, strict=True)]
        assert waits == pytest.approx([waits[0]] * 4)
    assert sum(rtts.theory(20)) < 10 * 1440 / 1500, "windows that do not fill the link leave no queue"


def test_round_trips_are_held_to_the_theory() -> None:
    def value(key: Key, name: str) -> float:
        limit = int(key[1])
        if name in rtts.FLOWS:
            return rtts.theory(limit)[rtts.FLOWS.index(name)]
        if name == "jain":
            return (0.5 if key[0] in ("reno", "cubic") else 0.7) + limit / 10_000
        return 0.0 if name == "loss" else 9.6

    assert holding(rtts.QUESTION, value) == [True] * 5
    off = holding(
        rtts.QUESTION, lambda key, name: value(key, name) * (1.2 if name == "rtt240" and key[0] == "7" else 1)
    )
    assert off == [False, True, True, True, True]
    late = holding(
        rtts.QUESTION, lambda key, name: 5.0 if (key[2:], name) == (("4, 500 ms",), "total") else value(key, name)
    )
    assert late == [True, True, True, True, False]


def test_the_tightest_queue_is_looked_for() -> None:
    def value(key: Key, name: str) -> float:
        if name == "rwnd":
            return 23_765.0
        if name == "long":
            return 0.3 if key[0] == "reno" else 1.2
        return 0.0 if name == "loss" or name.startswith("dropped") else 99.0

    assert holding(parking_lot.QUESTION, value) == [True] * 4
    wide = holding(parking_lot.QUESTION, lambda key, name: 47_530.0 if name == "rwnd" else value(key, name))
    assert wide == [False, True, True, True]
    results = fabricated(parking_lot.QUESTION, lambda key, name: 84.0 if name == "used r2->r3" else value(key, name))
    assert "used to 84 % only" in parking_lot.conclusion(results, list(parking_lot.COLUMNS))[1]


def test_joins_and_idle_ones_are_judged() -> None:
    def joining(key: Key, name: str) -> float:
        column, total = key[0], int(key[1])
        if name == "join_lost":
            return float(total) * {"reno": 2, joins.DATA: 3}.get(column, 1)
        if name == "stay_jain":
            return 0.8 if column == "reno" else 0.99
        if name == "stay_used":
            return 20.0 if column == "6" and joins.window_bytes(total) < 2 * 1440 else 99.0
        return 99.0 if name == "after_used" else 0.1

    assert joins.window_bytes(2) == pytest.approx(47_530), "the paper's own window"
    assert holding(joins.QUESTION, joining) == [True] * 5
    assert holding(joins.QUESTION, lambda key, name: 50.0 if name == "after_used" else joining(key, name))[4] is False
    costly = holding(
        joins.QUESTION, lambda key, name: 200.0 if (key[0], name) == ("8", "join_lost") else joining(key, name)
    )
    assert costly == [True, True, True, False, True]
    told = joins.conclusion(fabricated(joins.QUESTION, joining), list(joins.TOTALS))
    assert any("Mode 6 then uses 20 % of the link and Reno 99 %" in text for text in told)
    busy = joins.conclusion(
        fabricated(joins.QUESTION, lambda key, name: 99.0 if name == "stay_used" else joining(key, name)),
        list(joins.TOTALS),
    )
    assert not any("The price of many flows" in text for text in busy)

    def idling(key: Key, name: str) -> float:
        if name == "used" and key[0] == "6":
            return 100.0 - float(key[2])
        return 100.0 if name == "used" else 0.0

    assert holding(idle.QUESTION, idling) == [True, True, True, True]
    rising = holding(
        idle.QUESTION, lambda key, name: 99.5 if (*key, name) == ("6", "16", "5", "used") else idling(key, name)
    )
    assert rising == [True, False, True, True]


def test_syns_and_a_gigabit_are_judged() -> None:
    def failing(key: Key, name: str) -> float:
        return {"60": 0.1, "10": 30.0, "1": 80.0, "free": 99.0}[key[0]] if name == "used" else 1.0

    assert holding(syn.QUESTION, failing) == [True, True, True]
    assert holding(syn.QUESTION, lambda _key, name: 60.0 if name == "used" else 1.0) == [False, True, False]
    text = syn.conclusion(fabricated(syn.QUESTION, lambda _key, _name: 60.0), list(syn.COUNTS))[0]
    assert text.startswith("Connections that fail leave more than half of the link used.")

    def gigabit_value(key: Key, name: str) -> float:
        ours = key[0].startswith("6")
        if name == "more":
            return 26.0 if key[0] == "6-unscaled" else 480.0
        return {"lost": 0.0 if ours else 1000.0, "used": 98.0, "jain": 1.0 if ours else 0.7}.get(name, 1.0)

    assert holding(gigabit.QUESTION, gigabit_value) == [True] * 4
    assert holding(gigabit.QUESTION, lambda key, name: 1.0 if name == "jain" else gigabit_value(key, name))[2] is False


def test_partial_deployment_is_judged() -> None:
    def value(key: Key, name: str) -> float:
        case, column = key
        if name == "lost":
            return {"off": 140.0, "6": 0.0 if case != "none" else 138.0}.get(column, 900.0)
        return 1.0 if (case, column) == ("none", "8") else 9.0

    assert holding(routers.QUESTION, value) == [True, True, True, False]
    careless = holding(
        routers.QUESTION, lambda key, name: 30.0 if (key, name) == (("second", "6"), "lost") else value(key, name)
    )
    assert careless == [False, True, True, False]
    mended = holding(routers.QUESTION, lambda _key, name: 0.0 if name == "lost" else 9.0)
    assert mended == [True, False, True, True]
    shares = {"ours": 2.0, "other": 3.0, "lost_ours": 0.0, "lost_other": 9.0}
    assert holding(hosts.QUESTION, lambda _key, name: shares.get(name, 100.0)) == [True, True, False]
    assert holding(
        hosts.QUESTION, lambda key, name: {"ours": 1.0, "rtt": 90.0 if key[1] == "6" else 100.0}.get(name, 3.0)
    ) == [
        False,
        False,
        True,
    ]


def test_middleboxes_are_judged() -> None:
    def value(key: Key, name: str) -> float:
        case, column = key
        if name == "jain":
            return 0.8 if (case, column) == ("copy", "6") else 0.99
        if case.startswith("drop") and column != "off":
            return 0.0
        return 2.0 if (case, column) == ("strip", "8") else 9.0

    assert holding(options.QUESTION, value) == [True, False, False, False]
    assert holding(options.QUESTION, lambda _key, _name: 9.0) == [True] * 4
    told = options.QUESTION.section(fabricated(options.QUESTION, value)).conclusion
    assert "mode 8 delivers 2.00 Mb/s" in told[0]


def test_a_window_counts_what_is_in_it() -> None:
    one = run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
    name, queue = one.flows[0].name, max(one.queues, key=lambda queue: queue.forwarded_bytes)
    course = Course(one)
    whole, early, late = (course.window(*at) for at in ((0.0, 12.0), (0.0, 5.0), (5.0, 12.0)))
    assert whole.grown("flow", name, "delivered_bytes") == one.flows[0].delivered_bytes
    assert early.lost(name) + late.lost(name) == pytest.approx(one.flows[0].lost_packets)
    assert whole.goodput(name) == pytest.approx(one.flows[0].delivered_bytes * 8e-6 / 12)
    assert whole.grown("queue", queue.name, "forwarded_bytes") == pytest.approx(queue.forwarded_bytes)
    assert whole.loss("no-such-flow") != whole.loss("no-such-flow"), "NaN"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    target = tmp_path_factory.mktemp("beyond") / "out"
    told: list[float] = []
    result = reproduce("ngwa", target, beyond=True, quick=True, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
    return target, result


def test_the_report_is_whole(made: tuple[Path, Reproduction]) -> None:
    target, result = made
    page = (target / "report.html").read_text(encoding="utf-8")
    assert result.paths[0] == target / "report.html"
    for question in QUESTIONS:
        assert f'id="{question.key}"' in page
        assert (target / question.file.name).read_text(encoding="utf-8") == question.file.read_text(encoding="utf-8")
    assert all(path.is_file() for path in result.paths)
    assert len(result.figures) == len(set(result.figures)) >= 2 * len(QUESTIONS)
    assert "undefined" not in page.split("<script>")[0]
    assert result.text in json.loads((target / "summary.json").read_text(encoding="utf-8"))["text"]


def test_the_numbers_are_kept(made: tuple[Path, Reproduction]) -> None:
    target, result = made
    summary = json.loads((target / "summary.json").read_text(encoding="utf-8"))
    assert summary["paper"] == "ngwa"
    assert set(summary["digests"]) == {one.key for one in QUESTIONS}
    assert {claim["holds"] for claim in summary["claims"]} <= {True, False}
    with (target / "cells.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [cell.name for cell in result.cells]
    assert len({cell.name for cell in result.cells}) == len(result.cells)
    assert {row["low"] for row in rows} == {""}, "one seed has no interval"
    # Independent of the seed: without loss, two windows of half the queue share the link evenly.
    assert result.cell("over/cubic/6/loss").measured == 0
    assert result.cell("over/cubic/6/jain").measured == pytest.approx(1.0, abs=1e-3)
