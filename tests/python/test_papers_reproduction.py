"""Cells, claims and their JSON contract."""

from __future__ import annotations

import json
import math

import pytest

from narrows.reproduction.result import Cell, Claim, Reproduction
from narrows_papers import PAPERS, module


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
        (Claim("said", False, "2 of 3"),),
        {"link": "3 Mb/s"},
        "text",
    )
    shape = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert shape == {
        "format": 1,
        "paper": "acns",
        "cells": [{"name": "a", "published": 1.0, "measured": None, "low": 0.5, "high": None, "unit": "s"}],
        "claims": [{"text": "said", "holds": False, "measured": "2 of 3"}],
    }


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


@pytest.mark.parametrize("paper", sorted(PAPERS))
def test_every_paper_can_be_reproduced(paper: str) -> None:
    assert callable(module(paper).reproduce)
