"""The draft's test cases of BBR v3: docs/bbr.md tells the verdicts that the engine gives."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scenarios" / "cases"

LEAST_MET = 20
"""Of the 22 cases, with the draft's profile and the values of the files."""


def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("bbr_cases", ROOT / "tools" / "bbr_cases.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


cases = tool()


def test_each_case_of_the_draft_has_a_file() -> None:
    files = sorted((FOLDER / "bbr").glob("*.toml"))
    assert [path.stem[:2] for path in files] == [f"{number:02}" for number in range(1, 23)]
    for path in files:
        case = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        assert case["source"].startswith("draft-ietf-ccwg-bbr-06, BBR Example Test Cases, "), path


@pytest.mark.parametrize(
    "path", [path for name in cases.SETS for path in sorted((FOLDER / name).glob("*.toml"))], ids=lambda path: path.stem
)
def test_each_expectation_begins_with_the_number_of_its_point(path: Path) -> None:
    for expectation in tomllib.loads(path.read_text(encoding="utf-8"))["expect"]:
        assert re.match(r"[1-5]\. \S", expectation["name"]), expectation["name"]


@pytest.mark.parametrize("name", cases.SETS)
def test_the_page_tells_the_verdicts_of_the_files_as_they_are(name: str) -> None:
    told = cases.told(name, cases.PAGE.read_text(encoding="utf-8"))
    found = cases.base(name, jobs=2)
    assert found == told, "python tools/bbr_cases.py --write"
    if name == "bbr":
        met = [short for short, verdicts in found.items() if verdicts[0] == "met"]
        assert len(found) == 22
        assert len(met) >= LEAST_MET
