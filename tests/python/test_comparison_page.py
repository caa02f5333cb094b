"""The page of a comparison, and the conditions of the machine on the page of a run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import narrows as nw
from narrows.comparison import Arm, Comparison
from narrows.model.scenario import Scenario
from narrows.outcome import Batch
from narrows.outcome.samples import Samples
from narrows.report import series, style, write_report
from narrows.studies.comparison import overlays
from narrows.studies.comparison import report as comparison

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

SCENARIO = """
name = "pair"
title = "One flow & <one> bottleneck"
duration = "3 s"
sampling = "10 ms"
start_jitter = "50 ms"

[topology]
kind = "dumbbell"
bottleneck = { rate = "4 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[[flows]]
name = "bulk"
from = "s1"
to = "d1"
"""
LATE = "3 % of the packets left <late>"
CONDITIONS: dict[str, Any] = {"kernel_release": "6.18.0-test", "trusted": True, "doubts": []}
DOUBTED = CONDITIONS | {"trusted": False, "doubts": [LATE]}


def arm(label: str, runs: int, conditions: dict[str, Any] | None = None, **settings: str) -> Arm:
    made = nw.run(Scenario.from_text(SCENARIO, overrides=settings), seed=4, runs=runs)
    kept = tuple(replace(run, conditions=conditions) for run in made.runs)
    return Arm(label, replace(made, runs=kept) if isinstance(made, Batch) else kept[0])


@pytest.fixture(scope="module")
def both() -> Comparison:
    return Comparison(arm("simulated", 2), arm("live", 3, CONDITIONS, **{"tcp.cc": "reno"}))


def page(made: Comparison, folder: Path) -> str:
    return comparison.write(made, folder).read_text(encoding="utf-8")


def test_the_page_is_whole_and_has_its_figures_beside_it(both: Comparison, tmp_path: Path) -> None:
    text = page(both, tmp_path)
    names = {"cwnd", "throughput", "rtt", "queue", "topology"}
    for suffix in ("png", "svg"):
        assert {path.stem for path in (tmp_path / "figures").glob(f"*.{suffix}")} == names
    assert not re.search(r'(src|href)="(https?:)?//', text.split("<script>")[0])
    assert "&lt;one&gt; bottleneck" in text
    assert 'role="alert"' not in text
    assert "6.18.0-test" in text


def test_both_arms_are_drawn_over_each_other(both: Comparison, tmp_path: Path) -> None:
    text = page(both, tmp_path)
    found = re.search(r'id="plot-cwnd-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    lines = json.loads(found[1])["panels"][0]["lines"]
    assert [line["name"] for line in lines] == ["simulated", "live"]
    assert [line["colour"] for line in lines] == list(overlays.COLOURS)


def test_only_the_flows_that_are_drawn_are_split_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand flows cost no more than six; the caption counts all that have samples."""
    many = [arm(label, 1, None, **{"flows[0].copies": "9"}) for label in ("a", "b")]
    split: list[int] = []
    by_name = series.by_name

    def counted(frame: Any) -> Any:
        made = by_name(frame)
        split.append(len(made))
        return made

    monkeypatch.setattr(series, "by_name", counted)
    samples = [overlays.Sampled(one, *(one.outcome.samples.frame(kind) for kind in ("flow", "queue"))) for one in many]
    names: dict[str, bool] = dict.fromkeys((flow.name for flow in many[0].outcome.flows), True)
    cwnd, throughput, _ = overlays.over_time(samples, names, [], 3.0)
    assert set(split) == {0, overlays.MAX_PANELS}
    for figure in (cwnd, throughput):
        assert len(figure.panels) == overlays.MAX_PANELS
        assert figure.caption.endswith("Of 9 the first 6 are drawn.")


def test_the_table_has_the_numbers_of_the_comparison(both: Comparison, tmp_path: Path) -> None:
    text = page(both, tmp_path)
    for title in ("Throughput", "RTT, mean", "cwnd, mean", "Lost", "Sent again", "Dropped"):
        assert f"<td>{title}</td>" in text
    rate = both.flow("bulk").of("throughput_mbps")
    assert rate is not None
    assert f"throughput by {style.signed(rate.difference.percent.mean)} %" in comparison.lead(both)
    assert "There are 2 simulated runs and 3 live runs." in comparison.lead(both)


def test_a_doubted_run_is_told_on_top_of_the_page(both: Comparison, tmp_path: Path) -> None:
    made = Comparison(both.first, arm("live", 2, DOUBTED))
    text = page(made, tmp_path)
    assert text.index("Not to be trusted.") < text.index('id="differences"')
    assert "live: run 1: 3 % of the packets left &lt;late&gt;" in text


def test_one_run_of_each_has_no_interval_and_says_so(tmp_path: Path) -> None:
    made = Comparison(arm("simulated", 1), arm("live", 1, DOUBTED))
    text = page(made, tmp_path)
    assert "±" not in text.split('id="definitions"')[0].split("<h2>Over time")[0].split("<table>", 1)[1]
    assert "repeat with <code>--runs</code>" in text
    assert "95 % interval" not in comparison.lead(made)


def test_without_samples_there_are_no_figures(tmp_path: Path) -> None:
    made = Comparison(arm("simulated", 1, sampling="off"), arm("live", 1, CONDITIONS, sampling="off"))
    assert "so there is nothing to draw" in page(made, tmp_path)


def test_the_page_of_a_run_tells_its_conditions_and_doubts(one: Run, tmp_path: Path) -> None:
    text = write_report(replace(one, conditions=DOUBTED), tmp_path / "doubted").read_text(encoding="utf-8")
    assert text.index("Not to be trusted.") < text.index('id="scenario"')
    assert "6.18.0-test" in text
    assert "bit for bit" not in text
    plain = write_report(one, tmp_path / "plain").read_text(encoding="utf-8")
    assert "bit for bit" in plain
    assert 'id="conditions"' not in plain
    assert 'role="alert"' not in plain


def test_where_no_kernel_tells_samples_the_smoothed_round_trip_times_of_both_are_drawn(
    both: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Latest sample of the sender" in page(both, tmp_path / "samples")
    live = both.second.outcome
    whole = Samples.frame

    def without(self: Samples, kind: Any) -> Any:
        frame = whole(self, kind)
        return frame.assign(rtt_ns=float("nan")) if kind == "flow" and self is live.samples else frame

    monkeypatch.setattr(Samples, "frame", without)
    text = page(both, tmp_path / "smoothed")
    assert "Smoothed round-trip time (RFC 6298) of the sender" in text
    assert (tmp_path / "smoothed" / "figures" / "rtt.png").exists()
    alone = write_report(live, tmp_path / "live").read_text(encoding="utf-8")
    assert "Smoothed round-trip time (RFC 6298) of the sender" in alone


def test_several_runs_without_any_value_have_none_in_their_mean() -> None:
    nothing = np.full(3, np.nan)
    made = series.over_runs([nothing, nothing], np.arange(3.0))
    assert np.isnan(made.y).all()
