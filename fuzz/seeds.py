"""Writes the seed corpora of the wire targets.

The formats are put together here by hand, apart from the code under test, so that a file named ``ok-`` that is
refused shows an error in one of the two. Run ``python3 fuzz/seeds.py`` after a change; the files are committed.
"""

from __future__ import annotations

import struct
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
    """A segment from port 5000 to 80; ``flags`` are all 12."""
    offset = (20 + len(options)) // 4
    header = struct.pack("!HHIIHHHH", 5000, 80, 0x01020304, 0x05060708, offset << 12 | flags, 0xFAF0, 0, 0) + options
    covered = pseudo(addresses, TCP, len(header) + len(payload)) + header + payload
    return with_checksum(header, 16, covered) + payload


def udp(addresses: tuple[bytes, bytes], payload: bytes = b"", surplus: bytes = b"") -> bytes:
    """A datagram from port 1000 to 2000, with ``surplus`` bytes behind its own length."""
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
    """An IPv6 packet with ``extension`` behind the fixed header, which then says ``first``."""
    after = protocol if first is None else first
    header = struct.pack("!IHBB", 6 << 28 | tclass << 20 | label, len(extension) + len(above), after, 64)
    return header + b"".join(V6) + extension + above


def cut(data: bytes, at: int, value: bytes) -> bytes:
    """The data with ``value`` written at ``at``."""
    return data[:at] + value + data[at + len(value) :]


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

TARGETS = {
    "packet": PACKET,
    "ipv4": IPV4 | {f"ok-{name}": data for name, data in IPV4_REFUSED.items()},
    "ipv6": IPV6
    | {f"ok-{name}": data for name, data in IPV6_REFUSED.items() if name != "jumbogram"}
    | {"bad-jumbogram": IPV6_REFUSED["jumbogram"]},
    "tcp": SEGMENTS,
    "udp": DATAGRAMS,
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
