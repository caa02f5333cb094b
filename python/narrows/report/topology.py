"""The drawing of a topology: nodes, links, flows and their labels, as shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from narrows.report import radio, style
from narrows.report.layout import Direction, Edge, Layout, Network, Place, arrange, bottlenecks, box_width, condensed
from narrows.report.shapes import Shape, matplotlib_figure, svg

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Most flows drawn along the links; if there are more, they are only listed, as their lines could not be told apart.
MAX_DRAWN_FLOWS = 8


def describe(direction: Direction) -> tuple[str, str]:
    """Describe a direction in two short lines: rate and delay; queue and loss."""
    rate = style.rate(direction.rate)
    if direction.trace:
        rate = f"trace, mean {rate}"
    first = f"{rate} · {style.duration(direction.delay)}"
    second = direction.queue
    if direction.loss:
        second = f"{second} · {direction.loss}" if second else direction.loss
    if direction.changes:
        second += f" · {direction.changes} change{'s' if direction.changes > 1 else ''}"
    return first, second


def shapes(network: Network) -> tuple[list[Shape], Layout]:
    """Return all shapes of the drawing, back to front, and the layout that they follow."""
    network = condensed(network)
    layout = arrange(network, _column_width(network))
    places = layout.places
    limits = bottlenecks(network)
    out: list[Shape] = list(radio.roads(network, places, limits, drawn=len(network.flows) <= MAX_DRAWN_FLOWS))
    for edge in (edge for edge in network.edges if edge.channel is None):
        a, b = places[edge.a], places[edge.b]
        tight = (edge.a, edge.b) in limits or (edge.b, edge.a) in limits
        there, back = (", ".join(describe(direction)) for direction in (edge.forward, edge.reverse))
        title = f"{network.names[edge.a]} to {network.names[edge.b]}: {there}; back: {back}"
        drawn = len(network.flows) <= MAX_DRAWN_FLOWS
        width = (13.0 if drawn else 5.0) if tight else (9.0 if drawn else 3.0)
        out.append(Shape("line", a.x, a.y, b.x, b.y, stroke="tight" if tight else "road", width=width, title=title))
    if len(network.flows) <= MAX_DRAWN_FLOWS:
        out.extend(_flow_lines(network, places))
    for node, place in enumerate(places):
        out.extend(_node(network, node, place))
    out.extend(radio.marks(network, places))
    out.extend(_labels(network, layout, limits))
    out.extend(radio.captions(network, places, limits, out))
    return out, layout


def _column_width(network: Network) -> float:
    """Distance between columns that fits the longest text of a link between routers."""
    longest = 0.0
    for edge in (edge for edge in network.edges if edge.channel is None):
        inner = edge.a in network.routers and edge.b in network.routers
        text = max(_lines_of(edge.forward, edge.reverse), key=len)
        longest = max(longest, len(text) * 6.3 + (64 if inner else 30 + 2 * len(text)))
    return longest


def _flow_lines(network: Network, places: tuple[Place, ...]) -> Iterable[Shape]:
    """Draw each flow as a thin line beside the others along the links of its path."""
    on: dict[tuple[int, int], list[int]] = {}
    for flow in network.flows:
        for a, b in zip(flow.path[:-1], flow.path[1:], strict=True):
            on.setdefault((min(a, b), max(a, b)), []).append(flow.index)
    for flow in network.flows:
        for a, b in zip(flow.path[:-1], flow.path[1:], strict=True):
            key = (min(a, b), max(a, b))
            start, stop = places[key[0]], places[key[1]]
            length = math.hypot(stop.x - start.x, stop.y - start.y) or 1.0
            rank = on[key].index(flow.index) - (len(on[key]) - 1) / 2
            gap = min(2.6, 10.0 / max(1, len(on[key])))
            dx, dy = -(stop.y - start.y) / length * rank * gap, (stop.x - start.x) / length * rank * gap
            yield Shape(
                "line",
                start.x + dx,
                start.y + dy,
                stop.x + dx,
                stop.y + dy,
                stroke=style.colour(flow.index),
                width=1.5,
                dash=style.dash(flow.index)[2],
                title=flow.name,
            )


def _node(network: Network, node: int, place: Place) -> Iterable[Shape]:
    """Draw a router as a disc (with a dashed ring if it runs a scheme's agent), a host as a box."""
    name = network.names[node]
    if node not in network.routers:
        width = box_width(name)
        yield Shape("box", place.x, place.y, x2=width, y2=28, fill="host", width=1.2, title=f"host {name}")
        yield Shape("text", place.x, place.y + 4.2, text=name, size=12, bold=True)
        return
    if node in network.agents:
        yield Shape("circle", place.x, place.y, size=24, stroke="accent", fill="paper", width=1.2, dash="2.5 2")
    yield Shape("circle", place.x, place.y, size=20, fill="router", width=1.2, title=f"router {name}")
    inside = len(name) <= 5
    yield Shape("text", place.x, place.y + (4.2 if inside else 38.0), text=name, size=12, bold=True)


def _labels(network: Network, layout: Layout, limits: frozenset[tuple[int, int]]) -> Iterable[Shape]:
    """Label the links. Equal links between the same columns share one text."""
    inner: dict[tuple[float, float], list[Edge]] = {}
    bundles: dict[tuple[float, bool], list[Edge]] = {}
    for edge in (edge for edge in network.edges if edge.channel is None):
        hosts = [node for node in (edge.a, edge.b) if node not in network.routers]
        if len(hosts) == 1:
            place = layout.places[hosts[0]]
            bundles.setdefault(
                (place.x if place.label in ("left", "right") else -1.0, place.label == "below"), []
            ).append(edge)
        else:
            start, stop, *_ = _oriented(edge, layout)
            inner.setdefault((start.x, stop.x), []).append(edge)
    for edges in inner.values():
        if len(edges) >= 2 and len({_oriented(edge, layout)[2:] for edge in edges}) == 1:
            yield from _fan_text(edges, layout, limits)
        else:
            for edge in edges:
                yield from _link_text(network, edge, layout, limits)
    for (x, _), edges in bundles.items():
        if len(edges) >= 2 and len({_toward_router(network, edge) for edge in edges}) == 1:
            yield from _bundle_text(network, edges, layout, limits, vertical=x < 0)
        else:
            for edge in edges:
                yield from _link_text(network, edge, layout, limits)


def _toward_router(network: Network, edge: Edge) -> tuple[Direction, Direction]:
    """Return the directions of an access link, the one towards the router first."""
    return (edge.forward, edge.reverse) if edge.b in network.routers else (edge.reverse, edge.forward)


def _lines_of(forward: Direction, back: Direction) -> list[str]:
    """Return the text of a link: one text if both directions are equal, else one with an arrow for each."""
    if forward == back:
        return [text for text in describe(forward) if text]
    lines = []
    for arrow, one in (("→", forward), ("←", back)):
        lines.append(f"{arrow} " + " · ".join(text for text in describe(one) if text))
    return lines


def _oriented(edge: Edge, layout: Layout) -> tuple[Place, Place, Direction, Direction]:
    """Return the ends of a link from left to right, and its directions, the one to the right first."""
    a, b = layout.places[edge.a], layout.places[edge.b]
    if (a.x, a.y) <= (b.x, b.y):
        return a, b, edge.forward, edge.reverse
    return b, a, edge.reverse, edge.forward


def _link_text(network: Network, edge: Edge, layout: Layout, limits: frozenset[tuple[int, int]]) -> Iterable[Shape]:
    start, stop, forward, back = _oriented(edge, layout)
    tight = (edge.a, edge.b) in limits or (edge.b, edge.a) in limits
    lines = _lines_of(forward, back)
    hosts = [node for node in (edge.a, edge.b) if node not in network.routers]
    # Links of a column are apart near the host, and meet in the middle.
    part, size = 0.5, 10.5
    if len(hosts) == 1:
        room = 0.56 * size * max(map(len, lines)) / 2 + box_width(network.names[hosts[0]]) / 2 + 4
        near = min(0.5, max(0.36, room / (abs(stop.x - start.x) or 1.0)))
        part = near if layout.places[hosts[0]] is start else 1 - near
    x, y = start.x + (stop.x - start.x) * part, start.y + (stop.y - start.y) * part
    if abs(stop.x - start.x) < 1:
        for i, text in enumerate(lines):
            yield Shape(
                "text",
                x + 10,
                y + 4 + 12 * i,
                text=text,
                size=size,
                stroke="accent" if tight else "muted",
                anchor="start",
            )
        return
    for i, text in enumerate(lines):
        height = y - 11 - 12.5 * (len(lines) - 1 - i)
        yield Shape("text", x, height, text=text, size=size, stroke="accent" if tight else "muted", bold=tight)


def _fan_text(edges: list[Edge], layout: Layout, limits: frozenset[tuple[int, int]]) -> Iterable[Shape]:
    """Write one text below several equal links between routers."""
    tight = any((e.a, e.b) in limits or (e.b, e.a) in limits for e in edges)
    first, *rest = _lines_of(*_oriented(edges[0], layout)[2:])
    ends = [layout.places[node] for edge in edges for node in (edge.a, edge.b)]
    x, y = (min(end.x for end in ends) + max(end.x for end in ends)) / 2, max(end.y for end in ends)
    for i, text in enumerate((f"each: {first}", *rest)):
        place = y + 12 + 12.5 * i
        yield Shape("text", x, place, text=text, size=10.5, stroke="accent" if tight else "muted", bold=tight)


def _bundle_text(
    network: Network, edges: list[Edge], layout: Layout, limits: frozenset[tuple[int, int]], *, vertical: bool
) -> Iterable[Shape]:
    tight = any((e.a, e.b) in limits or (e.b, e.a) in limits for e in edges)
    hosts = [node for e in edges for node in (e.a, e.b) if node not in network.routers]
    toward, away = _toward_router(network, edges[0])
    places = [layout.places[node] for node in hosts]
    left = places[0].label == "left"
    forward, back = (toward, away) if left or vertical else (away, toward)
    lines = [f"each: {_lines_of(forward, back)[0]}", *_lines_of(forward, back)[1:]]
    stroke = "accent" if tight else "muted"
    if vertical:
        x = max(place.x for place in places) + 30
        for i, text in enumerate(lines):
            yield Shape(
                "text",
                x,
                places[0].y + 4 + 12.5 * i,
                text=text,
                size=10.5,
                stroke=stroke,
                anchor="start",
                bold=tight,
            )
        return
    bottom = max(place.y for place in places) + 32
    for i, text in enumerate(lines):
        anchor = "start" if left else "end"
        x = places[0].x - 21 if left else places[0].x + 21
        yield Shape("text", x, bottom + 12.5 * i, text=text, size=10.5, stroke=stroke, anchor=anchor, bold=tight)


def to_svg(network: Network, title: str = "Topology") -> str:
    """Draw the topology as an SVG element. On its own it is black on white; in a page it uses the page's colours."""
    items, layout = shapes(network)
    return svg(items, layout, title)


def to_document(network: Network, title: str = "Topology") -> str:
    """Draw the topology as an SVG document."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + to_svg(network, title) + "\n"


def write_figures(network: Network, folder: Path, title: str = "Topology") -> tuple[Path, Path]:
    """Write `topology.svg` and `topology.png` (300 dpi, both columns wide) into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    drawing = folder / "topology.svg"
    drawing.write_text(to_document(network, title), encoding="utf-8")
    png = folder / "topology.png"
    items, layout = shapes(network)
    with style.paper_style():
        matplotlib_figure(items, layout).savefig(png, dpi=style.PNG_DPI, metadata={"Title": title})
    return png, drawing
