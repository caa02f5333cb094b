"""Packets of a run for other programs: graphs of xplot and traces of ns-2, as these programs' own."""

from __future__ import annotations

import io
import re
import shutil
import struct
import subprocess
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import narrows as nw
from narrows import packets
from narrows.export import ns2, xplot
from narrows.packets.measured import outstanding, round_trips

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = r"-?\d+"
TIME = r"\d+\.\d{9}"
COMMAND = re.compile(
    rf"(?:green|yellow|purple|white|red|orange|go|line {TIME} {NUMBER} {TIME} {NUMBER}"
    rf"|(?:[duh]tick|[du]arrow|[al]text|x|dot|diamond) {TIME} {NUMBER})"
)
TEXTS = {"R", "3", "D", "SYN", "FIN", "CWR", "CE"}

LINE = re.compile(
    r"[+\-rd] \d+(?:\.\d+)?(?:e-\d+)? \d+ \d+ (?:tcp|ack|udp) \d+ [C-]--[A-][E-]-[N-] \d+ \d+\.\d+ \d+\.\d+ \d+ \d+"
)


@pytest.fixture(scope="module")
def cubic(tmp_path_factory: pytest.TempPathFactory) -> nw.Run:
    return nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"}, pcap=tmp_path_factory.mktemp("pcap"))


def drawn(run: nw.Run, flow: str, graph: str = "tsg") -> list[str]:
    out = io.StringIO()
    xplot.write(run, out, flow, graph)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("graph", xplot.GRAPHS)
def test_graphs_have_only_commands_of_xplot(cubic: nw.Run, graph: str) -> None:
    lines = drawn(cubic, "first", graph)
    assert lines[0] == "dtime signed"
    assert lines[1::2][:3] == ["title", "xlabel", "ylabel"]
    assert lines[-1] == "go"
    texts = 0
    for before, line in pairwise(lines[6:]):
        if before.startswith(("atext", "ltext")):
            texts += 1
            assert line in TEXTS
        else:
            assert COMMAND.fullmatch(line), line
    assert (texts > 0) == (graph == "tsg")


@pytest.mark.parametrize("flow", ["first", "second"])
def test_the_time_sequence_graph_has_every_packet(cubic: nw.Run, flow: str) -> None:
    lines = drawn(cubic, flow)
    seen = packets.of_flow(packets.Links(cubic), flow)
    metrics = cubic.flow(flow)
    begins = Counter(line.partition(" ")[0] for line in lines)
    assert begins["uarrow"] == begins["darrow"] == seen.segments.seq.size
    assert begins["R"] == metrics.retransmitted_packets
    assert begins["x"] == seen.segments.lost.sum()
    assert begins["3"] == metrics.triple_duplicate_acks
    assert begins["htick"] == 2 * seen.sacks.ack.size
    purple = lines[lines.index("purple") + 1 : lines.index("orange")]
    assert sum(line.startswith("line") for line in purple) == seen.sacks.ack.size
    first = next(line for line in purple if line.startswith("line"))
    time_ns = seen.acks.time_ns[seen.sacks.ack[0]]
    assert first == f"line {time_ns / 1e9:.9f} {seen.sacks.left[0]} {time_ns / 1e9:.9f} {seen.sacks.right[0]}"


def test_round_trips_are_those_of_the_sender(cubic: nw.Run) -> None:
    metrics, seen = cubic.flow("first"), packets.of_flow(packets.Links(cubic), "first")
    times, trips = round_trips(seen)
    assert metrics.rtt_min_ms is not None
    assert metrics.rtt_mean_ms is not None
    assert metrics.rtt_max_ms is not None
    assert times.size > 0.8 * metrics.rtt_samples
    assert trips.min() >= metrics.rtt_min_ms * 1e6
    # The sender also measures on ACKs that wait for a second segment, up to two transmission times of the bottleneck.
    assert trips.max() <= metrics.rtt_max_ms * 1e6 + 2_400_000
    assert trips.mean() == pytest.approx(metrics.rtt_mean_ms * 1e6, rel=0.03)
    assert sum(line.startswith("dot") for line in drawn(cubic, "first", "rtt")) == times.size


