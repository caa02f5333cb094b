"""The time-sequence graph drawn by matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.report import style
from narrows.report.sequence import KINDS

if TYPE_CHECKING:
    from narrows.packets import FlowPackets
    from narrows.packets.capture import Flags, Integers
    from narrows.report.values import Array, Panel

COLUMNS: Final = 1200
"""Parts of the time within which segments that follow each other are one bar, and ACKs one step."""

MOST_LETTERS: Final = 60
"""Retransmissions up to which each has its letter."""


def draw(ax: Any, panel: Panel, span: tuple[float, float] | None) -> None:
    """Draw the first flow of a panel into axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    panel : Panel
        With flows; its lines give the colours.
    span : (float, float) or None
        The time that is drawn, s; by default all of it.
    """
    flow = panel.flows[0]
    begin, end = span or (0.0, np.inf)
    sent, came = (_within(times, begin, end) for times in (flow.segments.time_ns, flow.acks.time_ns))
    _steps(ax, flow, came, (begin, end))
    _blocks(ax, flow, came, KINDS["SACK block"])
    segments = flow.segments
    time, low = segments.time_ns / 1e9, segments.seq
    high = low + segments.length
    first = sent & segments.data & ~segments.retransmitted
    # A single segment is a wider bar: it is short.
    width = 1.8 if first.sum() <= COLUMNS / 4 else 0.9
    bars = joined(time[first], low[first], high[first], COLUMNS)
    _bars(ax, *bars, KINDS["segment"], width)
    ax.set_title(_title(flow, time[first], len(bars[0])), loc="left", fontweight="bold", pad=3)
    again = sent & segments.retransmitted
    _bars(ax, time[again], low[again], high[again], KINDS["retransmission"], 1.8)
    if again.sum() <= MOST_LETTERS:
        for x, y in zip(time[again], high[again], strict=True):
            ax.annotate(
                "R", (x, y), xytext=(0, 1), textcoords="offset points", ha="center", va="bottom",
                fontsize=6, color=KINDS["retransmission"], annotation_clip=True,
            )  # fmt: skip
    middle = (low + high) / 2
    echo = came & flow.acks.ecn
    _points(ax, time[sent & segments.ce], middle[sent & segments.ce], "D", KINDS["ECN mark or echo"])
    _points(ax, flow.acks.time_ns[echo] / 1e9, flow.acks.ack[echo], "d", KINDS["ECN mark or echo"])
    lost = sent & segments.lost
    _points(ax, time[lost], middle[lost], "x", KINDS["lost"])
    _limits(ax, flow, sent, came)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _title(flow: FlowPackets, time: Array, bars: int) -> str:
    """Return the flow's name, and within which time segments are one bar, if any are."""
    if bars == time.size:
        return flow.name
    return f"{flow.name}; a bar joins segments within {style.duration(round_up((time[-1] - time[0]) / COLUMNS))}"


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


def _bars(ax: Any, time: Array, low: Integers, high: Integers, colour: str, width: float) -> None:
    from matplotlib.collections import LineCollection

    lines = np.stack([np.column_stack([time, low]), np.column_stack([time, high])], axis=1)
    ax.add_collection(LineCollection(list(lines), colors=colour, linewidths=width, capstyle="butt"))


def _points(ax: Any, x: Array, y: Array | Integers, marker: str, colour: str) -> None:
    ax.plot(x, y, linestyle="none", marker=marker, markersize=3, markeredgewidth=0.8, color=colour)


def _steps(ax: Any, flow: FlowPackets, came: Flags, span: tuple[float, float]) -> None:
    """Draw ACKs and the window's right edge; of those in one part of the time, the last."""
    at = np.flatnonzero(came)
    if not at.size:
        return
    time = flow.acks.time_ns[at] / 1e9
    width = max(time[-1] - time[0], 1e-9)
    part = ((time - time[0]) / width * COLUMNS).astype(np.int64)
    at = at[np.append(np.flatnonzero(np.diff(part)), at.size - 1)]
    # The ACK before the drawn time holds until the next one, the last one until its end.
    at = np.concatenate([np.arange(max(0, np.flatnonzero(came)[0] - 1), np.flatnonzero(came)[0]), at])
    end = min(span[1], float(max(flow.acks.time_ns[-1], flow.segments.time_ns[-1])) / 1e9)
    time = np.append(flow.acks.time_ns[at] / 1e9, end)
    ack, edge = (np.append(line[at], line[at[-1]]) for line in (flow.acks.ack, flow.acks.ack + flow.acks.window))
    ax.plot(time, edge, color=KINDS["receiver's window"], linewidth=0.8, drawstyle="steps-post")
    ax.plot(time, ack, color=KINDS["ACK"], linewidth=0.8, drawstyle="steps-post")


def _blocks(ax: Any, flow: FlowPackets, came: Flags, colour: str) -> None:
    sacks = flow.sacks
    kept = np.flatnonzero(came[sacks.ack])
    kept = kept[:: 1 + kept.size // (3 * COLUMNS)]
    _bars(ax, flow.acks.time_ns[sacks.ack[kept]] / 1e9, sacks.left[kept], sacks.right[kept], colour, 0.8)


def _limits(ax: Any, flow: FlowPackets, sent: Flags, came: Flags) -> None:
    """Show segments and ACKs of the drawn time, and the window's edge if it is near them."""
    values = np.concatenate(
        [flow.segments.seq[sent], (flow.segments.seq + flow.segments.length)[sent], flow.acks.ack[came]]
    )
    if not values.size:
        return
    low, high = int(values.min()), int(values.max())
    edge = flow.acks.ack[came] + flow.acks.window[came]
    if edge.size and edge.max() - low < 1.6 * (high - low):
        high = int(edge.max())
    elif edge.size:
        ax.annotate(
            f"↑ receiver's window: to {int(edge[-1]):,}", (0.01, 0.98), xycoords="axes fraction", va="top", fontsize=6.5
        )
    room = 0.06 * (high - low) or 1.0
    ax.set_ylim(low - (room if low > 0 else 0), high + room)
