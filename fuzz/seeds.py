"""Writes the seed corpora of the targets that read bytes.

The formats are built here by hand, independently of the code under test, so a refused file named ``ok-`` shows an
error in one of the two. Run ``python3 fuzz/seeds.py`` after a change; the files are committed.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
V4 = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
V6 = (bytes.fromhex("fd000000000000000000000000000001"), bytes.fromhex("fd000000000000000000000000000002"))
TCP, UDP = 6, 17


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def with_checksum(header: bytes, at: int, covered: bytes) -> bytes:
    """The header with the checksum over ``covered`` written at ``at``."""
    return header[:at] + struct.pack("!H", checksum(covered)) + header[at + 2 :]


def pseudo(addresses: tuple[bytes, bytes], protocol: int, length: int) -> bytes:
    """Pseudo-header of either family."""
    if len(addresses[0]) == 4:
        return b"".join(addresses) + struct.pack("!BBH", 0, protocol, length)
    return b"".join(addresses) + struct.pack("!II", length, protocol)


def tcp(addresses: tuple[bytes, bytes], flags: int, options: bytes = b"", payload: bytes = b"") -> bytes:
    """A segment from port 5000 to 80; ``flags`` holds all 12 flag bits."""
    offset = (20 + len(options)) // 4
    header = struct.pack("!HHIIHHHH", 5000, 80, 0x01020304, 0x05060708, offset << 12 | flags, 0xFAF0, 0, 0) + options
    covered = pseudo(addresses, TCP, len(header) + len(payload)) + header + payload
    return with_checksum(header, 16, covered) + payload


def udp(addresses: tuple[bytes, bytes], payload: bytes = b"", surplus: bytes = b"") -> bytes:
    """A datagram from port 1000 to 2000, with ``surplus`` bytes after its own length."""
    header = struct.pack("!HHHH", 1000, 2000, 8 + len(payload), 0)
    covered = pseudo(addresses, UDP, len(header) + len(payload)) + header + payload
    return with_checksum(header, 6, covered) + payload + surplus


def ipv4(protocol: int, above: bytes, *, tos: int = 0, flags: int = 0x4000, options: bytes = b"") -> bytes:
    """An IPv4 packet; ``flags`` is the word of flags and fragment offset."""
    length = 20 + len(options) + len(above)
    first = 0x40 | (20 + len(options)) // 4
    header = struct.pack("!BBHHHBBH", first, tos, length, 7, flags, 64, protocol, 0) + b"".join(V4) + options
    return with_checksum(header, 10, header) + above


def ipv6(
    protocol: int, above: bytes, *, tclass: int = 0, label: int = 0, extension: bytes = b"", first: int | None = None
) -> bytes:
    """An IPv6 packet with ``extension`` after the fixed header, whose next-header field is then ``first``."""
    after = protocol if first is None else first
    header = struct.pack("!IHBB", 6 << 28 | tclass << 20 | label, len(extension) + len(above), after, 64)
    return header + b"".join(V6) + extension + above


def cut(data: bytes, at: int, value: bytes) -> bytes:
    """The data with ``value`` written at ``at``."""
    return data[:at] + value + data[at + len(value) :]


def with_fcs(frame: bytes) -> bytes:
    """The frame followed by its FCS: zlib's CRC is the one of 802, lowest byte first."""
    return frame + struct.pack("<I", zlib.crc32(frame))


def dot11_data(packet: bytes, *, control: int = 0x0108, qos: bytes = b"", snap: bytes = b"", seq: int = 0x123) -> bytes:
    """A data frame from station 2 to base station 1; ``control`` is the frame control field, little-endian."""
    ether_type = b"\x08\x00" if packet[:1] < b"\x60" else b"\x86\xdd"
    header = struct.pack("<HH", control, 44) + MAC1 + MAC2 + MAC0 + struct.pack("<H", seq << 4) + qos
    return with_fcs(header + (snap or bytes([0xAA, 0xAA, 3, 0, 0, 0]) + ether_type) + packet)


def block_ack(control: int = 0x3004, start: int = 4095 << 4) -> bytes:
    """A block ACK, compressed unless ``control`` (BA Control) says otherwise."""
    return with_fcs(struct.pack("<HH", 0x94, 0) + MAC1 + MAC2 + struct.pack("<HHQ", control, start, 1 << 63 | 5))


