"""Exports of results: what a directory has, CSV that reads back as the same values, and files that are left alone."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import fields
from typing import TYPE_CHECKING, get_args

import pandas as pd
import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows.cli import app
from narrows.export.columns import meanings
from narrows.metrics.datagrams import DatagramMetrics
from narrows.metrics.flows import FlowMetrics
from narrows.metrics.impairments import ImpairmentMetrics
from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
from narrows.metrics.routers import RouterMetrics
from narrows.metrics.stations import ChannelMetrics, StationMetrics
from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
from narrows.outcome.metrics import MetricKind

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

    from narrows.outcome import Batch

KINDS = (
    FlowMetrics,
    QueueMetrics,
    SubqueueMetrics,
    RouterMetrics,
    StationMetrics,
    ChannelMetrics,
    TransferMetrics,
    PlaybackMetrics,
    DatagramMetrics,
    ImpairmentMetrics,
)


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def batch() -> Batch:
    made = nw.run("dumbbell-cubic", seed=1, runs=2, overrides={"duration": "12 s"})
    assert isinstance(made, nw.Batch)
    return made


@pytest.fixture(scope="module")
def saved(batch: Batch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return batch.save(tmp_path_factory.mktemp("results") / "r")


def read(path: Path) -> pd.DataFrame:
    frame: pd.DataFrame = pd.read_csv(path)
    return frame


@pytest.mark.parametrize("kind", KINDS)
def test_every_metric_has_a_meaning(kind: type[FlowMetrics]) -> None:
    told = meanings(kind)
    assert [field.name for field in fields(kind) if not told.get(field.name)] == []
    assert not any("None" in text or "`" in text for text in told.values())


def test_csv_reads_back_as_the_same_values(batch: Batch, saved: Path, tmp_path: Path) -> None:
    """A directory gives what its runs give: metrics of each run, and every sample."""
    assert narrows("export", saved, "-o", tmp_path / "out").exit_code == 0
    flows = read(tmp_path / "out" / "flows.csv")
    pd.testing.assert_frame_equal(
        flows, batch.metrics.to_pandas("flow"), check_dtype=False, check_exact=True, obj="flows"
    )
    samples = read(tmp_path / "out" / "samples-queues.csv")
    wanted = batch.samples.to_pandas("queue").astype({"kind": str, "name": str})
    pd.testing.assert_frame_equal(samples, wanted, check_dtype=False, check_exact=True)


def test_csv_lists_every_column_with_unit_and_meaning(saved: Path, tmp_path: Path) -> None:
    assert narrows("export", saved, "-o", tmp_path / "out").exit_code == 0
    columns = read(tmp_path / "out" / "columns.csv")
    for table, listed in columns.groupby("table"):
        assert list(read(tmp_path / "out" / f"{table}.csv").columns) == listed["column"].tolist()
    assert columns["meaning"].notna().all()
    found = columns.set_index(["table", "column"])["unit"]
    assert found["flows", "throughput_mbps"] == "Mb/s"
    assert found["flows", "rtt_mean_s"] == "s"
    assert found["samples-flows", "srtt_s"] == "s"


def test_a_run_with_everything_exports_each_kind_of_metrics() -> None:
    """Names of kinds are those of the attributes of runs."""
    run = nw.run("wifi-cell", seed=1, overrides={"duration": "2 s"})
    names = {table.name for table in nw.export.contents(run).tables}
    assert {"flows", "queues", "stations", "channels"} <= names
    assert len(get_args(MetricKind)) == len(KINDS)


def test_the_list_names_what_can_be_exported(saved: Path, tmp_path: Path) -> None:
    shown = narrows("export", saved, "--list")
    assert shown.exit_code == 0
    assert "samples-flows" in shown.stdout
    content = json.loads(narrows("export", saved, "--list", "--json").stdout)
    assert content["kind"] == "run"
    assert [one["name"] for one in content["tables"]][:2] == ["flows", "queues"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--to", "xls"], ["format is 'xls'", "csv, latex, pdf"]),
        (["--tables", "flow"], ["table is 'flow'", "flows, queues"]),
        (["--dpi", "5"], ["dpi is 5", "36 to 1200"]),
        (["--width", "wide"], ["width is 'wide'", "column, page", "40 to 500 mm"]),
        (["--figures", "throughput"], ["figures are named", "pdf"]),
    ],
)
def test_what_is_not_allowed_is_named(saved: Path, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    shown = narrows("export", saved, "-o", tmp_path / "out", *arguments)
    assert shown.exit_code == 2
    assert all(part in shown.stderr for part in parts), shown.stderr
    assert not (tmp_path / "out").exists()


def test_a_directory_is_needed(saved: Path, tmp_path: Path) -> None:
    shown = narrows("export", saved)
    assert (shown.exit_code, "-o OUT" in shown.stderr) == (2, True)
    for directory, what in ((tmp_path, "holds no results"), (tmp_path / "none", "does not exist")):
        shown = narrows("export", directory, "-o", tmp_path / "out")
        assert (shown.exit_code, what in shown.stderr, "narrows run" in shown.stderr) == (2, True, True)


def test_an_export_leaves_other_files_alone(saved: Path, tmp_path: Path) -> None:
    """It adds to a folder of the user's and to other exports of the result, and refuses to replace anything else."""
    out = tmp_path / "paper"
    out.mkdir()
    (out / "main.tex").write_text("mine", encoding="utf-8")
    assert narrows("export", saved, "-o", out, "--tables", "flows").exit_code == 0
    assert narrows("export", saved, "-o", out, "--tables", "samples-*").exit_code == 0
    there = {path.name for path in out.iterdir()}
    assert there == {".narrows.json", "main.tex", "columns.csv", "flows.csv", "samples-flows.csv", "samples-queues.csv"}
    (out / "flows.csv").write_text("mine too", encoding="utf-8")
    shown = narrows("export", saved, "-o", out)
    assert (shown.exit_code, "flows.csv" in shown.stderr) == (2, True)
    assert (out / "flows.csv").read_text(encoding="utf-8") == "mine too"
    assert not (out / "queues.csv").exists()


def test_an_export_of_another_result_is_not_replaced(batch: Batch, tmp_path: Path) -> None:
    nw.export.write(batch, tmp_path / "out")
    other = nw.run("lossy-link", seed=1, overrides={"duration": "12 s"})
    with pytest.raises(nw.InputError, match=r"columns\.csv.*export of dumbbell-cubic"):
        nw.export.write(other, tmp_path / "out", tables="flows")


def test_exports_repeat_to_the_byte(saved: Path, tmp_path: Path) -> None:
    written = [
        {path.name: path.read_bytes() for path in nw.export.write(saved, tmp_path / name)} for name in ("one", "two")
    ]
    assert written[0] == written[1]


def test_a_run_exports_itself(batch: Batch, tmp_path: Path) -> None:
    written = batch.export(tmp_path / "out", "csv", tables="flows")
    assert [path.name for path in written] == ["columns.csv", "flows.csv"]


def test_damaged_results_are_named(saved: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(saved, broken)
    (broken / "samples.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    shown = narrows("export", broken, "-o", tmp_path / "out")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "broken" in shown.stderr
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_nothing(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("narrows.outcome.text.write_csv", full)
    shown = narrows("export", saved, "-o", tmp_path / "out")
    assert (shown.exit_code, "No space left on device" in shown.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
