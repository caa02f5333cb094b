"""Exports of comparisons, contests, sweeps, comparisons of queue disciplines and reproductions: numbers as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows.cli import app
from narrows.report import stored
from narrows.report.values import Band, Figure, Line, Panel
from narrows.studies.aqm import saved
from narrows.studies.comparison import Arm, Comparison
from narrows.studies.comparison import directory as comparisons
from narrows.studies.contest import saved as contests

if TYPE_CHECKING:
    from pathlib import Path

SWEEP = """
name = "buffers"
scenario = "dumbbell-cubic"
seeds = 2
[set]
duration = "12 s"
[[axes]]
name = "buffer"
path = "topology.bottleneck.queue.limit"
values = [20, 100]
unit = "packets"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["cubic", "reno"]
"""


def narrows(*arguments: str | Path) -> str:
    shown = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert shown.exit_code == 0, shown.stderr
    return shown.stdout


def read(path: Path) -> pd.DataFrame:
    frame: pd.DataFrame = pd.read_csv(path)
    return frame


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def comparison(place: Path) -> Path:
    arms = [
        nw.run("dumbbell-cubic", seed=1, runs=2, overrides={"duration": "12 s", **more})
        for more in ({}, {"topology.bottleneck.queue.limit": "100 packets"})
    ]
    made = Comparison(Arm("simulated", arms[0]), Arm("Linux 7.2", arms[1]))
    return comparisons.write(made, place / "comparison")


@pytest.fixture(scope="module")
def contrast(comparison: Path, place: Path) -> Path:
    narrows("compare", comparison / "simulated", comparison / "linux-7.2", "-o", place / "contrast")
    return place / "contrast"


@pytest.fixture(scope="module")
def contest(place: Path) -> Path:
    narrows("contest", "--cc", "cubic,reno", "--runs", "2", "--set", "duration=16 s", "-o", place / "contest")
    return place / "contest"


@pytest.fixture(scope="module")
def sweep(place: Path) -> Path:
    (place / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    narrows("sweep", place / "sweep.toml", "-o", place / "sweep")
    return place / "sweep"


@pytest.fixture(scope="module")
def aqm(place: Path) -> Path:
    queues, scenarios = "droptail,fq_codel", "dumbbell-cubic,red-ecn"
    narrows("aqm", "--queues", queues, "--on", scenarios, "--runs", "2", "-o", place / "aqm")
    return place / "aqm"


@pytest.fixture(scope="module")
def reproduction(place: Path) -> Path:
    narrows("reproduce", "contest", "--pair", "westwood", "hybla", "--quick", "-o", place / "pair")
    return place / "pair"


def test_a_comparison_exports_differences_and_both_arms(comparison: Path, tmp_path: Path) -> None:
    """The differences are those of its JSON, and the arms have the tables of runs in folders of their own."""
    narrows("export", comparison, "-o", tmp_path / "out", "--to", "csv,latex,pgf")
    made = comparisons.load(comparison)
    frame = read(tmp_path / "out" / "differences.csv")
    row = frame[(frame["name"] == "first") & (frame["measure"] == "throughput_mbps")].iloc[0]
    told = made.flow("first").of("throughput_mbps")
    assert told is not None
    assert (row["first_mean"], row["second_low"]) == (told.first.mean, told.second.low)
    assert (row["difference_high"], row["p_value"]) == (told.difference.difference.high, told.difference.p_value)
    flows = read(tmp_path / "out" / "linux-7.2" / "flows.csv")
    wanted = made.second.outcome.metrics.to_pandas("flow")
    pd.testing.assert_frame_equal(flows, wanted, check_dtype=False, check_exact=True)
    assert r"\multicolumn{5}{@{}l@{}}{\itshape first}" in (tmp_path / "out" / "flows.tex").read_text(encoding="utf-8")
    assert "Linux 7.2" in (tmp_path / "out" / "throughput.tikz").read_text(encoding="utf-8")


def test_a_contrast_exports_what_narrows_compare_wrote(contrast: Path, comparison: Path, tmp_path: Path) -> None:
    """From its directory and from its value, to the byte."""
    narrows("export", contrast, "-o", tmp_path / "out", "--to", "csv,latex,pgf")
    made = nw.compare(comparison / "simulated", comparison / "linux-7.2")
    nw.export.write(made, tmp_path / "again", "csv,latex,pgf")
    frame = read(tmp_path / "out" / "metrics.csv")
    assert len(frame) == len(read(contrast / "metrics.csv")) > 20
    for path in sorted((tmp_path / "out").glob("*.*")):
        if path.name != ".narrows.json":
            assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    assert (tmp_path / "out" / "rtt-distribution.tikz").is_file()


def test_a_contest_exports_its_table_and_maps(contest: Path, tmp_path: Path) -> None:
    narrows("export", contest, "-o", tmp_path / "out", "--to", "csv,latex,pdf,pgf")
    made = contests.load(contest)
    frame = read(tmp_path / "out" / "cells.csv").fillna({"unit": ""})
    pd.testing.assert_frame_equal(frame, made.table(), check_dtype=False, check_exact=True)
    standings = read(tmp_path / "out" / "standings.csv").set_index("label")
    for one in made.standings():
        assert standings.loc[one.label, "share"] == one.share.mean
        assert standings.loc[one.label, "loss_ratio_ci"] == one.loss_ratio.half_width
    text = (tmp_path / "out" / "share-first.tikz").read_text(encoding="utf-8")
    assert text.count("rectangle") == 4
    assert (tmp_path / "out" / "share-first.pdf").read_bytes().startswith(b"%PDF")


def test_a_sweep_exports_its_rows_and_means(sweep: Path, tmp_path: Path) -> None:
    narrows("export", sweep, "-o", tmp_path / "out", "--to", "csv,latex,svg,pgf")
    made = nw.sweep.load(sweep)
    flows = read(tmp_path / "out" / "flows.csv")
    for column in ("buffer", "cc", "throughput_mbps", "rtt_mean_ms"):
        assert flows[column].tolist() == made.flows[column].tolist()
    effects = read(tmp_path / "out" / "effects.csv")
    wanted = made.effects()
    assert effects["share"].tolist() == wanted["share"].tolist()
    assert effects["axis"].tolist() == wanted["axis"].tolist()
    table = (tmp_path / "out" / "over-buffer.tex").read_text(encoding="utf-8")
    assert r"\toprule" in table
    assert table.count(r" \\") >= 3
    assert {path.suffix for path in (tmp_path / "out").glob("over-*")} == {".tex", ".svg", ".tikz"}


def test_a_comparison_of_disciplines_is_read_back(aqm: Path, tmp_path: Path) -> None:
    """Means are those of its page, runs those of its journal; damage is noticed."""
    narrows("export", aqm, "-o", tmp_path / "out", "--to", "csv,latex,png,pgf")
    content = json.loads((aqm / "aqm.json").read_text(encoding="utf-8"))
    frame = read(tmp_path / "out" / "cells.csv").set_index(["scenario", "queue"])
    for one in content["cells"]:
        measured = one["measures"]["goodput_mbps"]["mean"]
        assert frame.loc[(one["scenario"], one["queue"]), "goodput_mbps"] == pytest.approx(measured, rel=1e-12)
    assert len(read(tmp_path / "out" / "runs.csv")) == 8
    made = saved.load(aqm)
    assert set(made.scenarios.values()) == {one["title"] for one in content["cells"]}
    broken = tmp_path / "broken"
    broken.mkdir()
    content["cells"][0]["measures"]["goodput_mbps"]["mean"] += 1
    (broken / "aqm.json").write_text(json.dumps(content), encoding="utf-8")
    (broken / "runs.jsonl").write_bytes((aqm / "runs.jsonl").read_bytes())
    with pytest.raises(nw.InputError, match=r"damaged.*goodput_mbps of droptail"):
        nw.export.contents(broken)


def test_a_reproduction_exports_cells_claims_and_figures(reproduction: Path, tmp_path: Path) -> None:
    """Figures are drawn again from their values; those that are pictures alone are copied."""
    narrows("export", reproduction, "-o", tmp_path / "out", "--to", "csv,latex,pdf,svg,pgf")
    content = json.loads((reproduction / "summary.json").read_text(encoding="utf-8"))
    cells = read(tmp_path / "out" / "cells.csv")
    assert cells["measured"].tolist() == [one["measured"] for one in content["cells"]]
    claims = read(tmp_path / "out" / "claims.csv")
    assert claims["verdict"].tolist() == [one["verdict"] for one in content["claims"]]
    figures = stored.loads((reproduction / stored.FILE).read_text(encoding="utf-8"))
    assert figures
    for figure in figures:
        assert (tmp_path / "out" / f"{figure.name}.pdf").is_file()
        assert (tmp_path / "out" / f"{figure.name}.tikz").is_file()


def test_a_picture_alone_is_copied_and_refused_in_other_formats(reproduction: Path, tmp_path: Path) -> None:
    folder = tmp_path / "older"
    (folder / "figures").mkdir(parents=True)
    (folder / "summary.json").write_bytes((reproduction / "summary.json").read_bytes())
    picture = next((reproduction / "figures").glob("*.svg"))
    (folder / "figures" / "old.svg").write_bytes(picture.read_bytes())
    written = nw.export.write(folder, tmp_path / "out", "svg,pdf")
    assert [path.name for path in written] == ["old.svg"]
    assert written[0].read_bytes() == picture.read_bytes()
    with pytest.raises(nw.InputError, match=r"'old' has no format pdf; allowed: svg"):
        nw.export.write(folder, tmp_path / "out", "pdf", figures="old")


def test_figures_are_the_same_after_a_file() -> None:
    x = np.array([0.5, 1.0, 2.0])
    line = Line("a", x, np.array([1.0, np.nan, 3.0]), "#0072B2", low=x - 1, high=x + 1, step=True, symbol="square")
    panel = Panel("y", (line,), title="t", y_top=5.0, rule=2.0, rule_text="r", bands=(Band("b", 0, 1, "#D55E00"),))
    figure = Figure("f", "T", "c", "x", (panel,), ticks=("p", "q"), marks=((1.0, "m"),), x_range=(0.0, 3.0), x_log=True)
    text = stored.dumps([figure])
    assert stored.dumps(stored.loads(text)) == text
    (again,) = stored.loads(text)
    assert (again.ticks, again.marks, again.x_range) == (figure.ticks, figure.marks, figure.x_range)
    np.testing.assert_array_equal(again.panels[0].lines[0].y, line.y)
    assert again.panels[0].bands == panel.bands


@pytest.mark.parametrize("kind", ["comparison", "contrast", "contest", "sweep", "aqm", "reproduction"])
def test_every_column_of_every_kind_has_a_meaning(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    nw.export.write(request.getfixturevalue(kind), tmp_path / "out")
    columns = read(tmp_path / "out" / "columns.csv")
    assert columns[columns["meaning"].isna()].to_dict("records") == []
