"""TCP flows as qlog, for qvis: JSON text sequences of version 0.3 (draft-ietf-quic-qlog-main-schema-02).

qlog describes QUIC. A trace of TCP uses the events that both have, by the names of
draft-ietf-quic-qlog-quic-events-01: a connection that starts, packets sent and received, packets lost, metrics and
states of recovery. What TCP does not have is numbered here: packets, in the order in which the sender sends them.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TextIO

import numpy as np

from narrows.base.errors import InputError
from narrows.export.stream import opened
from narrows.packets import Links, capture, of_flow, tcp_flows
from narrows.packets.acknowledged import Came, Sent, exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    from narrows.outcome import Run
    from narrows.packets import FlowPackets

VERSION: Final = "0.3"
"""The version of qlog; qvis reads this one, and no later one."""

SEPARATOR: Final = "\x1e"
"""What begins each record of a JSON text sequence (RFC 7464)."""

_METRICS: Final = {
    "congestion_window": ("cwnd_bytes", 1.0),
    "ssthresh": ("ssthresh_bytes", 1.0),
    "bytes_in_flight": ("inflight_bytes", 1.0),
    "smoothed_rtt": ("srtt_ns", 1e-6),
    "latest_rtt": ("rtt_ns", 1e-6),
}
"""Metrics of qlog, with the column of the samples that each has its value from, and the factor to qlog's unit."""

Event = tuple[int, str, dict[str, Any]]
"""Time, ns; name; data."""


def write(result: Run, out: str | PathLike[str] | TextIO, flow: str | None = None) -> None:
    """Write a TCP flow as its sender saw it.

    Parameters
    ----------
    result : Run
        With captured packets.
    out : path or text stream
        File ending in ``.sqlog``, or a stream.
    flow : str, optional
        By default the first TCP flow.

    Raises
    ------
    InputError
        If the run has no captures, or no such TCP flow.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io, json, tempfile
    >>> import narrows as nw
    >>> out = io.StringIO()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "11 s"}, pcap=folder)
    ...     write(run, out, "first")
    >>> [json.loads(record).get("name") for record in out.getvalue().split(SEPARATOR)[2:5]]
    ['connectivity:connection_started', 'transport:packet_sent', 'transport:packet_received']
    """
    links = Links(result)
    known = tcp_flows(links)
    if flow is None and not known:
        message = f"{result.scenario.name}: no TCP flow passes a wired link; qlog is of TCP flows"
        raise InputError(message)
    write_flow(result, of_flow(links, known[0] if flow is None else flow), out)


def write_flow(result: Run, flow: FlowPackets, out: str | PathLike[str] | TextIO) -> None:
    """Write a flow whose packets have been read.

    Parameters
    ----------
    result : Run
        Its samples give metrics; a run without samples has packets alone.
    flow : FlowPackets
    out : path or text stream

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    events: list[Event] = [*_started(result, flow), *_packets(flow)]
    metrics = list(_metrics(result, flow))
    events = sorted([*events, *metrics, *_states(flow, metrics)], key=lambda event: event[0])
    with opened(out) as file:
        _put(file, _header(result, flow))
        for time_ns, name, data in events:
            _put(file, {"time": time_ns / 1e6, "name": name, "data": data})


def _put(file: TextIO, record: dict[str, Any]) -> None:
    file.write(f"{SEPARATOR}{json.dumps(record, separators=(',', ':'))}\n")


def _header(result: Run, flow: FlowPackets) -> dict[str, Any]:
    """Return the record that begins a file. Times are in milliseconds since the start of the run."""
    title = f"{result.scenario.name}: {flow.name}"
    client = flow.sender == result.scenario.resolved.flows[flow.index].source
    return {
        "qlog_version": VERSION,
        "qlog_format": "JSON-SEQ",
        "title": title,
        "description": f"TCP from {flow.sender} to {flow.receiver}, captured at {flow.seen_at}; run {result.index}, "
        f"seed {result.seed}, {result.version}",
        "trace": {
            "title": title,
            "vantage_point": {"name": flow.sender, "type": "client" if client else "server"},
            "common_fields": {
                "group_id": flow.name,
                "protocol_type": ["TCP"],
                "time_format": "relative",
                "reference_time": 0,
            },
        },
    }


def _started(result: Run, flow: FlowPackets) -> Iterator[Event]:
    if not flow.segments.seq.size:
        return
    resolved = result.scenario.resolved
    addresses = {node.name: node.address for node in resolved.nodes}
    client = flow.sender == resolved.flows[flow.index].source
    ports = (
        capture.CLIENT_BASE + flow.index % capture.CLIENT_PORTS,
        capture.SERVER_BASE + flow.index // capture.CLIENT_PORTS,
    )
    yield (
        int(flow.segments.time_ns[0]),
        "connectivity:connection_started",
        {
            "ip_version": f"v{resolved.ip}",
            "src_ip": addresses[flow.sender],
            "dst_ip": addresses[flow.receiver],
            "protocol": "TCP",
            "src_port": ports[0] if client else ports[1],
            "dst_port": ports[1] if client else ports[0],
        },
    )


def _packets(flow: FlowPackets) -> Iterator[Event]:
    """Yield packets sent, received, and given up: those whose bytes a retransmission repeats."""
    received = count()
    for event in exchange(flow):
        if isinstance(event, Sent):
            time_ns = int(flow.segments.time_ns[event.segment])
            for number in event.gave_up:
                yield time_ns, "recovery:packet_lost", {"header": _numbered(number)}
            yield time_ns, "transport:packet_sent", _sent(flow, event.segment)
        else:
            yield int(flow.acks.time_ns[event.ack]), "transport:packet_received", _came(flow, event, next(received))


def _numbered(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}


def _sent(flow: FlowPackets, segment: int) -> dict[str, Any]:
    segments = flow.segments
    seq, length = int(segments.seq[segment]), int(segments.length[segment])
    frames: list[dict[str, Any]] = []
    if length or segments.fin[segment]:
        frames.append({"frame_type": "stream", "stream_id": 0, "offset": max(seq - 1, 0), "length": length})
        if segments.fin[segment]:
            frames[0]["fin"] = True
    flags = [
        name for name, mask in (("SYN", segments.syn), ("FIN", segments.fin), ("CWR", segments.cwr)) if mask[segment]
    ]
    return {
        "header": _numbered(segment),
        "raw": {"length": int(segments.packet_length[segment]), "payload_length": length},
        "frames": frames,
        "tcp": {"sequence_number": seq, "flags": flags, "retransmission": bool(segments.retransmitted[segment])},
    }


def _came(flow: FlowPackets, event: Came, number: int) -> dict[str, Any]:
    acks, sacks = flow.acks, flow.sacks
    first, last = np.searchsorted(sacks.ack, [event.ack, event.ack + 1]).tolist()
    frames: list[dict[str, Any]] = []
    if event.segments:
        frames.append({"frame_type": "ack", "acked_ranges": _ranges(event.segments)})
    return {
        "header": _numbered(number),
        "raw": {"length": int(acks.packet_length[event.ack])},
        "frames": frames,
        "tcp": {
            "acknowledgement_number": int(acks.ack[event.ack]),
            "window": int(acks.window[event.ack]),
            "sack_blocks": [[int(sacks.left[one]), int(sacks.right[one])] for one in range(first, last)],
            "duplicate": bool(acks.duplicate[event.ack]),
            "ecn_echo": bool(acks.ecn[event.ack]),
        },
    }


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers in order as ranges, both ends included.

    >>> _ranges([1, 2, 3, 7])
    [[1, 3], [7, 7]]
    """
    made: list[list[int]] = []
    for number in numbers:
        if made and made[-1][1] == number - 1:
            made[-1][1] = number
        else:
            made.append([number, number])
    return made


