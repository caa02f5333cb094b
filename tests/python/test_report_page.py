"""The report of a run and of a batch: it needs no other files, and its numbers are correct."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json

import narrows as nw
from narrows.base import bundled
from narrows.base.errors import InputError
from narrows.model.scenario import Scenario
from narrows.outcome import Batch
from narrows.report import network, render, style, tables, write_report
from narrows.report.write import metric_tables
from narrows.stats import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

SCENARIO = """
name = "two-flows"
title = "Two flows & <one> bottleneck"
description = "A test."
duration = "6 s"
sampling = "50 ms"
start_jitter = "100 ms"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "5 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[[flows]]
name = "first"
from = "s1"
to = "d1"

[[flows]]
name = "second"
from = "s2"
to = "d2"
start = "1 s"
dscp = 46

[[flows]]
name = "voice"
kind = "udp"
from = "s1"
to = "d2"
rate = "64 kb/s"
payload = "160 B"
"""


class Page(HTMLParser):
    """Collects the resources that a page would load, its identifiers and internal links, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.anchors: list[str] = []
        self.files: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value for name, value in attrs if value}
        if "id" in named:
            self.ids.add(named["id"])
        wanted = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}.get(tag)
        if wanted in named:
            self.loaded.append(named[wanted])
        if tag == "a" and "href" in named:
            (self.anchors if named["href"].startswith("#") else self.files).append(named["href"])


@pytest.fixture(scope="module")
def run() -> Run:
    return nw.run(Scenario.from_text(SCENARIO), seed=3)


@pytest.fixture(scope="module")
def batch() -> Batch:
    made = nw.run(Scenario.from_text(SCENARIO), seed=3, runs=3)
    assert isinstance(made, Batch)
    return made