def radiotap(present: int, fields: bytes, *, version: int = 0, length: int | None = None) -> bytes:
    """A radiotap header with these fields, padding included."""
    return struct.pack("<BxHI", version, 8 + len(fields) if length is None else length, present) + fields


MAC0, MAC1, MAC2 = (bytes([2, 0, 0, 0, 0, node]) for node in range(3))
MSS = bytes([2, 4, 5, 180])
TIMESTAMPS = bytes([8, 10, 0, 0, 0, 9, 0, 0, 0, 8])
SYN_OPTIONS = MSS + bytes([4, 2]) + TIMESTAMPS + bytes([1, 3, 3, 7])
SACK3 = bytes([1, 1]) + TIMESTAMPS + bytes([1, 1, 5, 26]) + struct.pack("!6I", 100, 200, 300, 400, 0xFFFFFF00, 16)
HOP = bytes([TCP, 0, 0x3E, 4, 0x80, 0, 0, 1])
ALERT4 = bytes([0x94, 4, 0, 0])

SEGMENTS = {
    "ok-syn-linux": tcp(V4, 0x002, SYN_OPTIONS),
    "ok-syn-acns": tcp(V4, 0x2C2, SYN_OPTIONS),
    "ok-ack-three-sack-blocks": tcp(V4, 0x010, SACK3),
    "ok-data-over-ipv6": tcp(V6, 0x018, bytes([1, 1]) + TIMESTAMPS, b"hello"),
    "ok-all-flags": tcp(V4, 0xFFF),
    "ok-rst": tcp(V4, 0x004),
    "ok-unknown-option": tcp(V4, 0x010, bytes([28, 4, 0x80, 5, 254, 6, 1, 2, 3, 4, 0, 0])),
    "ok-four-sack-blocks-packed-with-mss": tcp(V4, 0x010, MSS + bytes([5, 34]) + bytes(range(32)) + bytes(2)),
    "ok-options-that-outgrow-their-room": tcp(V4, 0x010, MSS + TIMESTAMPS + bytes([5, 26]) + bytes(range(24))),
    "bad-truncated": tcp(V4, 0x010)[:19],
    "bad-offset-below-5": cut(tcp(V4, 0x010), 12, b"\x40"),
    "bad-offset-beyond-the-end": cut(tcp(V4, 0x010), 12, b"\xf0"),
    "bad-option-length-0": tcp(V4, 0x010, bytes([77, 0, 0, 0])),
    "bad-option-length-1": tcp(V4, 0x010, bytes([77, 1, 0, 0])),
    "bad-option-overrun": tcp(V4, 0x010, bytes([1, 8, 10, 0])),
    "bad-option-kind-at-the-end": tcp(V4, 0x010, bytes([1, 1, 1, 2])),
    "bad-mss-length": tcp(V4, 0x002, bytes([2, 3, 5, 0])),
    "bad-sack-half-a-block": tcp(V4, 0x010, bytes([5, 6, 0, 0, 0, 1, 0, 0])),
}

DATAGRAMS = {
    "ok-empty": udp(V4),
    "ok-payload": udp(V4, b"abc"),
    "ok-surplus": udp(V4, b"abcd", b"surplus"),
    "ok-no-checksum": cut(udp(V4, b"abc"), 6, b"\0\0"),
    "bad-checksum": cut(udp(V4, b"abc"), 6, b"\x12\x34"),
    "bad-checksum-of-ipv6": udp(V6, b"abc"),
    "bad-truncated": udp(V4)[:7],
    "bad-length-below-8": cut(udp(V4, b"abc"), 4, b"\0\7"),
    "bad-length-beyond-the-end": cut(udp(V4, b"abc"), 4, b"\0\x0c"),
    "bad-length-zero": cut(udp(V4, b"abc"), 4, b"\0\0"),
}

