"""A run as a trace of ns-2: a line for each packet that enters a queue, leaves it, is dropped, or arrives.

The format is that of ``trace-all`` in wired networks (The ns Manual, chapter "Trace and Monitoring Support"; ns-2.35,
``trace/trace.cc``), twelve columns that are separated by spaces::

    event time from to type size flags fid source destination seq id
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

import numpy as np

from narrows.base.errors import InputError
from narrows.export.stream import opened
from narrows.packets import Links, capture, journeys
from narrows.packets.flow import relative, start_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from narrows.outcome import Run
    from narrows.packets.capture import Flags, Integers
    from narrows.packets.journeys import Hops

SEQUENCES: Final = ("packets", "bytes")
"""What sequence numbers count."""

Direction = tuple[int, bool]
"""A flow's index, and whether it is the way from its ``from`` to its ``to``."""


def write(result: Run, out: str | PathLike[str] | TextIO, sequence: str = "packets") -> None:
    """Write the packets of a run on its wired links as a trace of ns-2.

    Events are ``+`` (enters a queue), ``-`` (its transmission starts), ``d`` (the queue drops it) and ``r`` (arrives).
    A packet that is lost on a link has no ``r``. Nodes are numbered in the order of the scenario, ports in the order of
    flows at the node; ``fid`` is the index of the flow, listed flows first. The flags are ``C`` (ECN echo), ``A``
    (CWR), ``E`` (marked CE) and ``N`` (ECN-capable), in their places. Packets are of type ``tcp`` (data, SYN or FIN of
    the sender), ``ack`` or ``udp``.

    Parameters
    ----------
    result : Run
        With captured packets.
    out : path or text stream
    sequence : {"packets", "bytes"}
        As ns-2's one-way agents count: the SYN is 0, the first segment 1, and an ACK has the number of the last segment
        in order; or bytes, as its FullTcp, but relative: the SYN is 0, the first byte 1, and an ACK has the next byte.

    Raises
    ------
    InputError
        If the run has no captures, or `sequence` is neither.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io, tempfile
    >>> import narrows as nw
    >>> out = io.StringIO()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"}, pcap=folder)
    ...     write(run, out)
    >>> out.getvalue().splitlines()[0]
    '+ 0.051429061 0 2 tcp 60 ------- 0 0.0 4.0 0 0'
    """
    if sequence not in SEQUENCES:
        message = f"sequence is {sequence!r}; allowed: {', '.join(SEQUENCES)}"
        raise InputError(message)
    links = Links(result)
    hops = journeys.of_run(links)
    with opened(out) as file:
        file.writelines(f"{line}\n" for line in _lines(links, hops, sequence))


def _lines(links: Links, hops: Sequence[Hops], sequence: str) -> Iterator[str]:
    """Yield the lines in order of time; at one instant arrivals, then what enters queues, leaves and is dropped."""
    middles = _middles(links, hops, sequence)
    nodes = {node.name: place for place, node in enumerate(links.scenario.resolved.nodes)}
    ways = [f"{nodes[one.ends[0]]} {nodes[one.ends[1]]}" for one in hops]
    parts = []
    for place, one in enumerate(hops):
        rows = np.arange(one.number.size)
        for rank, times in enumerate((one.arrived_ns, one.queued_ns, one.left_ns, one.dropped_ns)):
            known = times != journeys.NEVER
            count = int(known.sum())
            parts.append(np.stack([times[known], np.full(count, rank), np.full(count, place), rows[known]]))
    if not parts:
        return
    events = np.concatenate(parts, axis=1)
    for time_ns, rank, place, row in events[:, np.lexsort(events[:2][::-1])].T.tolist():
        yield f"{'r+-d'[rank]} {time_ns / 1e9:.15g} {ways[place]} {middles[place][row]}"


def _middles(links: Links, hops: Sequence[Hops], sequence: str) -> list[list[str]]:
    """Return what all lines of a packet at a hop have in common, after the names of its nodes."""
    starts, sizes = _starts(hops)
    addresses = _addresses(links, hops)
    made = []
    for one in hops:
        packets = one.packets
        numbers = _numbers(one, starts, sizes, sequence)
        acks = _is_ack(one)
        columns = zip(
            np.where(packets.udp, "udp", np.where(acks, "ack", "tcp")).tolist(),
            packets.length.tolist(),
            _flags(one),
            packets.flow.tolist(),
            packets.along.tolist(),
            numbers.tolist(),
            one.number.tolist(),
            strict=True,
        )
        made.append(
            [
                f"{kind} {size} {flags} {flow} {addresses[flow, along]} {number} {identity}"
                for kind, size, flags, flow, along, number, identity in columns
            ]
        )
    return made


