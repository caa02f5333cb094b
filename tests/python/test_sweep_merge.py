"""A large sweep is put into order some rows at a time, and gives the rows and the order of a small one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.python.sweeps_made import records, sweep

from narrows import sweep as sweeps
from narrows.studies.sweep import directory, merge, parts, store, stored, table
from narrows.studies.sweep.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.sweep.record import Record
    from narrows.sweep import Sweep

AXES = """
[[axes]]
path = "topology.link.per"
name = "errors"
values = ["0.1", "0", "0.2", "0 %", "0.3", "0.4"]
[[axes]]
path = "tcp.cc"
values = ["reno", "cubic"]
"""
"""Two points are the same scenario: each of their runs is listed twice and made once."""


def _made(asked: Sweep) -> list[Record]:
    """Runs of which some fail, in an order that is not the plan's."""

    def value(labels: object, seed: int) -> dict[str, float] | None:
        return None if seed == 2 and "cubic" in str(labels) else {"goodput_mbps": hash((str(labels), seed)) % 97 + 0.5}

    made = list(records(asked, value).values())
    random.Random(1).shuffle(made)  # noqa: S311 - only an order
    return made


def _plan(asked: Sweep) -> dict[str, list[sweeps.SweepRun]]:
    plan: dict[str, list[sweeps.SweepRun]] = {}
    for run in asked.runs:
        plan.setdefault(run.address, []).append(run)
    return plan


def _stored(folder: Path, asked: Sweep, made: list[Record], together: int, later: Sweep | None = None) -> pa.Table:
    """Commit runs some at a time, put them into order, and read what is stored."""
    plan = _plan(asked)
    with Store(folder, asked) as opened:
        opened.load()
        for begin in range(0, len(made), together):
            opened.append(made[begin : begin + together], plan)
        if later is None:
            rows = stored.Rows(opened.compact(plan)).table()
    if later is not None:
        with Store(folder, later) as opened:
            opened.load()
            rows = stored.Rows(opened.compact(_plan(later))).table()
    assert directory.data_set(folder).equals(rows)
    return rows


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large."""
    monkeypatch.setattr(store, "MOST_ROWS", 3)
    monkeypatch.setattr(store, "GROUP_ROWS", 5)
    monkeypatch.setattr(store, "MERGED_ROWS", 20)
    monkeypatch.setattr(store, "_CACHED_BYTES", 0)
    real = merge.batches
    monkeypatch.setattr(merge, "batches", lambda sources, what, layout: real(sources, what, layout, most=7))


@pytest.mark.parametrize("together", [1, 4, 100])
def test_rows_are_those_of_a_sweep_in_memory(tmp_path: Path, together: int, request: pytest.FixtureRequest) -> None:
    asked = sweep(AXES)
    made = _made(asked)
    expected = _stored(tmp_path / "small", asked, made, together)
    request.getfixturevalue("small_memory")
    found = _stored(tmp_path / "large", asked, made, together)
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.equals(expected)
    [path] = parts.listed(tmp_path / "large" / directory.RUNS)
    assert pq.ParquetFile(path).num_row_groups > 3
    result = sweeps.load(tmp_path / "large")
    assert [(f.labels, f.seed) for f in result.failures] == [
        (run.point.labels, run.seed) for run in asked.runs if run.seed == 2 and run.point.labels["tcp.cc"] == "cubic"
    ]


@pytest.mark.parametrize("cached", [0, 10**9], ids=["read", "cached"])
def test_runs_of_other_points_go_aside_and_come_back(
    tmp_path: Path, cached: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    asked, fewer = sweep(AXES), sweep(AXES, seeds=2)
    made = _made(asked)
    expected = _stored(tmp_path / "small", asked, made, 5, later=fewer)
    request.getfixturevalue("small_memory")
    monkeypatch.setattr(store, "_CACHED_BYTES", cached)
    found = _stored(tmp_path / "large", asked, made, 5, later=fewer)
    assert found.equals(expected)
    aside = [parts.read(path) for path in parts.listed(tmp_path / "large" / directory.OTHER)]
    assert sum(len(parts.statuses(part)) for part in aside) == len(_plan(asked)) - len(_plan(fewer))
    again = _stored(tmp_path / "large", asked, [], 1)
    assert again.equals(_stored(tmp_path / "new", asked, made, 100))
    assert not parts.listed(tmp_path / "large" / directory.OTHER)


@pytest.mark.usefixtures("small_memory")
def test_a_success_is_taken_from_wherever_it_is(tmp_path: Path) -> None:
    asked = sweep(AXES)
    good = [one for one in _made(asked) if one.status == "ok"]
    bad = [sweeps_failed(one) for one in good[:5]]
    found = _stored(tmp_path / "x", asked, [*bad[:3], *good, *bad[3:]], 2)
    assert found.equals(_stored(tmp_path / "y", asked, good, 2))


def sweeps_failed(of: Record) -> Record:
    """The same run, failed."""
    from narrows.studies.sweep.record import failed

    return failed(of.address, of.seed, "made to fail")


@pytest.mark.usefixtures("small_memory")
def test_a_part_in_another_order_is_put_into_order(tmp_path: Path) -> None:
    asked = sweep(AXES)
    turned = sweep("\n[[axes]]".join(["", *reversed(AXES.split("\n[[axes]]")[1:])]))
    made = _made(asked)
    _stored(tmp_path / "x", turned, made, 3)
    assert _stored(tmp_path / "x", asked, [], 1).equals(_stored(tmp_path / "y", asked, made, 3))


@pytest.mark.usefixtures("small_memory")
def test_a_damaged_row_group_of_a_part_is_found(tmp_path: Path) -> None:
    asked = sweep(AXES)
    _stored(tmp_path / "x", asked, _made(asked), 3)
    [path] = parts.listed(tmp_path / "x" / directory.RUNS)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged"):
        parts.runs(path)
    with Store(tmp_path / "x", asked) as opened:
        assert opened.load() == {}
        assert opened.broken == 1


def test_rows_in_a_file_are_those_in_memory(tmp_path: Path) -> None:
    asked = sweep(AXES)
    rows = table.labelled(_made(asked), _plan(asked), table.Layout.of(asked))
    path = tmp_path / "rows.parquet"
    with path.open("wb") as file:
        parts.write(file, [rows.slice(0, 9), rows.slice(9, 1), rows.slice(10)])
    in_memory, in_file = stored.Rows(rows), stored.Rows(path)
    assert in_file.schema.equals(in_memory.schema, check_metadata=True)
    assert in_file.table().equals(rows)
    assert in_file.column("seed").to_pylist() == in_memory.column("seed").to_pylist()
    for kind in ("run", "flow", "queue"):
        wanted = ["tcp.cc", "goodput_mbps"]
        assert in_file.of_kind(kind, wanted).equals(in_memory.of_kind(kind, wanted))