IPV4 = {
    "ok-tcp": ipv4(TCP, tcp(V4, 0x018, b"", b"data")),
    "ok-udp-ce-reserved-flag": ipv4(UDP, udp(V4, b"abc"), tos=46 << 2 | 3, flags=0xC000),
    "ok-options": ipv4(UDP, udp(V4), options=ALERT4),
    "ok-options-of-40-bytes": ipv4(UDP, udp(V4), options=bytes([1] * 39 + [0])),
    "ok-link-padding": ipv4(UDP, udp(V4)) + bytes(18),
    "bad-empty": b"",
    "bad-truncated": ipv4(UDP, udp(V4))[:19],
    "bad-version-5": cut(ipv4(UDP, udp(V4)), 0, b"\x55"),
    "bad-header-below-5-words": cut(ipv4(UDP, udp(V4)), 0, b"\x44"),
    "bad-header-beyond-the-end": cut(ipv4(UDP, udp(V4)), 0, b"\x4f"),
    "bad-length-beyond-the-end": cut(ipv4(UDP, udp(V4)), 2, b"\xff\xff"),
    "bad-length-below-the-header": cut(ipv4(UDP, udp(V4)), 2, b"\0\x13"),
    "bad-length-zero": cut(ipv4(UDP, udp(V4)), 2, b"\0\0"),
    "bad-checksum": cut(ipv4(UDP, udp(V4)), 10, b"\0\0"),
}

# Well-formed as IPv4, refused as packets.
IPV4_REFUSED = {
    "first-fragment": ipv4(UDP, udp(V4, b"abcdefgh"), flags=0x2000),
    "last-fragment": ipv4(UDP, b"abcdefgh", flags=0x0002),
    "icmp": ipv4(1, bytes([8, 0, 0xF7, 0xFF, 0, 0, 0, 0])),
}

IPV6 = {
    "ok-tcp": ipv6(TCP, tcp(V6, 0x018, b"", b"data")),
    "ok-udp-flow-label-ce": ipv6(UDP, udp(V6, b"abc"), tclass=46 << 2 | 3, label=0xFFFFF),
    "ok-hop-by-hop": ipv6(TCP, tcp(V6, 0x010), extension=HOP, first=0),
    "ok-hop-by-hop-router-alert": ipv6(TCP, tcp(V6, 0x010), extension=bytes([TCP, 0, 5, 2, 0, 0, 1, 0]), first=0),
    "ok-hop-by-hop-of-16-bytes": ipv6(
        TCP, tcp(V6, 0x010), extension=bytes([TCP, 1, 0, 0x1E, 1, 9, 0x1E, 4, 1, 2, 3, 4, 1, 2, 0, 0]), first=0
    ),
    "ok-hop-by-hop-padding-of-4": ipv6(TCP, tcp(V6, 0x010), extension=bytes([TCP, 0, 1, 4, 0, 0, 0, 0]), first=0),
    "bad-truncated": ipv6(UDP, udp(V6))[:39],
    "bad-version-4": cut(ipv6(UDP, udp(V6)), 0, b"\x40"),
    "bad-length-beyond-the-end": cut(ipv6(UDP, udp(V6)), 4, b"\0\x09"),
    "bad-hop-by-hop-truncated": ipv6(TCP, HOP[:7], first=0),
    "bad-hop-by-hop-beyond-the-end": ipv6(TCP, bytes([TCP, 9]) + HOP[2:], first=0),
    "bad-hop-by-hop-option-overrun": ipv6(TCP, bytes([TCP, 0, 0x3E, 5, 0, 0, 0, 0]), first=0),
    "bad-hop-by-hop-option-without-length": ipv6(TCP, bytes([TCP, 0, 1, 3, 0, 0, 0, 0x3E]), first=0),
}

# Well-formed as IPv6, refused as packets.
IPV6_REFUSED = {
    "fragment": ipv6(TCP, udp(V6), extension=bytes([UDP, 0, 0, 0x19, 0, 0, 0, 1]), first=44),
    "fragment-truncated": ipv6(TCP, b"", extension=bytes([UDP, 0, 0]), first=44),
    "icmpv6": ipv6(58, bytes(8)),
    "two-hop-by-hop-headers": ipv6(TCP, HOP + tcp(V6, 0x010), extension=bytes([0]) + HOP[1:], first=0),
    "jumbogram": cut(ipv6(TCP, tcp(V6, 0x010), extension=bytes([TCP, 0, 0xC2, 4, 0, 1, 0, 0]), first=0), 4, b"\0\0"),
}

