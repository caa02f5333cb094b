"""The bundled test cases: each is accepted, says its source, and reads back as it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import narrows as nw

CASES = Path(__file__).resolve().parents[2] / "scenarios" / "cases"
FILES = sorted(CASES.glob("*/*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).as_posix())
def test_a_bundled_case_is_accepted_and_reads_back(path: Path) -> None:
    scenario = nw.Scenario.load(path)
    case = json.loads(scenario.core.to_json())["case"]
    assert case["source"], "the document that asks for the behaviour"
    assert case["expectations"], "what must hold"
    shown = scenario.to_toml()
    again = nw.Scenario.from_text(shown, str(path))
    assert again.to_toml() == shown
