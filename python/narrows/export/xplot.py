"""Graphs of flows for xplot and jPlot, as tcptrace writes them: ``_tsg.xpl``, ``_rtt.xpl`` and ``_owin.xpl``.

A file is text: the types of both axes, title and labels, then drawing commands one a line, a colour before those that
it is for, and ``go``. Times are seconds since the start of the run and sequence numbers relative, as with
``tcptrace -zxy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from narrows.base.errors import InputError
from narrows.export.stream import opened
from narrows.packets import Links, of_flow, tcp_flows
from narrows.packets.measured import outstanding, round_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from narrows.outcome import Run
    from narrows.packets import FlowPackets
    from narrows.packets.capture import Integers

GRAPHS: Final = ("tsg", "rtt", "owin")
"""Time-sequence graph, round-trip times, outstanding data; tcptrace's endings of file names."""


def write(result: Run, out: str | PathLike[str] | TextIO, flow: str | None = None, graph: str = "tsg") -> None:
    """Write a graph of a flow.

    Parameters
    ----------
    result : Run
        With captured packets.
    out : path or text stream
        File ending in ``.xpl``, or a stream.
    flow : str, optional
        By default the first TCP flow.
    graph : {"tsg", "rtt", "owin"}
        Time-sequence graph, round-trip times, or outstanding data.

    Raises
    ------
    InputError
        If the run has no captures, or no such TCP flow or graph.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io, tempfile
    >>> import narrows as nw
    >>> out = io.StringIO()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"}, pcap=folder)
    ...     write(run, out, "first")
    >>> out.getvalue().splitlines()[:3]
    ['dtime signed', 'title', 'first: s1_==>_d1 (time sequence graph)']
    """
    if graph not in GRAPHS:
        message = f"graph is {graph!r}; allowed: {', '.join(GRAPHS)}"
        raise InputError(message)
    links = Links(result)
    known = tcp_flows(links)
    if flow is None and not known:
        message = f"{result.scenario.name}: no TCP flow passes a wired link; xplot graphs are of TCP flows"
        raise InputError(message)
    write_flow(of_flow(links, known[0] if flow is None else flow), out, graph)


def write_flow(flow: FlowPackets, out: str | PathLike[str] | TextIO, graph: str = "tsg") -> None:
    """Write a graph of a flow whose packets have been read.

    Parameters
    ----------
    flow : FlowPackets
    out, graph
        As for `write`.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    lines, title, label = _GRAPHS[graph]
    with opened(out) as file:
        file.write(f"dtime signed\ntitle\n{flow.name}: {flow.sender}_==>_{flow.receiver} ({title})\n")
        file.write(f"xlabel\ntime\nylabel\n{label}\n")
        for line in lines(flow):
            file.write(f"{line}\n")
        file.write("go\n")


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.9f}"


def _time_sequence(flow: FlowPackets) -> Iterator[str]:
    yield from _acks(flow)
    yield from _blocks(flow)
    yield from _segments(flow)
    yield from _lost(flow)


def _acks(flow: FlowPackets) -> Iterator[str]:
    """Yield the steps of ACKs and of the window's right edge, a tick for each ACK, and marks that ACKs echo."""
    acks = flow.acks
    edge = acks.ack + acks.window
    rows = zip(
        acks.time_ns.tolist(), acks.ack.tolist(), edge.tolist(), acks.duplicate.tolist(), acks.ecn.tolist(), strict=True
    )
    before: tuple[str, int, int] | None = None
    in_a_row = 0
    for time_ns, ack, right, duplicate, ecn in rows:
        now = _seconds(time_ns)
        in_a_row = in_a_row + 1 if duplicate else 0
        yield "green"
        if before is not None:
            then, last, _ = before
            yield f"line {then} {last} {now} {last}"
            if ack != last:
                yield f"line {now} {last} {now} {ack}"
        yield f"dtick {now} {ack}" if duplicate or before is None else f"utick {now} {ack}"
        if in_a_row == 3:
            yield f"atext {now} {ack}\n3"
        if ecn:
            yield f"diamond {now} {ack}"
        yield "yellow"
        if before is not None:
            then, _, last = before
            yield f"line {then} {last} {now} {last}"
            if right != last:
                yield f"line {now} {last} {now} {right}"
        yield f"utick {now} {right}"
        before = now, ack, right


