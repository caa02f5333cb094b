"""A link's capture as columns: the headers of all packets, a numpy array for each field.

The file is mapped, and only headers are read. A packet takes about a microsecond, where `pcapng.FileScanner` takes
some thirty: captures of a run have a hundred thousand packets or more.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, AE = (1 << bit for bit in range(9))

CE: Final = 3
"""The ECN field of a marked packet."""

CLIENT_BASE, CLIENT_PORTS, SERVER_BASE = 10_000, 50_000, 1_000
"""Ports number the flows of a run: flow i has client port 10000 + i % 50000 and server port 1000 + i // 50000."""

_HEADERS: Final = 128
"""Bytes that IP and TCP headers take at most: 60 each in IPv4, 48 and 60 in IPv6."""

_BLOCK: Final = 1 << 16
"""Packets that are read at once."""

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_RAW: Final = 101
_TCP, _UDP, _HOP_BY_HOP = 6, 17, 0


@dataclass(frozen=True, slots=True)
class Capture:
    """Packets of a file, in its order. Numbers are as in the headers; those that UDP lacks are 0.

    Attributes
    ----------
    names : tuple of str
        Interfaces: directions of the link, ``R1->R2``.
    interface : array
        Of each packet, its place in `names`.
    time_ns : array
        When its transmission started, or when it was dropped, ns.
    length, payload : array
        Bytes of the IP packet; bytes behind the TCP or UDP header.
    flow : array
        Index of its flow in the run: listed flows first, then transfers of workloads.
    along : array
        Whether it travels from the flow's ``from`` to its ``to``.
    udp : array
        Whether it is a UDP datagram.
    seq, ack, window, flags : array
        Of the TCP header; the sequence number of RTP in `seq` of a datagram.
    ecn : array
        The ECN field of the IP header.
    scale : array
        Shift of the window scale option; -1 without one.
    identity : array
        Hash of what no router changes: identification, transport header, length of the payload.
    sack_packet, sack_left, sack_right : array
        SACK blocks: the packet that carries each, and its two edges.
    comments : dict
        Comments by packet: why a queue dropped it, or that it marked it.
    """

    names: tuple[str, ...]
    interface: Integers
    time_ns: Integers
    length: Integers
    payload: Integers
    flow: Integers
    along: Flags
    udp: Flags
    seq: Integers
    ack: Integers
    window: Integers
    flags: Integers
    ecn: Integers
    scale: Integers
    identity: NDArray[np.uint64]
    sack_packet: Integers
    sack_left: Integers
    sack_right: Integers
    comments: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of packets."""
        return int(self.time_ns.size)

    def only(self, wanted: Flags) -> Capture:
        """Return the packets that a mask selects.

        Parameters
        ----------
        wanted : array of bool
            A value for each packet.

        Returns
        -------
        Capture
        """
        return self.take(np.flatnonzero(wanted))

    def take(self, at: Integers) -> Capture:
        """Return packets in another order, or some of them.

        Parameters
        ----------
        at : array
            Their numbers, none twice.

        Returns
        -------
        Capture
        """
        place = np.full(len(self), -1)
        place[at] = np.arange(at.size)
        owner = place[self.sack_packet]
        order = np.argsort(owner, kind="stable")
        order = order[owner[order] >= 0]
        made: dict[str, Any] = {name: getattr(self, name)[at] for name in _COLUMNS}
        return Capture(
            names=self.names,
            **made,
            sack_packet=owner[order],
            sack_left=self.sack_left[order],
            sack_right=self.sack_right[order],
            comments={int(place[row]): text for row, text in self.comments.items() if place[row] >= 0},
        )


_COLUMNS: Final = tuple(
    one.name for one in fields(Capture) if one.name not in {"names", "comments"} and not one.name.startswith("sack_")
)


def joined(one: Capture, other: Capture) -> Capture:
    """Return the packets of two captures, one behind the other.

    Parameters
    ----------
    one, other : Capture

    Returns
    -------
    Capture
    """
    made: dict[str, Any] = {
        name: np.concatenate([getattr(one, name), getattr(other, name)])
        for name in (*_COLUMNS, "sack_left", "sack_right")
    }
    owner = np.concatenate([one.sack_packet, other.sack_packet + len(one)])
    comments = one.comments | {row + len(one): text for row, text in other.comments.items()}
    return Capture(names=one.names, **made, sack_packet=owner, comments=comments)


def read(path: Path) -> Capture:
    """Read a capture that Narrows wrote for a link, or its file of drops.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Capture

    Raises
    ------
    InputError
        If the file cannot be read, is cut off, or is no capture of raw IP with times in nanoseconds.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return _read(mapped)
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise InputError(message) from None
    except (ValueError, IndexError, struct.error) as error:
        message = f"{path}: is no capture of a link: {error}; allowed: a file that narrows run --pcap wrote"
        raise InputError(message) from None


