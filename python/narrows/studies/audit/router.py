"""One router's packets, rebuilt from captures: when each came, left or was dropped, and what waited."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.model.resolved import Direction
    from narrows.studies.audit.packets import Packet

Ends = tuple[str, str]
"""Names of the nodes at both ends of a link direction, the sender first."""

NEVER_NS = 1 << 63
"""When a packet leaves that still waited at the end."""

MOST_TIES = 6
"""Most packets of one instant whose orders are all tried."""


@dataclass(slots=True)
class Visit:
    """One packet at a router.

    Attributes
    ----------
    came_ns : int
        When it came: its last bit, after the delay of the link before.
    before : Packet
        As it came.
    after : Packet
        As it left or was dropped.
    out : Ends
        The link direction whose queue it entered.
    left_ns : int
        When its transmission started; of a packet that was dropped, when that happened.
    dropped : bool
        Whether it was dropped.
    pending : bool
        Whether it still waited when the run ended; then `after` is what came, and `left_ns` is beyond the end.
    """

    came_ns: int
    before: Packet
    after: Packet
    out: Ends
    left_ns: int
    dropped: bool
    pending: bool = False

    @property
    def waited(self) -> bool:
        """Whether it was in the queue at all: it was, unless it was dropped when it came."""
        return not (self.dropped and self.left_ns == self.came_ns)


def arrivals(sent: Iterable[Packet], direction: Direction) -> list[tuple[int, Packet]]:
    """Return when packets arrive at a link's other end: after transmission, to the nanosecond, and delay.

    Fractions of a nanosecond add up while the link is busy, as bits do on a wire.
    """
    made = []
    free_ns, rest = -1, 0
    for packet in sent:
        if packet.time_ns > free_ns:
            rest = 0
        taken, rest = divmod(packet.length * 8 * 1_000_000_000 + rest, direction.rate_bps)
        free_ns = packet.time_ns + taken
        made.append((free_ns + direction.delay_ns, packet))
    return made


def visits(
    came: Sequence[tuple[int, Packet]],
    left: Mapping[Ends, Sequence[Packet]],
    dropped: Mapping[Ends, Sequence[Packet]],
    end_ns: int,
) -> list[Visit]:
    """Match what came to a router with what left it, by the fields that no router changes.

    A packet that neither left nor was dropped was lost on the link before, or still waited when the run ended. It is
    taken to wait if it came after the last packet that left the same queue, and before the run ended.

    Parameters
    ----------
    came : sequence of (int, Packet)
        Times and packets of all links to the router, in order of time.
    left, dropped : mapping
        Packets that left and that were dropped, by link direction.
    end_ns : int
        End of the run.
    """
    gone: dict[tuple[object, ...], deque[tuple[int, Packet, Ends, bool]]] = defaultdict(deque)
    events = [(packet.time_ns, packet, ends, False) for ends, some in left.items() for packet in some]
    events += [(packet.time_ns, packet, ends, True) for ends, some in dropped.items() for packet in some]
    events.sort(key=lambda one: one[0])
    for event in events:
        gone[event[1].identity].append(event)
    made, unmatched = [], []
    for came_ns, packet in came:
        waiting = gone[packet.identity]
        if waiting and waiting[0][0] >= came_ns:
            left_ns, after, out, lost = waiting.popleft()
            made.append(Visit(came_ns, packet, after, out, left_ns, lost))
        elif came_ns <= end_ns:
            unmatched.append((came_ns, packet))
    routes = {one.before.identity[1]: one.out for one in made}
    last = {one.out: one.came_ns for one in made if not one.dropped}
    for came_ns, packet in unmatched:
        way = routes.get(packet.identity[1])
        if way is not None and came_ns > last.get(way, -1):
            made.append(Visit(came_ns, packet, packet, way, NEVER_NS, dropped=False, pending=True))
    made.sort(key=lambda one: one.came_ns)
    return made


@dataclass(slots=True)
class Waiting:
    """The queue of one link direction over time: what waits besides the packet in transmission.

    Attributes
    ----------
    visits : list of Visit
        In the order in which they came.
    """

    visits: list[Visit]
    _came: list[int] = field(default_factory=list)
    _left: list[int] = field(default_factory=list)
    _came_bytes: list[int] = field(default_factory=list)
    _left_bytes: list[int] = field(default_factory=list)
    _leaving: list[Visit] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Sum up what came and what left."""
        self.visits = [one for one in self.visits if one.waited]
        self._leaving = sorted(self.visits, key=lambda one: one.left_ns)
        self._came, self._came_bytes = _summed((one.came_ns, one.before.length) for one in self.visits)
        self._left, self._left_bytes = _summed((one.left_ns, one.before.length) for one in self._leaving)

    def possible(self, now_ns: int, own: Visit) -> list[tuple[int, int]]:
        """Return the packets and bytes that may wait besides `own`, a pair for each order of what happens at `now_ns`.

        The first is that in which every departure comes before every arrival. Several mean a tie of one instant.
        """
        arrived, departed = bisect_left(self._came, now_ns), bisect_left(self._left, now_ns)
        packets = arrived - departed
        length = self._came_bytes[arrived] - self._left_bytes[departed]
        now = [
            (1, one.before.length) for one in self.visits[arrived : bisect_right(self._came, now_ns)] if one is not own
        ]
        out = [
            (-1, -one.before.length)
            for one in self._leaving[departed : bisect_right(self._left, now_ns)]
            if one is not own and one.came_ns < now_ns
        ]
        if own.came_ns < now_ns:  # it waits itself until now
            packets, length = packets - 1, length - own.before.length
        first = (packets + sum(one[0] for one in out), length + sum(one[1] for one in out))
        changes = [*out, *now]
        if len(changes) > MOST_TIES:
            changes = changes[:MOST_TIES]
        others = {
            (packets + sum(one[0] for one in some), length + sum(one[1] for one in some))
            for count in range(len(changes) + 1)
            for some in combinations(changes, count)
        }
        return [first, *sorted(others - {first})]


def _summed(of: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the times, and the bytes before each of them with the total at the end."""
    times, sums = [], [0]
    for time_ns, length in of:
        times.append(time_ns)
        sums.append(sums[-1] + length)
    return times, sums