def _is_ack(hops: Hops) -> Flags:
    """Which packets only acknowledge; the answer to a SYN counts, as in ns-2, where a sink sends no SYN."""
    packets = hops.packets
    opening = packets.flags & (capture.SYN | capture.ACK) == capture.SYN | capture.ACK
    bare = (packets.payload == 0) & (packets.flags & (capture.SYN | capture.FIN) == 0)
    made: Flags = ~packets.udp & (bare | opening)
    return made


def _starts(hops: Sequence[Hops]) -> tuple[dict[Direction, int], dict[int, int]]:
    """Return the initial sequence number of each direction, and the largest payload of each flow."""
    first: dict[Direction, tuple[int, int]] = {}
    sizes: dict[int, int] = {}
    for one in hops:
        packets = one.packets
        for flow, along, at in _directions(one):
            sizes[flow] = max(sizes.get(flow, 1), int(packets.payload[at].max()))
            found = int(packets.time_ns[at[0]]), start_of(packets.take(at[:1]))
            first[flow, along] = min(first.get((flow, along), found), found)
    return {direction: start for direction, (_, start) in first.items()}, sizes


def _directions(hops: Hops) -> Iterator[tuple[int, bool, Integers]]:
    """Yield the packets of each direction of each flow, in order of time."""
    keys = hops.packets.flow * 2 + hops.packets.along
    order = np.argsort(keys, kind="stable")
    for at in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if at.size:
            yield int(keys[at[0]]) // 2, bool(keys[at[0]] % 2), at


def _numbers(hops: Hops, starts: dict[Direction, int], sizes: dict[int, int], sequence: str) -> Integers:
    packets = hops.packets
    acks = _is_ack(hops)
    made = packets.seq.copy()
    for flow, along, at in _directions(hops):
        size = 1 if sequence == "bytes" else max(sizes[flow], 1)
        if packets.udp[at].all():
            continue
        sent, back = at[~acks[at]], at[acks[at]]
        # The first byte has number 1, and a segment the number of the packet that it begins.
        made[sent] = (relative(packets.seq[sent], starts[flow, along]) - 1) // size + 1
        acked = relative(packets.ack[back], starts.get((flow, not along), 0))
        made[back] = acked if sequence == "bytes" else -(-(acked - 1) // size)
    return made


def _flags(hops: Hops) -> list[str]:
    """Return ns-2's seven flags: ECN echo, two without a meaning here, CWR, CE, one for fast starts, ECN-capable."""
    packets = hops.packets
    echo, cwr = packets.flags & capture.ECE > 0, packets.flags & capture.CWR > 0
    marked, capable = packets.ecn == capture.CE, packets.ecn > 0
    codes = echo * 8 + cwr * 4 + marked * 2 + capable
    return [_FLAGS[code] for code in codes.tolist()]


_FLAGS: Final = tuple(
    f"{'C' if code & 8 else '-'}--{'A' if code & 4 else '-'}{'E' if code & 2 else '-'}-{'N' if code & 1 else '-'}"
    for code in range(16)
)


def _addresses(links: Links, hops: Sequence[Hops]) -> dict[Direction, str]:
    """Return source and destination, node and port each, of both directions of each flow."""
    resolved = links.scenario.resolved
    nodes = {node.name: place for place, node in enumerate(resolved.nodes)}
    ends = {index: (flow.source, flow.sink) for index, flow in enumerate(resolved.flows)}
    hosts = {node.name for node in resolved.nodes if node.kind == "host"}
    for one in hops:
        for flow, along, _ in _directions(one):
            if flow >= len(resolved.flows):  # a transfer of a workload: its hosts are the ends of its way
                source, sink = ends.get(flow, one.ends if along else one.ends[::-1])
                a, b = one.ends if along else one.ends[::-1]
                ends[flow] = (a if a in hosts else source, b if b in hosts else sink)
    ports: dict[str, int] = {}
    made: dict[Direction, str] = {}
    for flow, (source, sink) in sorted(ends.items()):
        places = []
        for node in (source, sink):
            port = ports.get(node, 0)
            ports[node] = port + 1
            places.append(f"{nodes[node]}.{port}")
        made[flow, True], made[flow, False] = " ".join(places), " ".join(places[::-1])
    return made
