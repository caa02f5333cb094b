"""The page of a sweep: made by the command, asked for by options, and used in a browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.python import browser
from tests.python.sweeps_made import records, sweep
from typer.testing import CliRunner

from narrows import ownership
from narrows.cli import app
from narrows.report import style
from narrows.studies.sweep.cells import cells
from narrows.studies.sweep.measured import measured
from narrows.studies.sweep.page import write
from narrows.studies.sweep.store import Store
from narrows.sweep import load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from typer.testing import Result

    from narrows.sweep import Sweep

AXES = """
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = ["100 packets", "20 packets", "5 packets"]
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic", "vegas"]
[[axes]]
name = "delay"
path = "topology.link.delay"
values = [1, 4]
unit = "ms"
"""

CC = {"reno": 0.0, "cubic": 1.0, "vegas": 2.0}


def value(point: Mapping[str, Any], seed: int) -> dict[str, float]:
    wave = (7 * seed + 3 * point["buffer"] + 11 * point["delay"]) % 5 / 10
    return {
        "throughput_mbps": 5 + CC[point["cc"]] + 0.02 * point["buffer"] + wave,
        "rtt_mean_ms": 2 * point["delay"] * (1 + point["buffer"] / 10) + wave,
        "loss_ratio": 0.5 / point["buffer"] + wave / 100,
    }


def stored(made: Sweep, directory: Path) -> Path:
    """Keep made-up runs as `narrows sweep` keeps its own."""
    plan = {run.address: [run] for run in made.runs}
    with Store(ownership.claim(directory, kind=ownership.SWEEP), made) as store:
        store.load()
        store.append(list(records(made, value).values()), plan)
    return directory


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(sweep(AXES, seeds=4), tmp_path_factory.mktemp("sweep") / "out")


@pytest.fixture(scope="module")
def page(there: Path) -> Path:
    browser.needed()
    made = narrows("report", there)
    assert made.exit_code == 0, made.stderr
    return there / "report.html"


TINY = """
name = "tiny"
scenario = "speed-w1"
seeds = 2
[set]
duration = "200 ms"
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = ["20 packets", "5 packets"]
"""


def test_a_sweep_ends_in_a_page_and_says_where(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TINY)
    shown = narrows("sweep", tmp_path / "t.toml", "-o", tmp_path / "out", "--no-progress")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.splitlines()[-1] == f"page: {tmp_path / 'out' / 'report.html'}"
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "4 runs: 2 points under 2 seeds; none failed." in text
    assert {path.name for path in (tmp_path / "out" / "figures").iterdir()} == {"over-buffer.png", "over-buffer.svg"}
    told = json.loads(narrows("sweep", tmp_path / "t.toml", "-o", tmp_path / "out", "--json", "--no-progress").stdout)
    assert told["page"] == str(tmp_path / "out" / "report.html")


def test_without_a_page_nothing_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TINY)
    arguments = ("sweep", tmp_path / "t.toml", "-o", tmp_path / "out", "--no-progress", "--no-page")
    assert narrows(*arguments).exit_code == 0
    assert not (tmp_path / "out" / "report.html").exists()
    assert json.loads(narrows(*arguments, "--json").stdout)["page"] is None


def test_a_page_of_the_users_stops_the_sweep_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TINY)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("mine")
    refused = narrows("sweep", tmp_path / "t.toml", "-o", tmp_path / "out", "--no-progress", "--force")
    assert refused.exit_code == 2
    assert (tmp_path / "out" / "report.html").read_text() == "mine"
    assert not (tmp_path / "out" / "runs").exists()


def test_the_verdict_names_the_axis_with_the_largest_effect(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "72 runs: 18 points under 4 seeds; none failed." in text
    assert re.search(r"loss_ratio depends most on buffer: \d+ % of its variance, from 0.00\d+ at 100 packets", text)
    assert '<div class="what">rtt_mean_ms depends most on</div><div class="value">' in text
    assert "η²" in text
    assert "Student" in text


def test_options_choose_what_the_page_begins_with(there: Path, tmp_path: Path) -> None:
    options = ("--measure", "rtt_mean_ms,loss_ratio", "--x", "delay", "--series", "none", "--facet", "buffer")
    shown = narrows("report", there, "-o", tmp_path / "p.html", *options)
    assert shown.exit_code == 0, shown.stderr
    data = (tmp_path / "p.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="sweep-data">(.*?)</script>', data)
    assert found is not None
    view = json.loads(found[1])["view"]
    assert view["measures"] == ["rtt_mean_ms", "loss_ratio"]
    assert (view["x"], view["series"], view["facet"]) == ("delay", None, "buffer")


def test_an_option_that_does_not_fit_is_refused_and_leaves_no_page(there: Path, tmp_path: Path) -> None:
    for option, told in (
        (("--measure", "rtt"), "--measure: 'rtt' is no measure of this sweep; allowed: "),
        (("--x", "rate"), "--x: 'rate' is no axis of this sweep; allowed: buffer, cc, delay"),
    ):
        refused = narrows("report", there, "-o", tmp_path / "p.html", *option)
        assert refused.exit_code == 2
        assert told in refused.stderr
    assert not list(tmp_path.iterdir())
    run = narrows("run", "speed-w1", "--set", "duration=200 ms", "-o", tmp_path / "run", "--no-progress")
    assert run.exit_code == 0, run.stderr
    refused = narrows("report", tmp_path / "run", "--x", "cc")
    assert refused.exit_code == 2
    assert "holds no sweep; --x: allowed for the directory of a sweep" in refused.stderr


SELECT = """
const pick = (place, index, text) => {
  const select = document.querySelectorAll(`${place} select`)[index];
  select.selectedIndex = [...select.options].findIndex((option) => option.textContent.startsWith(text));
  select.dispatchEvent(new Event('change'));
};
const settled = () => new Promise((done) => setTimeout(done, 300));
await settled();
"""


def test_charts_follow_the_choice_of_measures_and_axes(page: Path) -> None:
    seen = browser.evaluated(
        page,
        SELECT
        + """
        const charts = () => document.querySelectorAll('#explore .chart');
        const state = () => document.querySelector('.state').textContent;
        const first = [charts().length, state()];
        pick('#explore', 1, 'none'); pick('#explore', 2, 'cc');
        await settled();
        const facets = [...document.querySelectorAll('#explore .panel-title')].map((title) => title.textContent);
        const second = [charts().length, state()];
        document.querySelectorAll('#explore .checks input')[0].click();
        await settled();
        const third = [charts().length, state()];
        pick('#explore', 0, 'cc');
        await settled();
        const selects = [...document.querySelectorAll('#explore select')].slice(0, 3);
        const roles = selects.map((one) => one.selectedOptions[0].textContent);
        return { first, facets, second, third, roles };
        """,
    )
    assert seen["first"][0] == 6, "three measures, a chart for each delay"
    assert seen["second"][0] == 9
    assert seen["facets"][:3] == ["cc = reno", "cc = cubic", "cc = vegas"]
    assert seen["second"][1].endswith("; means over delay.")
    assert seen["third"][0] == 6
    assert seen["roles"][0].startswith("cc")
    assert seen["roles"][2].startswith("buffer"), "the axis that was along the charts has changed places"


def test_means_and_intervals_are_those_of_narrows_stats(there: Path, page: Path) -> None:
    rows = browser.evaluated(
        page,
        SELECT
        + """
        pick('#explore', 0, 'buffer'); pick('#explore', 1, 'cc'); pick('#explore', 2, 'none');
        await settled();
        const details = document.querySelector('.behind');
        details.open = true;
        await settled();
        const texts = (row) => [...row.cells].map((cell) => cell.textContent);
        const tables = [...details.querySelectorAll('table')];
        return tables.map((table) => [table.caption.textContent, [...table.tBodies[0].rows].map(texts)]);
        """,
    )
    made = measured(load(there))
    captions = [caption.split(" ")[0].rstrip(":") for caption, _ in rows]
    assert captions == ["throughput_mbps", "loss_ratio", "rtt_mean_ms"]
    for measure, (_, body) in zip(captions, rows, strict=True):
        expected = cells(made, measure, ["buffer", "cc"])
        assert [row[0] for row in body] == ["5", "20", "100"]
        for level, row in enumerate(body):
            for group, text in enumerate(row[1:]):
                numbers = re.fullmatch(r"([\d.,]+)(?: ± ([\d.,]+))? \((\d+)\)", text)
                assert numbers is not None, text
                cell = expected[level, group]
                assert float(numbers[1].replace(",", "")) == pytest.approx(cell.estimate.mean, rel=1e-3)
                assert float(numbers[2] or 0) == pytest.approx(cell.half, rel=1e-2, abs=1e-12)
                assert int(numbers[3]) == cell.runs == 8


def test_a_heat_map_of_two_chosen_axes_is_read_by_the_keyboard(there: Path, page: Path) -> None:
    seen = browser.evaluated(
        page,
        SELECT
        + """
        pick('#map', 0, 'rtt_mean_ms'); pick('#map', 1, 'delay'); pick('#map', 2, 'buffer');
        await settled();
        const table = document.querySelector('#map table');
        const texts = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
        table.querySelector('td[tabindex="0"]').focus();
        for (const key of ['ArrowRight', 'ArrowDown'])
          document.activeElement.dispatchEvent(
            new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        const text = (selector) => document.querySelector(selector).textContent;
        return { texts, tip: text('.tip'), ramp: text('.ramp') };
        """,
    )
    expected = cells(measured(load(there)), "rtt_mean_ms", ["buffer", "delay"])
    assert seen["texts"][0] == ["", "1", "4"]
    for level, row in enumerate(seen["texts"][1:]):
        assert row == [("5", "20", "100")[level], *(style.number(expected[level, i].estimate.mean) for i in range(2))]
    assert "buffer = 20 packets, delay = 4 ms" in seen["tip"]
    assert "12 runs; 95 % intervals over 4 seeds (Student)" in seen["tip"]
    assert "rtt_mean_ms (ms)" in seen["ramp"]


def test_a_tip_has_value_interval_unit_and_runs(page: Path) -> None:
    tip = browser.evaluated(
        page,
        SELECT
        + """
        pick('#explore', 0, 'buffer');
        await settled();
        const panel = document.querySelector('#explore .panel');
        panel.focus();
        for (const key of ['Home', 'ArrowRight'])
          panel.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        await settled();
        return document.querySelector('.tip').textContent;
        """,
    )
    assert "buffer 20 packets" in tip
    assert re.search(r"[\d.]+ Mb/s[\d.]+ to [\d.]+\d+ runs", tip), tip
    assert "95 % intervals over 4 seeds (Student)" in tip


def test_the_page_is_whole_without_scripts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count('<img class="static" src="data:image/') == 3
    heat = text.split('class="heatmap"')[-1]
    assert re.search(r'<td style="background:#[0-9a-f]{6};color:#[0-9a-f]{6}" title="cc = reno, ', heat)
    assert ".static { display: block; }" in text


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_does_not_scroll_sideways(page: Path, width: int) -> None:
    frame = page.with_name("frame.html")
    inner = f'<iframe src="{page.name}" style="width:{width}px;height:700px"></iframe>'
    frame.write_text(f"<html><head></head><body>{inner}</body></html>")
    wide, room = browser.evaluated(
        frame,
        """
        await new Promise((done) => setTimeout(done, 500));
        const inner = document.querySelector('iframe').contentWindow;
        inner.document.querySelectorAll('details').forEach((one) => { one.open = true; });
        await new Promise((done) => setTimeout(done, 500));
        return [inner.document.documentElement.scrollWidth, inner.innerWidth];
        """,
    )
    frame.unlink()
    assert wide <= room


def test_no_serious_finding_of_axe(page: Path) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    from importlib.resources import files

    library = next(path for path in files(axe).iterdir() if path.name.startswith("axe") and path.name.endswith(".js"))
    found = browser.evaluated(
        page,
        """
        await new Promise((done) => setTimeout(done, 500));
        document.querySelectorAll('details').forEach((one) => { one.open = true; });
        await new Promise((done) => setTimeout(done, 300));
        const result = await axe.run();
        const places = (one) => one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200));
        return result.violations.map((one) => [one.impact, one.id, places(one)]);
        """,
        libraries=(library.read_text(encoding="utf-8"),),
    )
    assert [one for one in found if one[0] in {"serious", "critical"}] == []


@pytest.mark.slow
def test_a_page_of_thousands_of_points_is_under_a_megabyte(tmp_path: Path) -> None:
    axes = AXES.replace(
        'values = ["100 packets", "20 packets", "5 packets"]', "range = { from = 1, to = 500, step = 1 }"
    )
    axes = axes.replace('[[axes]]\nname = "cc"', 'unit = "packets"\n[[axes]]\nname = "cc"')
    there = stored(sweep(axes, seeds=4), tmp_path / "out")
    write(there, tmp_path / "p.html")
    assert (tmp_path / "p.html").stat().st_size < 1_000_000
    charts = browser.evaluated(
        tmp_path / "p.html",
        SELECT + "return [...document.querySelectorAll('#explore canvas')].length;",
    )
    assert charts == 9
