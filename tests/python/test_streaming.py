"""Any number of samples: the same digest and rows in memory or on disk, with bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import narrows as nw
from narrows import _core
from narrows.base import memory
from narrows.base.errors import InputError
from narrows.model import own
from narrows.outcome import Run
from narrows.outcome.parquet import GROUP_ROWS
from narrows.outcome.samples import KINDS, Samples
from narrows.store import results

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.model.scenario import Scenario

DENSE = {"duration": "4 s", "flows[1].start": "1 s", "sampling": "50 us"}
"""About 900,000 rows, which are several parts of the engine and several row groups."""

GROWTH = """
import json, resource, sys
import narrows as nw
from narrows.base import memory
memory.allow("1 GB")
memory._State.budget = nw._core.Budget(0)
run = nw.run("dumbbell-cubic", overrides={"duration": "4 s", "flows[1].start": "1 s", "sampling": sys.argv[1]}, seed=3)
run.save(sys.argv[2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"rows": len(run.samples), "peak": peak}))
"""


@pytest.fixture(scope="module")
def dense() -> Run:
    """Return a run with many samples, all in memory."""
    made = nw.run("dumbbell-cubic", overrides=DENSE, seed=3)
    assert isinstance(made, Run)
    return made


def spilled(scenario: Scenario, most: int, directory: Path) -> tuple[_core.Result, int]:
    """Run with at most `most` bytes of samples in memory."""
    budget = _core.Budget(most)
    result = _core.run(scenario.core, 3, 0, None, None, own.timed(), (str(directory), budget))
    return result, budget.kept()


@pytest.mark.parametrize("most", [0, 300_000, 10**9])
def test_digest_and_parquet_are_the_same_streamed_and_not(dense: Run, most: int, tmp_path: Path) -> None:
    result, kept = spilled(dense.scenario, most, tmp_path)
    assert result.digest == dense.digest
    assert kept <= most
    assert not list(tmp_path.iterdir()), "the temporary file has no name"
    Samples.from_result(result).to_parquet(tmp_path / "s.parquet")
    dense.samples.to_parquet(tmp_path / "whole.parquet")
    read, whole = (pq.ParquetFile(tmp_path / name) for name in ("s.parquet", "whole.parquet"))
    assert read.metadata.num_rows == len(dense.samples) > 5 * GROUP_ROWS
    assert read.metadata.num_row_groups > 3
    assert read.read().equals(whole.read())


def test_ten_times_the_samples_take_no_more_memory(tmp_path: Path) -> None:
    def peak(sampling: str) -> tuple[int, int]:
        command = [sys.executable, "-c", GROWTH, sampling, str(tmp_path / "out")]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return told["rows"], told["peak"]

    (few, small), (many, large) = peak("100 us"), peak("10 us")
    assert many > 9 * few > 4_000_000
    assert large - small < 60_000_000, f"{few} rows take {small}, {many} rows {large} bytes"


def test_a_large_parquet_is_read_in_parts(dense: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dense.save(tmp_path / "r")
    monkeypatch.setattr("narrows.outcome.parquet.EAGER_ROWS", 1000)
    back = results.load(tmp_path / "r")
    for kind in KINDS:
        assert back.samples.rows(kind) == dense.samples.rows(kind)
        assert sum(batch.num_rows for batch in back.samples.batches(kind)) == dense.samples.rows(kind)
        assert all(batch.num_rows <= 2 * GROUP_ROWS for batch in back.samples.batches(kind))
    names = {"kind": str, "name": str}
    assert back.samples.frame("flow").astype(names).equals(dense.samples.frame("flow").astype(names))
    assert len(back.samples.of_run(1)) == 0


def test_thinned_samples_are_every_nth_of_each_flow(dense: Run) -> None:
    frame, step = dense.samples.thinned("flow", 1000)
    assert step > 100
    every = dense.samples.frame("flow")
    for name, rows in every.groupby("name", observed=True):
        kept = frame[frame["name"] == name]
        assert kept["time_s"].tolist() == rows["time_s"].iloc[::step].tolist()
        assert kept["arrived_bytes"].tolist() == rows["arrived_bytes"].iloc[::step].tolist()
    assert dense.samples.thinned("router", 1000)[1] == 1


def test_what_memory_does_not_hold_is_refused_as_a_table(dense: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LEAST", 1000)
    monkeypatch.setattr(memory, "free", lambda: 1_000_000)
    fresh = dense.samples.of_run(0)
    with pytest.raises(InputError, match=r"samples of queues in one table: takes about .* MB of memory") as caught:
        fresh.table("queue")
    assert "Samples.batches" in str(caught.value)


def test_samples_that_cannot_be_kept_fail_the_run(dense: Run, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"samples cannot be kept|temporary file"):
        spilled(dense.scenario, 0, tmp_path / "missing")


@pytest.mark.parametrize(
    ("text", "size"), [("1 B", 1), ("2.5 GB", 2_500_000_000), ("3M", None), ("0 B", None), ("x", None)]
)
def test_sizes_are_read_or_refused(text: str, size: int | None) -> None:
    if size is None:
        with pytest.raises(InputError, match="is not a size"):
            memory.size(text)
    else:
        assert memory.size(text) == size


def test_figures_of_many_samples_say_what_they_leave_out(dense: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from narrows.report import figures

    order = {flow.name: index for index, flow in enumerate(dense.flows)}
    whole = figures.all_figures(dense.samples, order, 4.0)
    assert not any("Drawn from" in figure.caption for figure in whole)
    monkeypatch.setattr(figures, "DRAWN_ROWS", 100_000)
    thin = figures.all_figures(dense.samples, order, 4.0)
    assert [figure.name for figure in thin] == [figure.name for figure in whole]
    assert all("Drawn from each 9th sample or more often" in figure.caption for figure in thin)
    rates = [
        next(figure for figure in made if figure.name == "throughput").panels[0].lines[0].y for made in (thin, whole)
    ]
    assert rates[0] == pytest.approx(rates[1], rel=0.01, nan_ok=True)