@pytest.fixture(scope="module")
def page(batch: Batch, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = write_report(batch, tmp_path_factory.mktemp("report"))
    return path, path.read_text()


def test_it_loads_nothing_from_elsewhere(page: tuple[Path, str]) -> None:
    path, text = page
    parsed = Page(text)
    assert path.name == "report.html"
    assert parsed.loaded
    assert all(link.startswith("data:") for link in parsed.loaded)
    assert not re.search(r"@import|url\((?!data:)", text.split("</style>")[0])


def test_its_links_lead_somewhere(page: tuple[Path, str]) -> None:
    path, text = page
    parsed = Page(text)
    assert {anchor[1:] for anchor in parsed.anchors} <= parsed.ids
    assert parsed.files
    assert all((path.parent / name).is_file() for name in parsed.files)


def test_figures_come_as_png_and_svg(page: tuple[Path, str]) -> None:
    figures = page[0].parent / "figures"
    for stem in ("topology", "throughput", "rtt", "cwnd", "queue"):
        assert (figures / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (figures / f"{stem}.svg").read_text()


def test_names_and_titles_are_escaped(page: tuple[Path, str]) -> None:
    assert "Two flows &amp; &lt;one&gt; bottleneck" in page[1]
    assert "<one>" not in page[1]


def test_the_table_has_means_with_intervals(batch: Batch, page: tuple[Path, str]) -> None:
    estimate = batch.estimate("flow", "first", "throughput_mbps")
    value, spread = tables.with_spread(estimate.mean, estimate.half_width)
    row = re.search(r"</span>first</td>(.*?)</tr>", page[1].split("What the flows sent")[1], re.DOTALL)
    assert row is not None
    first = re.sub(r"<[^>]+>", "", row[1].split("</td>")[0])
    assert first == f"{value} ± {spread}"


def test_charts_hold_the_flows_in_their_colours(page: tuple[Path, str]) -> None:
    found = re.search(r'id="plot-throughput-data">(.*?)</script>', page[1], re.DOTALL)
    assert found is not None
    chart = json.loads(found[1])
    lines = {line["name"]: line["colour"] for line in chart["panels"][0]["lines"]}
    assert lines == {"first": style.colour(0), "second": style.colour(1), "voice": style.colour(2)}
    for i in range(3):
        assert f'stroke="{style.colour(i)}"' in page[1]


def test_the_chart_of_throughput_adds_up_to_what_arrived(run: Run, tmp_path: Path) -> None:
    text = write_report(run, tmp_path).read_text()
    found = re.search(r'id="plot-throughput-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    panel = json.loads(found[1])["panels"][0]
    (line,) = [line for line in panel["lines"] if line["name"] == "first"]
    width = panel["x"][1] - panel["x"][0]
    drawn = sum(value for value in line["y"] if value is not None) * width / 8e-6
    assert drawn == pytest.approx(run.flow("first").arrived_bytes, rel=0.03)


def test_the_identity_repeats_the_run(batch: Batch, page: tuple[Path, str]) -> None:
    assert batch.digest in page[1]
    assert "--runs 3" in page[1]
    assert batch.version in page[1]


def test_a_single_run_has_no_interval(run: Run, tmp_path: Path) -> None:
    text = write_report(run, tmp_path / "one.html").read_text()
    assert (tmp_path / "one.html").is_file()
    assert "±" not in text.split('id="metrics"')[1].split('id="series"')[0]


def test_a_result_directory_gives_the_same_page(batch: Batch, page: tuple[Path, str], tmp_path: Path) -> None:
    batch.save(tmp_path / "result")
    loaded = write_report(tmp_path / "result", tmp_path / "again").read_text()
    first = re.search(r"What the flows sent.*?</table>", page[1], re.DOTALL)
    second = re.search(r"What the flows sent.*?</table>", loaded, re.DOTALL)
    assert first is not None
    assert second is not None
    assert first[0] == second[0]


def test_without_samples_there_are_totals_and_no_charts(tmp_path: Path) -> None:
    made = nw.run(Scenario.from_text(SCENARIO, overrides={"sampling": "off"}), seed=3)
    text = write_report(made, tmp_path).read_text()
    assert 'class="plot"' not in text
    assert "What the flows sent" in text


def test_no_run_is_refused(batch: Batch, tmp_path: Path) -> None:
    empty = Batch(scenario=batch.scenario, seed=3, runs=())
    with pytest.raises(InputError, match="no finished run"):
        write_report(empty, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", bundled.scenarios())
def test_every_bundled_scenario_can_be_drawn(name: str) -> None:
    scenario = Scenario.from_file(name)
    resolved, drawn = scenario.resolved, network.of(scenario)
    assert all(len(flow.path) >= 2 for flow in drawn.flows)
    assert len(network.flow_rows(resolved)) == len(resolved.flows)


TIE = """
nodes = [{ name = "a" }, { name = "r1", kind = "router" }, { name = "r2", kind = "router" },
  { name = "r3", kind = "router" }, { name = "r4", kind = "router" }, { name = "b" }]
links = [{ between = ["a", "r1"] }, { between = ["r1", "r3"] }, { between = ["r1", "r2"] },
  { between = ["r2", "r4"] }, { between = ["r3", "r4"] }, { between = ["r4", "b"] }]
flows = [{ from = "a", to = "b" }]
duration = "1 s"
"""


def test_flows_are_drawn_where_the_engine_sends_their_packets() -> None:
    """Of two paths with equally many hops, the engine takes the one over the node that is listed first."""
    scenario = Scenario.from_text(TIE.replace('"] }', '"], rate = "1 Mb/s", delay = "1 ms" }'))
    (flow,) = network.of(scenario).flows
    drawn = [as_json(scenario)["nodes"][node]["name"] for node in flow.path]
    made = nw.run(scenario)
    assert isinstance(made, nw.Run)
    carried = {queue.name for queue in made.queues if queue.forwarded_packets}
    assert {f"{one}->{other}" for one, other in itertools.pairwise(drawn)} <= carried
    assert drawn == ["a", "r1", "r2", "r4", "b"]


def test_the_table_of_flows_says_whose_habits_they_have() -> None:
    rows = network.flow_rows(Scenario.from_file("linux-vs-rfc", {"flows.rfc.cc": "reno"}).resolved)
    assert [row["cc"] for row in rows] == ["cubic as in Linux", "reno"]
    both = Scenario.from_file("acns", {"tcp.stack": "ns2"}).resolved
    assert network.flow_rows(both)[0]["cc"] == "cubic as in ns-2 with ACNS"


def test_acns_is_drawn_where_it_runs() -> None:
    scenario = Scenario.from_file("acns")
    assert network.of(scenario).agents
    assert not network.of(scenario.with_overrides({"acns.enabled": False})).agents


def test_options_have_a_table_where_there_were_any(run: Run) -> None:
    title = "NGWA options received"
    assert title not in [table.title for table in metric_tables(run, {})]
    flows = (replace(run.flows[0], window_options=12, window_options_ignored=3), *run.flows[1:])
    made = {table.title: table for table in metric_tables(replace(run, flows=flows), {})}[title]
    assert [cell.value for cell in made.rows[0].cells] == ["12", "3"]


def test_triple_duplicate_acks_stand_beside_the_fast_retransmits(run: Run) -> None:
    flows = (replace(run.flows[0], triple_duplicate_acks=17), *run.flows[1:])
    made = {table.title: table for table in metric_tables(replace(run, flows=flows), {})}
    table = made["Round-trip times and recovery of the TCP flows"]
    column = [c.metric for c in table.columns].index("triple_duplicate_acks")
    assert table.rows[0].cells[column].value == "17"


def test_an_interrupted_page_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        render.write_text(tmp_path / "page.html", "text")
    assert not list(tmp_path.iterdir())


def test_cells_of_a_table() -> None:
    rate = tables.Column("throughput_mbps", "Throughput", "Mb/s")
    count = tables.Column("lost_packets", "Lost", "packets", is_count=True)
    assert tables.cell(Estimate(1.2345, 1.2, 1.269, 5, 0.1), rate) == tables.Cell("1.234", "0.034")
    assert tables.cell(Estimate(3.0, float("nan"), float("nan"), 1, float("nan")), rate) == tables.Cell("3.00")
    assert tables.cell(Estimate(12.5, 10.0, 15.0, 5, 2.0), count) == tables.Cell("12.5", "2.5")
    assert tables.cell(Estimate(float("nan"), float("nan"), float("nan"), 0, float("nan")), rate) == tables.Cell("–")
