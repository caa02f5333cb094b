"""Cells, claims and their JSON contract."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import narrows
from narrows.base.errors import InputError
from narrows.cli.reference_tables import print_reproduction
from narrows.studies.reproduction import reproduce
from narrows.studies.reproduction.result import Cell, Claim, Reproduction
from narrows_papers import PAPERS
from narrows_papers.frame.report import Report


def test_difference_and_percent() -> None:
    cell = Cell("without/sent/1", 20.0, 25.0, 24.0, 26.0, "MB")
    assert cell.difference == 5.0
    assert cell.percent == pytest.approx(25.0)
    assert Cell("acns/lost/1", 0.0, 3.0, None, None, "packets").percent is None
    assert Cell("x", None, 3.0, None, None, "").difference is None


def test_the_contract_has_these_keys_and_plain_numbers() -> None:
    made = Reproduction(
        "acns",
        (Cell("a", 1.0, math.nan, 0.5, math.inf, "s"),),
        (Claim("said", False, "2 of 3", "in all", 4, "no SACK (with SACK 1)"),),
        {"link": "3 Mb/s"},
        "text",
    )
    shape = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert shape == {
        "format": 1,
        "paper": "acns",
        "cells": [{"name": "a", "published": 1.0, "measured": None, "low": 0.5, "high": None, "unit": "s"}],
        "claims": [
            {
                "text": "said",
                "holds": False,
                "verdict": "undecided",
                "measured": "2 of 3",
                "rule": "in all",
                "runs": 4,
                "rests_on": "no SACK (with SACK 1)",
            }
        ],
    }


def test_the_terminal_says_what_a_claim_rests_on_and_how_few_runs_decide_it(capsys: pytest.CaptureFixture[str]) -> None:
    few, many = Claim("said", True, "33 %", "in all", 2, "no SACK (with SACK -0.9 %)"), Claim("so", True, "1", "", 20)
    print_reproduction(Reproduction("acns", (), (few, many), {}, "text"))
    shown = " ".join(capsys.readouterr().out.split())
    assert "(33 %; 2 runs; rests on no SACK (with SACK -0.9 %))" in shown
    assert "so (1)" in shown


def test_what_a_real_machine_had_to_say_is_in_the_contract() -> None:
    told = Reproduction("p", (), (), {}, "", conditions=({"kernel": "6.18"},), doubts=("run 0: it was late",))
    assert told.to_json()["trusted"] is False
    assert told.to_json()["doubts"] == ["run 0: it was late"]
    assert told.to_json()["conditions"] == [{"kernel": "6.18"}]
    quiet = Reproduction("p", (), (), {}, "", conditions=({"kernel": "6.18"},))
    assert quiet.to_json()["trusted"] is True


def test_a_cell_is_found_by_its_name() -> None:
    made = Reproduction("p", (Cell("a", 1.0, 2.0, None, None, ""),), (), {}, "")
    assert made.cell("a").measured == 2.0
    with pytest.raises(KeyError):
        made.cell("b")


@pytest.mark.parametrize(
    ("paper", "module"),
    [
        (paper.name, module)
        for paper in PAPERS.values()
        for module in (paper.report, paper.beyond, paper.live, paper.pair)
        if module
    ],
)
def test_every_report_names_its_paper_as_the_command_line_does(paper: str, module: str) -> None:
    report = import_module(module).REPORT
    assert isinstance(report, Report)
    assert report.name.split(" ")[0] == paper


def test_narrows_calls_papers_in_one_place() -> None:
    home = Path(narrows.__file__).parent
    naming = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*.py")
        if re.search(r"(from|import) narrows_papers", path.read_text(encoding="utf-8"))
    }
    assert naming == {"studies/reproduction/__init__.py"}


def test_papers_are_loaded_when_one_is_asked_for() -> None:
    code = (
        "import sys, narrows, narrows.cli, narrows.studies.reproduction\n"
        "assert not [name for name in sys.modules if name.startswith('narrows_papers')]\n"
        "narrows.studies.reproduction.papers()\n"
        "assert [name for name in sys.modules if name.startswith('narrows_papers')] == ['narrows_papers']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"live": True}, "paper 'contest' is not made live; allowed with live: acns, ngwa"),
        ({"live": True, "dask": "tcp://x:1"}, "dask is 'tcp://x:1'; allowed with live: none"),
        ({"live": True, "pair": ("a", "b")}, "pair and live are given; allowed: one of them"),
        ({"page_only": True}, "paper 'contest' is not made of sweeps; allowed with flows or page: agile-sd"),
        ({"runs": 0}, "runs is 0; allowed: 1 or more"),
    ],
)
def test_what_a_paper_does_not_have_is_refused(asked: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        reproduce("contest", tmp_path / "out", **asked)
    with pytest.raises(InputError, match="paper 'acns' has no pairs; allowed with a pair: contest"):
        reproduce("acns", tmp_path / "out", pair=("a", "b"))
    assert list(tmp_path.iterdir()) == []
