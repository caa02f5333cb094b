"""What follows from a flow's packets: round-trip times and data outstanding, as tcptrace computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from narrows.packets.capture import Integers
    from narrows.packets.tables import FlowPackets


def round_trips(flow: FlowPackets) -> tuple[Integers, Integers]:
    """Return round-trip times: from a segment to the ACK of its last byte, where that ACK answers this segment.

    Parameters
    ----------
    flow : FlowPackets

    Returns
    -------
    (array, array)
        When each ACK arrived, and the time since its segment was sent, ns. Segments without an ACK of their own
        (delayed ACKs) have none; neither have those whose bytes were sent again (Karn's rule), nor those that waited
        at the receiver behind a hole, so that the ACK answers the segment that filled it.
    """
    segments, acks = flow.segments, flow.acks
    ends = segments.seq + segments.length + segments.fin
    fresh = segments.data & ~segments.retransmitted
    again = np.flatnonzero(segments.retransmitted)
    if again.size:
        # First transmissions that a later one overlaps: their ACK may be of either.
        starts = np.sort(segments.seq[again])
        reached = np.maximum.accumulate(ends[again][np.argsort(segments.seq[again])])
        at = np.searchsorted(starts, ends) - 1
        fresh &= ~((at >= 0) & (reached[np.maximum(at, 0)] > segments.seq))
    if not (acks.ack.size and fresh.any()):
        return acks.time_ns[:0], acks.time_ns[:0]
    moved = np.diff(np.maximum.accumulate(acks.ack), prepend=-1) > 0
    moved[1:] &= ~acks.duplicate[:-1]
    sent_ends, sent_ns = ends[fresh], segments.time_ns[fresh]
    order = np.argsort(sent_ends, kind="stable")
    place = np.searchsorted(sent_ends[order], acks.ack)
    chosen = order[np.minimum(place, order.size - 1)]
    known = moved & (sent_ends[chosen] == acks.ack) & (_reported(flow) < acks.ack)
    return acks.time_ns[known], (acks.time_ns - sent_ns[chosen])[known]


def _reported(flow: FlowPackets) -> Integers:
    """Return the highest edge of a SACK block that came before each ACK."""
    edges = np.full(flow.acks.ack.size, -1, dtype=np.int64)
    np.maximum.at(edges, flow.sacks.ack, flow.sacks.right)
    return np.concatenate([[-1], np.maximum.accumulate(edges)[:-1]])


def outstanding(flow: FlowPackets) -> tuple[Integers, Integers]:
    """Return the data outstanding: bytes sent and not yet acknowledged, after each segment and each ACK.

    Parameters
    ----------
    flow : FlowPackets

    Returns
    -------
    (array, array)
        Times in order, ns; bytes from the highest acknowledgement number to behind the highest byte sent. SACK blocks
        do not lessen them.
    """
    segments, acks = flow.segments, flow.acks
    ends = segments.seq + np.maximum(segments.length, segments.syn) + segments.fin
    # What an ACK lets go leaves at the same instant: the ACK comes first.
    times = np.concatenate([acks.time_ns, segments.time_ns])
    order = np.argsort(times, kind="stable")
    sent = np.concatenate([np.full(acks.ack.size, -1), ends])[order]
    acked = np.concatenate([acks.ack, np.full(ends.size, -1)])[order]
    if not order.size:
        return times, times
    return times[order], np.maximum(np.maximum.accumulate(sent) - np.maximum(np.maximum.accumulate(acked), 0), 0)
