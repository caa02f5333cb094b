"""The bundled test cases of BBR v1, CUBIC, HyStart++, DCTCP and Prague: each passes, and some notice other numbers."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.base import bundled

if TYPE_CHECKING:
    from narrows.studies.check.result import Check

SETS = {"bbr1": 5, "cubic": 9, "hystart_pp": 8, "dctcp": 9, "prague": 9}
"""Cases of each set."""


@cache
def checked(name: str, cc: str | None = None) -> Check:
    """The set or case ``name`` on its own network."""
    return nw.check(name, cc, grid="base")


@pytest.mark.parametrize("name", SETS)
def test_every_case_of_the_documents_passes(name: str) -> None:
    made = checked(name)
    assert len(made.cases) == SETS[name]
    assert [one.name for one in made.cases if one.verdict != "passed"] == []


@pytest.mark.parametrize("name", SETS)
def test_every_case_names_the_section_that_asks_for_it(name: str) -> None:
    directory = bundled.cases()
    assert directory is not None
    files = sorted((directory / name).glob("*.toml"))
    assert len(files) == SETS[name]
    for file in files:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
        assert "section" in text["case"]["source"], file
        assert len(text["expect"]) >= 2, file


@pytest.mark.parametrize(
    ("case", "cc"),
    [
        ("cubic/01-multiplicative-decrease", "cubic:cc_params.beta=0.5"),
        ("cubic/02-time-to-w-max", "cubic:cc_params.c=0.2"),
        ("cubic/04-reno-friendly-region", "cubic:cc_params.alpha_switch=false"),
        ("cubic/05-fast-convergence", "cubic:cc_params.fast_convergence=false"),
        ("hystart_pp/01-css-entry", "reno:slow_start=hystart"),
        ("dctcp/01-initial-alpha", "dctcp:cc_params.alpha=0"),
        ("dctcp/02-alpha-all-marked", "dctcp:cc_params.shift_g=3"),
        ("prague/01-alpha", "prague:cc_params.shift_g=3"),
        ("prague/07-rtt-independence", "prague:cc_params.rtt_target=0"),
    ],
)
def test_a_case_notices_another_number(case: str, cc: str) -> None:
    assert not checked(case, cc).passed