PACKET = (
    {f"{verdict}-ipv4-{rest}": data for name, data in IPV4.items() for verdict, rest in [name.split("-", 1)]}
    | {f"{verdict}-ipv6-{rest}": data for name, data in IPV6.items() for verdict, rest in [name.split("-", 1)]}
    | {f"bad-ipv4-{name}": data for name, data in IPV4_REFUSED.items()}
    | {f"bad-ipv6-{name}": data for name, data in IPV6_REFUSED.items()}
    | {
        f"{verdict}-tcp-{rest}": ipv6(TCP, data) if "ipv6" in rest else ipv4(TCP, data)
        for name, data in SEGMENTS.items()
        for verdict, rest in [name.split("-", 1)]
    }
    | {
        f"{verdict}-udp-{rest}": ipv4(UDP, data)
        for name, data in DATAGRAMS.items()
        for verdict, rest in [name.split("-", 1)]
    }
    | {
        "bad-tcp-checksum": ipv4(TCP, cut(tcp(V4, 0x010), 16, b"\0\0")),
        "bad-udp-over-ipv6-without-checksum": ipv6(UDP, cut(udp(V6, b"abc"), 6, b"\0\0")),
        "bad-version-0": bytes(60),
    }
)

RTS = with_fcs(struct.pack("<HH", 0xB4, 1948) + MAC1 + MAC2)
CTS = with_fcs(struct.pack("<HH", 0xC4, 1634) + MAC2)

DOT11 = {
    "ok-rts": RTS,
    "ok-cts": CTS,
    "ok-ack": with_fcs(struct.pack("<HH", 0xD4, 0) + MAC2),
    "ok-block-ack": block_ack(),
    "ok-data-to-ds": dot11_data(IPV4["ok-tcp"]),
    "ok-data-from-ds-again": dot11_data(IPV4["ok-udp-ce-reserved-flag"], control=0x0A08),
    "ok-data-ipv6": dot11_data(IPV6["ok-hop-by-hop"]),
    "ok-data-padded": dot11_data(IPV4["ok-link-padding"]),
    "ok-data-with-power-management-and-more-data": dot11_data(IPV4["ok-tcp"], control=0x3108),
    "ok-qos-data": dot11_data(IPV4["ok-tcp"], control=0x0188, qos=bytes([0x66, 0])),
    "ok-qos-data-ipv6": dot11_data(IPV6["ok-tcp"], control=0x0288, qos=bytes([0, 7])),
    "bad-empty": b"",
    "bad-truncated-cts": CTS[:13],
    "bad-rts-with-a-byte-too-many": with_fcs(RTS[:-4] + b"\0"),
    "bad-truncated-data": with_fcs(struct.pack("<HH", 0x0108, 44) + MAC1 + MAC2 + MAC0),
    "bad-truncated-qos-data": with_fcs(struct.pack("<HH", 0x0188, 44) + MAC1 + MAC2 + MAC0 + bytes(2)),
    "bad-truncated-llc": with_fcs(struct.pack("<HH", 0x0108, 44) + MAC1 + MAC2 + MAC0 + bytes(2) + b"\xaa\xaa\3"),
    "bad-fcs": cut(RTS, 4, b"\3"),
    "bad-beacon": with_fcs(struct.pack("<HH", 0x80, 0) + MAC1 + MAC2 + MAC1 + bytes(14)),
    "bad-version-1": with_fcs(struct.pack("<HH", 0xC5, 0) + MAC2),
    "bad-null-data": with_fcs(struct.pack("<HH", 0x0148, 44) + MAC1 + MAC2 + MAC0 + bytes(2)),
    "bad-neither-ds": dot11_data(IPV4["ok-tcp"], control=0x0008),
    "bad-both-ds": dot11_data(IPV4["ok-tcp"], control=0x0308),
    "bad-more-fragments": dot11_data(IPV4["ok-tcp"], control=0x0508),
    "bad-protected": dot11_data(IPV4["ok-tcp"], control=0x4108),
    "bad-order": dot11_data(IPV4["ok-tcp"], control=0x8188, qos=bytes(2)),
    "bad-amsdu": dot11_data(IPV4["ok-tcp"], control=0x0188, qos=bytes([0x80, 0])),
    "bad-second-fragment": with_fcs(
        struct.pack("<HH", 0x0108, 44) + MAC1 + MAC2 + MAC0 + b"\1\0\xaa\xaa\3\0\0\0\x08\0" + IPV4["ok-tcp"]
    ),
    "bad-llc-not-snap": dot11_data(IPV4["ok-tcp"], snap=bytes([0x42, 0x42, 3, 0, 0, 0, 8, 0])),
    "bad-ether-type-arp": dot11_data(IPV4["ok-tcp"], snap=bytes([0xAA, 0xAA, 3, 0, 0, 0, 8, 6])),
    "bad-ether-type-of-the-other-ip": dot11_data(IPV6["ok-tcp"], snap=bytes([0xAA, 0xAA, 3, 0, 0, 0, 8, 0])),
    "bad-ip-checksum": dot11_data(IPV4["bad-checksum"]),
    "bad-no-packet": dot11_data(b""),
    "bad-basic-block-ack": block_ack(control=0x3000),
    "bad-block-ack-of-a-fragment": block_ack(start=4095 << 4 | 1),
    "bad-truncated-block-ack": with_fcs(block_ack()[:-8]),
}

