"""Output of tools/wireshark/narrows.lua for handmade packets: every message, and every kind of error."""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
from itertools import product
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark (Debian package tshark) is not installed: nothing to read captures"
)

LUA = Path(__file__).parents[2] / "tools" / "wireshark" / "narrows.lua"
SENDER, RECEIVER = ("10.0.0.1", 10000), ("10.0.0.2", 1000)
FIN, SYN, RST, ACK, ECE, CWR, NS, CMT = 0x001, 0x002, 0x004, 0x010, 0x040, 0x080, 0x100, 0x200
RAW = 101
CHECKED = "-oip.check_checksum:TRUE"
NGWA = bytes.fromhex("21060000b9aa")
RECORD_ROUTE = bytes([7, 11, 4]) + bytes(8)


def packet(
    flags: int = ACK,
    *,
    back: bool = False,
    ecn: int = 0,
    cmi: int = 0,
    options: bytes = b"",
    size: int = 0,
    window: int = 1000,
    port: int = SENDER[1],
    tcp_options: bytes = b"",
) -> bytes:
    """An IPv4 packet with a TCP segment, from the sender or, with `back`, to it."""
    ends = [(SENDER[0], port), RECEIVER]
    (source, sport), (target, dport) = reversed(ends) if back else ends
    head = 5 + len(tcp_options) // 4
    segment = struct.pack(">HHIIHHHH", sport, dport, 1, 1, head << 12 | flags, window, 0, 0) + tcp_options + bytes(size)
    return ipv4(segment, socket.IPPROTO_TCP, source, target, ecn=ecn, cmi=cmi, options=options)


