"""Every question of every beyond report: its scenario file, its arms, its measures, and a section of any numbers."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json
from tests.python.questions import fabricated

from narrows.model.scenario import Scenario
from narrows.runs.simulated import run
from narrows_papers.acns.beyond.report import REPORT as ACNS
from narrows_papers.agile_sd.beyond.report import REPORT as AGILE_SD
from narrows_papers.contest.beyond.report import REPORT as CONTEST
from narrows_papers.frame.beyond.question import Question, folder, written
from narrows_papers.ngwa.beyond.report import REPORT as NGWA

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.report import Beyond

REPORTS = (ACNS, AGILE_SD, CONTEST, NGWA)
QUESTIONS = [question for report in REPORTS for question in report.questions]
EACH = pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: f"{one.paper}-{one.key}")


@EACH
def test_every_arm_is_a_scenario_and_means_what_its_command_line_says(question: Question) -> None:
    scenario = Scenario.from_file(question.file)
    keys = [arm.key for arm in question.arms(False)]
    assert len(set(keys)) == len(keys)
    quick = [arm.key for arm in question.arms(True)]
    assert len(set(quick)) == len(quick)
    assert set(quick) < set(keys)
    for arm in question.arms(False):
        words = shlex.split(written(arm.overrides))
        given = dict(word.split("=", 1) for word in words[1::2])
        assert as_json(scenario.with_overrides(given)) == as_json(scenario.with_overrides(arm.overrides))


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: one.about.paper)
def test_every_file_has_its_question(report: Beyond) -> None:
    own = {question.key for question in report.questions if not question.scenario}
    assert {path.stem for path in folder(report.about.paper).glob("*.toml")} == own
    assert {question.key for question in report.questions} == set(report.work)


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
