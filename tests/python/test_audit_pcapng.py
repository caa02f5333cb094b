"""The reader of captures that ``narrows audit`` uses: both byte orders, sections, and files that are broken."""

from __future__ import annotations

import io
import struct

import pytest

from narrows.studies.audit.pcapng import packets


def block(order: str, kind: int, body: bytes) -> bytes:
    """Return a block with its body, which is filled up to four bytes."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(order: str, code: int, content: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(content)) + content + bytes(-len(content) % 4)


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + option(order, 4, b"a program"))


def interface(order: str, name: bytes | None) -> bytes:
    options = option(order, 3, b"described") + (option(order, 2, name) if name is not None else b"")
    return block(order, 1, struct.pack(order + "HHI", 101, 0, 65_575) + options + option(order, 0, b""))


def packet(order: str, number: int, time: int, content: bytes) -> bytes:
    head = struct.pack(order + "IIIII", number, time >> 32, time & 0xFFFFFFFF, len(content), 1500)
    return block(order, 6, head + content + bytes(-len(content) % 4) + option(order, 1, b"overflow"))


@pytest.mark.parametrize("order", "<>")
def test_packets_come_with_their_interfaces_and_other_blocks_are_passed_over(order: str) -> None:
    other = block(order, 5, bytes(20))
    one = section(order) + interface(order, b"a->b") + interface(order, b"b->a") + other
    one += packet(order, 1, 7 << 32 | 5, b"five!") + packet(order, 0, 9, b"")
    # A section has interfaces of its own, and may have another byte order.
    back = "<" if order == ">" else ">"
    two = section(back) + interface(back, None) + packet(back, 0, 11, b"four")
    assert list(packets(io.BytesIO(one + two))) == [
        ("b->a", 7 << 32 | 5, b"five!"),
        ("a->b", 9, b""),
        ("", 11, b"four"),
    ]
    assert list(packets(io.BytesIO(b""))) == []


START = section("<") + interface("<", b"a->b")
WHOLE = packet("<", 0, 5, b"abcd")
SHORT = struct.pack("<IIIII", 0, 0, 5, 40, 40)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no capture, but of some length", "does not begin with a section header"),
        (b"\x0a\x0d\x0d\x0a" + bytes(24), "does not begin with a section header"),
        (interface("<", b"a->b"), "does not begin with a section header"),
        (START + WHOLE[:5], "ends within a block"),
        (START + WHOLE[:-1], "ends within a block"),
        (START + WHOLE[:-4] + bytes(4), "lengths at both ends of a block differ"),
        (START + struct.pack("<II", 6, 8), "a length of 8 bytes"),
        (START + struct.pack("<II", 6, 33) + bytes(25), "a length of 33 bytes"),
        (START + block("<", 6, bytes(16)), "has 16 bytes"),
        (START + packet("<", 1, 5, b"abcd"), "a packet of 4 bytes at interface 1"),
        (START + block("<", 6, SHORT + bytes(36)), "a packet of 40 bytes at interface 0"),
    ],
)
def test_a_broken_capture_is_named(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        list(packets(io.BytesIO(content)))
