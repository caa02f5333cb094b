"""Captured packets in Wireshark: no malformed packets, correct checksums, ACNS's bits in the right places."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import narrows

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark (Debian package tshark) is not installed: nothing to read captures"
)

CHECKED = [f"-o{layer}.check_checksum:TRUE" for layer in ("ip", "tcp", "udp")]
BAD = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"
COMPLAINTS = f"{BAD} || _ws.expert.severity >= 8388608"
DATA = "tcp.len > 0"
CASES = [(4, "extension"), (6, "extension"), (6, "flow_label")]


def tshark(capture: Path, keep: str, *fields: str) -> list[tuple[str, ...]]:
    """Fields of the packets that a display filter keeps."""
    wanted = [argument for field in fields for argument in ("-e", field)]
    command = ["tshark", "-r", str(capture), *CHECKED, "-Y", keep, "-T", "fields", *wanted]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "cut short" not in shown.stderr
    return [tuple(line.split("\t")) for line in shown.stdout.splitlines()]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"ipv{case[0]}-{case[1]}")
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """IP version, encoding, and captures of ACNS's scenario up to a time with congestion."""
    version, encoding = request.param
    folder = tmp_path_factory.mktemp("pcap")
    overrides = {"ip": version, "acns.ipv6": encoding, "duration": "45 s"}
    narrows.run("acns", seed=1, overrides=overrides, pcap=folder)
    return version, encoding, folder


def test_a_file_per_link_is_read_without_complaint(captured: tuple[int, str, Path]) -> None:
    _, _, folder = captured
    files = sorted(file for file in folder.glob("*.pcapng") if not file.stem.endswith(".drops"))
    assert len(files) == 11
    for file in files:
        assert tshark(file, COMPLAINTS, "frame.number") == []
        assert tshark(file, "tcp.checksum.status == 1 || udp.checksum.status == 1", "frame.number")


def test_a_corrupted_byte_would_be_found(captured: tuple[int, str, Path], tmp_path: Path) -> None:
    _, _, folder = captured
    content = bytearray((folder / "N0-R0.pcapng").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(byte ^ 1 for byte in content[middle : middle + 64])
    (tmp_path / "bad.pcapng").write_bytes(content)
    command = ["tshark", "-r", str(tmp_path / "bad.pcapng"), *CHECKED, "-Y", BAD]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert shown.stdout or shown.returncode != 0


def test_setup_segments_carry_acns_flags(captured: tuple[int, str, Path]) -> None:
    _, _, folder = captured
    setup = tshark(folder / "P2-R3.pcapng", "tcp.flags.syn == 1", "tcp.flags")
    # SYN with ECE, CWR and CMT (0x200); SYN-ACK with ECE and CMT, without CWR.
    assert Counter(flags for (flags,) in setup) == {"0x02c2": 3, "0x0252": 3}


def test_commands_are_echoed_in_the_tcp_header(captured: tuple[int, str, Path]) -> None:
    _, _, folder = captured
    acks = tshark(folder / "P2-R3.pcapng", "tcp.len == 0 && tcp.flags.syn == 0 && tcp.flags.fin == 0", "tcp.flags")
    without_nonce = Counter(int(flags, 16) & ~0x100 for (flags,) in acks)
    normal, fallback, freeze = 0x010, 0x050, 0x250
    assert set(without_nonce) <= {normal, fallback, freeze}
    assert without_nonce[normal] > without_nonce[fallback] > 0


def test_the_router_writes_commands_into_the_ip_header(captured: tuple[int, str, Path]) -> None:
    version, encoding, folder = captured
    before, after = (_messages(folder / name, version, encoding) for name in ("N0-R0.pcapng", "R0-P1.pcapng"))
    # A sender sends no ACNS (retransmissions), ECN mode (first segments of a window), or a question (the last segment).
    assert set(before) <= {(0, False), (1, False), (2, False), (1, True), (2, True)}
    assert min(before[1, True], before[2, True]) > 0
    # The router answers in the questions. Fallback is encoded as CE alone, so plain ECN reads it as CE.
    assert after[3, False] > 0
    asked = before[1, True] + before[2, True]
    assert 0 < asked < before[1, False] + before[2, False]


def _messages(capture: Path, version: int, encoding: str) -> Counter[tuple[int, bool]]:
    """Number of data segments of host N0 for each pair of ECN field and CMI."""
    if version == 4:
        rows = tshark(capture, f"{DATA} && tcp.dstport < 10000", "ip.dsfield.ecn", "ip.flags.rb")
        return Counter((int(ecn), rb in ("1", "True")) for ecn, rb in rows)
    if encoding == "flow_label":
        rows = tshark(capture, f"{DATA} && tcp.dstport < 10000", "ipv6.tclass.ecn", "ipv6.flow")
        assert {int(label, 16) & 0x7FFFF for _, label in rows} == {0}
        return Counter((int(ecn), bool(int(label, 16) & 0x80000)) for ecn, label in rows)
    rows = tshark(
        capture, f"{DATA} && tcp.dstport < 10000", "ipv6.tclass.ecn", "ipv6.opt.type", "ipv6.opt.experimental"
    )
    assert {(kind, value) for _, kind, value in rows} <= {("", ""), ("0x3e", "80000000"), ("0x3e", "00000000")}
    return Counter((int(ecn), value == "80000000") for ecn, _, value in rows)
