"""Directories of results are recognised by their files, whatever command wrote them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from narrows.base.errors import InputError
from narrows.store import saved
from narrows.studies.kinds import kind_of

if TYPE_CHECKING:
    from pathlib import Path

FILES = [
    ({}, None),
    ({"notes.txt": "x"}, None),
    ({"summary.json": '{"format": 1}'}, "run"),
    ({"summary.json": "{"}, "run"),
    ({"summary.json": '{"paper": "acns"}'}, "reproduction"),
    ({"comparison.json": "{}", "summary.json": "{}"}, "comparison"),
    ({"compare.json": '{"kind": "contrast"}'}, "contrast"),
    ({"compare.json": '{"kind": "other"}'}, None),
    ({"sweep.json": "{}"}, "sweep"),
    ({"sweep.json": "{}", "summary.json": "{}"}, "run"),
    ({"aqm.json": "{}", "runs.jsonl": ""}, "aqm"),
    ({"contest.json": "{}", "runs.jsonl": ""}, "contest"),
    ({"runs.jsonl": ""}, "contest"),
]


@pytest.mark.parametrize(("files", "kind"), FILES)
def test_the_kind_follows_from_the_files(files: dict[str, str], kind: str | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert kind_of(tmp_path) == kind
    assert kind_of(tmp_path / "nowhere") is None


def test_a_value_that_is_not_allowed_is_named_with_file_and_key(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"kind": "other", "format": 2}')
    assert saved.described(path, format=2)["kind"] == "other"
    with pytest.raises(InputError, match=r"a\.json: format is 2; allowed: 1"):
        saved.described(path, format=1)
    path.write_text("[]")
    with pytest.raises(InputError, match=r"a\.json: format is None; allowed: 1"):
        saved.described(path, format=1)


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (KeyError("cells"), "r: is damaged: KeyError('cells')"),
        (OSError(5, "I/O"), "is damaged"),
        (InputError("own"), "own"),
    ],
)
def test_what_cannot_be_read_is_damaged_and_errors_of_narrows_pass(raised: Exception, told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)), saved.refusing_damage("r"):
        raise raised
