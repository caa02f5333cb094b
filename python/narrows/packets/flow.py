"""What a TCP flow's sender sent and received, from captures: segments, ACKs, SACK blocks and losses.

Sequence numbers are relative, as tcptrace and Wireshark show them: the SYN has 0, the first byte of data 1. They go on
beyond 2^32.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from narrows.base.errors import InputError
from narrows.packets import capture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.packets.capture import Capture, Flags, Integers
    from narrows.packets.links import Ends, Links


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments with payload, SYN or FIN that the sender sent, in order of time; an array for each attribute.

    Attributes
    ----------
    time_ns : array
        When its transmission on the sender's link started, ns; of one that the sender's own queue dropped, when that
        happened.
    seq, length : array
        Relative sequence number; bytes of payload.
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
    ecn : array
        Whether it reports a congestion mark: ECE of RFC 3168 and DCTCP, a changed counter of AccECN (RFC 9768).
    """

    time_ns: Integers
    ack: Integers
    window: Integers
    duplicate: Flags
    ecn: Flags


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


def tcp_flows(links: Links) -> list[str]:
    """Return the names of the scenario's TCP flows whose packets pass a wired link.

    Parameters
    ----------
    links : Links

    Returns
    -------
    list of str
    """
    return [flow.name for flow in links.scenario.resolved.flows if flow.tcp is not None and links.paths[flow.name]]


def of_flow(links: Links, name: str) -> FlowPackets:
    """Return what a flow's sender sent and received.

    Parameters
    ----------
    links : Links
    name : str
        A TCP flow of the scenario.

    Returns
    -------
    FlowPackets

    Raises
    ------
    InputError
        If there is no such TCP flow, no wired link on its path, or a capture cannot be read.
    """
    known = tcp_flows(links)
    if name not in known:
        message = f"flow is {name!r}; allowed: {', '.join(known) or 'none: no TCP flow passes a wired link'}"
        raise InputError(message)
    index = next(i for i, flow in enumerate(links.scenario.resolved.flows) if flow.name == name)
    ends = links.scenario.resolved.flows[index]
    path, hops = (ends.source, ends.sink), links.paths[name]
    there = _only(links.sent(hops[0]), index)
    back = _only(links.sent(hops[0][::-1]), index)
    if _payload(back) > _payload(there):
        path, hops = path[::-1], [pair[::-1] for pair in hops[::-1]]
        there, back = _only(links.sent(hops[0]), index), _only(links.sent(hops[0][::-1]), index)
    sent, dropped_first = _sent(links, hops[0], index, there)
    start = _start(sent)
    found = _fates(links, hops, index, sent, dropped_first)
    acking = back.only((back.flags & capture.ACK > 0) & (back.flags & capture.RST == 0))
    arrived_ns = links.arrivals(hops[0][::-1], acking)
    order = np.argsort(arrived_ns, kind="stable")
    acking, arrived_ns = acking.take(order), arrived_ns[order]
    segments = _segments(sent, start, found, accurate=_accurate(sent, back))
    acks = _acks(acking, arrived_ns, start, segments, _scale(sent, back), accurate=_accurate(sent, back))
    # Of the metrics, losses of the direction that carries the data.
    lost = int(np.count_nonzero(segments.lost & segments.data))
    unseen = max(0, int(links.lost_packets(name)) - lost)
    return FlowPackets(
        name=name,
        index=index,
        sender=path[0],
        receiver=path[-1],
        seen_at="->".join(hops[0]),
        exact=links.exact(hops[0][::-1]),
        segments=segments,
        acks=acks,
        sacks=_sacks(acking, acks, start),
        losses=found.losses,
        unseen=unseen,
    )


@dataclass(frozen=True, slots=True)
class _Fates:
    """Which segments were lost, and which came to the last link with a mark."""

    losses: Losses
    lost: Flags
    ce: Flags


def _only(packets: Capture, flow: int) -> Capture:
    return packets.only((packets.flow == flow) & ~packets.udp)


def _payload(packets: Capture) -> int:
    return int(packets.payload.sum())


def _sent(links: Links, hop: Ends, flow: int, left: Capture) -> tuple[Capture, Flags]:
    """Return what the sender sent, and which of it its own queue dropped."""
    drops = links.dropped(hop)
    whole = left if drops is None else capture.joined(left, _only(drops, flow))
    dropped = np.arange(len(whole)) >= len(left)
    carrying = (whole.payload > 0) | (whole.flags & (capture.SYN | capture.FIN) > 0)
    at = np.flatnonzero(carrying & (whole.flags & capture.RST == 0))
    at = at[np.argsort(whole.time_ns[at], kind="stable")]
    return whole.take(at), dropped[at]


def _start(sent: Capture) -> int:
    """Return the initial sequence number; where the SYN is missing, that before the first segment."""
    if not len(sent):
        return 0
    return int(sent.seq[0]) - (0 if sent.flags[0] & capture.SYN else 1)


def _relative(numbers: Integers, start: int) -> Integers:
    """Return sequence numbers relative to the first one, without wrapping at 2^32."""
    steps = np.diff(numbers, prepend=start)
    return np.cumsum((steps + 2**31) % 2**32 - 2**31)


def _accurate(sent: Capture, back: Capture) -> bool:
    """Return whether the handshake agreed on AccECN (RFC 9768, section 3.1.1)."""
    three = capture.AE | capture.CWR | capture.ECE
    offers, answers = (side.flags[side.flags & capture.SYN > 0] & three for side in (sent, back))
    if not (offers.size and answers.size):
        return False
    first, second = int(offers[0]), int(answers[0])
    agreed = {capture.CWR, capture.CWR | capture.ECE, capture.AE, capture.AE | capture.CWR}
    return (first == three and second in agreed) or (second == three and first in agreed)


