"""Data for the drawing and the tables of flows and workloads, from a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.model.schemes import control_of, running
from narrows.report import channels, style
from narrows.report.layout import Channel, Direction, Edge, FlowPath, Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narrows.model import resolved as resolved_types
    from narrows.model.resolved import Flow, Resolved, Traffic, Workload
    from narrows.model.scenario import Scenario


def of(scenario: Scenario) -> Network:
    """Return nodes, links and paths of flows, according to the engine's routes.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    Network
    """
    resolved = scenario.resolved
    names = [str(node.name) for node in resolved.nodes]
    index = {name: i for i, name in enumerate(names)}
    routers = frozenset(i for i, node in enumerate(resolved.nodes) if node.kind == "router")
    edges = tuple(
        Edge(index[link.a], index[link.b], direction(link.forward), direction(link.reverse)) for link in resolved.links
    )
    radio = resolved.wifi
    edges += tuple(edge for number, channel in enumerate(radio) for edge in _radio_edges(channel, number, index))
    shared = tuple(
        Channel(
            str(channel.name),
            index[channel.base.node],
            tuple(index[station.node] for station in channel.stations),
            channels.caption(channel),
        )
        for channel in radio
    )
    scheme = running(resolved)
    agents = frozenset(index[name] for name in scheme[1]["routers"]) if scheme else frozenset()
    flows = tuple(
        FlowPath(str(flow.name), i, tuple(path))
        for i, (flow, path) in enumerate(zip(resolved.flows, scenario.paths(), strict=True))
    )
    return Network(tuple(names), routers, edges, flows, agents, shared)


def _radio_edges(channel: resolved_types.Channel, number: int, index: Mapping[str, int]) -> Iterable[Edge]:
    """Yield an edge between the base station and each station, in the engine's order."""
    rate, delay = channels.ceiling_bps(channel), channel.propagation_ns / 1e9
    base = channel.base
    for station in channel.stations:
        there, back = (Direction(rate, delay, channels.queue_text(one.queue)) for one in (base, station))
        yield Edge(index[base.node], index[station.node], there, back, number)


def direction(data: resolved_types.Direction) -> Direction:
    """Describe one direction of a link of a resolved scenario."""
    return Direction(
        rate=float(data.rate_bps),
        delay=data.delay_ns / 1e9,
        queue=channels.queue_text(data.queue),
        loss=" · ".join(text for text in (_loss(data.loss), _impairments(data)) if text),
        changes=len(data.changes),
        trace="" if data.trace is None else data.trace.file,
    )


def constant_rates(resolved: Resolved) -> dict[str, float]:
    """Return the rate of each direction of a wired link, bit/s, by the name of its queue, where nothing changes it."""
    return {
        f"{a}->{b}": float(data.rate_bps)
        for link in resolved.links
        for a, b, data in ((link.a, link.b, link.forward), (link.b, link.a, link.reverse))
        if not data.changes and data.trace is None
    }


def _loss(loss: resolved_types.Loss) -> str:
    if loss.kind == "none":
        return ""
    return f"PER {style.number((loss.per or 0) * 100, 2)} %" if loss.kind == "uniform" else "bursty losses"


_IMPAIRED = {
    "jitter": "jitter",
    "reorder": "reordering",
    "duplicate": "duplicates",
    "outages": "outages",
    "aggregation": "bursts",
    "ack_decimation": "ACK decimation",
    "ack_loss": "ACK loss",
}
"""Impairments of a link in words, by their key."""


def _impairments(data: resolved_types.Direction) -> str:
    return ", ".join(_IMPAIRED.get(key, key) for key in data.impairments or ())


def flow_rows(resolved: Resolved) -> list[dict[str, str]]:
    """Return the rows of a page's table of flows, in words."""
    return [
        {
            "name": str(flow.name),
            "colour": style.colour(i),
            "traffic": _traffic(flow.traffic),
            "cc": _control(flow, resolved),
            "source": str(flow.source),
            "sink": str(flow.sink),
            "start": f"{flow.start_ns / 1e9:g}",
            "stop": f"{flow.stop_ns / 1e9:g}",
            "dscp": str(flow.dscp),
        }
        for i, flow in enumerate(resolved.flows)
    ]


