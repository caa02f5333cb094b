"""The time-sequence graph of TCP flows, as tcptrace draws it: segments, ACKs, SACK blocks, windows, losses.

A page contains the packets themselves, so that it can be zoomed to single segments: a column of differences each, as
deflated bytes. A segment of a steady flow takes half a byte so.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.base.errors import InputError
from narrows.packets import Links, of_flow, tcp_flows
from narrows.packets.tables import cut
from narrows.report.values import TIME, Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.outcome.outcome import Outcome
    from narrows.packets import FlowPackets
    from narrows.packets.capture import Integers

NAME: Final = "time-sequence"
"""Name of the figure."""

KINDS: Final = {
    "segment": "#0072B2",
    "retransmission": "#D55E00",
    "lost": "#D81B4A",
    "ACK": "#009E73",
    "receiver's window": "#E69F00",
    "SACK block": "#CC79A7",
    "ECN mark or echo": "#56B4E9",
}
"""What is drawn, with its colour; tcptrace's are white, red, none, green, yellow, purple and none."""

MOST_BYTES: Final = 250_000
"""Bytes that the packets of all flows take in a page."""

CROWD: Final = 13
"""TCP flows from which on the other figures fill the page."""

CROWD_BYTES: Final = 42_000
"""Bytes that the packets of all flows take in such a page."""

MOST_FLOWS: Final = 24
"""Flows of a page that can be chosen."""

MOST_CAPTURED: Final = 1 << 30
"""Bytes of a link's capture up to which a page is made from it: some 20 s of reading, and 2 GB of memory."""

_LOST, _CE, _CWR, _SYN, _FIN, _RETRANSMITTED = 1, 2, 4, 8, 16, 32
_DUPLICATE, _ECHO = 1, 2


def figures(outcome: Outcome) -> list[Figure]:
    """Return the time-sequence graph for a page: of the flows of the first run, as many as there is room for.

    Parameters
    ----------
    outcome : Run or Batch

    Returns
    -------
    list of Figure
        Empty if the run has no captures, or they are too large for a page.

    Raises
    ------
    InputError
        If a capture cannot be read.
    """
    run = outcome.runs[0]
    if run.captures is None or not run.captures.is_dir():
        return []
    links = Links(run)
    known = tcp_flows(links)
    names = [name for name in known if links.whole(name) and links.size(name) <= MOST_CAPTURED]
    crowded = len(known) >= CROWD
    if crowded:
        # The first flow of each congestion control, with as much room each.
        controls = outcome.scenario.congestion_controls()
        names = list({controls.get(name): name for name in reversed(names)}.values())[::-1]
    flows: list[FlowPackets] = []
    used = 0
    for name in names[:MOST_FLOWS]:
        room = CROWD_BYTES // len(names) if crowded else MOST_BYTES - used
        flow, size = _fitting(of_flow(links, name), room)
        if flow is None:
            break
        flows.append(flow)
        used += size
    if not flows:
        return []
    return [_figure(outcome, flows, len(known) - len(flows), (0.0, outcome.scenario.duration_s))]


def figure(outcome: Outcome, flow: str | None = None, between: tuple[float, float] | None = None) -> Figure:
    """Return the time-sequence graph of one flow.

    Parameters
    ----------
    outcome : Run or Batch
        Of a batch, the first run is drawn.
    flow : str, optional
        By default the first TCP flow.
    between : (float, float), optional
        Part of the time, s; by default all of it.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If the run has no captures, or no such TCP flow.
    """
    links = Links(outcome.runs[0])
    known = tcp_flows(links)
    if not known:
        message = f"{outcome.scenario.name}: no TCP flow passes a wired link, so there is no time-sequence graph"
        raise InputError(message)
    packets = of_flow(links, known[0] if flow is None else flow)
    return _figure(outcome, [packets], 0, between or (0.0, outcome.scenario.duration_s))


def _figure(outcome: Outcome, flows: Sequence[FlowPackets], left_out: int, span: tuple[float, float]) -> Figure:
    first = flows[0]
    caption = "The first run. " if len(outcome.runs) > 1 else ""
    caption += (
        "As tcptrace draws it: a bar for each segment when it left the sender, the ACKs that arrived there as a step, "
        "the right edge of the receiver's window above, and the SACK blocks of each ACK. Sequence numbers are "
        "relative: the SYN has 0. x: lost; R: retransmission; C: CWR; diamond: marked CE on the way, or an ACK that "
        "echoes a mark."
    )
    if left_out:
        which = "" if len(flows) + left_out < CROWD else " Drawn is the first flow of each congestion control."
        caption += f"{which} {left_out} more TCP flows are not drawn; narrows export --to xplot writes all."
    # Lines without values give the legend and its switches; the drawing is made from the packets.
    x = np.array(span)
    shown = [name for name in KINDS if any(_has(flow, name) for flow in flows)]
    lines = tuple(Line(name, x, np.full(2, np.nan), KINDS[name]) for name in shown)
    panel = Panel("Sequence number (bytes)", lines, title=first.name if len(flows) == 1 else "", flows=tuple(flows))
    return Figure(NAME, "Time-sequence graph", caption, TIME, (panel,), panel_in=3.2, x_range=span)


def _has(flow: FlowPackets, kind: str) -> bool:
    segments = flow.segments
    found = {
        "retransmission": segments.retransmitted.any(),
        "lost": segments.lost.any(),
        "SACK block": flow.sacks.ack.size,
        "ECN mark or echo": segments.ce.any() or segments.cwr.any() or flow.acks.ecn.any(),
    }
    return bool(found.get(kind, True))


