"""Packets of a capture: the header fields that routers of the schemes read and write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TCP = 6
HOP_BY_HOP = 0
FIN, SYN, RST = 0x01, 0x02, 0x04

_INTERFACE = re.compile(r"(?P<a>.+)->(?P<b>.+)")

FlowKey = tuple[bytes, bytes, bytes]
"""Source address, destination address, and the four bytes of both ports."""


@dataclass(slots=True)
class Packet:
    """One IP packet.

    Attributes
    ----------
    time_ns : int
        When its transmission started, or when it was dropped, simulated ns.
    length : int
        Bytes of the IP packet.
    dscp, ecn : int
        Both parts of the traffic class.
    reserved : bool
        The reserved flag of an IPv4 header.
    options : bytes
        Options of an IPv4 header, or the hop-by-hop options of IPv6.
    label : int
        Flow label of IPv6; 0 in IPv4.
    version : int
        4 or 6.
    flow : FlowKey or None
        Flow of a TCP segment.
    flags, payload : int
        Flags and bytes of payload of a TCP segment.
    identity : tuple
        What no router changes: addresses, identification, transport header, bytes of payload.
    """

    time_ns: int
    length: int
    dscp: int
    ecn: int
    reserved: bool
    options: bytes
    label: int
    version: int
    flow: FlowKey | None
    flags: int
    payload: int
    identity: tuple[object, ...]


def parse(data: bytes, time_ns: int) -> Packet:
    """Parse an IP packet.

    Parameters
    ----------
    data : bytes
        From the IP header on.
    time_ns : int

    Raises
    ------
    ValueError
        If it is no whole IPv4 or IPv6 header.

    Examples
    --------
    >>> parse(bytes.fromhex("4500001400000000400100000a0000010a000002"), 5).length
    20
    """
    version = data[0] >> 4 if data else 0
    if version == 4 and len(data) >= 20:
        header = 4 * (data[0] & 15)
        traffic, protocol = data[1], data[9]
        length = int.from_bytes(data[2:4])
        source, sink, named = data[12:16], data[16:20], data[4:6]
        reserved, options, label = bool(data[6] & 0x80), data[20:header], 0
    elif version == 6 and len(data) >= 40:
        header = 40
        traffic, protocol = int.from_bytes(data[0:2]) >> 4 & 0xFF, data[6]
        length = 40 + int.from_bytes(data[4:6])
        source, sink, named = data[8:24], data[24:40], b""
        reserved, options, label = False, b"", int.from_bytes(data[1:4]) & 0xFFFFF
        if protocol == HOP_BY_HOP:
            protocol, more = data[40], 8 + 8 * data[41]
            options, header = data[42 : 40 + more], 40 + more
    else:
        message = "no whole IP header"
        raise ValueError(message)
    transport = data[header:]
    flow, flags, payload, head = None, 0, length - header, 8
    if protocol == TCP and len(transport) >= 20:
        head = 4 * (transport[12] >> 4)
        flow, flags, payload = (source, sink, transport[0:4]), transport[13], length - header - head
    return Packet(
        time_ns,
        length,
        traffic >> 2,
        traffic & 3,
        reserved,
        options,
        label,
        version,
        flow,
        flags,
        payload,
        (source, sink, named, protocol, transport[:head], payload),
    )


def read(path: Path) -> Iterator[tuple[str, str, Packet]]:
    """Read a capture of a link that Narrows wrote: each packet with the names of both ends of its direction.

    Raises
    ------
    InputError
        If the file cannot be read, or is no capture of a link with named interfaces.
    """
    from pcapng import FileScanner
    from pcapng.blocks import EnhancedPacket
    from pcapng.exceptions import PcapngException

    try:
        with path.open("rb") as file:
            for block in FileScanner(file):
                if not isinstance(block, EnhancedPacket):
                    continue
                named = _INTERFACE.fullmatch(str(block.interface.options.get("if_name", "")))
                if named is None:
                    message = f"{path}: an interface is not named like R1->R2; allowed: a capture of narrows run --pcap"
                    raise InputError(message)
                time_ns = (block.timestamp_high << 32) + block.timestamp_low
                yield named["a"], named["b"], parse(bytes(block.packet_data), time_ns)
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise InputError(message) from None
    except (PcapngException, ValueError) as error:
        message = f"{path}: is no capture that can be read: {error}"
        raise InputError(message) from None
