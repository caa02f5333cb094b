"""The time-sequence graph of a page, in a browser: it holds every packet, is zoomed, and tells what is at a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.python import browser

import narrows as nw
from narrows import packets
from narrows.report import write_report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> nw.Run:
    browser.needed()
    return nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"}, pcap=tmp_path_factory.mktemp("pcap"))


@pytest.fixture(scope="module")
def page(run: nw.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(run, tmp_path_factory.mktemp("page"))


def test_the_page_stays_small(page: Path) -> None:
    assert page.stat().st_size < 600_000


@pytest.mark.slow
def test_a_page_of_sixty_flows_stays_below_a_megabyte(tmp_path: Path) -> None:
    from tests.python.test_report_browser import crowd

    many = nw.run(crowd(60), seed=1, pcap=tmp_path / "pcap")
    made = write_report(many, tmp_path / "page")
    assert made.stat().st_size < 1_000_000
    assert made.read_text(encoding="utf-8").count('"packed":') == 3


def test_a_page_holds_every_packet(page: Path, run: nw.Run) -> None:
    seen: list[Any] = browser.evaluated(
        page,
        """
        const figure = JSON.parse(document.getElementById('plot-time-sequence-data').textContent);
        const panel = figure.panels[0];
        const made = [];
        for (const place of panel.flows.keys()) {
          const sequence = drawSequence(panel, { css: () => '', hidden: new Set(), span: () => [0, 1] });
          const got = await sequence.choose(place);
          const having = (flag) => Array.from(got.flags).filter((flags) => flags & flag).length;
          made.push({
            segments: Array.from(got.length).filter((length) => length > 0).length, retransmitted: having(32),
            lost: having(1), sacks: got.of.length, acks: got.at.length, reasons: panel.flows[place].reasons,
            last: [got.t.at(-1), got.seq.at(-1), got.at.at(-1), got.ack.at(-1), got.window.at(-1)],
          });
        }
        return made;
        """,
    )
    links = packets.Links(run)
    assert len(seen) == len(run.flows) == 2
    for flow, told in zip(run.flows, seen, strict=True):
        whole = packets.of_flow(links, flow.name)
        assert told["segments"] == whole.segments.data.sum()
        assert told["retransmitted"] == flow.retransmitted_packets
        assert told["lost"] == whole.segments.lost.sum()
        assert told["sacks"] == whole.sacks.ack.size
        assert told["acks"] == whole.acks.ack.size
        assert told["reasons"] == ["dropped: no room (r1 → r2)"]
        time, seq, came, ack, window = told["last"]
        assert time == pytest.approx(whole.segments.time_ns[-1] / 1e9, abs=2e-6)
        assert came == pytest.approx(whole.acks.time_ns[-1] / 1e9, abs=2e-6)
        assert (seq, ack, window) == (whole.segments.seq[-1], whole.acks.ack[-1], whole.acks.window[-1])


def test_the_keyboard_and_the_picker_show_segments(page: Path) -> None:
    told: list[str] = browser.evaluated(
        page,
        """
        const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        await wait(300);
        const panel = document.querySelector('#plot-time-sequence .panel');
        const key = (name) =>
          panel.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
        const tip = () => document.querySelector('.tip').textContent;
        panel.focus();
        key('Home'); await wait(50);
        const first = tip();
        key('ArrowRight'); await wait(50);
        const second = tip();
        const [from, to] = document.querySelectorAll('.range input');
        from.value = 0.29; to.value = 0.31;
        to.dispatchEvent(new Event('change'));
        await wait(100);
        panel.focus();
        key('Home'); await wait(50);
        const lost = [];
        for (let i = 0; i < 30; i++) { lost.push(tip()); key('ArrowRight'); await wait(5); }
        const note = document.querySelector('.flow-note');
        const before = note.textContent;
        const choice = document.querySelector('.flow-choice select');
        choice.value = 1;
        choice.dispatchEvent(new Event('change'));
        await wait(200);
        return [first, second, lost.find((text) => text.includes('no room')) || '', before, note.textContent];
        """,
    )
    first, second, lost, before, after = told
    assert "segment0 SYN" in first
    assert "1 to 1,449 (1,448 bytes)" in second
    assert "dropped: no room (r1 → r2), " in lost
    assert " ms later" in lost
    assert before.startswith("first: ")
    assert after.startswith("second: ")


def test_no_serious_finding_of_axe(page: Path) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    from importlib.resources import files

    library = next(path for path in files(axe).iterdir() if path.name.startswith("axe") and path.name.endswith(".js"))
    found = browser.evaluated(
        page,
        "const result = await axe.run(); return result.violations.map((one) => [one.impact, one.id]);",
        libraries=(library.read_text(encoding="utf-8"),),
    )
    assert [one for one in found if one[0] in {"serious", "critical"}] == []


def test_a_phone_sees_it_without_scrolling_sideways(page: Path) -> None:
    wide, room = browser.evaluated(
        page, "return [document.documentElement.scrollWidth, document.documentElement.clientWidth];", width=500
    )
    assert wide <= room


def test_the_data_behind_it_are_the_packets_of_the_chosen_flow(page: Path, run: nw.Run) -> None:
    seen: dict[str, Any] = browser.evaluated(
        page,
        """
        const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        await wait(300);
        const box = document.querySelector('#fig-time-sequence details.data');
        box.open = true;
        await wait(100);
        const caption = () => box.querySelector('caption').textContent;
        const texts = (row) => [...row.children].map((cell) => cell.textContent);
        const rows = [...box.querySelectorAll('tbody tr')].map(texts);
        let saved = null;
        URL.createObjectURL = (blob) => { saved = blob; return '#'; };
        box.querySelector('button').click();
        const text = await saved.text();
        const first = caption();
        const choice = document.querySelector('.flow-choice select');
        choice.value = 1;
        choice.dispatchEvent(new Event('change'));
        await wait(200);
        return { first, second: caption(), rows, text };
        """,
    )
    assert seen["first"].startswith("Packets of first.")
    assert "the file has all" in seen["first"]
    assert seen["second"].startswith("Packets of second.")
    assert seen["rows"][0][1:] == ["segment", "0", "0", "SYN"]
    assert ["segment", "1", "1,449", ""] in [row[1:] for row in seen["rows"]]
    lines = seen["text"].splitlines()
    assert lines[0] == "time_s,what,from_bytes,to_bytes,note"
    whole = packets.of_flow(packets.Links(run), "first")
    assert len(lines) - 1 == whole.segments.seq.size + whole.acks.ack.size + whole.sacks.ack.size
    assert sum(",retransmission," in line for line in lines) == run.flow("first").retransmitted_packets
    assert sum("lost: dropped: no room (r1 → r2)" in line for line in lines) == whole.segments.lost.sum()
