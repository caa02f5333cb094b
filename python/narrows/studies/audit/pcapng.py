"""Blocks of a pcapng capture (draft-ietf-opsawg-pcapng): its interfaces' names and its packets."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION = b"\x0a\x0d\x0d\x0a"
"""Type of the block that begins a section, the same in both byte orders."""

INTERFACE, PACKET = 1, 6
"""Types of the other blocks that are read; the rest is passed over."""

BYTE_ORDER = 0x1A2B3C4D
NAME = 2
"""The option of an interface that has its name."""

SHORTEST = 12
"""Bytes of a block without a body: type, and its length before and after."""


def packets(file: BinaryIO) -> Iterator[tuple[str, int, bytes]]:
    """Read each packet: the name of its interface, its timestamp in the interface's unit, and its bytes.

    Raises
    ------
    ValueError
        If the file is no capture of this format, or ends within a block.
    """
    order = ""
    names: list[str] = []
    while head := file.read(8):
        if len(head) < 8:
            message = "it ends within a block"
            raise ValueError(message)
        section = head[:4] == SECTION
        if section:
            order, names = _order(file.read(4)), []
        elif not order:
            message = "it does not begin with a section header"
            raise ValueError(message)
        kind, length = struct.unpack(order + "II", head)
        body = _body(file, order, length, 4 if section else 0)
        if kind == PACKET:
            if len(body) < 20:
                message = f"the block of a packet has {len(body)} bytes"
                raise ValueError(message)
            interface, high, low, captured = struct.unpack_from(order + "IIII", body)
            if interface >= len(names) or captured > len(body) - 20:
                message = f"a packet of {captured} bytes at interface {interface} is not in its block"
                raise ValueError(message)
            yield names[interface], (high << 32) + low, body[20 : 20 + captured]
        elif kind == INTERFACE:
            names.append(_name(body, order))


def _order(magic: bytes) -> str:
    for order in "<>":
        if magic == struct.pack(order + "I", BYTE_ORDER):
            return order
    message = "it does not begin with a section header"
    raise ValueError(message)


def _body(file: BinaryIO, order: str, length: int, taken: int) -> bytes:
    """Return what is between a block's head and the repeated length, without the bytes that were read already."""
    if length < SHORTEST + taken or length % 4:
        message = f"a block has a length of {length} bytes"
        raise ValueError(message)
    body = file.read(length - 8 - taken)
    if len(body) < length - 8 - taken:
        message = "it ends within a block"
        raise ValueError(message)
    if struct.unpack(order + "I", body[-4:]) != (length,):
        message = "the lengths at both ends of a block differ"
        raise ValueError(message)
    return body[:-4]


def _name(body: bytes, order: str) -> str:
    """Return the name in an interface description; the empty text without one."""
    at = 8
    while at + 4 <= len(body):
        option, length = struct.unpack_from(order + "HH", body, at)
        if option == NAME:
            return body[at + 4 : at + 4 + length].decode("utf-8", "replace")
        at += 4 + -(-length // 4) * 4
    return ""
