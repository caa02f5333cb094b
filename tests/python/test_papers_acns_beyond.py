"""Questions that ACNS's papers leave open: scenario files, conclusions from fabricated runs, and the whole report."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json
from tests.python.questions import fabricated, holding

from narrows.model.scenario import Scenario
from narrows.studies.reproduction import reproduce
from narrows_papers.acns.beyond import bases, joins, oldest, priorities, routers
from narrows_papers.acns.beyond.compare import ACNS, CHANGES, GUARD, OFF
from narrows_papers.acns.beyond.questions import QUESTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.reproduction.result import Reproduction
    from narrows_papers.frame.beyond.question import Key, Question

EACH = pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.key)


@EACH
def test_arms_of_a_case_differ_in_acns_alone(question: Question) -> None:
    for arm in question.arms(False):
        assert arm.overrides.items() >= CHANGES[arm.key[-1]].items()
        others = [one for one in question.arms(False) if one.key[0] == arm.key[0]]
        own = {path: value for path, value in arm.overrides.items() if path not in CHANGES[arm.key[-1]]}
        for other in others:
            assert own == {p: v for p, v in other.overrides.items() if p not in CHANGES[other.key[-1]]}


@EACH
def test_the_setting_names_the_files_rates_and_queues(question: Question) -> None:
    resolved = as_json(Scenario.from_file(question.file))
    queues = [link[way]["queue"] for link in resolved["links"] for way in ("forward", "reverse")]
    queues += [cell["base"]["queue"] for cell in resolved["wifi"]]
    named = {int(one) for one in re.findall(r"(\d+) packets", question.setting)}
    assert named <= {queue["limit_packets"] for queue in queues}
    rates = {link["forward"]["rate_bps"] for link in resolved["links"]}
    assert {1e6 * float(one) for one in re.findall(r"([\d.]+) Mb/s", question.setting)} <= rates
    length = resolved["duration_ns"] / 1e9
    ends = [float(one) for one in re.findall(r"to (\d+) s", question.setting)]
    assert ends == [length]


def test_partial_deployment_is_judged_by_losses() -> None:
    def value(key: Key, name: str) -> float:
        lost = {("none", OFF): 300.0, ("none", ACNS): 700.0, ("none", GUARD): 300.0, ("all", OFF): 300.0}
        return lost.get((key[0], key[1]), 5.0) if name == "lost" else 1.0

    assert holding(routers.QUESTION, value) == [False, True, True]
    unmended = holding(
        routers.QUESTION, lambda key, name: 600.0 if key == ("none", GUARD) and name == "lost" else value(key, name)
    )
    assert unmended == [False, False, True]


def test_windows_without_a_bound_are_judged() -> None:
    def value(key: Key, name: str) -> float:
        if name != "lost":
            return 1.0
        if key[1] == OFF:
            return 60.0
        return 900.0 if key == ("none", ACNS) else 0.0

    assert holding(joins.QUESTION, value) == [False, True, True]


def test_only_bases_that_lose_more_beyond_chance_are_named() -> None:
    def value(key: Key, name: str) -> float:
        return 900.0 if key == ("reno", ACNS) and name == "lost" else 60.0

    section = bases.QUESTION.section(fabricated(bases.QUESTION, value))
    assert "more is lost over Reno (" in section.conclusion[0]
    same = bases.QUESTION.section(fabricated(bases.QUESTION, lambda _key, _name: 60.0))
    assert "no more over any base" in same.conclusion[0]


def test_priorities_and_starvation_are_judged() -> None:
    shares = {"0-0": 20.0, "46-0": 80.0, "0-46": 10.0, "46-46": 40.0}
    assert holding(priorities.QUESTION, lambda key, name: shares[key[0]] if name == "old" else 1.0) == [True] * 3
    assert holding(priorities.QUESTION, lambda _key, _name: 50.0) == [False] * 3
    starved = holding(oldest.QUESTION, lambda key, _name: 1.5 if key[1] == ACNS else 1.0)
    assert starved == [False, True]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    target = tmp_path_factory.mktemp("acns") / "beyond"
    return target, reproduce("acns", target, beyond=True, quick=True)


def test_the_report_is_whole(made: tuple[Path, Reproduction]) -> None:
    target, result = made
    page = (target / "report.html").read_text(encoding="utf-8")
    for question in QUESTIONS:
        assert f'<section id="{question.key}">' in page
        assert (target / f"{question.key}.toml").is_file()
        assert (target / "figures" / f"{question.key}.svg").is_file()
    assert "experiments/acns/scenario.toml" in page
    assert "experiments/acns/beyond/joins.toml" in page
    assert "undefined" not in page.split("<script>")[0]
    summary = json.loads((target / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["conclusions"]) == {question.key for question in QUESTIONS}
    assert len(summary["claims"]) == len(result.claims) > len(QUESTIONS)
    assert result.text.startswith(f"{len(QUESTIONS)} questions")


def test_our_rule_mends_partial_deployment(made: tuple[Path, Reproduction]) -> None:
    """Behind routers without ACNS the rule gives what hosts without ACNS have, to the packet."""
    _, result = made
    off, acns, guard = (result.cell(f"routers/none/{column}/lost").measured for column in (OFF, ACNS, GUARD))
    assert guard == off < acns
