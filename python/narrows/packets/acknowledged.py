"""Which transmissions an ACK acknowledges, and which a retransmission gives up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.packets.tables import FlowPackets


@dataclass(frozen=True, slots=True)
class Sent:
    """A transmission.

    Attributes
    ----------
    segment : int
        Its index among the segments.
    gave_up : tuple of int
        Earlier transmissions of the same bytes that this one repeats, by their index.
    """

    segment: int
    gave_up: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Came:
    """An ACK.

    Attributes
    ----------
    ack : int
        Its index among the ACKs.
    segments : tuple of int
        Transmissions that it is the first to acknowledge, by number or by a SACK block, in order. Of bytes that were
        sent several times, the last transmission: TCP does not say which arrived.
    """

    ack: int
    segments: tuple[int, ...]


def exchange(flow: FlowPackets) -> Iterator[Sent | Came]:
    """Yield the transmissions and ACKs of a flow in order of time.

    Parameters
    ----------
    flow : FlowPackets

    Yields
    ------
    Sent or Came
    """
    segments, acks, sacks = flow.segments, flow.acks, flow.sacks
    ends = segments.seq + np.maximum(segments.length, segments.syn) + segments.fin
    fresh = np.flatnonzero(~segments.retransmitted)
    # First transmissions are in the order of their numbers, but for a SYN or FIN that is sent again.
    starts = np.maximum.accumulate(segments.seq[fresh]) if fresh.size else segments.seq
    finish = ends[fresh].tolist()
    latest = [-1] * fresh.size  # the last transmission of each; -1 before the first
    acknowledged = [False] * fresh.size
    place = {segment: number for number, segment in enumerate(fresh.tolist())}
    blocks = np.searchsorted(sacks.ack, np.arange(acks.ack.size + 1)).tolist()
    base = 0
    # What an ACK lets go leaves at the same instant: the ACK comes first.
    times = np.concatenate([acks.time_ns, segments.time_ns])
    for ack in np.argsort(times, kind="stable").tolist():
        segment = ack - acks.ack.size
        if segment >= 0:
            covered = [place[segment]] if segment in place else _covered(starts, segments.seq[segment], ends[segment])
            gave_up = tuple(dict.fromkeys(latest[one] for one in covered if latest[one] >= 0))
            for one in covered:
                latest[one] = segment
            yield Sent(segment, gave_up)
            continue
        number = int(acks.ack[ack])
        found = []
        while base < len(finish) and latest[base] >= 0 and finish[base] <= number:
            if not acknowledged[base]:
                acknowledged[base] = True
                found.append(latest[base])
            base += 1
        for block in range(blocks[ack], blocks[ack + 1]):
            right = int(sacks.right[block])
            for one in _covered(starts, sacks.left[block], right):
                if one >= base and not acknowledged[one] and latest[one] >= 0 and finish[one] <= right:
                    acknowledged[one] = True
                    found.append(latest[one])
        yield Came(ack, tuple(sorted(set(found))))


def _covered(starts: np.ndarray, left: int, right: int) -> range:
    """Return the first transmissions that begin in a range of sequence numbers."""
    return range(int(np.searchsorted(starts, left)), int(np.searchsorted(starts, right)))
