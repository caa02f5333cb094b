"""Metrics and samples as tables: one unit of time, types without nulls where a value is always there, CSV, plots."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import narrows as nw
from narrows.outcome.times import converted

if TYPE_CHECKING:
    from pathlib import Path

OVERRIDES = {"duration": "12 s", "sampling": '{ interval = "100 ms", state = true }'}


@pytest.fixture(scope="module")
def run() -> nw.Run:
    """A run of the reference scenario with state."""
    return nw.run("dumbbell-cubic", seed=1, overrides=OVERRIDES)


@pytest.fixture(scope="module")
def batch() -> nw.Run | nw.Batch:
    """Two runs of it."""
    return nw.run("dumbbell-cubic", seed=1, runs=2, overrides=OVERRIDES)


def test_metrics_have_a_row_per_run_and_flow(batch: nw.Batch) -> None:
    """Values are those of the attributes; counts stay integers."""
    frame = batch.metrics.to_pandas()
    assert frame[["run", "name"]].to_numpy().tolist() == [[0, "first"], [0, "second"], [1, "first"], [1, "second"]]
    first = batch.runs[1].flow("first")
    row = frame[(frame["run"] == 1) & (frame["name"] == "first")].iloc[0]
    assert row["sent_packets"] == first.sent_packets
    assert row["rtt_mean_s"] == pytest.approx((first.rtt_mean_ms or 0) / 1e3, rel=1e-12)
    counts = ["sent_bytes", "sent_packets", "lost_packets", "retransmitted_packets", "timeouts", "rtt_samples"]
    assert {str(frame[name].dtype) for name in counts} == {"int64"}
    assert frame["finished_s"].isna().all(), "an unlimited flow has no end"


def test_the_metrics_of_queues_and_others_are_tables_too(run: nw.Run) -> None:
    """Every kind has a table, empty where the scenario has none; a wrong kind is told what there is."""
    queues = run.metrics.to_pandas("queue")
    assert list(queues["name"]) == [queue.name for queue in run.queues]
    assert str(queues["dropped_packets"].dtype) == "int64"
    assert len(run.metrics.to_pandas("station")) == 0
    assert len(run.metrics.to_pandas("transfer_class")) == 0
    with pytest.raises(nw.InputError, match="kind is 'flows'; allowed: flow, queue"):
        run.metrics.to_pandas("flows")  # type: ignore[arg-type]


def test_a_count_with_gaps_stays_an_integer(run: nw.Run) -> None:
    """A counter that some flows lack is nullable, and no floating-point number."""
    from dataclasses import replace

    lacking = replace(run, flows=(run.flows[0], replace(run.flows[1], timeouts=None)))
    frame = lacking.metrics.to_pandas()
    assert str(frame["timeouts"].dtype) == "Int64"
    assert frame["timeouts"].isna().tolist() == [False, True]
    schema = lacking.metrics.to_arrow().schema
    assert schema.field("timeouts").nullable
    assert not schema.field("sent_packets").nullable


def test_all_times_of_a_table_have_one_unit(run: nw.Run) -> None:
    """The unit is in the names, and values are converted exactly."""
    kept = run.samples.table("flow")
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        frame = run.samples.to_pandas("flow", time=unit)  # type: ignore[arg-type]
        times = [name for name in frame.columns if name.rpartition("_")[2] in {"s", "ms", "us", "ns"}]
        assert times == [f"time_{unit}", f"srtt_{unit}", f"rtt_{unit}", f"rto_{unit}"]
        wanted = kept["rto_ns"].to_pandas() / scale
        pd.testing.assert_series_equal(frame[f"rto_{unit}"], wanted, check_names=False)
    whole = run.samples.to_pandas("flow", time="ns")
    assert str(whole["time_ns"].dtype) == "int64"
    assert list(whole["time_ns"][:3]) == [round(second * 1e9) for second in kept["time_s"].to_pylist()[:3]]
    assert list(run.samples.to_pandas(time=None)) == run.samples.to_arrow().column_names
    with pytest.raises(nw.InputError, match="time is 'h'; allowed: 's', 'ms', 'us', 'ns', or None"):
        run.samples.to_pandas(time="h")  # type: ignore[arg-type]


def test_seconds_of_milliseconds_are_the_nearest() -> None:
    """A conversion rounds once."""
    table = pa.table({"a_ms": [20.1, None], "b_ns": [20_100_000, None]})
    assert converted(table, "s").to_pylist() == [{"a_s": 0.0201, "b_s": 0.0201}, {"a_s": None, "b_s": None}]


def test_columns_with_a_value_in_every_row_cannot_be_null(run: nw.Run, tmp_path: Path) -> None:
    """The schema says so, also after a file; counts that every row has are int64 in a frame of one kind."""
    saved = nw.load(run.save(tmp_path / "out"))
    for samples in (run.samples, saved.samples):
        schema = samples.schema("flow")
        assert [schema.field(name).nullable for name in ("run", "time_s", "kind", "name")] == [False] * 4
        assert schema.field("srtt_ns").nullable
        frame = samples.to_pandas("flow")
        assert {str(frame[name].dtype) for name in ("sent_packets", "delivered_bytes", "timeouts")} == {"int64"}
    again = nw.Samples.from_parquet(tmp_path / "out" / "samples.parquet")
    assert again.to_arrow().equals(run.samples.to_arrow())


def test_csv_has_the_values_of_the_frames(run: nw.Run, tmp_path: Path) -> None:
    """Every table has `to_csv`; what pandas reads back is what the frame has."""
    run.metrics.to_csv(tmp_path / "flows.csv")
    frame = run.metrics.to_pandas()
    read = pd.read_csv(tmp_path / "flows.csv")
    assert list(read.columns) == list(frame.columns)
    assert list(read["rtt_mean_s"]) == list(frame["rtt_mean_s"])
    run.samples.to_csv(tmp_path / "samples.csv", "queue", time="ms")
    queues = pd.read_csv(tmp_path / "samples.csv")
    assert queues["time_ms"].tolist() == run.samples.to_pandas("queue", time="ms")["time_ms"].tolist()
    assert queues["name"].tolist() == run.samples.to_pandas("queue")["name"].tolist()
    run.samples.to_csv(tmp_path / "all.csv")
    assert len(pd.read_csv(tmp_path / "all.csv")) == len(run.samples)
    run.samples.state.to_csv(tmp_path / "state.csv")
    assert len(pd.read_csv(tmp_path / "state.csv")) == len(run.samples.state)
    run.transfers.to_csv(tmp_path / "transfers.csv")
    assert list(pd.read_csv(tmp_path / "transfers.csv").columns)[:3] == ["run", "name", "number"]


def test_a_plot_has_the_figures_of_the_report(run: nw.Run, batch: nw.Batch, tmp_path: Path) -> None:
    """Panels come in the order that was asked for, in any format, and notebooks show them."""
    plot = run.plot()
    panels = ["Throughput (Mb/s)", "RTT (ms)", "cwnd (kB)", "Waiting (packets)", "Dropped (packets)"]
    assert [axes.get_ylabel() for axes in plot.axes] == panels
    flows = {line.get_color() for line in plot.axes[0].get_lines()}
    assert flows.isdisjoint(line.get_color() for line in plot.axes[-1].get_lines()), "queues have colours of their own"
    lines = plot.axes[0].get_lines()
    assert len(lines) == 2
    assert np.nanmax(lines[0].get_ydata()) > 5, "the first flow has the link to itself"
    plot._repr_png_()  # type: ignore[attr-defined]
    batch.plot("rtt", path=tmp_path / "rtt.pdf")
    assert (tmp_path / "rtt.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(nw.InputError, match="figure is 'rttt'; allowed: throughput, rtt"):
        run.plot("rttt")
    with pytest.raises(nw.InputError, match="has no known format; allowed: a name that ends in"):
        run.plot(path=tmp_path / "rtt.doc")


def test_a_run_without_samples_says_how_to_get_some() -> None:
    """There is nothing to plot where nothing was sampled."""
    bare = nw.run("dumbbell-cubic", overrides={"duration": "12 s", "sampling": "off"})
    with pytest.raises(nw.InputError, match='samples nothing to plot; allowed: sampling = "100 ms"'):
        bare.plot()


def test_a_plot_is_a_picture(run: nw.Run) -> None:
    """What notebooks show is a PNG."""
    sink = io.BytesIO()
    run.plot("queue").savefig(sink, format="png")
    assert sink.getvalue().startswith(b"\x89PNG")