def ipv4(
    payload: bytes, protocol: int, source: str, target: str, *, ecn: int = 0, cmi: int = 0, options: bytes = b""
) -> bytes:
    """An IPv4 packet; options are padded with end-of-option zeros."""
    options += bytes(-len(options) % 4)
    length = 20 + len(options)
    fields = (0x40 | length // 4, ecn, length + len(payload), 0, cmi << 15, 64, protocol)
    head = struct.pack(">BBHHHBB", *fields) + bytes(2) + socket.inet_aton(source) + socket.inet_aton(target) + options
    total = sum(struct.unpack(f">{length // 2}H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return head[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + head[12:] + payload


def tshark(folder: Path, packets: list[bytes], *arguments: str, kept: range | None = None) -> str:
    """Return tshark's output for the packets, truncated to the snap lengths in `kept`."""
    sizes = kept or [len(data) for data in packets]
    frames = [
        struct.pack("<IIII", number, 0, size, len(data)) + data[:size]
        for number, (size, data) in enumerate(zip(sizes, packets, strict=True))
    ]
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW)
    (folder / "made.pcap").write_bytes(header + b"".join(frames))
    command = ["tshark", "-r", str(folder / "made.pcap"), "-X", f"lua_script:{LUA}", *arguments]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert shown.returncode == 0, shown.stderr
    assert "Lua" not in shown.stderr, shown.stderr
    return shown.stdout


def fields(folder: Path, packets: list[bytes], *arguments: str, kept: range | None = None) -> list[tuple[str, ...]]:
    """Return fields of each packet, as tshark prints them."""
    text = tshark(folder, packets, "-T", "fields", *arguments, kept=kept)
    return [tuple(line.split("\t")) for line in text.splitlines()]


@pytest.fixture(autouse=True, scope="module")
def _runs_lua(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip if tshark cannot run any script, which says nothing about ours."""
    script = tmp_path_factory.mktemp("lua") / "probe.lua"
    script.write_text("print('runs')\n", encoding="utf-8")
    shown = subprocess.run(
        ["tshark", "-G", "fieldcount", "-X", f"lua_script:{script}"], capture_output=True, text=True, check=False
    )
    if "runs" not in shown.stdout:
        pytest.skip("this tshark runs no Lua scripts: it was built without Lua, or refuses them to root")


# With a read filter, as in Wireshark, the fields also exist in the first pass; without one, only in the second.
PASSES = pytest.mark.parametrize(
    "passes", [[], ["-2"], ["-2", "-R", "ip"]], ids=["one-pass", "two-pass", "read-filter"]
)
NGWA_FIELDS = ("-e", "ngwa.window", "-e", "ngwa.option_len", "-e", "ngwa.malformed")
OPTIONS = {
    "alone": (NGWA, "47530", "6", ""),
    "zero": (bytes.fromhex("210600000000"), "0", "6", ""),
    "largest": (bytes.fromhex("2106ffffffff"), "4294967295", "6", ""),
    "no-options": (b"", "", "", ""),
    "after-nops": (b"\1\1\1" + NGWA, "47530", "6", ""),
    "after-record-route": (RECORD_ROUTE + NGWA, "47530", "6", ""),
    "before-record-route": (NGWA + RECORD_ROUTE, "47530", "6", ""),
    "last-bytes-of-a-full-area": (b"\1" * 34 + NGWA, "47530", "6", ""),
    "full-area-without-it": (b"\1" * 40, "", "", ""),
    "behind-the-end-of-options": (b"\0\0" + NGWA, "", "", ""),
    "twice": (NGWA + bytes.fromhex("210600005cd5"), "47530,23765", "6,6", ""),
    "within-another-option": (bytes([7, 9, 4]) + NGWA, "", "", ""),
    "length-5": (bytes.fromhex("21050000b9") + NGWA, "47530", "5,6", "its length is 5 bytes, not 6"),
    "length-7": (bytes.fromhex("21070000b9aa00"), "", "7", "its length is 7 bytes, not 6"),
    "length-0": (bytes.fromhex("21000000b9aa"), "", "0", "its length is 0 bytes, not 6"),
    "length-1": (bytes.fromhex("21010000b9aa"), "", "1", "its length is 1 bytes, not 6"),
    "length-255": (bytes.fromhex("21ff0000b9aa"), "", "255", "its length is 255 bytes, not 6"),
    "over-the-end": (b"\1\1" + NGWA[:2], "", "6", "it runs over the end of the header"),
    "type-in-the-last-byte": (b"\1\1\1\x21", "", "", "no room for its length"),
    "behind-one-that-cannot-be-read": (b"\x44\1" + NGWA, "", "", ""),
}


def test_the_option_is_found_and_wrong_ones_are_named(tmp_path: Path) -> None:
    packets = [packet(size=100, options=options) for options, *_ in OPTIONS.values()]
    shown = fields(tmp_path, packets, *NGWA_FIELDS, "-e", "tcp.len", "-e", "ip.checksum.status", CHECKED)
    assert dict(zip(OPTIONS, shown, strict=True)) == {case: (*row[1:], "100", "1") for case, row in OPTIONS.items()}
    # Each wrong option has an expert info, and no other option has one.
    complained = fields(tmp_path, packets, "-Y", "ngwa.wrong_length", "-e", "frame.number")
    wrong = [(str(number),) for number, row in enumerate(OPTIONS.values(), 1) if row[3]]
    assert complained == wrong
    assert len(wrong) == 7


def test_an_option_that_the_snap_length_cuts_is_not_read(tmp_path: Path) -> None:
    kept = range(20, 29)
    shown = fields(
        tmp_path, [packet(size=100, options=NGWA)] * 9, "-e", "ngwa.window", "-e", "ngwa.malformed", kept=kept
    )
    assert shown == [("47530" if size >= 26 else "", "") for size in kept]


def test_udp_and_tunnels_carry_it_and_an_icmp_error_only_quotes_it(tmp_path: Path) -> None:
    data = packet(size=8, options=NGWA)
    udp = ipv4(struct.pack(">HHHH", 1, 2, 8, 0), socket.IPPROTO_UDP, "10.0.0.1", "10.0.0.2", options=NGWA)
    tunnel = ipv4(data, socket.IPPROTO_IPIP, "10.0.1.1", "10.0.1.2")
    error = ipv4(bytes([11]) + bytes(7) + data, socket.IPPROTO_ICMP, "10.0.0.9", "10.0.0.1")
    assert fields(tmp_path, [data, udp, tunnel, error], "-e", "ngwa.window") == [
        ("47530",),
        ("47530",),
        ("47530",),
        ("",),
    ]


def test_filters_and_the_info_column(tmp_path: Path) -> None:
    packets = [
        packet(size=10, options=bytes.fromhex(f"2106{value:08x}")) for value in (47530, 23765, 15843, 0x01020304)
    ]
    packets.append(packet(size=10, options=bytes.fromhex("21050000b9")))
    assert fields(tmp_path, packets, "-Y", "ngwa.window < 20000", "-e", "ngwa.window") == [("15843",)]
    assert fields(tmp_path, packets, "-Y", "ngwa.malformed", "-e", "frame.number") == [("5",)]
    for passes in ([], ["-2"], ["-2", "-R", "ip"]):
        info = tshark(tmp_path, packets, *passes).splitlines()
        assert [line.rsplit(" ", 1)[1] for line in info] == [
            "NGWA=47530",
            "NGWA=23765",
            "NGWA=15843",
            "NGWA=16909060",
            "NGWA=malformed",
        ]
    assert "NGWA" not in tshark(tmp_path, packets, "-ongwa.info:FALSE")
    details = tshark(tmp_path, packets, "-O", "ngwa")
    assert "NGWA: the path's tightest queue so far takes 47530 bytes" in details
    assert "NGWA: malformed option: its length is 5 bytes, not 6" in details


@PASSES
def test_acks_show_the_last_window_of_the_data_beside_their_own(tmp_path: Path, passes: list[str]) -> None:
    scale = bytes([3, 3, 4, 0])
    packets = [
        packet(SYN, tcp_options=scale),
        packet(SYN | ACK, back=True, tcp_options=scale),
        packet(back=True, window=4000),
        packet(size=10, options=NGWA),
        packet(back=True, window=2970),  # 47,520 bytes
        packet(back=True, window=2971),  # 47,536 bytes
        packet(size=10, options=NGWA, port=7),
        packet(size=10, options=bytes.fromhex("2106000003e8") + NGWA),  # the first option counts
        packet(back=True, window=0, port=7),
        packet(back=True, window=63),
        packet(back=True, window=62),
        packet(RST | ACK, back=True),
    ]
    shown = fields(tmp_path, packets, *passes, "-e", "ngwa.last_window", "-e", "ngwa.capped")
    silent = ("", "")
    # For the connection on port 7 the handshake is missing, so the scale of its windows is unknown.
    expected = [
        *[silent] * 4,
        ("47530", "1"),
        ("47530", "0"),
        *[silent] * 2,
        ("47530", ""),
        ("1000", "0"),
        ("1000", "1"),
        silent,
    ]
    assert [(last, {"True": "1", "False": "0"}.get(capped, capped)) for last, capped in shown] == expected


ACNS_FIELDS = ("-e", "acns.setup", "-e", "acns.ip", "-e", "acns.tcp", "-e", "acns.command")
OFFER, AGREE = packet(SYN | ECE | CWR | CMT), packet(SYN | ACK | ECE | CMT, back=True)
SILENT = ("", "", "", "")


def test_every_message_of_the_papers_tables(tmp_path: Path) -> None:
    names = {
        (0, 0): "I1",
        (2, 0): "I2",
        (1, 0): "I3",
        (2, 1): "I4",
        (1, 1): "I5",
        (3, 1): "I6",
        (3, 0): "I7",
        (0, 1): "I1",
    }
    commands = {"I6": "freeze", "I7": "fallback"}
    data = [packet(size=10, ecn=ecn, cmi=cmi) for ecn, cmi in names]
    shown = fields(tmp_path, [OFFER, AGREE, *data], *ACNS_FIELDS)
    assert shown[:2] == [("offered", "", "", ""), ("agreed", "", "", "")]
    # The TCP header of a sender of one-way data answers no command.
    assert shown[2:] == [("", name, "T1", commands.get(name, "")) for name in names.values()]


def test_every_combination_of_the_tcp_flags(tmp_path: Path) -> None:
    flags = [sum(bits) for bits in product((0, NS), (0, CWR), (0, ECE), (0, CMT))]
    acks = [packet(ACK | bits, back=True) for bits in flags]

    def meaning(bits: int) -> tuple[str, str, str, str]:
        if bits & ECE:
            return ("", "I1", *(("T5", "freeze") if bits & CMT else ("T6", "fallback")))
        if bits & CWR:
            return ("", "I1", "T4" if bits & NS else "T3", "")
        return ("", "I1", "T2" if bits & NS else "T1", "normal")

    shown = fields(tmp_path, [OFFER, AGREE, packet(size=10, ecn=2), *acks], *ACNS_FIELDS)
    assert shown[3:] == [meaning(bits) for bits in flags]


@PASSES
def test_only_connections_that_agreed_speak(tmp_path: Path, passes: list[str]) -> None:
    ecn_offer = packet(SYN | ECE | CWR, port=2)
    packets = [
        *(OFFER, AGREE, packet(SYN | ECE | CWR | CMT, port=1), packet(SYN | ACK | ECE, back=True, port=1)),
        *(ecn_offer, packet(SYN | ACK | ECE, back=True, port=2)),
        *(packet(SYN | ECE | CWR | CMT, port=3), packet(SYN | ACK | ECE | CWR | CMT, back=True, port=3)),
        *(packet(ecn=3, size=10, port=port) for port in (1, 2, 3, 4)),
        packet(ecn=3, size=10),
        *(packet(ACK | ECE, back=True, port=port) for port in (4, 1, SENDER[1])),
    ]
    silent = fields(tmp_path, packets, *passes, *ACNS_FIELDS)
    expected = [
        *(("offered", "", "", ""), ("agreed", "", "", "")),
        *(("offered", "", "", ""), ("declined", "", "", "")),
        *(SILENT, SILENT),
        # A host that echoes all reserved bits does not know them.
        *(("offered", "", "", ""), ("declined", "", "", "")),
        *[SILENT] * 4,
        ("", "I7", "T1", "fallback"),
        *(SILENT, SILENT),
        ("", "I1", "T6", "fallback"),
    ]
    assert silent == expected
    assumed = fields(tmp_path, packets, *passes, "-oacns.assume:TRUE", *ACNS_FIELDS, "-e", "acns.assumed")
    unknown = {11: ("", "I7", "T1", "fallback"), 13: ("", "I1", "T6", "fallback")}
    assert [row[:4] for row in assumed] == [unknown.get(number, row) for number, row in enumerate(expected)]
    assert [number for number, row in enumerate(assumed) if row[4]] == list(unknown)


def test_half_a_handshake(tmp_path: Path) -> None:
    fallback = packet(ecn=3, size=10)
    # The setup's flags answer only an offer; an offer may have been declined.
    assert fields(tmp_path, [AGREE, fallback], *ACNS_FIELDS)[1] == ("", "I7", "T1", "fallback")
    assert fields(tmp_path, [OFFER, fallback], *ACNS_FIELDS)[1] == SILENT
    assert fields(tmp_path, [packet(SYN), AGREE, fallback], *ACNS_FIELDS) == [SILENT] * 3


@pytest.mark.parametrize("flag", [FIN, RST])
@pytest.mark.parametrize("back", [False, True])
def test_acns_is_off_from_the_first_fin_or_reset(tmp_path: Path, flag: int, back: bool) -> None:
    data = packet(ecn=3, size=10)
    shown = fields(tmp_path, [OFFER, AGREE, data, packet(flag | ACK, back=back), data], *ACNS_FIELDS)
    assert shown[2:] == [("", "I7", "T1", "fallback"), SILENT, SILENT]


def test_words_of_acns(tmp_path: Path) -> None:
    packets = [
        *(OFFER, AGREE, packet(ecn=2, cmi=1, size=10), packet(ACK | ECE | CMT, back=True)),
        *(packet(ACK | CWR, ecn=3, size=10), packet(ACK | ECE, back=True), packet(back=True)),
    ]
    words = [
        "ACNS: offered (setup SYN)",
        "ACNS: agreed (setup SYN-ACK)",
        "ACNS: asks for a command, nonce 0",
        "ACNS: freeze, echoed by the receiver",
        "ACNS: fallback, written by a router; congestion window reduced, nonce 0",
        "ACNS: fallback, echoed by the receiver",
        "ACNS: normal, nonce 0",
    ]
    details = tshark(tmp_path, packets, "-O", "acns").splitlines()
    assert [line for line in details if line.startswith("ACNS: ")] == words
    info = ["offered", "agreed", "ask", "freeze", "fallback,cwr", "fallback"]
    for passes in ([], ["-2"], ["-2", "-R", "ip"]):
        lines = tshark(tmp_path, packets, *passes).splitlines()
        assert [line.rsplit(" ", 1)[1] for line in lines[:-1]] == [f"ACNS={word}" for word in info]
        assert "ACNS" not in lines[-1]
    assert "ACNS=" not in tshark(tmp_path, packets, "-oacns.info:FALSE")
