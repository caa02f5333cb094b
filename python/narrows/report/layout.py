"""Positions of nodes in the drawing of a topology: columns from left to right, in the direction of the data.

Routers form the columns; each router is to the right of those that data passes before it. Hosts of the first and last
column are outside of them; hosts of the routers between are above (senders) and below (receivers). A star has its
senders on the left and its receivers on the right.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Direction:
    """One direction of a link, as drawn: rate in bit/s, delay in seconds; queue, loss and trace in words."""

    rate: float
    delay: float
    queue: str
    loss: str = ""
    changes: int = 0
    trace: str = ""


@dataclass(frozen=True)
class Edge:
    """A link between nodes `a` and `b` (indices), or the radio link from a base station `a` to a station `b`."""

    a: int
    b: int
    forward: Direction
    reverse: Direction
    channel: int | None = None


@dataclass(frozen=True)
class Channel:
    """An 802.11 channel: its name, its base station and stations (indices of nodes), and its caption."""

    name: str
    base: int
    stations: tuple[int, ...]
    caption: tuple[str, ...]


@dataclass(frozen=True)
class FlowPath:
    """A flow: name and index, and its nodes from sender to receiver."""

    name: str
    index: int
    path: tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """The network to draw."""

    names: tuple[str, ...]
    routers: frozenset[int]
    edges: tuple[Edge, ...]
    flows: tuple[FlowPath, ...]
    agents: frozenset[int] = frozenset()
    channels: tuple[Channel, ...] = ()

    def neighbours(self) -> list[list[int]]:
        """Adjacent nodes of each node, in the order of the links."""
        out: list[list[int]] = [[] for _ in self.names]
        for edge in self.edges:
            out[edge.a].append(edge.b)
            out[edge.b].append(edge.a)
        return out


MOST_NODES = 80
"""Nodes up to which a drawing has each of them."""


def condensed(network: Network) -> Network:
    """Return the network with like hosts of a router as one box, if it has more than `MOST_NODES` nodes.

    Hosts are alike if their one link leads to the same router with the same rate, delay and queue in each direction.
    Their box has the first and the last name. Flows keep their number, so the links that limit them stay the same.
    """
    if len(network.names) <= MOST_NODES:
        return network
    neighbours = network.neighbours()
    radio = {node for channel in network.channels for node in (channel.base, *channel.stations)}
    groups: dict[tuple[object, ...], list[int]] = {}
    for edge in network.edges:
        host, router = (edge.a, edge.b) if edge.b in network.routers else (edge.b, edge.a)
        if host not in network.routers and host not in radio and len(neighbours[host]) == 1:
            out, back = (edge.forward, edge.reverse) if host == edge.a else (edge.reverse, edge.forward)
            groups.setdefault((router, host == edge.a, out, back), []).append(host)
    first = list(range(len(network.names)))
    names = list(network.names)
    for hosts in (hosts for hosts in groups.values() if len(hosts) > 1):
        names[hosts[0]] = f"{names[hosts[0]]} .. {names[hosts[-1]]}"
        for host in hosts:
            first[host] = hosts[0]
    kept = [node for node in range(len(names)) if first[node] == node]
    place = {node: index for index, node in enumerate(kept)}
    at = [place[node] for node in first]
    edges = {(at[edge.a], at[edge.b]): replace(edge, a=at[edge.a], b=at[edge.b]) for edge in reversed(network.edges)}
    return Network(
        tuple(names[node] for node in kept),
        frozenset(at[node] for node in network.routers),
        tuple(reversed(edges.values())),
        tuple(replace(flow, path=tuple(at[node] for node in flow.path)) for flow in network.flows),
        frozenset(at[node] for node in network.agents),
        tuple(
            replace(channel, base=at[channel.base], stations=tuple(at[node] for node in channel.stations))
            for channel in network.channels
        ),
    )


def bottlenecks(network: Network) -> frozenset[tuple[int, int]]:
    """Directions (from node, to node) that limit a flow: the slowest on its path, and the one with the least per flow.

    If all links of a path are equal, none counts as a limit. The radio links of a channel count as one link, shared by
    all traffic over any of them, in either direction.
    """
    rate: dict[tuple[int, int], float] = {}
    shared: dict[tuple[int, int], tuple[int, int]] = {}
    for edge in network.edges:
        for hop, direction in (((edge.a, edge.b), edge.forward), ((edge.b, edge.a), edge.reverse)):
            rate[hop] = direction.rate
            shared[hop] = hop if edge.channel is None else (-1, edge.channel)
    paths = [[hop for hop in _hops(flow.path) if hop in rate] for flow in network.flows]
    used: dict[tuple[int, int], int] = {}
    for hops in paths:
        for hop in hops:
            used[shared[hop]] = used.get(shared[hop], 0) + 1
    found: set[tuple[int, int]] = set()
    for hops in paths:
        for measure in (rate, {hop: rate[hop] / used[shared[hop]] for hop in hops}):
            least = min((measure[hop] for hop in hops), default=0.0)
            tight = [hop for hop in hops if measure[hop] == least]
            if len(tight) < len(hops):
                found.update(tight)
    return frozenset(found)


def _hops(path: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(itertools.pairwise(path))


@dataclass(frozen=True)
class Place:
    """Position of a node in pixels, and the side of its label: left, right, above or below."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Layout:
    """Positions of all nodes, and the size of the drawing."""

    places: tuple[Place, ...]
    width: float
    height: float