TIME = struct.pack("<Q", 1_000_192)
CHANNEL = struct.pack("<HH", 2412, 0x00A0)
AMPDU = struct.pack("<IHBB", 7, 0x000C, 0, 0)
VHT = struct.pack("<HBB4sBBH", 0x45, 4, 4, bytes([0x92, 0, 0, 0]), 0, 0, 0)

# Bits of the fields: 0 TSFT, 1 flags, 2 rate, 3 channel, 4 FHSS, 5 signal, 6 noise, 11 antenna, 18 XChannel, 19 MCS,
# 20 A-MPDU, 21 VHT, 22 timestamp, 28 TLV; 29 and 30 namespaces, 31 another word.
RADIOTAP = {
    "ok-nothing": radiotap(0, b""),
    "ok-legacy": radiotap(0x2F, TIME + bytes([0x10, 22]) + CHANNEL + bytes([0xC4])),
    "ok-rate-alone-with-the-frame-behind": radiotap(0x04, b"\2") + RTS,
    "ok-channel-behind-a-gap": radiotap(0x0A, b"\x10\0" + CHANNEL),
    "ok-ht-in-an-ampdu": radiotap(0x18_000B, TIME + b"\x10\0" + CHANNEL + bytes([0x7F, 5, 15, 0, 0, 0]) + AMPDU),
    "ok-vht-in-an-ampdu": radiotap(0x30_000B, TIME + b"\x10\0" + CHANNEL + bytes(2) + AMPDU + VHT),
    "ok-fields-that-are-skipped": radiotap(0x4_0878, CHANNEL + b"\1\2\xc4\xa0\3" + bytes(3) + bytes(8)),
    "ok-timestamp-behind-padding": radiotap(0x40_0004, b"\2" + bytes(7) + bytes(12)),
    "ok-longer-than-its-fields": radiotap(0x04, b"\2" + bytes(11)),
    "ok-two-words": radiotap(0xA000_0004, struct.pack("<I", 0x20) + b"\2\xc4"),
    "ok-three-words-then-tsft": radiotap(0xA000_0001, struct.pack("<II", 0xA000_0020, 0x20) + TIME + b"\xc4\xc4"),
    "ok-tlv-is-left-out": radiotap(0x1000_0004, b"\2" + bytes(15)),
    "bad-empty": b"",
    "bad-truncated": radiotap(0, b"")[:7],
    "bad-version-1": radiotap(0, b"", version=1),
    "bad-length-below-8": radiotap(0, b"", length=7),
    "bad-length-beyond-the-end": radiotap(0x04, b"\2", length=10),
    "bad-field-beyond-the-length": radiotap(0x01, bytes(7)),
    "bad-aligned-field-beyond-the-length": radiotap(0x0C, b"\2" + CHANNEL),
    "bad-words-without-end": radiotap(0x8000_0000, struct.pack("<I", 0x8000_0000)),
    "bad-word-beyond-the-length": radiotap(0x8000_0000, bytes(2)),
}


def window(value: int, length: int = 6) -> bytes:
    """NGWA's option."""
    return struct.pack("!BBI", 33, length, value)


ROUTE = bytes([7, 11, 4, 10, 0, 0, 1, 0, 0, 0, 0])
SECURITY = bytes([0x86, 4, 1, 2])
NODE = struct.pack("!I", 47_530)