def _scale(sent: Capture, back: Capture) -> int:
    """Return the shift of the windows that come back; 0 unless both ends sent the option (RFC 7323)."""
    scales = [side.scale[(side.flags & capture.SYN > 0) & (side.scale >= 0)] for side in (sent, back)]
    return int(scales[1][0]) if all(one.size for one in scales) else 0


def _matched(sent: Capture, seen: Capture, taken: set[int]) -> list[int]:
    """Return for each packet that was seen the last one sent before that it can be, or -1; `taken` ones are not."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, identity in enumerate(sent.identity.tolist()):
        places[identity].append(place)
    made = []
    times = sent.time_ns.tolist()
    for identity, time_ns in zip(seen.identity.tolist(), seen.time_ns.tolist(), strict=True):
        candidates = (place for place in reversed(places.get(identity, ())) if times[place] <= time_ns)
        place = next((one for one in candidates if one not in taken), -1)
        if place >= 0:
            taken.add(place)
        made.append(place)
    return made


def _fates(links: Links, hops: Sequence[Ends], flow: int, sent: Capture, dropped_first: Flags) -> _Fates:
    """Follow the segments to the last link: those that a queue dropped, those that vanished, those with a mark."""
    rows = [
        (place, int(sent.time_ns[place]), "->".join(hops[0]), sent.comments.get(place, "dropped"))
        for place in np.flatnonzero(dropped_first).tolist()
    ]
    taken = {row[0] for row in rows}
    for hop in hops[1:]:
        drops = links.dropped(hop)
        if drops is None:
            continue
        drops = _only(drops, flow)
        for number, place in enumerate(_matched(sent, drops, taken)):
            if place >= 0:
                rows.append((place, int(drops.time_ns[number]), "->".join(hop), drops.comments.get(number, "dropped")))
    ce = (sent.ecn == capture.CE) & ~dropped_first
    if len(hops) > 1:
        dropped = set(taken)
        last = _only(links.sent(hops[-1]), flow)
        places = np.array(_matched(sent, last, taken), dtype=np.int64)
        ce[places[(places >= 0) & (last.ecn == capture.CE)]] = True
        arrived = set(places.tolist())
        # What was sent after the last segment that came through may still be under way at the end.
        unseen = set(range(max(arrived, default=-1))) - arrived - dropped
        rows += [(place, -1, "on the way", "lost between two links") for place in unseen]
    rows.sort()
    segment = np.array([row[0] for row in rows], dtype=np.int64)
    lost = np.zeros(len(sent), dtype=bool)
    lost[segment] = True
    times = np.array([row[1] for row in rows], dtype=np.int64)
    return _Fates(Losses(segment, times, tuple(row[2] for row in rows), tuple(row[3] for row in rows)), lost, ce)


def _segments(sent: Capture, start: int, found: _Fates, *, accurate: bool) -> Segments:
    seq = _relative(sent.seq, start)
    syn = sent.flags & capture.SYN > 0
    # The number before what was sent so far; a SYN takes one number, so that its data would begin at 1.
    end = seq + sent.payload + syn
    reached = np.concatenate([[0], np.maximum.accumulate(end)[:-1]]) if len(sent) else end
    return Segments(
        time_ns=sent.time_ns,
        seq=seq,
        length=sent.payload,
        retransmitted=(sent.payload > 0) & (seq < reached),
        lost=found.lost,
        ce=found.ce,
        cwr=(sent.flags & capture.CWR > 0) & ~syn & (not accurate),
        syn=syn,
        fin=sent.flags & capture.FIN > 0,
    )


def _acks(acking: Capture, time_ns: Integers, start: int, segments: Segments, scale: int, *, accurate: bool) -> Acks:
    ack = _relative(acking.ack, start)
    syn = acking.flags & capture.SYN > 0
    end = segments.seq + segments.length + segments.fin
    sent = np.maximum.accumulate(end) if end.size else end
    before = np.searchsorted(segments.time_ns, time_ns)
    outstanding = (before > 0) & (sent[np.maximum(before, 1) - 1] > ack) if end.size else np.zeros(ack.size, dtype=bool)
    plain = (acking.payload == 0) & (acking.flags & (capture.SYN | capture.FIN) == 0)
    same = np.zeros(ack.size, dtype=bool)
    same[1:] = (np.diff(ack) == 0) & (np.diff(acking.window) == 0)
    if accurate:
        counter = (acking.flags >> 6 & 7)[~syn]
        ecn = np.zeros(ack.size, dtype=bool)
        ecn[~syn] = np.diff(counter, prepend=5) != 0
    else:
        ecn = (acking.flags & capture.ECE > 0) & ~syn
    window = np.where(syn, acking.window, acking.window << scale)
    return Acks(time_ns=time_ns, ack=ack, window=window, duplicate=plain & same & outstanding, ecn=ecn)


def _sacks(acking: Capture, acks: Acks, start: int) -> Sacks:
    owner = acking.sack_packet
    # Edges are within 2^31 of the acknowledgement number that they come with.
    reference = acks.ack[owner]

    def edge(numbers: Integers) -> Integers:
        return reference + (numbers - start - reference + 2**31) % 2**32 - 2**31

    left, right = edge(acking.sack_left), edge(acking.sack_right)
    first = np.ones(owner.size, dtype=bool)
    first[1:] = owner[1:] != owner[:-1]
    inside = np.zeros(owner.size, dtype=bool)
    inside[:-1] = ~first[1:] & (left[:-1] >= left[1:]) & (right[:-1] <= right[1:])
    return Sacks(ack=owner, left=left, right=right, duplicate=first & ((right <= reference) | inside))