#: Pixels between columns, between rows, and around the drawing; between rows of hosts above or below a router.
COLUMN, ROW, MARGIN = 170.0, 62.0, 30.0
HUNG_ROW = 44.0

#: Most stations of a channel in one column; more are arranged in a block of several columns.
MAX_COLUMN = 12


def box_width(name: str) -> float:
    """Width of a host's box in pixels: wide enough for its name.

    >>> box_width("N0"), box_width("client-17")
    (42.0, 85.0)
    """
    return max(42.0, 7.4 * len(name) + 18.4)


def _router_columns(network: Network, neighbours: list[list[int]]) -> dict[int, int]:
    """Return the column of each router, from 1: to the right of all routers that data passes before it.

    The first flow over a link decides its direction. A router that receives data only from hosts is directly left of
    the next router; a router that no flow passes is beside those that it is linked to.
    """
    after: dict[int, set[int]] = {router: set() for router in sorted(network.routers)}
    for flow in network.flows:
        for a, b in _hops(flow.path):
            if a in after and b in after and a not in _reached(after, b):
                after[a].add(b)
    column: dict[int, int] = {}

    def place(router: int) -> int:
        if router not in column:
            before = [other for other in after if router in after[other]]
            column[router] = 1 + max((place(other) for other in before), default=0)
        return column[router]

    entered = {router for later in after.values() for router in later}
    for router, later in after.items():
        if later or router in entered:
            place(router)
    for router, later in after.items():
        if later and router not in entered:
            column[router] = min(column[other] for other in later) - 1
    rest = [router for router in after if router not in column]
    while rest:
        known = next((router for router in rest if any(other in column for other in neighbours[router])), rest[0])
        column[known] = max((column[other] for other in neighbours[known] if other in column), default=0) + 1
        rest.remove(known)
    return column