# A node's value, then an option area; ``bad-`` inputs are malformed or hold no valid area.
NGWA = {
    "ok-empty": NODE,
    "ok-lowered": NODE + window(60_000) + bytes(2),
    "ok-kept": NODE + window(20_000) + bytes(2),
    "ok-equal": NODE + window(47_530) + bytes(2),
    "ok-behind-nops": NODE + bytes([1, 1]) + window(60_000),
    "ok-behind-others": NODE + ROUTE + SECURITY + window(60_000) + bytes(3),
    "ok-room-in-the-padding": NODE + ALERT4 + bytes(8),
    "ok-junk-behind-the-end": NODE + bytes([0]) + window(1) + bytes([9]),
    "ok-malformed-behind-ours": NODE + window(60_000) + bytes([7, 1]),
    "ok-two-of-ours": NODE + window(60_000) + window(50_000),
    "ok-full": NODE + bytes([1] * 40),
    "ok-room-of-five": NODE + bytes([1] * 35 + [0] * 5),
    "ok-room-of-six": NODE + bytes([1] * 34 + [0] * 6),
    "ok-full-with-ours": NODE + bytes([1] * 34) + window(60_000),
    "ok-zero": bytes(4) + window(60_000) + bytes(2),
    "ok-all-ones": bytes([0xFF] * 4) + ALERT4,
    "bad-length-0": NODE + window(60_000, 0) + bytes(2),
    "bad-length-1": NODE + window(60_000, 1) + bytes(2),
    "bad-length-5": NODE + window(60_000, 5) + bytes(2),
    "bad-length-8": NODE + window(60_000, 8) + bytes(2),
    "bad-overrun": NODE + window(60_000, 9) + bytes(2),
    "bad-another-overruns": NODE + bytes([7, 9, 4, 0]) + window(60_000)[:4],
    "bad-kind-at-the-end": NODE + bytes([1, 1, 1, 33]),
    "bad-not-whole-words": NODE + window(60_000),
    "bad-too-long": NODE + bytes([1] * 44),
    "bad-truncated": NODE[:3],
}

DATA = tcp(V4, 0x018, b"", b"data")
DATA_V6 = tcp(V6, 0x018, b"", b"data")
ASK = 2

# Occupancy of the queue in per cent, then a packet; ``bad-`` packets are refused before a router sees them.
ON_BYTES = {
    "ok-data": b"\x32" + ipv4(TCP, DATA),
    "ok-data-full-queue": b"\xff" + ipv4(TCP, DATA),
    "ok-data-lowered": b"\x32" + ipv4(TCP, DATA, options=window(60_000) + bytes(2)),
    "ok-data-kept": b"\x32" + ipv4(TCP, DATA, options=window(60) + bytes(2)),
    "ok-data-full-options": b"\x32" + ipv4(TCP, DATA, options=bytes([1] * 40)),
    "ok-data-malformed-option": b"\x32" + ipv4(TCP, DATA, options=window(60, 5) + bytes(2)),
    "ok-data-link-padding": b"\x32" + ipv4(TCP, DATA) + bytes(6),
    "ok-data-unknown-tcp-option": b"\x32" + ipv4(TCP, tcp(V4, 0x018, bytes([254, 4, 1, 2]), b"data")),
    "ok-data-wrong-header-checksum": b"\x32" + cut(ipv4(TCP, DATA), 10, b"\x12\x34"),
    "ok-data-wrong-tcp-checksum": b"\x32" + ipv4(TCP, DATA[:-1]),
    "ok-ask": b"\x60" + ipv4(TCP, DATA, tos=ASK, flags=0xC000),
    "ok-ask-to-freeze": b"\x13" + ipv4(TCP, DATA, tos=ASK, flags=0xC000),
    "ok-ask-wrong-header-checksum": b"\x60" + cut(ipv4(TCP, DATA, tos=ASK, flags=0xC000), 10, b"\x12\x34"),
    "ok-ask-ipv6-extension": b"\x60" + ipv6(TCP, DATA_V6, tclass=ASK, extension=HOP, first=0),
    "ok-ask-ipv6-flow-label": b"\x60" + ipv6(TCP, DATA_V6, tclass=ASK, label=0x80001),
    "ok-syn": b"\x32" + ipv4(TCP, tcp(V4, 0x002, SYN_OPTIONS)),
    "ok-udp": b"\x32" + ipv4(UDP, udp(V4, b"abc", b"surplus")),
    "bad-empty": b"",
    "bad-no-packet": b"\x32",
    "bad-fragment": b"\x32" + ipv4(TCP, DATA, flags=0x2000),
    "bad-icmp": b"\x32" + IPV4_REFUSED["icmp"],
    "bad-tcp-option": b"\x32" + ipv4(TCP, tcp(V4, 0x010, bytes([77, 1, 0, 0]))),
    "bad-truncated": b"\x32" + ipv4(TCP, DATA)[:-1],
}


