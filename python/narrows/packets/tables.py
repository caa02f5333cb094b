"""What a flow's sender sent and received, as columns: segments, ACKs, SACK blocks, losses."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from narrows.packets.capture import Flags, Integers


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments with payload, SYN or FIN that the sender sent, in order of time; an array for each attribute.

    Attributes
    ----------
    time_ns : array
        When its transmission on the sender's link started, ns; of one that the sender's own queue dropped, when that
        happened.
    seq, length, packet_length : array
        Relative sequence number; bytes of payload; bytes of the IP packet.
    retransmitted : array
        Whether it repeats payload that was sent before.
    lost : array
        Whether it was lost on the way, as far as captures tell; see `Losses`.
    ce : array
        Whether it came to the last link with a congestion mark (CE).
    cwr : array
        Whether it has the CWR flag of RFC 3168.
    syn, fin : array
        Whether it has these flags.
    """

    time_ns: Integers
    seq: Integers
    length: Integers
    packet_length: Integers
    retransmitted: Flags
    lost: Flags
    ce: Flags
    cwr: Flags
    syn: Flags
    fin: Flags

    @property
    def data(self) -> Flags:
        """Which have payload."""
        return self.length > 0


@dataclass(frozen=True, slots=True)
class Acks:
    """ACKs in order of their arrival; an array for each attribute.

    Attributes
    ----------
    time_ns : array
        When it arrived at the sender, ns.
    ack : array
        Relative acknowledgement number.
    window : array
        Advertised window, scaled, bytes; its right edge is `ack` + `window`.
    duplicate : array
        Whether it repeats number and window of the one before while data is outstanding (RFC 5681, section 2).
    packet_length : array
        Bytes of the IP packet.
    ecn : array
        Whether it reports a congestion mark: ECE of RFC 3168 and DCTCP, a changed counter of AccECN (RFC 9768).
    """

    time_ns: Integers
    ack: Integers
    window: Integers
    duplicate: Flags
    ecn: Flags
    packet_length: Integers


@dataclass(frozen=True, slots=True)
class Sacks:
    """SACK blocks (RFC 2018), an array for each attribute.

    Attributes
    ----------
    ack : array
        Index of the ACK that carries the block.
    left, right : array
        Relative edges; the right one is behind the block.
    duplicate : array
        Whether it reports data that arrived twice (D-SACK, RFC 2883).
    """

    ack: Integers
    left: Integers
    right: Integers
    duplicate: Flags


@dataclass(frozen=True, slots=True)
class Losses:
    """Segments that were lost, in order of the segments.

    Attributes
    ----------
    segment : array
        Index of the segment.
    time_ns : array
        When it was dropped; -1 if it vanished between two links.
    where : tuple of str
        The direction whose queue dropped it (``r1->r2``), or ``on the way``.
    why : tuple of str
        The queue's reason: ``dropped: no room, sub-queue 0``.
    """

    segment: Integers
    time_ns: Integers
    where: tuple[str, ...]
    why: tuple[str, ...]


_Table = TypeVar("_Table", Segments, Acks, Sacks, Losses)


@dataclass(frozen=True, slots=True)
class FlowPackets:
    """A TCP flow as its sender sees it.

    Attributes
    ----------
    name : str
        The flow.
    index : int
        Its place in the scenario.
    sender, receiver : str
        Nodes; the sender is the end that sends more payload.
    seen_at : str
        The link at which segments and ACKs were captured: the sender's own, or the first wired one of the path.
    exact : bool
        Whether the times of ACKs are exact; not so where that link has jitter or follows a trace.
    segments : Segments
    acks : Acks
    sacks : Sacks
    losses : Losses
    unseen : int
        Losses of segments with payload that are in no capture: on the last link, or on an 802.11 channel.
    until_ns : int or None
        Where it was cut off, ns; ``None`` if it is whole.
    """

    name: str
    index: int
    sender: str
    receiver: str
    seen_at: str
    exact: bool
    segments: Segments
    acks: Acks
    sacks: Sacks
    losses: Losses
    unseen: int = 0
    until_ns: int | None = None


def cut(flow: FlowPackets, until_ns: int) -> FlowPackets:
    """Return the part of a flow before a time.

    Parameters
    ----------
    flow : FlowPackets
    until_ns : int

    Returns
    -------
    FlowPackets
    """
    sent = int(np.searchsorted(flow.segments.time_ns, until_ns))
    came = int(np.searchsorted(flow.acks.time_ns, until_ns))
    blocks = int(np.searchsorted(flow.sacks.ack, came))
    lost = int(np.searchsorted(flow.losses.segment, sent))
    return replace(
        flow,
        segments=_first(flow.segments, sent),
        acks=_first(flow.acks, came),
        sacks=_first(flow.sacks, blocks),
        losses=_first(flow.losses, lost),
        until_ns=until_ns,
    )


def _first(table: _Table, count: int) -> _Table:
    return replace(table, **{one.name: getattr(table, one.name)[:count] for one in fields(table)})