def test_outstanding_data_is_sent_less_acknowledged(cubic: nw.Run) -> None:
    seen = packets.of_flow(packets.Links(cubic), "first")
    times, octets = outstanding(seen)
    assert (np.diff(times) >= 0).all()
    assert octets.min() >= 0
    frame = cubic.samples.frame("flow")
    first = frame[frame["name"] == "first"]
    sampled = first["time_s"].to_numpy() * 1e9
    last = np.searchsorted(times, sampled, side="right") - 1
    # What SACK blocks report is outstanding here, and not for the sender: up to a window in recovery.
    window = first["cwnd_bytes"].to_numpy()
    known = (last >= 0) & (window > 0)
    assert (octets[last[known]] <= 2 * window[known] + 60_000).all()


def seen_by_the_sender(run: nw.Run, path: Path) -> None:
    """Write what the first flow's sender sent and received as a classic capture of Ethernet, as tcptrace reads it."""
    from narrows.packets.capture import read

    assert run.captures is not None
    file = run.captures / "s1-r1.pcapng"
    captured = read(file)
    back = captured.interface == captured.names.index("r1->s1")
    arrived = packets.Links(run).arrivals(("r1", "s1"), captured.only(back))
    times = captured.time_ns.copy()
    times[back] = arrived
    data, at, bodies = file.read_bytes(), 0, []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            bodies.append(data[at + 28 : at + 28 + struct.unpack_from("<I", data, at + 20)[0]])
        at += size
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for place in np.argsort(times, kind="stable").tolist():
            if times[place] <= packets.Links(run).end_ns:
                time_ns, body = int(times[place]), bytes(12) + b"\x08\x00" + bodies[place]
                second = 1_000_000_000 + time_ns // 10**9
                out.write(struct.pack("<IIII", second, time_ns % 10**9 // 1000, len(body), len(body)) + body)


def lines_of(text: str) -> dict[str, Counter[tuple[int, int]]]:
    """Return the vertical lines of a graph by their colour, from the lower to the upper end."""
    made: dict[str, Counter[tuple[int, int]]] = {}
    colour = ""
    for line in text.splitlines()[7:]:
        words = line.split()
        if len(words) == 1 and words[0].isalpha() and words[0].islower():
            colour = words[0]
        elif words and words[0] == "line" and words[1] == words[3]:
            made.setdefault(colour, Counter())[int(words[2]), int(words[4])] += 1
    return made


def test_the_time_sequence_graph_is_that_of_tcptrace(cubic: nw.Run, tmp_path: Path) -> None:
    tcptrace = shutil.which("tcptrace")
    if tcptrace is None:
        pytest.skip("tcptrace (Debian package tcptrace) is not installed: there is no graph to compare with")
    seen_by_the_sender(cubic, tmp_path / "sender.pcap")
    options = ["-S", "-R", "-zxy", "-n", "-l", "sender.pcap"]
    told = subprocess.run([tcptrace, *options], cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True)
    metrics = cubic.flow("first")
    assert re.search(rf"rexmt data pkts:\s+{metrics.retransmitted_packets:.0f}\s", told.stdout)
    assert re.search(rf"actual data pkts:\s+{metrics.sent_packets:.0f}\s", told.stdout)
    theirs = lines_of((tmp_path / "a2b_tsg.xpl").read_text(encoding="utf-8"))
    ours = lines_of("\n".join(drawn(cubic, "first")))
    for colour in ("white", "red", "purple", "green"):
        assert ours[colour] == theirs[colour], colour
    samples = (tmp_path / "a2b_rtt.xpl").read_text(encoding="utf-8").count("\ndot ")
    # tcptrace also measures the SYN, and a segment whose ACK fills a hole that no duplicate ACK told of.
    assert abs(samples - "\n".join(drawn(cubic, "first", "rtt")).count("\ndot ")) <= 5


def test_other_flows_and_graphs_are_refused(cubic: nw.Run) -> None:
    with pytest.raises(nw.InputError, match=r"graph is 'tput'; allowed: tsg, rtt, owin"):
        xplot.write(cubic, io.StringIO(), "first", "tput")
    with pytest.raises(nw.InputError, match=r"flow is 'none'; allowed: first, second"):
        xplot.write(cubic, io.StringIO(), "none")
    with pytest.raises(nw.InputError, match=r"sequence is 'words'; allowed: packets, bytes"):
        ns2.write(cubic, io.StringIO(), "words")


def test_a_failed_file_leaves_nothing_behind(cubic: nw.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        message = "no space"
        raise OSError(message)

    (tmp_path / "one.xpl").write_text("before", encoding="utf-8")
    monkeypatch.setattr(xplot, "_seconds", failing)
    with pytest.raises(OSError, match="no space"):
        xplot.write(cubic, tmp_path / "one.xpl", "first")
    assert [path.name for path in tmp_path.iterdir()] == ["one.xpl"]
    assert (tmp_path / "one.xpl").read_text(encoding="utf-8") == "before"


def traced(run: nw.Run, sequence: str = "packets") -> list[list[str]]:
    out = io.StringIO()
    ns2.write(run, out, sequence)
    lines = out.getvalue().splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    return [line.split(" ") for line in lines]


def test_a_trace_counts_what_queues_counted(cubic: nw.Run) -> None:
    rows = traced(cubic)
    nodes = {node.name: str(place) for place, node in enumerate(cubic.scenario.resolved.nodes)}
    events = Counter((row[0], row[2], row[3]) for row in rows)
    for queue in cubic.queues:
        a, b = (nodes[name] for name in queue.name.split("->"))
        # What waits in a host's own queue at the end is in no capture.
        unseen = queue.waiting_packets if a in {"0", "1", "4", "5"} else 0
        assert events["+", a, b] == queue.arrived_packets - unseen
        assert events["-", a, b] == queue.forwarded_packets
        assert events["d", a, b] == queue.dropped_packets
    times = [float(row[1]) for row in rows]
    assert times == sorted(times)


def test_packets_keep_their_number_from_link_to_link(cubic: nw.Run) -> None:
    rows = traced(cubic)
    lives: dict[str, list[list[str]]] = {}
    for row in rows:
        lives.setdefault(row[11], []).append(row)
    for life in lives.values():
        assert len({(row[4], row[5], row[7], row[8], row[9], row[10]) for row in life}) == 1
        letters = "".join(row[0] for row in life)
        assert re.fullmatch(r"(?:\+-r)*(?:\+d|\+-|\+)?", letters), letters
        # What arrives at a node enters its next queue at once.
        for arrival, entry in zip(life[2::3], life[3::3], strict=False):
            assert arrival[3] == entry[2]
            assert float(arrival[1]) == float(entry[1])


def test_sequence_numbers_count_packets_or_bytes(cubic: nw.Run) -> None:
    sent = [row for row in traced(cubic) if row[0] == "+" and row[2] == "0" and row[7] == "0"]
    assert [row[10] for row in sent[:5]] == ["0", "1", "2", "3", "4"]
    in_bytes = [row for row in traced(cubic, "bytes") if row[0] == "+" and row[2] == "0" and row[7] == "0"]
    assert [row[10] for row in in_bytes[:4]] == ["0", "1", "1449", "2897"]
    for one, other in zip(sent, in_bytes, strict=True):
        assert int(one[10]) == (int(other[10]) - 1) // 1448 + 1
    acks = [int(row[10]) for row in traced(cubic) if row[0] == "r" and row[3] == "0" and row[4] == "ack"]
    assert acks[0] == 0
    assert max(acks) <= max(int(row[10]) for row in sent)


SCENARIO = """
duration = "3 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "1 Mb/s", delay = "10 ms", queue = { limit = "10 packets" } }
access = { rate = "10 Mb/s", delay = "1 ms" }
[tcp]
stack = "ns2"
cc = "reno"
[[flows]]
name = "one"
from = "s1"
to = "d1"
"""

TCL = """
set ns [new Simulator]
set f [open out.tr w]
$ns trace-all $f
foreach i {0 1 2 3} { set n($i) [$ns node] }
$ns duplex-link $n(0) $n(1) 10Mb 1ms DropTail
$ns duplex-link $n(1) $n(2) 1Mb 10ms DropTail
$ns duplex-link $n(2) $n(3) 10Mb 1ms DropTail
$ns queue-limit $n(1) $n(2) 10
set tcp [new Agent/TCP/Newreno]
$tcp set packetSize_ 1000
$tcp set window_ 64
$tcp set syn_ true
set sink [new Agent/TCPSink]
$ns attach-agent $n(0) $tcp
$ns attach-agent $n(3) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp start"
$ns at 3.0 "$ns flush-trace; close $f; exit 0"
$ns run
"""


@pytest.mark.ns2
def test_a_trace_is_like_that_of_ns2_itself(tmp_path: Path) -> None:
    ns = shutil.which("ns")
    if ns is None:
        pytest.skip("ns-2 (Debian package ns2) is not installed: there is no trace to compare with")
    (tmp_path / "one.tcl").write_text(TCL, encoding="utf-8")
    subprocess.run([ns, "one.tcl"], cwd=tmp_path, check=True, timeout=60)
    theirs = [line.split(" ") for line in (tmp_path / "out.tr").read_text(encoding="utf-8").splitlines()]
    assert all(LINE.fullmatch(" ".join(row)) for row in theirs)
    ours = traced(nw.run(nw.Scenario.from_text(SCENARIO), seed=1, pcap=tmp_path / "pcap"))
    # The end of our flow, a FIN of the receiver, has no counterpart in a one-way agent of ns-2.
    ours = [row for row in ours if not (row[4] == "tcp" and row[2] in {"3", "2"} and row[8].startswith("3."))]

    def events(rows: list[list[str]]) -> set[tuple[str, ...]]:
        return {(row[0], *row[2:5], *row[7:10]) for row in rows}

    assert events(ours) == events(theirs)

    def life(rows: list[list[str]], number: str) -> list[list[str]]:
        chosen = [row for row in rows if row[4] == "tcp" and row[10] == number]
        return [row for row in chosen if row[11] == chosen[0][11]]

    # A segment of 1,040 bytes that no queue delays takes the same steps in the same times.
    mine, other = life(ours, "1"), life(theirs, "1")
    assert [(row[0], *row[2:11]) for row in mine] == [(row[0], *row[2:11]) for row in other]
    steps = [np.diff([float(row[1]) for row in rows if row[0] in "+r"]) for rows in (mine, other)]
    assert steps[0][2:] == pytest.approx(steps[1][2:], abs=1e-6)


def test_the_command_writes_a_file_for_each_graph(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from narrows.cli import app

    def called(*arguments: str) -> tuple[int, str]:
        made = CliRunner().invoke(app, list(arguments))
        return made.exit_code, made.output

    out = tmp_path / "out"
    assert called("run", "dumbbell-cubic", "--pcap", "-o", str(out), "-n", "2", "--set", "duration=11 s", "-q")[0] == 0
    assert "of each TCP flow (xplot, qlog) and of all links (ns2)" in called("export", str(out), "--list")[1]
    code, _ = called("export", str(out), "-o", str(tmp_path / "files"), "--to", "xplot,ns2,qlog")
    assert code == 0
    graphs = {f"{flow}_{graph}.xpl" for flow in ("first", "second") for graph in xplot.GRAPHS}
    graphs |= {"first.sqlog", "second.sqlog"}
    for index in (0, 1):
        assert {path.name for path in (tmp_path / "files" / f"run-{index}").iterdir()} == graphs | {"packets.tr"}
    bare = tmp_path / "bare"
    assert called("run", "dumbbell-cubic", "-o", str(bare), "--set", "duration=11 s", "-q")[0] == 0
    code, told = called("export", str(bare), "-o", str(tmp_path / "none"), "--to", "ns2")
    assert code == 2
    assert "has no captured packets; needed: narrows run SCENARIO --pcap" in " ".join(told.split())
    assert not (tmp_path / "none").exists()
