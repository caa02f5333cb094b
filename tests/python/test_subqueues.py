"""Sub-queues of disciplines that have several queues behind one limit: their totals, samples, files and tables.

No bundled discipline has any, so the engine's tables are made by hand here, as
`crates/sim/tests/disciplines` makes them by a toy discipline.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, cast

from rich.console import Console

from narrows.cli.tables import print_result
from narrows.metrics.queues import SubqueueMetrics, subqueue_metrics
from narrows.outcome import Batch
from narrows.outcome.chunks import Whole
from narrows.outcome.rewritten import lacking
from narrows.outcome.samples import ALL_KINDS, KINDS, Samples
from narrows.outcome.summary import of
from narrows.outcome.tidy import SUBQUEUE, CoreTable, from_core
from narrows.report.write import metric_tables
from narrows.store.results import load

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

NAMES = ["A->B/strong", "A->B/weak", "B->A/weak"]
PLACES = [(0, 0), (0, 1), (3, 1)]


def core_table(columns: dict[str, list[int]]) -> CoreTable:
    """Pack columns as the engine does."""
    return [(name, "", name, struct.pack(f"<{len(values)}q", *values)) for name, values in columns.items()]


def rows() -> Samples:
    """Samples of three sub-queues of two queues, and of a queue."""
    common = {name: [1, 2, 3, 4] for name in ("bytes", "packets", "forwarded_bytes", "forwarded_packets")}
    drops = {name: [0, 0, 1, 0] for name in ("dropped_overflow", "dropped_early", "dropped_forced", "marked")}
    parts = {"time_ns": [0, 0, 10**9, 10**9], "queue": [0, 3, 0, 3], "subqueue": [0, 1, 1, 1], **common, **drops}
    whole = {"time_ns": [0], "queue": [0], **{name: [9] for name in (*common, *drops, "corrupted")}}
    samples = Samples.from_core(
        {
            "flows": core_table({"time_ns": [0], "flow": [0], "cwnd_bytes": [-1]}),
            "queues": core_table(whole),
            "routers": core_table({"time_ns": [], "router": [], "flows": []}),
        },
        {"flow": ["f"], "queue": ["A->B"], "router": [], "subqueue": []},
    )
    table = from_core(SUBQUEUE, core_table(parts), NAMES, 0, PLACES)
    return Samples({**{kind: samples.table(kind) for kind in KINDS}, SUBQUEUE: table})


def totals(**changes: int) -> SubqueueMetrics:
    """Metrics of a sub-queue that dropped a tenth."""
    counted: dict[str, int | None] = {
        "arrived_packets": 100,
        "forwarded_bytes": 85_000,
        "forwarded_packets": 85,
        "dropped_overflow": 4,
        "dropped_early": 5,
        "dropped_forced": 1,
        "marked": 7,
        "waiting_packets": 5,
        "delay_samples": 85,
        "delay_sum_ns": 170_000_000,
        "delay_max_ns": 9_000_000,
        "delay_p50_ns": 1_000_000,
        "delay_p95_ns": 5_000_000,
        "delay_p99_ns": 8_000_000,
    }
    return subqueue_metrics("A->B/strong", counted | changes)


def test_rows_have_the_names_of_their_places() -> None:
    """A row's name is the queue's and the label, whatever the numbers of sub-queues without rows."""
    frame = rows().frame("subqueue")
    assert list(frame["name"].astype(str)) == ["A->B/strong", "B->A/weak", "A->B/weak", "B->A/weak"]
    assert list(frame["forwarded_packets"]) == [1, 2, 3, 4]
    assert not {"queue", "subqueue"} & set(frame.columns)


def test_they_add_rows_to_the_tidy_table_and_no_columns(tmp_path: Path) -> None:
    """The columns of a sub-queue are columns of a queue; a file keeps them apart by the kind."""
    samples = rows()
    without = Samples({kind: samples.table(kind) for kind in KINDS})
    assert samples.to_arrow().schema == without.to_arrow().schema
    assert (len(samples), len(without)) == (6, 2)
    samples.to_parquet(tmp_path / "samples.parquet")
    read = Samples.from_parquet(tmp_path / "samples.parquet")
    assert read.table("subqueue").to_pylist() == samples.table("subqueue").to_pylist()
    assert (read.rows("queue"), lacking(read.schema("subqueue").names, "subqueue")) == (1, [])
    assert Samples.concat([samples, without]).rows("subqueue") == 4
    assert samples.of_run(1).rows("subqueue") == 0


def test_samples_without_them_have_an_empty_table() -> None:
    """Every kind can be asked for."""
    samples = Samples({kind: Whole(rows().table(kind)) for kind in KINDS})
    frame = samples.frame("subqueue")
    assert frame.empty
    assert {"marked", "corrupted"} & set(frame.columns) == {"marked"}
    assert repr(samples) == "<Samples: 1 flow, 1 queue, 0 router rows>"
    assert set(ALL_KINDS) == {*KINDS, "subqueue"}


def test_metrics_are_ratios_and_milliseconds() -> None:
    """The formulas are those of queues."""
    metrics = totals()
    assert (metrics.dropped_packets, metrics.drop_ratio, metrics.marked_packets) == (10, 0.1, 7)
    assert (metrics.delay_mean_ms, metrics.delay_p99_ms, metrics.delay_max_ms) == (2.0, 8.0, 9.0)
    assert totals(arrived_packets=0).drop_ratio is None


def test_a_batch_has_means_over_the_runs_that_used_a_sub_queue(one: Run) -> None:
    """A hash bucket that no packet reached in one run has no row there."""
    other = replace(totals(), name="A->B/weak")
    first = replace(one, subqueues=(totals(), other))
    second = replace(one, subqueues=(totals(arrived_packets=200),), index=1)
    batch = Batch(scenario=one.scenario, seed=one.seed, runs=(first, second))
    assert [row.name for row in batch.subqueues] == ["A->B/strong", "A->B/weak"]
    assert [row.arrived_packets for row in batch.subqueues] == [150, 100]
    assert [row["arrived_packets"] for row in of(batch)["subqueues"]] == [150, 100]


def test_results_keep_them_and_others_have_no_key(one: Run, tmp_path: Path) -> None:
    """They are saved and read back; a summary without sub-queues is as it was."""
    run = replace(one, subqueues=(totals(),))
    run.save(tmp_path / "run")
    assert load(tmp_path / "run").subqueues == run.subqueues
    assert ["subqueues" in of(which) for which in (run, one)] == [True, False]


def test_page_and_terminal_have_a_table_of_them(one: Run) -> None:
    """Only where there are any."""
    run = replace(one, subqueues=(totals(),))
    title = "Sub-queues that packets passed"
    assert [table.title for table in metric_tables(run, {})].count(title) == 1
    assert title not in [table.title for table in metric_tables(one, {})]
    out = Console(file=StringIO(), width=120, highlight=False)
    print_result(run, 1.0, out)
    text = cast("StringIO", out.file).getvalue()
    assert [word in text for word in ("sub-queue", "A->B/strong", "99 %")] == [True] * 3
