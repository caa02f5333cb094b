"""Command outputs in documents match what the commands print."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
WRITE = "`python tools/documents.py --write` writes it again"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("documents", ROOT / "tools" / "documents.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


documents: Any = tool()
BLOCKS = [block for document in documents.documents() for block in documents.blocks(document)]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.document.name)
def test_a_document_shows_what_the_command_prints(block: Any) -> None:
    told = documents.difference(block, documents.run(block.command))
    assert told is None, f"{WRITE}:\n{told}"


def test_the_contest_and_the_sweep_are_held_to_their_commands() -> None:
    assert {block.document.name for block in BLOCKS} >= {"contest.md", "sweep.md"}


def test_a_figure_that_drifts_is_found() -> None:
    block = documents.Block(ROOT / "docs" / "x.md", "narrows", ("cubic  59", "..", "time: about 7 s, by 28 runs"), 0, 0)
    now = ("cubic  59", "one", "two", "time: about 9 s, by 12 runs")
    assert documents.difference(block, now) is None, "lines left out, and times, may differ"
    assert "+cubic  52" in documents.difference(block, ("cubic  52", *now[1:]))
    assert documents.difference(block, (*now[:3], "time: unknown")) is not None


def test_a_mark_without_a_block_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{documents.MARK}\n\ntext\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a mark without a console block"):
        documents.blocks(page)
