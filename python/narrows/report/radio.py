"""802.11 channels in the drawing of a topology: the base station's mast, dashed radio links, and captions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from narrows.report.layout import Channel, Network, Place, box_width, crowded
from narrows.report.shapes import Shape, text_box

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Dash pattern of a radio link.
DASH = "7 5"

_SIZE = 10.5
_LINE = 12.5


class _Box(NamedTuple):
    """A rectangle: left, top, right, bottom."""

    x0: float
    y0: float
    x1: float
    y1: float


def roads(
    network: Network, places: Sequence[Place], limits: frozenset[tuple[int, int]], *, drawn: bool
) -> Iterable[Shape]:
    """Draw a dashed line from the base station to each station, or to each block of a crowded channel.

    Parameters
    ----------
    network : Network
    places : sequence of Place
        Positions of the nodes.
    limits : frozenset
        Directions that limit a flow.
    drawn : bool
        Whether flows are drawn along the lines, which are then wider.
    """
    for edge in network.edges:
        if edge.channel is None or crowded(network.channels[edge.channel]):
            continue
        a, b = places[edge.a], places[edge.b]
        tight = _limits(network.channels[edge.channel], limits)
        title = f"{network.names[edge.a]} and {network.names[edge.b]}: {network.channels[edge.channel].caption[0]}"
        yield _road(a.x, a.y, b.x, b.y, title, tight=tight, drawn=drawn)
    for channel in (channel for channel in network.channels if crowded(channel)):
        base = places[channel.base]
        tight = _limits(channel, limits)
        for block in _blocks(network, channel, places):
            x = min(max(base.x, block.x0), block.x1)
            y = min(max(base.y, block.y0), block.y1)
            yield _road(base.x, base.y, x, y, channel.caption[0], tight=tight, drawn=drawn)
            width, height = block.x1 - block.x0, block.y1 - block.y0
            middle = ((block.x0 + block.x1) / 2, (block.y0 + block.y1) / 2)
            title = f"{len(channel.stations)} stations of {channel.name}"
            yield Shape("box", *middle, x2=width, y2=height, stroke="line", fill="", dash="4 3", title=title)


def _limits(channel: Channel, limits: frozenset[tuple[int, int]]) -> bool:
    """Return whether a channel limits a flow; this holds for all of its radio links together."""
    stations = set(channel.stations)
    return any((a == channel.base and b in stations) or (b == channel.base and a in stations) for a, b in limits)


def _road(x: float, y: float, x2: float, y2: float, title: str, *, tight: bool, drawn: bool) -> Shape:
    width = (13.0 if drawn else 5.0) if tight else (9.0 if drawn else 4.0)
    return Shape("line", x, y, x2, y2, stroke="tight" if tight else "road", width=width, dash=DASH, title=title)


def _blocks(network: Network, channel: Channel, places: Sequence[Place]) -> Iterable[_Box]:
    """Yield boxes around the stations of a channel: one for each side of the drawing that has any of them."""
    sides: dict[str, list[int]] = {}
    for node in channel.stations:
        sides.setdefault(places[node].label, []).append(node)
    for nodes in sides.values():
        half = max(box_width(network.names[node]) for node in nodes) / 2 + 9
        xs, ys = [places[node].x for node in nodes], [places[node].y for node in nodes]
        yield _Box(min(xs) - half, min(ys) - 23, max(xs) + half, max(ys) + 23)


def marks(network: Network, places: Sequence[Place]) -> Iterable[Shape]:
    """A mast with waves on each base station; with several channels, their names under the stations."""
    for place in (places[channel.base] for channel in network.channels):
        top = place.y - 31
        yield Shape("line", place.x, place.y - 20, place.x, top, stroke="ink", width=1.4)
        yield Shape("circle", place.x, top, size=1.8, stroke="ink", fill="ink", width=1.0, title="802.11 base station")
        for radius in (5.5, 9.5):
            yield Shape("arc", place.x, top, size=radius, x2=-48, y2=48, stroke="ink", width=1.3)
            yield Shape("arc", place.x, top, size=radius, x2=132, y2=228, stroke="ink", width=1.3)
    if len(network.channels) > 1:
        for channel in (channel for channel in network.channels if not crowded(channel)):
            for node in channel.stations:
                yield Shape("text", places[node].x, places[node].y + 24, text=channel.name, size=9, stroke="muted")


def captions(
    network: Network, places: Sequence[Place], limits: frozenset[tuple[int, int]], items: Sequence[Shape]
) -> Iterable[Shape]:
    """Place each channel's caption below its base station and stations, where it covers nothing else."""
    if not network.channels:
        return
    taken = [box for item in items for box in _occupied(item)]
    for channel in network.channels:
        members = [places[node] for node in (channel.base, *channel.stations)]
        x = (min(place.x for place in members) + max(place.x for place in members)) / 2
        y = max(place.y for place in members) + (38 if crowded(channel) else 34)
        tight = _limits(channel, limits)
        lines = _lines(x, y, channel.caption, tight=tight)
        while any(_overlap(_Box(*text_box(line)), other) for line in lines for other in taken):
            y += _LINE / 2
            lines = _lines(x, y, channel.caption, tight=tight)
        taken += [_padded(_Box(*text_box(line))) for line in lines]
        yield from lines


def _lines(x: float, y: float, texts: Sequence[str], *, tight: bool) -> list[Shape]:
    stroke = "accent" if tight else "muted"
    return [
        Shape("text", x, y + _LINE * i, text=line, size=_SIZE, stroke=stroke, bold=tight)
        for i, line in enumerate(texts)
    ]


def _occupied(item: Shape) -> Iterable[_Box]:
    """Yield boxes that cover a shape; a line is covered by boxes around points along it."""
    if item.kind == "text":
        yield _Box(*text_box(item))
    elif item.kind == "circle":
        yield _around(item.x, item.y, item.size, item.size)
    elif item.kind == "box" and item.fill:
        yield _around(item.x, item.y, item.x2 / 2, item.y2 / 2)
    elif item.kind == "line":
        count = math.ceil(math.hypot(item.x2 - item.x, item.y2 - item.y) / 10) + 1
        for k in range(count + 1):
            share = k / count
            x, y = item.x + (item.x2 - item.x) * share, item.y + (item.y2 - item.y) * share
            yield _around(x, y, item.width / 2, item.width / 2)


def _around(x: float, y: float, half_width: float, half_height: float) -> _Box:
    return _Box(x - half_width, y - half_height, x + half_width, y + half_height)


def _padded(box: _Box) -> _Box:
    return _Box(box.x0 - 8, box.y0, box.x1 + 8, box.y1 + 5)


def _overlap(one: _Box, other: _Box) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1