def _metrics(result: Run, flow: FlowPackets) -> Iterator[Event]:
    """Yield the samples of the flow's sender; values that did not change are left out, as qlog recommends."""
    frame = result.samples.frame("flow")
    mine = frame[frame["name"] == flow.name]
    before: dict[str, float] = {}
    columns = [(name, mine[column].to_numpy(dtype=float) * factor) for name, (column, factor) in _METRICS.items()]
    for row, time_s in enumerate(mine["time_s"].tolist()):
        now = {name: _plain(values[row]) for name, values in columns if np.isfinite(values[row])}
        changed = {name: value for name, value in now.items() if before.get(name) != value}
        before |= changed
        if changed:
            yield round(time_s * 1e9), "recovery:metrics_updated", changed


def _plain(value: float) -> float | int:
    return int(value) if float(value).is_integer() else round(float(value), 6)


def _states(flow: FlowPackets, metrics: Iterable[Event]) -> Iterator[Event]:
    """Yield changes of state: recovery by the packets, slow start by the samples."""
    changes = [(time_ns, "recovery", begins) for time_ns, begins in _recoveries(flow)]
    window, threshold = 0.0, np.inf
    for time_ns, _, data in metrics:
        window = data.get("congestion_window", window)
        threshold = data.get("ssthresh", threshold)
        changes.append((time_ns, "slow_start", window < threshold))
    begun = {"recovery": False, "slow_start": True}
    before = ""
    for time_ns, what, holds in sorted(changes, key=lambda change: change[0]):
        begun[what] = holds
        now = "recovery" if begun["recovery"] else "slow_start" if begun["slow_start"] else "congestion_avoidance"
        if now != before:
            yield time_ns, "recovery:congestion_state_updated", {"old": before, "new": now} if before else {"new": now}
            before = now


def _recoveries(flow: FlowPackets) -> list[tuple[int, bool]]:
    """Return when recovery begins and ends: from a retransmission to the ACK of all that was sent before it."""
    segments, acks = flow.segments, flow.acks
    ends = np.maximum.accumulate(segments.seq + segments.length) if segments.seq.size else segments.seq
    reached = np.maximum.accumulate(acks.ack) if acks.ack.size else acks.ack
    made: list[tuple[int, bool]] = []
    until_ns = -1
    for segment in np.flatnonzero(segments.retransmitted).tolist():
        time_ns = int(segments.time_ns[segment])
        if time_ns < until_ns:
            continue
        place = int(np.searchsorted(reached, ends[segment]))
        made.append((time_ns, True))
        if place == acks.ack.size:
            break
        until_ns = int(acks.time_ns[place])
        made.append((until_ns, False))
    return made
