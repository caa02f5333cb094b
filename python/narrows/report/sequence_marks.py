"""What a time-sequence graph on paper consists of, as values: steps, bars, points and letters.

Programs that draw it (matplotlib, LaTeX) have fewer points than a flow has packets. So packets within one of some parts
of the time share a bar or a step where that changes nothing but the width of a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from narrows.report import style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.packets import FlowPackets
    from narrows.packets.capture import Flags, Integers
    from narrows.report.values import Array

COLUMNS: Final = 1200
"""Parts of the time within which segments that follow each other are one bar, and ACKs one step."""

MOST_LETTERS: Final = 60
"""Retransmissions up to which each has its letter."""

Symbol = Literal["diamond", "thin diamond", "cross"]


@dataclass(frozen=True)
class Steps:
    """A value over time that holds until the next one: the kind of packet, times (s) and values (bytes)."""

    kind: str
    time: Array
    y: Integers


@dataclass(frozen=True)
class Bars:
    """Stretches of sequence numbers: the kind of packet, times (s), both ends (bytes), and width (pt)."""

    kind: str
    time: Array
    low: Integers
    high: Integers
    width: float


@dataclass(frozen=True)
class Points:
    """Single packets: their kind, times (s), sequence numbers, and how they are drawn."""

    kind: str
    time: Array
    y: Array | Integers
    symbol: Symbol


@dataclass(frozen=True)
class Letters:
    """Packets with a letter above them: their kind, times (s) and sequence numbers."""

    kind: str
    letter: str
    time: Array
    y: Integers


@dataclass(frozen=True)
class Marks:
    """The graph of one flow.

    Attributes
    ----------
    title : str
        The flow, and within which time segments are one bar, if any are.
    layers : tuple
        What is drawn, from the back to the front.
    y_range : (float, float) or None
        Sequence numbers that are shown; ``None`` if there is none.
    beyond : str
        What lies above them, in words; empty if nothing does.
    """

    title: str
    layers: tuple[Steps | Bars | Points | Letters, ...]
    y_range: tuple[float, float] | None
    beyond: str


def marks(flow: FlowPackets, span: tuple[float, float] | None, columns: int = COLUMNS) -> Marks:
    """Return the graph of a flow.

    Parameters
    ----------
    flow : FlowPackets
    span : (float, float) or None
        The time that is drawn, s; by default all of it.
    columns : int
        Parts of the time.

    Returns
    -------
    Marks
    """
    begin, end = span or (0.0, np.inf)
    sent, came = (_within(times, begin, end) for times in (flow.segments.time_ns, flow.acks.time_ns))
    segments = flow.segments
    time, low = segments.time_ns / 1e9, segments.seq
    high = low + segments.length
    first = sent & segments.data & ~segments.retransmitted
    bars = joined(time[first], low[first], high[first], columns)
    again = sent & segments.retransmitted
    middle = (low + high) / 2
    ce, lost, echo = sent & segments.ce, sent & segments.lost, came & flow.acks.ecn
    layers: list[Steps | Bars | Points | Letters] = [
        *_steps(flow, came, (begin, end), columns),
        _blocks(flow, came, columns),
        # A single segment is a wider bar: it is short.
        Bars("segment", *bars, 1.8 if first.sum() <= columns / 4 else 0.9),
        Bars("retransmission", time[again], low[again], high[again], 1.8),
        *([Letters("retransmission", "R", time[again], high[again])] if again.sum() <= MOST_LETTERS else []),
        Points("ECN mark or echo", time[ce], middle[ce], "diamond"),
        Points("ECN mark or echo", flow.acks.time_ns[echo] / 1e9, flow.acks.ack[echo], "thin diamond"),
        Points("lost", time[lost], middle[lost], "cross"),
    ]
    return Marks(_title(flow, time[first], len(bars[0]), columns), tuple(layers), *_shown(flow, sent, came))


def sparse(made: Marks, columns: int) -> Marks:
    """Leave out bars and points that others hide: of those in one cell of the drawing, the first stays.

    Parameters
    ----------
    made : Marks
    columns : int
        Parts of the time and of the shown sequence numbers, whose product is the number of cells.

    Returns
    -------
    Marks
    """
    if made.y_range is None:
        return made
    low, high = made.y_range

    def rows(values: Array | Integers) -> Integers:
        return ((values - low) / (high - low) * columns).astype(np.int64)

    layers: list[Steps | Bars | Points | Letters] = []
    for layer in made.layers:
        if isinstance(layer, Steps | Letters) or not layer.time.size:
            layers.append(layer)
            continue
        part = np.searchsorted(np.linspace(layer.time.min(), layer.time.max(), columns), layer.time)
        ends = (layer.y,) if isinstance(layer, Points) else (layer.low, layer.high)
        _, kept = np.unique(np.column_stack([part, *map(rows, ends)]), axis=0, return_index=True)
        kept.sort()
        if isinstance(layer, Points):
            layers.append(replace(layer, time=layer.time[kept], y=layer.y[kept]))
        else:
            layers.append(replace(layer, time=layer.time[kept], low=layer.low[kept], high=layer.high[kept]))
    return replace(made, layers=tuple(layers))


def _title(flow: FlowPackets, time: Array, bars: int, columns: int) -> str:
    if bars == time.size:
        return flow.name
    return f"{flow.name}; a bar joins segments within {style.duration(round_up((time[-1] - time[0]) / columns))}"


def round_up(seconds: float) -> float:
    """Return a time rounded up to two digits.

    >>> round_up(0.0101), round_up(0.05)
    (0.011, 0.05)
    """
    digits = 1 - math.floor(math.log10(seconds))
    scale = 10.0**digits
    return math.ceil(round(seconds * scale, 6)) / scale


def _within(times_ns: Integers, begin: float, end: float) -> Flags:
    return (times_ns >= begin * 1e9) & (times_ns <= end * 1e9)


def joined(time: Array, low: Integers, high: Integers, columns: int) -> tuple[Array, Integers, Integers]:
    """Join bars that are in one part of the time and follow each other without a gap.

    Parameters
    ----------
    time, low, high : array
        Times in order, and both ends of each bar.
    columns : int
        Parts of the time.

    Returns
    -------
    (array, array, array)
        Times, lower and upper ends.

    Examples
    --------
    >>> import numpy as np
    >>> made = joined(np.array([0.0, 0.1, 0.9]), np.array([1, 3, 5]), np.array([3, 5, 7]), 2)
    >>> [column.tolist() for column in made]
    [[0.0, 0.9], [1, 5], [5, 7]]
    """
    if time.size <= 1 or time[-1] <= time[0]:
        return time, low, high
    part = ((time - time[0]) / (time[-1] - time[0]) * columns).astype(np.int64)
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(part) != 0) | (low[1:] != high[:-1])]))
    ends = np.append(starts[1:], time.size) - 1
    return time[starts], low[starts], high[ends]


def _steps(flow: FlowPackets, came: Flags, span: tuple[float, float], columns: int) -> Iterator[Steps]:
    """Yield the window's right edge and the ACKs; of those in one part of the time, the last."""
    at = np.flatnonzero(came)
    if not at.size:
        return
    time = flow.acks.time_ns[at] / 1e9
    width = max(time[-1] - time[0], 1e-9)
    part = ((time - time[0]) / width * columns).astype(np.int64)
    at = at[np.append(np.flatnonzero(np.diff(part)), at.size - 1)]
    # The ACK before the drawn time holds until the next one, the last one until its end.
    at = np.concatenate([np.arange(max(0, np.flatnonzero(came)[0] - 1), np.flatnonzero(came)[0]), at])
    end = min(span[1], float(max(flow.acks.time_ns[-1], flow.segments.time_ns[-1])) / 1e9)
    time = np.append(flow.acks.time_ns[at] / 1e9, end)
    for kind, values in (("receiver's window", flow.acks.ack + flow.acks.window), ("ACK", flow.acks.ack)):
        yield Steps(kind, time, np.append(values[at], values[at[-1]]))


def _blocks(flow: FlowPackets, came: Flags, columns: int) -> Bars:
    sacks = flow.sacks
    kept = np.flatnonzero(came[sacks.ack])
    kept = kept[:: 1 + kept.size // (3 * columns)]
    time = flow.acks.time_ns[sacks.ack[kept]] / 1e9
    return Bars("SACK block", time, sacks.left[kept], sacks.right[kept], 0.8)


def _shown(flow: FlowPackets, sent: Flags, came: Flags) -> tuple[tuple[float, float] | None, str]:
    """Return the range of segments and ACKs of the drawn time, with the window's edge if it is near them."""
    values = np.concatenate(
        [flow.segments.seq[sent], (flow.segments.seq + flow.segments.length)[sent], flow.acks.ack[came]]
    )
    if not values.size:
        return None, ""
    low, high = int(values.min()), int(values.max())
    edge = flow.acks.ack[came] + flow.acks.window[came]
    beyond = ""
    if edge.size and edge.max() - low < 1.6 * (high - low):
        high = int(edge.max())
    elif edge.size:
        beyond = f"receiver's window: to {int(edge[-1]):,}"
    room = 0.06 * (high - low) or 1.0
    return (low - (room if low > 0 else 0), high + room), beyond