def note(flow: FlowPackets) -> str:
    """Return what a reader has to know of a flow's graph: where it was captured, and how much of it is drawn.

    Parameters
    ----------
    flow : FlowPackets

    Returns
    -------
    str
    """
    segments = flow.segments
    sent, again, lost = (int(mask.sum()) for mask in (segments.data, segments.retransmitted, segments.lost))
    marks = int(segments.ce.sum())
    parts = [
        f"{flow.name}: {sent:,} segments with data from {flow.sender} to {flow.receiver}, captured at "
        f"{flow.seen_at.replace('->', ' → ')}",
        f"{again:,} retransmissions",
        f"{lost:,} lost",
        f"{len(flow.acks.ack):,} ACKs with {len(flow.sacks.ack):,} SACK blocks",
    ]
    if marks:
        parts.append(f"{marks:,} marked CE")
    text = ", ".join(parts) + "."
    if flow.until_ns is not None:
        text += f" Only the first {flow.until_ns / 1e9:,.4g} s are drawn; narrows export --to xplot writes all."
    if not flow.exact:
        text += " The link has jitter or follows a trace: ACKs are drawn at their earliest or mean time."
    if flow.unseen:
        text += f" {flow.unseen:,} further losses, on the last link or channel to {flow.receiver}, are in no capture."
    return text


def _fitting(flow: FlowPackets, room: int) -> tuple[FlowPackets | None, int]:
    """Return a flow, cut in time if it takes more bytes than there is room for; ``None`` if too little is left."""
    size = len(packed(flow))
    until = int(flow.segments.time_ns[-1]) if flow.segments.time_ns.size else 0
    begin = int(flow.segments.time_ns[0]) if flow.segments.time_ns.size else 0
    part = flow
    while size > room:
        until = begin + int((until - begin) * 0.9 * room / size)
        part = cut(flow, until)
        if part.segments.time_ns.size < min(100, flow.segments.time_ns.size):
            return None, 0
        size = len(packed(part))
    return part, size


def described(flows: Sequence[FlowPackets]) -> list[dict[str, Any]]:
    """Return flows as `sequence.js` reads them.

    Parameters
    ----------
    flows : sequence of FlowPackets

    Returns
    -------
    list of dict
        ``name``, ``note``; ``unit``: seconds per unit of time; ``counts`` of segments, ACKs, SACK blocks and losses;
        ``packed``: their columns; ``reasons`` of losses.
    """
    return [
        {
            "name": flow.name,
            "note": note(flow),
            "unit": _unit_ns(flow) / 1e9,
            "counts": [len(part) for part in (flow.segments.seq, flow.acks.ack, flow.sacks.ack, flow.losses.segment)],
            "reasons": list(dict.fromkeys(_reasons(flow))),
            "packed": packed(flow),
        }
        for flow in flows
    ]


def _reasons(flow: FlowPackets) -> list[str]:
    pairs = zip(flow.losses.where, flow.losses.why, strict=True)
    return [f"{why.partition(',')[0]} ({where.replace('->', ' → ')})" for where, why in pairs]


def _unit_ns(flow: FlowPackets) -> int:
    """Return the unit of times: 1 µs, or as much as lets differences fit in 31 bits."""
    latest = max((int(times[-1]) for times in (flow.segments.time_ns, flow.acks.time_ns) if times.size), default=0)
    return 1000 * (1 + latest // 2_000_000_000_000)


def packed(flow: FlowPackets) -> str:
    """Return the columns of a flow's packets, each as differences of 4 bytes, deflated, in base64.

    The bytes of a column are in four planes, the lowest first: then most of them are zeros in a row.

    Parameters
    ----------
    flow : FlowPackets

    Returns
    -------
    str
        Columns of segments: time, sequence number above the end of the one before, length, flags; of ACKs: time,
        number, window, flags; of SACK blocks: ACK, left edge above its number, length, whether a D-SACK; of losses:
        segment, time after it (-1 without one), place in ``reasons``.
    """
    segments, acks, sacks, losses = flow.segments, flow.acks, flow.sacks, flow.losses
    unit = _unit_ns(flow)
    end = np.concatenate([[0], (segments.seq + segments.length)[:-1]]) if segments.seq.size else segments.seq
    flags = (
        segments.lost * _LOST
        + segments.ce * _CE
        + segments.cwr * _CWR
        + segments.syn * _SYN
        + segments.fin * _FIN
        + segments.retransmitted * _RETRANSMITTED
    )
    reasons = _reasons(flow)
    places = {reason: place for place, reason in enumerate(dict.fromkeys(reasons))}
    sent_ns = segments.time_ns[losses.segment]
    columns: list[Integers] = [
        segments.time_ns // unit,
        segments.seq - end,
        segments.length,
        flags,
        acks.time_ns // unit,
        acks.ack,
        acks.window,
        acks.duplicate * _DUPLICATE + acks.ecn * _ECHO,
        sacks.ack,
        sacks.left - acks.ack[sacks.ack],
        sacks.right - sacks.left,
        sacks.duplicate.astype(np.int64),
        losses.segment,
        np.where(losses.time_ns < 0, -1, (losses.time_ns - sent_ns) // unit),
        np.array([places[reason] for reason in reasons], dtype=np.int64),
    ]
    planes = (np.diff(column, prepend=0).astype("<i4").view(np.uint8).reshape(-1, 4).T for column in columns)
    return base64.b64encode(zlib.compress(b"".join(plane.tobytes() for plane in planes), 9)).decode("ascii")