def _blocks(flow: FlowPackets) -> Iterator[str]:
    sacks = flow.sacks
    yield "purple"
    times = flow.acks.time_ns[sacks.ack].tolist()
    rows = zip(times, sacks.left.tolist(), sacks.right.tolist(), sacks.duplicate.tolist(), strict=True)
    for time_ns, left, right, duplicate in rows:
        now = _seconds(time_ns)
        yield f"line {now} {left} {now} {right}"
        yield f"htick {now} {left}"
        yield f"htick {now} {right}"
        if duplicate:
            yield f"ltext {now} {right}\nD"


def _segments(flow: FlowPackets) -> Iterator[str]:
    segments = flow.segments
    rows = zip(
        *(column.tolist() for column in (segments.time_ns, segments.seq, segments.length, segments.retransmitted)),
        *(column.tolist() for column in (segments.syn, segments.fin, segments.ce, segments.cwr)),
        strict=True,
    )
    colour = ""
    for time_ns, seq, length, again, syn, fin, ce, cwr in rows:
        now, end = _seconds(time_ns), seq + length + syn + fin
        wanted = "red" if again else "orange" if syn or fin else "white"
        if wanted != colour:
            colour = wanted
            yield colour
        yield f"darrow {now} {seq}"
        yield f"line {now} {seq} {now} {end}"
        yield f"uarrow {now} {end}"
        for told, text in ((again, "R"), (syn, "SYN"), (fin, "FIN"), (cwr, "CWR"), (ce, "CE")):
            if told:
                yield f"atext {now} {end}\n{text}"


def _lost(flow: FlowPackets) -> Iterator[str]:
    segments, losses = flow.segments, flow.losses
    middle = segments.seq + segments.length // 2
    yield "orange"
    for place in losses.segment.tolist():
        yield f"x {_seconds(int(segments.time_ns[place]))} {middle[place]}"


def _round_trips(flow: FlowPackets) -> Iterator[str]:
    """Yield round-trip times, ms, at the times of the ACKs."""
    times, trips = round_trips(flow)
    yield "red"
    before = ""
    for time_ns, trip_ns in zip(times.tolist(), trips.tolist(), strict=True):
        now = f"{_seconds(time_ns)} {round(trip_ns / 1e6)}"
        if before:
            yield f"line {before} {now}"
        yield f"dot {now}"
        before = now


def _outstanding(flow: FlowPackets) -> Iterator[str]:
    """Yield outstanding data as a step, red, and the receiver's window, yellow."""
    yield from _steps("red", *outstanding(flow))
    yield from _steps("yellow", flow.acks.time_ns, flow.acks.window)


def _steps(colour: str, times: Integers, values: Integers) -> Iterator[str]:
    yield colour
    before: tuple[str, int] | None = None
    for time_ns, value in zip(times.tolist(), values.tolist(), strict=True):
        now = _seconds(time_ns)
        if before is not None:
            yield f"line {before[0]} {before[1]} {now} {before[1]}"
            if value != before[1]:
                yield f"line {now} {before[1]} {now} {value}"
        before = now, value


_GRAPHS: Final[dict[str, tuple[Callable[[FlowPackets], Iterator[str]], str, str]]] = {
    "tsg": (_time_sequence, "time sequence graph", "sequence number"),
    "rtt": (_round_trips, "rtt samples", "rtt (ms)"),
    "owin": (_outstanding, "outstanding data", "Outstanding Data (bytes)"),
}
