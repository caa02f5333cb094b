"""Every packet of a run on every wired link: when it entered a queue, left it or was dropped, and arrived."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from narrows.packets.capture import Capture, Flags, Integers
    from narrows.packets.links import Ends, Links

NEVER: Final = -1
"""The time of what did not happen."""


@dataclass(frozen=True, slots=True)
class Hops:
    """Packets at one link direction, in order of time; an array for each attribute.

    Attributes
    ----------
    ends : (str, str)
        The direction.
    packets : Capture
        Their headers.
    number : array
        Number of each packet in the run; the same on each link that it passes.
    queued_ns : array
        When it came to the queue, ns: its arrival at the node. In the sender's own queue this is `left_ns`, since a
        capture does not show when a host hands it down.
    left_ns : array
        When its transmission started; `NEVER` if it was dropped, or still waited when the run ended.
    dropped_ns : array
        When the queue dropped it; `NEVER` if it did not.
    arrived_ns : array
        When it arrived at the other end; `NEVER` if it was lost on the link, or was under way when the run ended.
    """

    ends: Ends
    packets: Capture
    number: Integers
    queued_ns: Integers
    left_ns: Integers
    dropped_ns: Integers
    arrived_ns: Integers


@dataclass(slots=True)
class _Leg:
    """What is known of a packet's way over one link."""

    place: int  # of the direction
    row: int  # in the direction's packets
    number: int
    arrived_ns: int


class _Waiting:
    """Packets that arrived at nodes and have not been seen to leave."""

    def __init__(self) -> None:
        self._legs: dict[tuple[str, int], deque[_Leg]] = defaultdict(deque)

    def add(self, node: str, identity: int, leg: _Leg) -> None:
        self._legs[node, identity].append(leg)

    def take(self, node: str, identity: int, time_ns: int) -> _Leg | None:
        waiting = self._legs.get((node, identity))
        return waiting.popleft() if waiting and waiting[0].arrived_ns <= time_ns else None

    def left(self) -> list[tuple[str, _Leg]]:
        return [(node, leg) for (node, _), legs in self._legs.items() for leg in legs]


def of_run(links: Links) -> list[Hops]:
    """Follow all packets of a run over its wired links.

    A packet is recognised on the next link by what no router changes. One that arrived at a router by its link's
    rate and delay, but that the router did not send on although it sent on a later one of the same flow, was lost on
    the link.

    Parameters
    ----------
    links : Links

    Returns
    -------
    list of Hops
        In the order of the scenario's links, without directions that no packet entered.

    Raises
    ------
    narrows.base.errors.InputError
        If a capture cannot be read.
    """
    from narrows.packets.capture import joined

    ends, tables, dropped = [], [], []
    for one in links.ends:
        sent, drops = links.sent(one), links.dropped(one)
        both = sent if drops is None else joined(sent, drops)
        if len(both):
            ends.append(one)
            tables.append(both)
            dropped.append(np.arange(len(both)) >= len(sent))
    numbers = [np.full(len(table), -1, dtype=np.int64) for table in tables]
    queued = [table.time_ns.copy() for table in tables]
    arrived = [
        np.where(gone, NEVER, links.arrivals(one, table))
        for one, table, gone in zip(ends, tables, dropped, strict=True)
    ]
    waiting = _Waiting()
    ways = _follow(ends, tables, (dropped, arrived, numbers, queued), waiting)
    end_ns = links.end_ns
    stayed = _stayed(links, tables, arrived, waiting, ways)
    made = []
    for place, one in enumerate(ends):
        waited = [leg for leg, way in stayed if way == place and leg.arrived_ns <= end_ns]
        table, gone = tables[place], dropped[place]
        for leg in waited:
            table = joined(table, tables[leg.place].take(np.array([leg.row])))
        never = np.full(len(waited), NEVER)
        hops = Hops(
            ends=one,
            packets=table,
            number=np.append(numbers[place], [leg.number for leg in waited]).astype(np.int64),
            queued_ns=np.append(queued[place], [leg.arrived_ns for leg in waited]).astype(np.int64),
            left_ns=np.append(np.where(gone, NEVER, tables[place].time_ns), never),
            dropped_ns=np.append(np.where(gone, tables[place].time_ns, NEVER), never),
            arrived_ns=np.append(np.where(arrived[place] > end_ns, NEVER, arrived[place]), never),
        )
        made.append(_ordered(hops))
    return made


