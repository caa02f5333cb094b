"""What a TCP flow's sender sent and received, from captures: segments, ACKs, SACK blocks and losses.

Sequence numbers are relative, as tcptrace and Wireshark show them: the SYN has 0, the first byte of data 1. They go on
beyond 2^32.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from narrows.base.errors import InputError
from narrows.packets import capture
from narrows.packets.tables import Acks, FlowPackets, Losses, Sacks, Segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.packets.capture import Capture, Flags, Integers
    from narrows.packets.links import Ends, Links


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
    start = start_of(sent)
    found = _fates(links, hops, index, sent, dropped_first)
    acking = back.only((back.flags & capture.ACK > 0) & (back.flags & capture.RST == 0))
    arrived_ns = links.arrivals(hops[0][::-1], acking)
    order = np.argsort(arrived_ns, kind="stable")
    order = order[arrived_ns[order] <= links.end_ns]
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


def start_of(sent: Capture) -> int:
    """Return the initial sequence number of a direction; where the SYN is missing, that before the first segment.

    Parameters
    ----------
    sent : Capture
        Packets of one direction of a flow, in order of time.

    Returns
    -------
    int
    """
    if not len(sent):
        return 0
    return int(sent.seq[0]) - (0 if sent.flags[0] & capture.SYN else 1)


def relative(numbers: Integers, start: int) -> Integers:
    """Return sequence numbers relative to the initial one, without wrapping at 2^32.

    Parameters
    ----------
    numbers : array
        As in the headers, in order of time.
    start : int

    Returns
    -------
    array

    Examples
    --------
    >>> relative(np.array([2**32 - 1, 0, 1000]), 2**32 - 1).tolist()
    [0, 1, 1001]
    """
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
    seq = relative(sent.seq, start)
    syn = sent.flags & capture.SYN > 0
    # The number before what was sent so far; a SYN takes one number, so that its data would begin at 1.
    end = seq + sent.payload + syn
    reached = np.concatenate([[0], np.maximum.accumulate(end)[:-1]]) if len(sent) else end
    return Segments(
        time_ns=sent.time_ns,
        seq=seq,
        length=sent.payload,
        packet_length=sent.length,
        retransmitted=(sent.payload > 0) & (seq < reached),
        lost=found.lost,
        ce=found.ce,
        cwr=(sent.flags & capture.CWR > 0) & ~syn & (not accurate),
        syn=syn,
        fin=sent.flags & capture.FIN > 0,
    )


def _acks(acking: Capture, time_ns: Integers, start: int, segments: Segments, scale: int, *, accurate: bool) -> Acks:
    ack = relative(acking.ack, start)
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
    return Acks(
        time_ns=time_ns,
        ack=ack,
        window=window,
        duplicate=plain & same & outstanding,
        ecn=ecn,
        packet_length=acking.length,
    )


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
