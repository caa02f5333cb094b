"""Samples: one tidy table without copies of columns, nulls for missing values, and a Parquet round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows import run
from narrows.outcome.samples import KINDS, CoreTable, Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from narrows.outcome import Batch, Run

    Pack = Callable[[dict[str, Sequence[int | None]]], CoreTable]

NAMES: dict[str, Sequence[str]] = {"flow": ["a", "b"], "queue": ["A->B"], "router": []}


@pytest.fixture
def tables(core_table: Pack) -> dict[str, CoreTable]:
    """Return tables of three flow rows, one queue row and no router row."""
    return {
        "flows": core_table(
            {
                "time_ns": [0, 0, 500_000_000],
                "flow": [0, 1, 0],
                "cwnd_bytes": [14600, 14600, 29200],
                "ssthresh_bytes": [None, None, 20000],
            }
        ),
        "queues": core_table({"time_ns": [0], "queue": [0], "bytes": [1500]}),
        "routers": core_table({"time_ns": [], "router": [], "flows": []}),
    }


@pytest.fixture
def samples(tables: dict[str, CoreTable]) -> Samples:
    """Return the tables as samples of run 2."""
    return Samples.from_core(tables, {"flow": ["a", "b"], "queue": ["A->B"], "router": []}, run=2)


def test_tidy_table_begins_with_run_time_kind_and_name(samples: Samples) -> None:
    tidy = samples.to_arrow()
    assert tidy.column_names == ["run", "time_s", "kind", "name", "cwnd_bytes", "ssthresh_bytes", "bytes", "flows"]
    assert tidy["run"].to_pylist() == [2, 2, 2, 2]
    assert tidy["time_s"].to_pylist() == [0, 0, 0.5, 0]
    assert tidy["kind"].to_pylist() == ["flow", "flow", "flow", "queue"]
    assert tidy["name"].to_pylist() == ["a", "b", "a", "A->B"]


def test_no_value_and_not_applicable_are_null(samples: Samples) -> None:
    tidy = samples.to_arrow()
    assert tidy["ssthresh_bytes"].to_pylist() == [None, None, 20000, None]
    assert tidy["bytes"].to_pylist() == [None, None, None, 1500]
    assert tidy["flows"].to_pylist() == [None] * 4


def test_columns_are_the_engines_own_bytes(tables: dict[str, CoreTable], samples: Samples) -> None:
    _, _, _, data = tables["flows"][2]
    assert samples.table("flow")["cwnd_bytes"].chunk(0).buffers()[1].address == pa.py_buffer(data).address


def test_differences_of_columns_can_be_negative(samples: Samples) -> None:
    frame = samples.frame("flow")
    assert int(frame["cwnd_bytes"].iloc[0] - frame["cwnd_bytes"].iloc[2]) == -14600


def test_units_and_meanings_travel_into_parquet(samples: Samples, tmp_path: Path) -> None:
    samples.to_parquet(tmp_path / "s.parquet")
    field = pq.read_schema(tmp_path / "s.parquet").field("cwnd_bytes")
    assert field.metadata[b"doc"] == b"What cwnd_bytes means."
    assert samples.docs()["cwnd_bytes"] == "What cwnd_bytes means."
    assert samples.units()["time_s"] == "s"


def test_parquet_gives_back_what_was_written(samples: Samples, tmp_path: Path) -> None:
    samples.to_parquet(tmp_path / "s.parquet")
    back = Samples.from_parquet(tmp_path / "s.parquet")
    assert back.to_arrow().to_pylist() == samples.to_arrow().to_pylist()
    for kind in KINDS:
        assert back.table(kind).column_names == samples.table(kind).column_names
        assert back.table(kind).to_pylist() == samples.table(kind).to_pylist()


def test_runs_are_put_together_and_taken_apart(tables: dict[str, CoreTable]) -> None:
    names = {"flow": ["a", "b"], "queue": ["A->B"], "router": []}
    parts = [Samples.from_core(tables, names, run) for run in (0, 1)]  # type: ignore[arg-type]
    both = Samples.concat(parts)
    assert len(both) == 2 * len(parts[0])
    assert both.of_run(1).to_arrow().to_pylist() == parts[1].to_arrow().to_pylist()


def test_data_frame_has_a_row_per_sample(samples: Samples) -> None:
    frame = samples.to_pandas()
    assert len(frame) == len(samples) == 4
    assert list(frame["name"]) == ["a", "b", "a", "A->B"]
    assert samples.frame("queue").columns.tolist() == ["run", "time_s", "kind", "name", "bytes"]


def test_a_run_yields_rows_for_every_flow(one: Run) -> None:
    frame = one.samples.frame("flow")
    assert set(frame["name"]) == {flow.name for flow in one.flows}
    assert frame["time_s"].is_monotonic_increasing
    assert float(frame["time_s"].max()) <= one.scenario.duration_s


def test_every_flow_and_queue_has_a_row_at_each_time_of_a_long_run() -> None:
    rows = run("dumbbell-cubic", overrides={"duration": "40 s", "sampling": "10 ms"}).samples.to_pandas()
    for kind in ("flow", "queue"):
        table = rows[rows["kind"] == kind]
        assert len(table) > 2000, "many blocks of the engine's own packing"
        assert table["time_s"].is_monotonic_increasing
        last = table.groupby("time_s", sort=False)["name"].agg(list)
        assert all(names == last.iloc[-1] for names in last[last.map(len) == len(last.iloc[-1])])
        assert last.map(len).is_monotonic_increasing, "flows begin one after the other, and stay"
        assert not table.duplicated(["time_s", "name"]).any()


def test_counters_end_at_the_totals(one: Run) -> None:
    last = one.samples.frame("flow").groupby("name", observed=True)["sent_bytes"].last()
    for flow in one.flows:
        assert 0 < int(last[flow.name]) <= flow.sent_bytes


def test_a_batchs_samples_tell_the_runs_apart(three: Batch) -> None:
    assert sorted(set(three.samples.to_pandas()["run"])) == [0, 1, 2]