def through(network: int, *packets: bytes, sender: int = 0, later: int = 3) -> bytes:
    """Packets that the first or the other host sends through one of the networks of ``src/live.rs``."""
    head = sender << 7 | later
    return bytes([network]) + b"".join(struct.pack("!BH", head, len(packet)) + packet for packet in packets)


PLAIN, MARKING, MARKING_V6, SHARES, FREE, COMMANDS, COMMANDS_EXTENSION, COMMANDS_LABEL = range(8)

# Number of the network, then packets; of a ``bad-`` input no packet arrives.
BOTTLENECK = {
    "ok-data": through(PLAIN, ipv4(TCP, DATA)),
    "ok-many-overflow": through(PLAIN, *[ipv4(TCP, tcp(V4, 0x018, b"", bytes(1400)))] * 20, later=0),
    "ok-icmp": through(PLAIN, IPV4_REFUSED["icmp"]),
    "ok-fragments": through(PLAIN, IPV4_REFUSED["first-fragment"], IPV4_REFUSED["last-fragment"]),
    "ok-wrong-lengths": through(PLAIN, IPV4["bad-length-beyond-the-end"], IPV4["bad-header-beyond-the-end"]),
    "ok-marked": through(MARKING, *[ipv4(TCP, tcp(V4, 0x018, b"", bytes(900)), tos=ASK)] * 30, later=1),
    "ok-marked-ipv6": through(MARKING_V6, *[ipv6(TCP, tcp(V6, 0x018, b"", bytes(900)), tclass=ASK)] * 30, later=1),
    "ok-ipv6-hop-by-hop": through(MARKING_V6, IPV6["ok-hop-by-hop"], IPV6_REFUSED["fragment"]),
    "ok-window": through(SHARES, *[ON_BYTES[name][1:] for name in ON_BYTES if name.startswith("ok-data")]),
    "ok-window-at-arrival": through(FREE, *[ON_BYTES[name][1:] for name in ON_BYTES if name.startswith("ok-data")]),
    "ok-commands": through(COMMANDS, *[ON_BYTES["ok-ask"][1:]] * 12, later=127),
    "ok-commands-extension": through(COMMANDS_EXTENSION, *[ON_BYTES["ok-ask-ipv6-extension"][1:]] * 12, later=127),
    "ok-commands-label": through(COMMANDS_LABEL, *[ON_BYTES["ok-ask-ipv6-flow-label"][1:]] * 12, later=127),
    "bad-empty": b"",
    "bad-no-packet": through(PLAIN, b""),
    "bad-other-family": through(PLAIN, ipv6(TCP, DATA_V6)),
    "bad-to-its-sender": through(PLAIN, ipv4(TCP, DATA), sender=1),
    "bad-to-nobody": through(PLAIN, cut(ipv4(TCP, DATA), 16, bytes([192, 0, 2, 1]))),
    "bad-truncated": through(SHARES, ipv4(TCP, DATA)[:19]),
    "bad-version-0": through(COMMANDS, bytes(60)),
}

TARGETS = {
    "packet": PACKET,
    "ipv4": IPV4 | {f"ok-{name}": data for name, data in IPV4_REFUSED.items()},
    "ipv6": IPV6
    | {f"ok-{name}": data for name, data in IPV6_REFUSED.items() if name != "jumbogram"}
    | {"bad-jumbogram": IPV6_REFUSED["jumbogram"]},
    "tcp": SEGMENTS,
    "udp": DATAGRAMS,
    "dot11": DOT11,
    "radiotap": RADIOTAP,
    "ngwa": NGWA,
    "on_bytes": ON_BYTES,
    "bottleneck": BOTTLENECK,
}


def main() -> None:
    """Writes one file per seed."""
    for target, seeds in TARGETS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
