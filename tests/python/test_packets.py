"""Packets of flows from captures: as many segments, retransmissions, losses and marks as the run itself counts."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import narrows as nw
from narrows import packets
from narrows.packets import capture
from narrows.packets.tables import cut
from narrows.report import sequence

if TYPE_CHECKING:
    from pathlib import Path

CASES: list[tuple[str, dict[str, Any]]] = [
    ("dumbbell-cubic", {"duration": "12 s"}),
    ("dumbbell-cubic", {"duration": "12 s", "ip": 6, "tcp.timestamps": False, "tcp.cc": "reno"}),
    ("parking-lot", {"duration": "5 s"}),
    ("red-ecn", {"duration": "8 s"}),
    ("l4s", {"duration": "3 s"}),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1].get('ip', 4)}")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> nw.Run:
    name, overrides = request.param
    return nw.run(name, seed=1, overrides=overrides, pcap=tmp_path_factory.mktemp("pcap"))


@pytest.fixture(scope="module")
def cubic(tmp_path_factory: pytest.TempPathFactory) -> nw.Run:
    return nw.run("dumbbell-cubic", seed=1, overrides=CASES[0][1], pcap=tmp_path_factory.mktemp("cubic"))


def test_counts_equal_those_of_the_run(run: nw.Run) -> None:
    links = packets.Links(run)
    names = packets.tcp_flows(links)
    assert names == [flow.name for flow in run.flows]
    for name in names:
        metrics, seen = run.flow(name), packets.of_flow(links, name)
        segments = seen.segments
        # Segments that wait in the sender's own queue at the end are in no capture.
        waiting = run.queue(seen.seen_at).waiting_packets
        assert 0 <= metrics.sent_packets - segments.data.sum() <= waiting
        assert segments.retransmitted.sum() == metrics.retransmitted_packets
        assert segments.length[segments.retransmitted].sum() == metrics.retransmitted_bytes
        assert (segments.lost & segments.data).sum() == metrics.lost_packets
        assert seen.unseen == 0
        assert (np.diff(segments.time_ns) >= 0).all()
        assert (np.diff(seen.acks.time_ns) >= 0).all()


def test_duplicate_acks_equal_those_that_the_sender_counted(run: nw.Run) -> None:
    links = packets.Links(run)
    for name in packets.tcp_flows(links):
        in_a_row, later = 0, 0
        for duplicate in packets.of_flow(links, name).acks.duplicate.tolist():
            in_a_row = in_a_row + 1 if duplicate else 0
            later += in_a_row >= 3
        counted = run.flow(name).later_duplicate_acks
        assert counted is not None
        # The sender also counts those that move the window, which Linux's autotuning does.
        assert later <= counted if run.scenario.name == "l4s" else later == counted


def test_marks_equal_those_of_the_queues(run: nw.Run) -> None:
    links = packets.Links(run)
    marked = sum(int(packets.of_flow(links, name).segments.ce.sum()) for name in packets.tcp_flows(links))
    under_way = sum(queue.waiting_packets for queue in run.queues) + 50
    counted = sum(queue.marked_packets for queue in run.queues)
    assert counted - under_way <= marked <= counted
    assert (marked > 0) == (run.scenario.name in {"red-ecn", "l4s"})


def test_sack_blocks_are_data_that_arrived_above_a_loss(cubic: nw.Run) -> None:
    seen = packets.of_flow(packets.Links(cubic), "first")
    acks, sacks, segments = seen.acks, seen.sacks, seen.segments
    assert sacks.ack.size > 100
    assert (sacks.right > sacks.left).all()
    assert (sacks.left[~sacks.duplicate] > acks.ack[sacks.ack[~sacks.duplicate]]).all()
    assert (sacks.right <= (segments.seq + segments.length).max()).all()
    # The bytes above the acknowledgement number of an ACK with blocks were lost at least once.
    holes = set(acks.ack[sacks.ack[~sacks.duplicate]].tolist())
    assert holes <= set(segments.seq[segments.lost].tolist())


def test_losses_say_where_and_why(cubic: nw.Run) -> None:
    seen = packets.of_flow(packets.Links(cubic), "first")
    losses = seen.losses
    assert losses.segment.tolist() == np.flatnonzero(seen.segments.lost).tolist()
    assert set(losses.where) == {"r1->r2"}
    assert set(losses.why) == {"dropped: no room, sub-queue 0"}
    # From the sender to the queue: 1 ms on a link of 100 Mb/s.
    delay = losses.time_ns - seen.segments.time_ns[losses.segment]
    assert (delay >= 1_000_000).all()
    assert (delay < 3_000_000).all()


def test_losses_between_links_are_found(tmp_path: Path) -> None:
    text = (
        'title = "a lossy first link"\nduration = "5 s"\n'
        '[[nodes]]\nname = "a"\nkind = "host"\n[[nodes]]\nname = "r"\nkind = "router"\n'
        '[[nodes]]\nname = "b"\nkind = "host"\n'
        '[[links]]\nbetween = ["a", "r"]\nrate = "10 Mb/s"\ndelay = "5 ms"\nper = 0.01\n'
        '[[links]]\nbetween = ["r", "b"]\nrate = "20 Mb/s"\ndelay = "5 ms"\n'
        '[[flows]]\nname = "one"\nfrom = "a"\nto = "b"\n'
    )
    made = nw.run(nw.Scenario.from_text(text), seed=1, pcap=tmp_path)
    seen = packets.of_flow(packets.Links(made), "one")
    lost = int((seen.segments.lost & seen.segments.data).sum())
    assert lost > 10
    assert set(seen.losses.where) == {"on the way"}
    # Of the last ones nothing is known: no later segment came through.
    assert made.flow("one").lost_packets - 2 <= lost <= made.flow("one").lost_packets


def test_acks_arrive_after_transmission_and_delay(cubic: nw.Run) -> None:
    links = packets.Links(cubic)
    back = links.sent(("r1", "s1"))
    seen = packets.of_flow(links, "first")
    # 100 Mb/s and 1 ms: a pure ACK of 52 bytes takes 4.16 µs and 1 ms.
    pure = (back.payload == 0) & (back.flags == capture.ACK) & (back.length == 52)
    assert set((links.arrivals(("r1", "s1"), back) - back.time_ns)[pure].tolist()) == {1_004_160}
    assert seen.exact
    came = links.arrivals(("r1", "s1"), back)
    assert seen.acks.time_ns.tolist() == came[came <= links.end_ns].tolist()
    assert seen.acks.time_ns.size < len(back), "some are under way at the end"


def test_packed_columns_hold_every_packet(cubic: nw.Run) -> None:
    seen = packets.of_flow(packets.Links(cubic), "first")
    data = np.frombuffer(zlib.decompress(base64.b64decode(sequence.packed(seen))), np.uint8)
    count = seen.segments.seq.size
    columns = []
    for place in range(4):
        planes = data[4 * count * place : 4 * count * (place + 1)].reshape(4, count).T
        columns.append(np.cumsum(np.ascontiguousarray(planes).view("<i4").ravel().astype(np.int64)))
    assert columns[0].tolist() == (seen.segments.time_ns // 1000).tolist()
    end = np.concatenate([[0], (seen.segments.seq + seen.segments.length)[:-1]])
    assert (columns[1] + end).tolist() == seen.segments.seq.tolist()
    assert columns[2].tolist() == seen.segments.length.tolist()
    assert (columns[3] & 32 > 0).tolist() == seen.segments.retransmitted.tolist()


def test_a_part_in_time_has_what_came_before(cubic: nw.Run) -> None:
    whole = packets.of_flow(packets.Links(cubic), "first")
    part = cut(whole, 4_000_000_000)
    assert part.segments.time_ns[-1] < 4_000_000_000 <= whole.segments.time_ns[part.segments.time_ns.size]
    assert part.segments.lost.sum() == part.losses.segment.size
    assert part.sacks.ack[-1] < part.acks.ack.size
    assert "first 4 s are drawn" in sequence.note(part)


def test_a_page_has_room_for_a_bound_of_bytes(cubic: nw.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "MOST_BYTES", 4000)
    (figure,) = sequence.figures(cubic)
    flows = figure.panels[0].flows
    assert sum(len(sequence.packed(flow)) for flow in flows) <= 4000
    assert flows[0].until_ns is not None
    assert "1 more TCP flows are not drawn" in figure.caption


def test_of_many_flows_there_is_one_of_each_control(cubic: nw.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "CROWD", 2)
    (figure,) = sequence.figures(cubic)
    assert [flow.name for flow in figure.panels[0].flows] == ["first"]
    assert len(sequence.packed(figure.panels[0].flows[0])) <= sequence.CROWD_BYTES
    assert "the first flow of each congestion control. 1 more TCP flows are not drawn" in figure.caption


def test_plots_say_what_they_need(cubic: nw.Run) -> None:
    bare = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"})
    assert bare.captures is None
    with pytest.raises(nw.InputError, match=r"has no captured packets; needed: narrows run SCENARIO --pcap"):
        bare.plot("time-sequence")
    assert sequence.figures(bare) == []
    with pytest.raises(nw.InputError, match=r"flow is 'third'; allowed: first, second"):
        cubic.plot("time-sequence", flow="third")
    with pytest.raises(nw.InputError, match=r"between is \(3, 2\); allowed: two times from 0 to 12 s"):
        cubic.plot("time-sequence", between=(3, 2))
    with pytest.raises(nw.InputError, match=r"figure is 'tcptrace'; allowed: .*time-sequence"):
        cubic.plot("tcptrace")


def test_other_figures_show_a_part_of_the_time_too(cubic: nw.Run) -> None:
    axes = cubic.plot("throughput", "time-sequence", between=(2, 4)).axes
    assert [one.get_xlim() for one in axes] == [(2, 4), (2, 4)]
    assert [one.get_ylabel() for one in axes] == ["Throughput (Mb/s)", "Sequence number (bytes)"]


def test_a_plot_draws_each_segment_of_a_short_time(cubic: nw.Run) -> None:
    (axes,) = cubic.plot("time-sequence", flow="first", between=(0.29, 0.31)).axes
    seen = packets.of_flow(packets.Links(cubic), "first")
    inside = (seen.segments.time_ns >= 0.29e9) & (seen.segments.time_ns <= 0.31e9) & seen.segments.data
    collections: Any = axes.collections
    drawn = sum(len(bars.get_segments()) for bars in collections)
    assert drawn == inside.sum() > 20
    assert axes.get_xlim() == (0.29, 0.31)
    assert axes.get_title(loc="left") == "first"
    (whole,) = cubic.plot("time-sequence", flow="first").axes
    assert whole.get_title(loc="left") == "first; a bar joins segments within 10 ms"


def test_a_saved_run_finds_its_captures(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from narrows.cli import app

    out = tmp_path / "out"
    options = ["--pcap", "-o", str(out), "-n", "2", "--set", "duration=11 s", "-q"]
    assert CliRunner().invoke(app, ["run", "dumbbell-cubic", *options]).exit_code == 0
    from narrows.store.results import load

    loaded = load(out)
    assert [run.captures for run in loaded.runs] == [out / "pcap" / "run-0", out / "pcap" / "run-1"]
    assert len(packets.of_flow(packets.Links(loaded.runs[1]), "first").segments.seq) > 10
    assert 'id="fig-time-sequence"' in loaded.report(tmp_path / "page").read_text(encoding="utf-8")


def test_a_page_leaves_out_flows_whose_captures_were_removed(cubic: nw.Run, tmp_path: Path) -> None:
    import shutil
    from dataclasses import replace

    assert cubic.captures is not None
    shutil.copytree(cubic.captures, tmp_path / "pcap")
    (tmp_path / "pcap" / "s1-r1.pcapng").unlink()
    moved = replace(cubic, captures=tmp_path / "pcap")
    (figure,) = sequence.figures(moved)
    assert [flow.name for flow in figure.panels[0].flows] == ["second"]
    with pytest.raises(nw.InputError, match=r"s1-r1\.pcapng: cannot be read: No such file"):
        moved.plot("time-sequence", flow="first")


def test_other_files_are_refused(cubic: nw.Run, tmp_path: Path) -> None:
    assert cubic.captures is not None
    good = (cubic.captures / "s1-r1.pcapng").read_bytes()
    for name, content, reason in [
        ("empty", b"", "is no capture of a link"),
        ("text", b"no capture, but of some length", "is no capture of a link"),
        ("cut", good[:5000], "ends in the middle of a block"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(nw.InputError, match=rf"{name}: .*{reason}"):
            capture.read(path)
    with pytest.raises(nw.InputError, match="cannot be read: No such file"):
        capture.read(tmp_path / "missing")