@dataclass(slots=True)
class _Way:
    """Where a node sent the packets of one direction of a flow, and when the last that it sent had come."""

    place: int
    came_ns: int


def _follow(
    ends: list[Ends],
    tables: list[Capture],
    columns: tuple[list[Flags], list[Integers], list[Integers], list[Integers]],
    waiting: _Waiting,
) -> dict[tuple[str, int, bool], _Way]:
    """Number the packets in order of time, and find when each came to the queue; return the ways of flows at nodes."""
    dropped, arrived, numbers, queued = columns
    times = np.concatenate([table.time_ns for table in tables]) if tables else np.zeros(0, np.int64)
    places = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    rows = np.concatenate([np.arange(len(table)) for table in tables]) if tables else places
    order = np.argsort(times, kind="stable")
    identities = [table.identity.tolist() for table in tables]
    flows = [list(zip(table.flow.tolist(), table.along.tolist(), strict=True)) for table in tables]
    there = [one.tolist() for one in arrived]
    lost = [one.tolist() for one in dropped]
    made: list[list[int]] = [[] for _ in tables]
    came: list[list[int]] = [[] for _ in tables]
    ways: dict[tuple[str, int, bool], _Way] = {}
    count = 0
    # Packets of a direction are in order of time but for its drops, so each goes to its own row at the end.
    seen: list[list[int]] = [[] for _ in tables]
    for place, row, time_ns in zip(places[order].tolist(), rows[order].tolist(), times[order].tolist(), strict=True):
        node, other = ends[place]
        identity = identities[place][row]
        leg = waiting.take(node, identity, time_ns)
        if leg is None:
            number, came_ns, count = count, time_ns, count + 1
        else:
            number, came_ns = leg.number, leg.arrived_ns
            if not lost[place][row]:
                ways[node, *flows[place][row]] = _Way(place, came_ns)
        seen[place].append(row)
        made[place].append(number)
        came[place].append(came_ns)
        if there[place][row] != NEVER:
            waiting.add(other, identity, _Leg(place, row, number, there[place][row]))
    for place, at in enumerate(seen):
        numbers[place][at] = made[place]
        queued[place][at] = came[place]
    return ways


def _stayed(
    links: Links,
    tables: list[Capture],
    arrived: list[Integers],
    waiting: _Waiting,
    ways: dict[tuple[str, int, bool], _Way],
) -> list[tuple[_Leg, int]]:
    """Return the packets that still wait at routers, with the place of their way.

    What a router did not send on although it sent a later packet of the same flow was lost on the link to it: its
    arrival is removed.
    """
    hosts = {node.name for node in links.scenario.resolved.nodes if node.kind == "host"}
    made = []
    for node, leg in waiting.left():
        table = tables[leg.place]
        way = ways.get((node, int(table.flow[leg.row]), bool(table.along[leg.row])))
        if node in hosts or way is None:
            continue
        if leg.arrived_ns < way.came_ns:
            arrived[leg.place][leg.row] = NEVER
        else:
            made.append((leg, way.place))
    return made


def _ordered(hops: Hops) -> Hops:
    at = np.argsort(np.maximum(np.maximum(hops.left_ns, hops.dropped_ns), hops.queued_ns), kind="stable")
    columns = (hops.number, hops.queued_ns, hops.left_ns, hops.dropped_ns, hops.arrived_ns)
    return Hops(hops.ends, hops.packets.take(at), *(column[at] for column in columns))