_STACKS = {"linux": " as in Linux", "ns2": " as in ns-2"}
"""The system whose defaults a flow uses, if not those of the RFCs."""


def _control(flow: Flow, resolved: Resolved) -> str:
    tcp = flow.tcp
    if tcp is None:
        return "none (UDP)"
    control = str(control_of(flow, resolved))
    control = "none (RFC 793)" if control == "none" else control
    stack = _STACKS.get(tcp.stack, "")
    assist = tcp.assist
    return f"{control}{stack} with {str(assist).upper()}" if assist else f"{control}{stack}"


def _traffic(traffic: Traffic) -> str:
    kind = traffic.kind
    if kind == "bulk":
        size = traffic.size_bytes
        return "TCP, bulk" if size is None else f"TCP, {style.count(float(size))} bytes"
    if kind == "udp":
        paused = ""
        if traffic.on_ns is not None:
            on, off = (style.duration((time or 0) / 1e9) for time in (traffic.on_ns, traffic.off_ns))
            paused = f", {on} on, {off} off"
        return f"UDP, {style.rate(traffic.rate_bps or 0)}{paused}"
    if kind == "frames":
        return f"UDP, {traffic.settings['frame_rate']} frames/s, {style.rate(traffic.rate_bps or 0)}"
    if kind == "rate":
        return f"TCP, {style.rate(traffic.rate_bps or 0)}"
    if kind == "on_off":
        speed = "" if traffic.rate_bps is None else f" at {style.rate(traffic.rate_bps or 0)}"
        on, off = (style.duration((time or 0) / 1e9) for time in (traffic.on_ns, traffic.off_ns))
        return f"TCP, {on} on{speed}, {off} off"
    if kind == "video":
        rates = traffic.settings["ladder_bps"]
        length = style.duration(traffic.settings["segment_ns"] / 1e9)
        span = style.rate(rates[0]) if len(rates) == 1 else f"{style.rate(rates[0])} to {style.rate(rates[-1])}"
        return f"TCP, video at {span} in segments of {length}"
    response: Any = traffic.response_bytes
    of = f"of {response}" if isinstance(response, int) else f"by {sizes(response)}"
    return f"TCP, requests of {traffic.request_bytes} bytes, responses {of}"


def sizes(size: Mapping[str, Any]) -> str:
    """Return a distribution of sizes in words."""
    word = str(size["distribution"]).replace("_", " ")
    mean = style.count(round(size["mean_bytes"]))
    return f"{mean} bytes" if word == "constant" else f"{word}, mean {mean} bytes"


def workload_rows(resolved: Resolved) -> list[dict[str, str]]:
    """Return the rows of a page's table of workloads, in words."""
    rows = []
    for workload in resolved.workloads:
        (source, sink), count = workload.pairs[0], len(workload.pairs)
        more = f" and {count - 1} more" if count > 1 else ""
        size = "sizes of a file" if workload.size is None else sizes(workload.size)
        objects = workload.settings.get("objects")
        if objects:
            size = f"{objects} objects of {size}, up to {workload.settings['connections']} connections"
        rows.append(
            {
                "name": workload.name,
                "kind": workload.kind,
                "source": source,
                "sink": sink + more,
                "size": size,
                "arrivals": _arrivals(workload),
                "cc": str(workload.tcp["cc"]) + _STACKS.get(str(workload.tcp["stack"]), ""),
                "start": f"{workload.start_ns / 1e9:g}",
                "stop": f"{workload.stop_ns / 1e9:g}",
            }
        )
    return rows


def _arrivals(workload: Workload) -> str:
    word = {"poisson": "Poisson", "constant": "at equal distances", "trace": "as in a file"}[workload.arrivals]
    if workload.load is not None:
        return f"{word}, load {workload.load:g}"
    return word if workload.interval_ns is None else f"{word}, every {style.duration(workload.interval_ns / 1e9)}"
