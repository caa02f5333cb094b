"""Captured 802.11 channels in Wireshark: frames in order, with correct times and check sequences."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import pytest

import narrows
from narrows.model.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark (Debian package tshark) is not installed: nothing to read captures"
)

CELL = """
name = "cell"
duration = "1 s"

[[nodes]]
name = "server"

[[nodes]]
name = "ap"
kind = "router"

[[nodes]]
name = "w1"

[[links]]
between = ["server", "ap"]
rate = "100 Mb/s"
delay = "2 ms"

[wifi]
name = "wlan"
base = "ap"
stations = ["w1"]
phy = "802.11b"

[[flows]]
name = "down"
from = "server"
to = "w1"
cc = "reno"
size = "300 kB"
"""
PROTECTED: dict[str, str | int] = {"wifi.rts_threshold": "500 B"}
AGGREGATED: dict[str, str | int] = {"wifi.phy": "802.11n", "wifi.mcs": "7"}
LOSSY: dict[str, str | int] = {"wifi.errors": '[{ station = "w1", fer = "10 %" }]'}
CASES: dict[str, dict[str, str | int]] = {
    "b-rts": PROTECTED,
    "b-lossy": LOSSY,
    "g": {"wifi.phy": "802.11g", "wifi.rate": "54 Mb/s", "ip": 6},
    "n-lossy": AGGREGATED | LOSSY,
    "ac": {"wifi.phy": "802.11ac", "ip": 6},
}

RTS, CTS, ACK, BLOCK_ACK, DATA, QOS_DATA = "0x001b", "0x001c", "0x001d", "0x0019", "0x0020", "0x0028"
SERVER, AP, W1 = (f"02:00:00:00:00:0{node}" for node in range(3))
CHECKED = [f"-o{layer}.check_checksum:TRUE" for layer in ("wlan", "ip", "tcp", "udp")]
BAD = "_ws.malformed || wlan.fcs.status != 1 || ip.checksum.status == 0 || tcp.checksum.status == 0"
COMPLAINTS = f"{BAD} || _ws.expert.severity >= 8388608"
SIFS_B, SIFS_N, PROPAGATION = 10_000, 16_000, 1_000


def tshark(folder: Path, keep: str, *fields: str) -> list[tuple[str, ...]]:
    """Fields of the channel's frames that a display filter keeps."""
    wanted = [argument for field in fields for argument in ("-e", field)]
    command = ["tshark", "-r", str(folder / "wlan.pcapng"), *CHECKED, "-Y", keep, "-T", "fields", *wanted]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "cut short" not in shown.stderr
    return [tuple(line.split("\t")) for line in shown.stdout.splitlines()]


