"""Questions that ACNS's papers leave open: scenario files, conclusions from fabricated runs, and the whole report."""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json

from narrows.model.scenario import Scenario
from narrows.runs.simulated import run
from narrows.studies.reproduction import reproduce
from narrows_papers.acns.beyond import bases, joins, oldest, priorities, routers
from narrows_papers.acns.beyond.compare import ACNS, CHANGES, GUARD, OFF
from narrows_papers.acns.beyond.questions import QUESTIONS, WORK
from narrows_papers.frame.beyond.question import Results, folder, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.studies.reproduction.result import Reproduction
    from narrows_papers.frame.beyond.question import Key, Numbers, Question

EACH = pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.key)


def fabricated(question: Question, value: Callable[[Key, str], float], seeds: int = 2) -> Results:
    """Return results in which every number of every arm is `value` of it, equal for all seeds."""
    rows: dict[Key, list[Numbers]] = {
        arm.key: [{name: value(arm.key, name) for name in question.units}] * seeds for arm in question.arms(False)
    }
    return Results(rows)


def holding(question: Question, value: Callable[[Key, str], float]) -> list[bool]:
    return [claim.holds for claim in question.section(fabricated(question, value)).claims]


@EACH
def test_every_arm_is_a_scenario_and_means_what_its_command_line_says(question: Question) -> None:
    scenario = Scenario.from_file(question.file)
    keys = [arm.key for arm in question.arms(False)]
    assert len(set(keys)) == len(keys)
    assert {arm.key for arm in question.arms(True)} < set(keys)
    for arm in question.arms(False):
        words = shlex.split(written(arm.overrides))
        given = dict(word.split("=", 1) for word in words[1::2])
        assert as_json(scenario.with_overrides(given)) == as_json(scenario.with_overrides(arm.overrides))


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
    numbers = {int(one["forward"]["queue"]["limit_packets"] or 0) for one in resolved["links"]}
    named = {int(one) for one in re.findall(r"(\d+) packets", question.setting)}
    assert named <= numbers | {100}
    length = resolved["duration_ns"] / 1e9
    ends = [float(one) for one in re.findall(r"to (\d+) s", question.setting)]
    assert ends == [length]


def test_every_file_has_its_question() -> None:
    own = {one.key for one in QUESTIONS if not one.scenario}
    assert {path.stem for path in folder("acns").glob("*.toml")} == own
    assert {one.key for one in QUESTIONS} == set(WORK)


@EACH
def test_measures_give_every_number(question: Question) -> None:
    arm = question.arms(True)[-1]
    made = question.measure(run(Scenario.from_file(question.file).with_overrides(arm.overrides)))
    assert set(made) == set(question.units)
    assert all(math.isnan(value) or value >= 0 for value in made.values())


@EACH
@pytest.mark.parametrize("value", [0.0, 1.0, 50.0, math.nan])
def test_a_section_is_made_of_anything(question: Question, value: float) -> None:
    """No result of the runs prevents the page from being written."""
    section = question.section(fabricated(question, lambda _key, _name: value))
    assert section.claims
    assert section.figures
    assert all(len(row) == len(table.head) for table in section.tables for row in table.rows)
    assert all(text and "{" not in text for text in section.conclusion)


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
