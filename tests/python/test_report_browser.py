"""Pages in a browser: charts, linked axes, the keyboard, many flows, a phone's width, accessibility."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.python import browser

import narrows as nw
from narrows.report import write_report

if TYPE_CHECKING:
    from pathlib import Path

CONTROLS = ("cubic", "bbr", "reno")


def crowd(flows: int) -> nw.Scenario:
    each = "".join(
        f'[[flows]]\nname = "f{i:04d}"\nfrom = "s{i + 1}"\nto = "d{i + 1}"\ncc = "{CONTROLS[i % 3]}"\n'
        f'start = "{i % 20 * 50} ms"\n'
        for i in range(flows)
    )
    return nw.Scenario.from_text(
        f'title = "{flows} flows"\nduration = "20 s"\n[topology]\nkind = "dumbbell"\npairs = {flows}\n'
        'bottleneck = { rate = "100 Mb/s", delay = "10 ms", queue = { limit = "500 packets" } }\n'
        f'access = {{ rate = "1 Gb/s", delay = "1 ms" }}\n{each}'
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    browser.needed()
    result = nw.run("dumbbell-cubic", seed=1, runs=3)
    return write_report(result, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    browser.needed()
    return write_report(nw.run(crowd(60), seed=1), tmp_path_factory.mktemp("sixty"))


def test_every_figure_has_its_panels(page: Path) -> None:
    panels = browser.evaluated(
        page, "return [...document.querySelectorAll('.plot')].map((plot) => plot.querySelectorAll('canvas').length);"
    )
    assert len(panels) >= 7
    assert all(count >= 1 for count in panels)


def test_a_stretch_chosen_in_the_strip_is_shown_by_all_figures_over_time(page: Path) -> None:
    seen: dict[str, Any] = browser.evaluated(
        page,
        """
        const [from, to] = document.querySelectorAll('.range input');
        const marked = () => [...document.querySelectorAll('.plot canvas')].map((canvas) => canvas.toDataURL().length);
        const before = marked();
        from.value = 20; to.value = 30;
        to.dispatchEvent(new Event('change'));
        await new Promise((done) => setTimeout(done, 200));
        const after = marked();
        const reset = document.querySelector('.range button');
        const could = !reset.disabled;
        reset.click();
        await new Promise((done) => setTimeout(done, 200));
        return { before, after, again: marked(), could };
        """,
    )
    over_time = ["plot-throughput", "plot-rtt", "plot-cwnd", "plot-queue"]
    assert seen["could"]
    changed = sum(a != b for a, b in zip(seen["before"], seen["after"], strict=True))
    assert changed >= len(over_time)
    assert seen["again"] == seen["before"]


def test_the_keyboard_reads_values(page: Path) -> None:
    told = browser.evaluated(
        page,
        """
        const panel = document.querySelector('#plot-throughput .panel');
        panel.focus();
        for (const key of ['Home', 'ArrowRight', 'End'])
          panel.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        await new Promise((done) => setTimeout(done, 200));
        return document.querySelector('.tip').textContent;
        """,
    )
    assert "Time 59" in told
    assert "first" in told
    assert "Mb/s" in told
    assert " to " in told, "the band over the runs"


def test_a_flow_is_hidden_in_all_figures(page: Path) -> None:
    pressed = browser.evaluated(
        page,
        """
        document.querySelector('#plot-throughput .key').click();
        return [...document.querySelectorAll('.key[aria-pressed="false"]')].map((key) => key.textContent);
        """,
    )
    assert pressed.count("first") >= 3


@pytest.mark.slow
def test_sixty_flows_are_readable_and_small(sixty: Path) -> None:
    assert sixty.stat().st_size < 1_000_000
    seen = browser.evaluated(
        sixty,
        """
        const find = document.querySelector('#plot-throughput .picker input');
        find.value = 'f0007';
        find.dispatchEvent(new Event('input'));
        const keys = [...document.querySelectorAll('#plot-throughput .key')];
        const left = keys.filter((key) => !key.hidden).map((key) => key.textContent);
        document.querySelectorAll('#plot-throughput .picker button')[2].click();
        const table = [...document.querySelectorAll('#metrics table')][0];
        return {
          left, hidden: document.querySelectorAll('#plot-throughput .key[aria-pressed="false"]').length,
          rows: [...table.tBodies[0].rows].filter((row) => getComputedStyle(row).display !== 'none').length,
          groups: document.querySelector('#plot-throughput-groups').textContent,
          ready: performance.now(),
        };
        """,
    )
    assert seen["left"] == ["f0007"]
    assert seen["hidden"] == 59
    assert seen["rows"] == 25
    assert "cubic (20 flows)" in seen["groups"]


@pytest.mark.parametrize("width", [1280, 360])
def test_no_page_scrolls_sideways(page: Path, width: int) -> None:
    frame = page.with_name("frame.html")
    inner = f'<iframe src="{page.name}" style="width:{width}px;height:700px"></iframe>'
    frame.write_text(f"<html><head></head><body>{inner}</body></html>")
    wide, room = browser.evaluated(
        frame,
        """
        const inner = document.querySelector('iframe').contentWindow;
        return [inner.document.documentElement.scrollWidth, inner.innerWidth];
        """,
    )
    assert wide <= room


def test_no_serious_finding_of_axe(page: Path) -> None:
    assert browser.serious(page) == []


def test_the_numbers_behind_a_figure_are_a_table_and_a_file(page: Path) -> None:
    seen: dict[str, Any] = browser.evaluated(
        page,
        """
        const figure = document.getElementById('fig-throughput');
        const drawn = JSON.parse(document.getElementById('plot-throughput-data').textContent).panels[0];
        const box = figure.querySelector('details.data');
        const before = box.querySelectorAll('table').length;
        box.open = true;
        await new Promise((done) => setTimeout(done, 100));
        const made = [];
        URL.createObjectURL = (blob) => { made.push(blob); return 'data:,'; };
        box.querySelector('button').click();
        const rows = [...box.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent));
        const heads = [...box.querySelectorAll('thead th')].map((cell) => cell.textContent);
        return {
          before, rows, heads, csv: await made[0].text(), points: drawn.x.length,
          known: drawn.lines.map((line) => line.y.filter((y) => y !== null).length),
          names: drawn.lines.map((line) => line.name), caption: box.querySelector('caption').textContent,
        };
        """,
    )
    assert seen["before"] == 0
    assert seen["heads"][:4] == ["Time (s)", "first", "low", "high"]
    assert 50 < len(seen["rows"]) <= 200
    lines = list(csv.DictReader(io.StringIO(seen["csv"])))
    assert [sum(line["line"] == name for line in lines) for name in seen["names"]] == seen["known"]
    assert lines[0]["quantity"] == "Throughput (Mb/s)"
    assert float(lines[0]["low"]) <= float(lines[0]["value"]) <= float(lines[0]["high"])


def test_a_long_table_of_data_says_that_it_is_thinned(page: Path) -> None:
    told, rows, points = browser.evaluated(
        page,
        """
        const box = document.querySelector('#fig-cwnd details.data');
        box.open = true;
        await new Promise((done) => setTimeout(done, 100));
        const panel = JSON.parse(document.getElementById('plot-cwnd-data').textContent).panels[0];
        return [box.querySelector('caption').textContent, box.querySelector('tbody').rows.length, panel.x.length];
        """,
    )
    assert rows <= 200 < points
    assert "1 in " in told
    assert "the file has all" in told


def test_a_page_on_paper_has_every_column_of_its_tables(page: Path) -> None:
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("pdftotext is not installed (Debian package poppler-utils)")
    sheet = page.with_name("sheet.pdf")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    subprocess.run(
        [browser.needed(), *options, f"--print-to-pdf={sheet}", page.as_uri()],
        check=True,
        timeout=180,
        capture_output=True,
    )
    text = subprocess.run([reader, "-layout", str(sheet), "-"], check=True, capture_output=True, text=True).stdout
    for heading in ("Retransmitted", "Triple duplicate", "Longest"):
        assert heading in text, f"{heading} is cut off"
    assert "Download as CSV" not in text