def nanoseconds(seconds: str) -> int:
    """Parse a time printed by tshark into an integer."""
    whole, part = seconds.split(".")
    return int(whole) * 10**9 + int(part.ljust(9, "0"))


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Captures of each case, by name."""
    folders = {}
    for name, overrides in CASES.items():
        folders[name] = tmp_path_factory.mktemp(name)
        source = folders[name] / "cell.toml"
        source.write_text(CELL, encoding="utf-8")
        narrows.run(Scenario.from_file(source, overrides), seed=1, pcap=folders[name])
    return folders


@pytest.mark.parametrize("case", CASES)
def test_a_channel_is_a_file_that_is_read_without_complaint(captured: dict[str, Path], case: str) -> None:
    folder = captured[case]
    assert sorted(file.name for file in folder.glob("*.pcapng")) == ["server-ap.pcapng", "wlan.pcapng"]
    assert tshark(folder, COMPLAINTS, "frame.number") == []
    layers = {row[0].split(":tcp")[0] for row in tshark(folder, "tcp", "frame.protocols")}
    assert layers == {f"radiotap:wlan_radio:wlan:llc:{'ipv6' if 'ip' in CASES[case] else 'ip'}"}
    carried = sum(int(size) for size, _ in set(tshark(folder, "tcp.len > 0", "tcp.len", "tcp.seq")))
    assert carried == 300_000


def test_addresses_say_who_sends_and_who_is_meant(captured: dict[str, Path]) -> None:
    fields = ("wlan.fc.ds", "wlan.ra", "wlan.ta", "wlan.sa", "wlan.da", "wlan.bssid", "ip.src")
    rows = Counter(tshark(captured["b-rts"], "wlan.fc.type == 2", *fields))
    up = ("0x01", AP, W1, W1, SERVER, AP, "10.0.0.3")
    down = ("0x02", W1, AP, SERVER, W1, AP, "10.0.0.1")
    assert set(rows) == {up, down}
    assert rows[down] > rows[up] > 20


def test_rts_cts_data_and_ack_follow_each_other_after_sifs(captured: dict[str, Path]) -> None:
    fields = ("frame.time_epoch", "wlan.fc.type_subtype", "wlan.duration", "wlan_radio.duration", "tcp.len")
    frames = tshark(captured["b-rts"], "wlan", *fields)
    starts = [nanoseconds(row[0]) for row in frames]
    exchanges = 0
    for number, (_, kind, nav, _, _) in enumerate(frames):
        if kind != CTS:
            continue
        waits = [after - before for before, after in pairwise(starts[number - 1 : number + 3])]
        rts, data, ack = frames[number - 1], frames[number + 1], frames[number + 2]
        assert (rts[1], data[1], ack[1]) == (RTS, DATA, ACK)
        # RTS of 20 bytes and CTS of 14 bytes at 1 Mb/s, after a preamble of 192 us.
        airtime = 192 + math.ceil((int(data[4]) + 88) * 8 / 11)
        assert waits == [lasts * 1000 + SIFS_B + PROPAGATION for lasts in (352, 304, airtime)]
        assert int(data[3]) == airtime
        # Each frame reserves the medium until the end of the ACK.
        reserved = (3 * 10 + 304 + airtime + 304, 2 * 10 + airtime + 304, 10 + 304, 0)
        assert tuple(int(value) for value in (rts[2], nav, data[2], ack[2])) == reserved
        exchanges += 1
    assert exchanges > 200
    # Frames longer than the threshold are always preceded by RTS and CTS.
    assert all(before[1] == CTS for before, frame in pairwise(frames) if frame[4] and int(frame[4]) > 500)


def test_frames_that_failed_are_there_and_again_as_retries(captured: dict[str, Path]) -> None:
    fields = ("wlan.seq", "wlan.fc.retry", "tcp.seq", "tcp.ack")
    for sender in (AP, W1):
        frames = tshark(captured["b-lossy"], f"wlan.fc.type == 2 && wlan.ta == {sender}", *fields)
        repeated = 0
        for before, frame in pairwise(frames):
            if frame[1] in ("1", "True"):
                assert (frame[0], *frame[2:]) == (before[0], *before[2:])
                repeated += 1
            else:
                assert int(frame[0]) == (int(before[0]) + 1) % 4096
        # One in ten frames and one in ten ACKs is lost.
        assert 0.1 < repeated / len(frames) < 0.3
    rows = tshark(captured["b-lossy"], f"wlan.fc.type_subtype == {ACK}", "wlan.fc.retry")
    assert {row[0] for row in rows} <= {"0", "False"}


def test_radiotap_says_how_frames_were_modulated(captured: dict[str, Path]) -> None:
    fields = ("wlan.fc.type_subtype", "radiotap.channel.freq", "wlan_radio.phy", "wlan_radio.data_rate")
    seen = {case: set(tshark(folder, "wlan", *fields)) for case, folder in captured.items()}
    b = {(DATA, "2412", "4", "11"), (ACK, "2412", "4", "1")}
    assert seen["b-rts"] == b | {(RTS, "2412", "4", "1"), (CTS, "2412", "4", "1")}
    assert seen["b-lossy"] == b
    assert seen["g"] == {(DATA, "2412", "6", "54"), (ACK, "2412", "6", "6")}
    assert seen["n-lossy"] == {(QOS_DATA, "5180", "7", "65"), (BLOCK_ACK, "5180", "5", "6")}
    assert {row[:3] for row in seen["ac"]} == {(QOS_DATA, "5180", "8"), (BLOCK_ACK, "5180", "5")}


def test_block_acks_answer_aggregates_and_what_they_miss_is_sent_again(captured: dict[str, Path]) -> None:
    fields = (
        "frame.time_epoch",
        "wlan.fc.type_subtype",
        "radiotap.ampdu.reference",
        "radiotap.ampdu.flags.last",
        "wlan.ra",
        "wlan.seq",
        "wlan.fc.retry",
        "frame.len",
        "radiotap.length",
        "wlan.fixed.ssc.sequence",
        "wlan.ba.bm",
    )
    rows = tshark(captured["n-lossy"], "wlan", *fields)
    ppdus = [list(frames) for _, frames in groupby(rows, key=lambda row: (row[1], row[2]))]
    missed: dict[str, set[str]] = {AP: set(), W1: set()}
    answered, longest = 0, 0
    for frames, reply in pairwise(ppdus):
        if frames[0][1] != QOS_DATA:
            continue
        start, receiver = frames[0][0], frames[0][4]
        assert all((row[0], row[4]) == (start, receiver) for row in frames)
        assert [row[3] in ("1", "True") for row in frames] == [False] * (len(frames) - 1) + [True]
        # MPDUs that a block ACK reported missing are marked as retries when they are sent again.
        assert all(row[6] in ("1", "True") for row in frames if row[5] in missed[receiver])
        if reply[0][1] != BLOCK_ACK:
            continue  # The whole A-MPDU or its block ACK was lost.
        # An HT preamble of 36 us, then symbols of 4 us and 260 bits: SERVICE, subframes with their delimiters, tail.
        sizes = [4 + int(row[7]) - int(row[8]) for row in frames]
        psdu = sum(math.ceil(size / 4) * 4 for size in sizes[:-1]) + sizes[-1]
        airtime = 36_000 + 4_000 * math.ceil((16 + 8 * psdu + 6) / 260)
        assert nanoseconds(reply[0][0]) - nanoseconds(start) == airtime + SIFS_N + PROPAGATION
        first, bitmap = int(reply[0][9]), int.from_bytes(bytes.fromhex(reply[0][10]), "little")
        there = {row[5] for row in frames if bitmap >> ((int(row[5]) - first) % 4096) & 1}
        missed[receiver] -= there
        missed[receiver] |= {row[5] for row in frames} - there
        answered += 1
        longest = max(longest, len(frames))
    assert answered > 20
    assert longest > 4


def test_time_stamps_are_whole_and_rise(captured: dict[str, Path]) -> None:
    for folder in captured.values():
        rows = tshark(folder, "wlan", "frame.time_epoch", "radiotap.mactime")
        times = [nanoseconds(row[0]) for row in rows]
        assert times == sorted(times)
        # TSFT is the time of the MPDU's first bit, one preamble after the frame's start.
        assert all(20 <= int(tsft) - time // 1000 <= 193 for time, (_, tsft) in zip(times, rows, strict=True))
