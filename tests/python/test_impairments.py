"""What impairments of links did: its way into results, reports and the terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import narrows as nw
from narrows.cli import tables

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def batch() -> nw.Batch:
    made = nw.run("reordering", seed=1, runs=2, overrides={"duration": "5 s"})
    assert isinstance(made, nw.Batch)
    return made


def test_each_impaired_direction_has_counters(batch: nw.Batch) -> None:
    run = batch.runs[0]
    (told,) = run.impairments
    assert told.name in {queue.name for queue in run.queues}
    assert told.reordered > 20
    assert (told.duplicated, told.held, told.decimated, told.acks_lost, told.outage_drops) == (0, 0, 0, 0, 0)
    both = [one.impairments[0].reordered for one in batch.runs]
    assert batch.impairments[0].reordered == sum(both) / 2
    assert batch.summary["runs_detail"][1]["impairments"] == [batch.runs[1].impairments[0].to_dict()]
    assert "impairments" not in nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"}).summary


def test_page_terminal_and_stored_results_show_them(tmp_path: Path, batch: nw.Batch) -> None:
    assert "What impairments of links did" in batch.report(tmp_path / "out").read_text(encoding="utf-8")
    out = Console(file=io.StringIO(), width=120)
    tables.print_result(batch, 1.0, out)
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "reordered" in shown
    assert "duplicated" not in shown
    batch.save(tmp_path / "stored")
    again = nw.load(tmp_path / "stored")
    assert [one.impairments for one in again.runs] == [one.impairments for one in batch.runs]
