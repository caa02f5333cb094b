"""The walks of a setting, a packet, a metric and a loss in ARCHITECTURE name files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
WALKS = {
    "setting": ("## A setting, from the file to the report", "A new switch is written in three places"),
    "packet": ("## A packet, from the sender to the receiver and back", "## A metric"),
    "metric": ("## A metric, from the counter to the report", "A new counter is a line in"),
    "loss": ("**A loss, file by file**", "A new recovery is a file in"),
}
SOURCES = [
    path for folder in ("crates", "python") for path in (ROOT / folder).rglob("*.*") if path.suffix in {".rs", ".py"}
]
NAMED = re.compile(r"`([\w/]+\.(?:rs|py))`(?:\s+\(((?:`[\w:]+`(?:,\s+)?)+))?")


def defined(names: list[str], source: str) -> bool:
    """Tell whether a source defines all of these functions or types."""
    last = [re.escape(name.rsplit("::", 1)[-1]) for name in names]
    return all(re.search(rf"\b(?:fn|def|class|struct|enum)\s+{name}\b", source) for name in last)


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_names_files_and_functions_that_exist(walk: str) -> None:
    begin, end = WALKS[walk]
    text = TEXT[TEXT.index(begin) : TEXT.index(end)]
    found = NAMED.findall(text)
    assert len(found) > 5, text
    for path, listed in found:
        named = re.findall(r"`([\w:]+)`", listed)
        files = [one for one in SOURCES if one.as_posix().endswith("/" + path)]
        assert files, f"{path} does not exist"
        assert any(defined(named, one.read_text(encoding="utf-8")) for one in files), (
            f"{path} defines not all of {named}"
        )