def _read(mapped: mmap.mmap) -> Capture:
    names: list[str] = []
    places: list[tuple[int, int, int]] = []  # where the packet begins, its interface, its time
    comments: dict[int, str] = {}
    at, order = 0, "<"
    while at < len(mapped):
        if mapped[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(mapped[at + 8 : at + 12], "")
            if not order or names:
                message = "it does not begin with one section header"
                raise ValueError(message)
        kind, size = struct.unpack_from(f"{order}II", mapped, at)
        if size < 12 or at + size > len(mapped):
            message = f"it ends in the middle of a block, or has one of {size} bytes"
            raise ValueError(message)
        if kind == _PACKET:
            interface, high, low, held, _ = struct.unpack_from(f"{order}5I", mapped, at + 8)
            behind = at + 28 + held + -held % 4
            if at + size - behind > 8 and (comment := _options(mapped, behind, at + size - 4, order).get(1)):
                comments[len(places)] = comment.decode()
            places.append((at + 28, interface, high << 32 | low))
        elif kind == _INTERFACE:
            names.append(_interface(mapped, at, size, order))
        elif at == 0 and kind != _SECTION:
            message = "it does not begin with a section header"
            raise ValueError(message)
        at += size
    if not names:
        message = "it describes no interface"
        raise ValueError(message)
    return _columns(mapped, np.array(places, dtype=np.int64).reshape(-1, 3), tuple(names), comments)


def _interface(mapped: mmap.mmap, at: int, size: int, order: str) -> str:
    link = struct.unpack_from(f"{order}H", mapped, at + 8)[0]
    options = _options(mapped, at + 16, at + size - 4, order)
    if link != _RAW or options.get(9) != b"\x09" or 2 not in options:
        message = f"link type {link}; needed: raw IP (101), with a name and times in nanoseconds"
        raise ValueError(message)
    return options[2].decode()


def _options(mapped: mmap.mmap, at: int, end: int, order: str) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while at + 4 <= end:
        code, size = struct.unpack_from(f"{order}HH", mapped, at)
        if code == 0:
            break
        found[code] = mapped[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4
    return found


def _columns(mapped: mmap.mmap, places: Integers, names: tuple[str, ...], comments: dict[int, str]) -> Capture:
    data = np.frombuffer(mapped, dtype=np.uint8)
    try:
        parts = [
            _headers(data[np.minimum(places[first : first + _BLOCK, :1] + np.arange(_HEADERS), data.size - 1)], first)
            for first in range(0, max(1, len(places)), _BLOCK)
        ]
    finally:
        del data  # the mapping cannot be closed while an array refers to it
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Capture(names=names, interface=places[:, 1], time_ns=places[:, 2], comments=comments, **joined)


def _headers(rows: NDArray[np.uint8], first: int) -> dict[str, Any]:
    """Return the fields of packets whose first bytes are the rows of a matrix; `first` is the number of the first."""
    count = len(rows)
    every = np.arange(count)

    def number(at: Integers | int, size: int) -> Integers:
        made = np.zeros(count, dtype=np.int64)
        for offset in range(size):
            made = made << 8 | rows[every, at + offset]
        return made

    six = rows[:, 0] >> 4 == 6
    chained = six & (rows[:, 6] == _HOP_BY_HOP)
    protocol = np.where(six, np.where(chained, rows[:, 40], rows[:, 6]), rows[:, 9])
    head = np.where(
        six, np.where(chained, 48 + 8 * rows[:, 41].astype(np.int64), 40), 4 * (rows[:, 0] & 15).astype(int)
    )
    if not np.isin(protocol, (_TCP, _UDP)).all() or (head > _HEADERS - 60 + 8).any():
        message = "a packet is neither TCP nor UDP"
        raise ValueError(message)
    length = np.where(six, 40 + number(4, 2), number(2, 2))
    ecn = np.where(six, rows[:, 1] >> 4 & 3, rows[:, 1] & 3).astype(np.int64)
    udp = protocol == _UDP
    offset = number(head + 12, 1) >> 4
    size = np.where(udp, 8, 4 * offset)
    payload = length - head - size
    flags = np.where(udp, 0, number(head + 12, 2) & 0x1FF)
    source, sink = number(head, 2), number(head + 2, 2)
    along = source >= CLIENT_BASE
    client, server = np.where(along, source, sink), np.where(along, sink, source)
    made: dict[str, Any] = {
        "length": length,
        "payload": payload,
        "flow": (server - SERVER_BASE) * CLIENT_PORTS + client - CLIENT_BASE,
        "along": along,
        "udp": udp,
        "seq": np.where(udp, np.where(payload >= 12, number(head + 10, 2), 0), number(head + 4, 4)),
        "ack": np.where(udp, 0, number(head + 8, 4)),
        "window": np.where(udp, 0, number(head + 14, 2)),
        "flags": flags,
        "ecn": ecn,
        "identity": _identity(rows, every, head, np.where(udp, np.minimum(8 + payload, 20), size), payload, six),
    }
    return made | _tcp_options(rows, every, head + 20, np.where(udp, 0, head + size), first)


def _identity(
    rows: NDArray[np.uint8], every: Integers, head: Integers, size: Integers, payload: Integers, six: Flags
) -> NDArray[np.uint64]:
    """Hash what no router changes, by a polynomial modulo 2^64 (FNV's prime)."""
    prime = np.uint64(0x100000001B3)
    ident = np.where(six, 0, rows[:, 4].astype(np.int64) << 8 | rows[:, 5])
    made = (payload << 16 | ident).astype(np.uint64)
    for offset in range(60):
        inside = offset < size
        byte = rows[every, np.minimum(head + offset, _HEADERS - 1)].astype(np.uint64)
        made = np.where(inside, (made ^ byte) * prime, made)
    return np.asarray(made, dtype=np.uint64)


def _tcp_options(rows: NDArray[np.uint8], every: Integers, at: Integers, end: Integers, first: int) -> dict[str, Any]:
    """Return window scale and SACK blocks; `first` is the number of the first packet."""
    at = at.copy()
    scale = np.full(every.size, -1, dtype=np.int64)
    found: list[tuple[int, int, int]] = []

    def byte(shift: int) -> Integers:
        return rows[every, np.minimum(at + shift, _HEADERS - 1)].astype(np.int64)

    while (running := at < end).any():
        kind, size = byte(0), byte(1)
        single = kind == 1
        scale = np.where(running & (kind == 3), byte(2), scale)
        for row in np.flatnonzero(running & (kind == 5)).tolist():
            edges = rows[row, at[row] + 2 : at[row] + size[row]].tobytes()
            found += [(first + row, left, right) for left, right in struct.iter_unpack(">II", edges)]
        # An option's length is at least 2; a smaller one, and the end of options, end the list.
        step = np.where(single, 1, np.where((kind == 0) | (size < 2), _HEADERS, size))
        at = np.where(running, at + step, at)
    blocks = np.array(found, dtype=np.int64).reshape(-1, 3)
    blocks = blocks[np.argsort(blocks[:, 0], kind="stable")]
    return {"scale": scale, "sack_packet": blocks[:, 0], "sack_left": blocks[:, 1], "sack_right": blocks[:, 2]}