def _reached(after: dict[int, set[int]], start: int) -> set[int]:
    """Return all routers after `start`, and `start` itself."""
    seen, todo = {start}, [start]
    while todo:
        for other in after[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


@dataclass(frozen=True, slots=True)
class _Columns:
    """The column of each node, and the hosts placed above or below their router instead."""

    of: dict[int, int]
    above: dict[int, list[int]]
    below: dict[int, list[int]]


def _assign(network: Network, neighbours: list[list[int]]) -> _Columns:
    """Place routers in the direction of the data; hosts beside, above or below their router."""
    column = _router_columns(network, neighbours)
    last = max(column.values(), default=0)
    senders = {flow.path[0] for flow in network.flows if flow.path}
    receivers = {flow.path[-1] for flow in network.flows if flow.path} - senders
    for channel in network.channels:
        # Stations of a crowded channel stay together, on the side without wired hosts, as do stations without a flow.
        receivers.update(node for node in channel.stations if crowded(channel) or node not in senders)
    groups = _Columns(column, {}, {})
    for node in range(len(network.names)):
        if node in network.routers:
            continue
        home = next((other for other in neighbours[node] if other in column), None)
        if home is None:
            column[node] = last + 1 if node in receivers else 0
        elif last == 1:
            column[node] = 2 if node in receivers else 0
        elif column[home] in {1, last}:
            column[node] = 0 if column[home] == 1 else last + 1
        else:
            (groups.below if node in receivers else groups.above).setdefault(home, []).append(node)
    return groups


def crowded(channel: Channel) -> bool:
    """Return whether a channel has so many stations that they are drawn as a block, without a line to each."""
    return len(channel.stations) > MAX_COLUMN


def arrange(network: Network, column_width: float = COLUMN) -> Layout:
    """Position all nodes of `network`, with at least `column_width` pixels between columns."""
    neighbours = network.neighbours()
    count = len(network.names)
    groups = _assign(network, neighbours)
    used = sorted(set(groups.of.values()))
    rank = {c: i for i, c in enumerate(used)}
    columns: list[list[int]] = [[] for _ in used]
    for node in sorted(groups.of):
        columns[rank[groups.of[node]]].append(node)
    _untangle(columns, neighbours)
    beside = _fold(network, columns)
    tallest = max(len(nodes) for nodes in columns)
    hung_rows = [_rows_of(network, group) for hung in (groups.above, groups.below) for group in hung.items()]
    step = max([COLUMN, column_width] + [COLUMN * 0.62 * len(row) for rows in hung_rows for row in rows])
    body = max(1.0, (tallest - 1)) * ROW
    head, foot = (_hung_height(network, hung) for hung in (groups.above, groups.below))
    middle = head + body / 2
    places: dict[int, Place] = {}
    for i, nodes in enumerate(columns):
        x = MARGIN + 40 + i * step
        for j, node in enumerate(nodes):
            y = middle + (j - (len(nodes) - 1) / 2) * (ROW if len(nodes) == tallest else _gap(len(nodes), body))
            side = "left" if i == 0 and node not in network.routers else "right"
            if node in network.routers:
                side = "below"
            places[node] = Place(x, y, side)
    for node, (other, steps) in beside.items():
        near = places[other]
        places[node] = Place(near.x + steps * (-1 if near.label == "left" else 1), near.y, near.label)
    for hung, sign, word in ((groups.above, -1, "above"), (groups.below, 1, "below")):
        for group in hung.items():
            rows = _rows_of(network, group)
            for k, row in enumerate(rows):
                for j, node in enumerate(row):
                    x = places[group[0]].x + (j - (len(rows[0]) - 1) / 2) * 74
                    places[node] = Place(x, middle + sign * (body / 2 + 1.25 * ROW + k * HUNG_ROW), word)
    left = min([MARGIN + 40, *(place.x for place in places.values())])
    shift = MARGIN + 40 - left
    final = tuple(Place(places[i].x + shift, places[i].y, places[i].label) for i in range(count))
    return Layout(final, max(place.x for place in final) + MARGIN + 40, head + body + foot)


def _fold(network: Network, columns: list[list[int]]) -> dict[int, tuple[int, float]]:
    """Move stations of crowded channels from their column to beside another station: which one, and how far outward."""
    beside: dict[int, tuple[int, float]] = {}
    for channel in network.channels:
        members = set(channel.stations)
        pitch = max(box_width(network.names[node]) for node in channel.stations) + 14
        for nodes in columns:
            crowd = [node for node in nodes if node in members]
            if len(crowd) <= MAX_COLUMN:
                continue
            rows = math.ceil(math.sqrt(1.2 * len(crowd)))
            for j, node in enumerate(crowd[rows:]):
                beside[node] = (crowd[j % rows], pitch * (1 + j // rows))
                nodes.remove(node)
    return beside


def _rows_of(network: Network, group: tuple[int, list[int]]) -> list[list[int]]:
    """Rows of the hosts above or below a router: one row, or several at the base station of a crowded channel."""
    home, nodes = group
    crowd = any(channel.base == home and crowded(channel) for channel in network.channels)
    wide = math.ceil(math.sqrt(1.2 * len(nodes))) if crowd else len(nodes)
    return [nodes[k : k + wide] for k in range(0, len(nodes), wide)]


def _hung_height(network: Network, hung: dict[int, list[int]]) -> float:
    """Height above or below the columns, including the hosts placed there."""
    more = max((len(_rows_of(network, group)) - 1 for group in hung.items()), default=0)
    return MARGIN + (1.6 * ROW + more * HUNG_ROW if hung else 0.35 * ROW)


def _gap(count: int, body: float) -> float:
    """Distance of rows in a column with fewer nodes: spread over the same height, but not by more than 1.5 rows."""
    return min(1.5 * ROW, body / (count - 1)) if count > 1 else ROW


def _untangle(columns: list[list[int]], neighbours: list[list[int]]) -> None:
    """Order each column by the mean row of its neighbours in the column before (barycentre), which avoids crossings."""
    row = {node: j - (len(nodes) - 1) / 2 for nodes in columns for j, node in enumerate(nodes)}
    for _ in range(4):
        for nodes in columns:
            if len(nodes) < 2:
                continue
            centre = {}
            for node in nodes:
                seen = [row[other] for other in neighbours[node] if other in row]
                centre[node] = sum(seen) / len(seen) if seen else row[node]
            nodes.sort(key=lambda node: (round(centre[node], 6), node))
            for j, node in enumerate(nodes):
                row[node] = j - (len(nodes) - 1) / 2
