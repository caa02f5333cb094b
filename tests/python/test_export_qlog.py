"""TCP flows as qlog: the records that qvis reads, with every packet, acknowledgement and loss."""

from __future__ import annotations

import io
import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import narrows as nw
from narrows import packets
from narrows.export import qlog
from narrows.packets.acknowledged import Sent, exchange

if TYPE_CHECKING:
    from pathlib import Path

# Names and fields of draft-ietf-quic-qlog-main-schema-02 and draft-ietf-quic-qlog-quic-events-01.
FIELDS = {
    "connectivity:connection_started": {"ip_version", "src_ip", "dst_ip", "protocol", "src_port", "dst_port"},
    "transport:packet_sent": {"header", "raw", "frames", "tcp"},
    "transport:packet_received": {"header", "raw", "frames", "tcp"},
    "recovery:packet_lost": {"header"},
    "recovery:metrics_updated": {
        "congestion_window", "ssthresh", "bytes_in_flight", "smoothed_rtt", "latest_rtt",
    },
    "recovery:congestion_state_updated": {"old", "new"},
}  # fmt: skip


@pytest.fixture(scope="module")
def cubic(tmp_path_factory: pytest.TempPathFactory) -> nw.Run:
    return nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"}, pcap=tmp_path_factory.mktemp("pcap"))


def records(run: nw.Run, flow: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    out = io.StringIO()
    qlog.write(run, out, flow)
    parts = out.getvalue().split("\x1e")
    assert parts[0] == ""
    assert all(part.endswith("\n") and part.count("\n") == 1 for part in parts[1:])
    header, *events = (json.loads(part) for part in parts[1:])
    return header, events


def test_the_header_is_one_that_qvis_reads(cubic: nw.Run) -> None:
    header, events = records(cubic, "first")
    assert header["qlog_version"] == "0.3"
    assert header["qlog_format"] == "JSON-SEQ"
    trace = header["trace"]
    assert trace["vantage_point"] == {"name": "s1", "type": "client"}
    assert trace["common_fields"]["protocol_type"] == ["TCP"]
    assert trace["common_fields"]["time_format"] == "relative"
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert times[-1] <= 12_000


def test_events_have_the_names_and_fields_of_the_schema(cubic: nw.Run) -> None:
    _, events = records(cubic, "second")
    for event in events:
        assert set(event) == {"time", "name", "data"}
        assert set(event["data"]) <= FIELDS[event["name"]]
        if event["name"].startswith("transport:"):
            assert set(event["data"]["header"]) == {"packet_type", "packet_number"}
            assert event["data"]["raw"]["length"] >= 40
            assert {frame["frame_type"] for frame in event["data"]["frames"]} <= {"stream", "ack"}
    assert {event["name"] for event in events} == set(FIELDS)


@pytest.mark.parametrize("flow", ["first", "second"])
def test_every_packet_acknowledgement_and_loss_is_there(cubic: nw.Run, flow: str) -> None:
    _, events = records(cubic, flow)
    metrics = cubic.flow(flow)
    names = Counter(event["name"] for event in events)
    sent = [event["data"] for event in events if event["name"] == "transport:packet_sent"]
    assert sum(data["raw"]["payload_length"] > 0 for data in sent) == metrics.sent_packets
    assert sum(data["tcp"]["retransmission"] for data in sent) == metrics.retransmitted_packets
    assert [data["header"]["packet_number"] for data in sent] == list(range(len(sent)))
    assert names["recovery:packet_lost"] == metrics.retransmitted_packets
    acked = [
        number
        for event in events
        if event["name"] == "transport:packet_received"
        for frame in event["data"]["frames"]
        for first, last in frame["acked_ranges"]
        for number in range(first, last + 1)
    ]
    assert len(acked) == len(set(acked))
    lost = {event["data"]["header"]["packet_number"] for event in events if event["name"] == "recovery:packet_lost"}
    assert not lost & set(acked)
    # All but the SYN carry data; what arrived and was not acknowledged yet is missing.
    octets = sum(data["raw"]["payload_length"] for data in sent if data["header"]["packet_number"] in set(acked))
    seen = packets.of_flow(packets.Links(cubic), flow)
    assert octets >= seen.acks.ack.max() - 1
    assert octets - metrics.delivered_bytes <= 1448 * metrics.lost_packets + 150_000


def test_an_acknowledgement_comes_after_its_packet(cubic: nw.Run) -> None:
    sent: set[int] = set()
    for event in exchange(packets.of_flow(packets.Links(cubic), "first")):
        if isinstance(event, Sent):
            assert set(event.gave_up) <= sent
            sent.add(event.segment)
        else:
            assert set(event.segments) <= sent


def test_metrics_are_those_of_the_samples(cubic: nw.Run) -> None:
    _, events = records(cubic, "first")
    frame = cubic.samples.frame("flow")
    mine = frame[(frame["name"] == "first") & frame["cwnd_bytes"].notna()]
    kept: dict[str, float] = {}
    by_time = {}
    for event in events:
        if event["name"] == "recovery:metrics_updated":
            kept |= event["data"]
            by_time[round(event["time"])] = dict(kept)
    known = [row for _, row in mine.iterrows() if round(row["time_s"] * 1e3) in by_time]
    assert len(known) > 100
    for row in known:
        told = by_time[round(row["time_s"] * 1e3)]
        assert told["congestion_window"] == row["cwnd_bytes"]
        if row["srtt_ns"] == row["srtt_ns"]:  # none before the first round trip
            assert told["smoothed_rtt"] == pytest.approx(row["srtt_ns"] / 1e6, abs=1e-6)


def test_states_follow_each_other(cubic: nw.Run) -> None:
    _, events = records(cubic, "first")
    states = [event["data"] for event in events if event["name"] == "recovery:congestion_state_updated"]
    assert states[0] == {"new": "slow_start"}
    for before, after in pairwise(states):
        assert after["old"] == before["new"] != after["new"]
    recoveries = sum(state["new"] == "recovery" for state in states)
    fast = cubic.flow("first").fast_retransmits
    assert fast is not None
    # Episodes that begin before the one before has ended are one here.
    assert 0 < recoveries <= fast + (cubic.flow("first").timeouts or 0)


def test_other_flows_are_refused_and_files_are_whole(cubic: nw.Run, tmp_path: Path) -> None:
    with pytest.raises(nw.InputError, match=r"flow is 'third'; allowed: first, second"):
        qlog.write(cubic, tmp_path / "third.sqlog", "third")
    qlog.write(cubic, tmp_path / "first.sqlog", "first")
    assert [path.name for path in tmp_path.iterdir()] == ["first.sqlog"]


def test_without_samples_there_are_packets_alone(tmp_path: Path) -> None:
    run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s", "sampling": "off"}, pcap=tmp_path)
    _, events = records(run, "first")
    names = {event["name"] for event in events}
    assert "recovery:metrics_updated" not in names
    assert "transport:packet_sent" in names
