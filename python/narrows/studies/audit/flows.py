"""A router's table of TCP flows, rebuilt from the segments that pass it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.studies.audit.packets import FIN, RST, SYN

if TYPE_CHECKING:
    from narrows.studies.audit.packets import FlowKey, Packet


@dataclass(slots=True)
class Flow:
    """One direction of a connection: when it entered, when its latest segment came (ns), and that segment's DSCP."""

    added_ns: int
    updated_ns: int
    priority: int
    open: bool = True


class Flows:
    """The flows that a router knows.

    A flow enters with its first segment. FIN and RST close it; a closed flow stays remembered until its idle time has
    passed, so that late segments do not bring it back, and only a SYN does.

    Parameters
    ----------
    idle_ns : int
        Time without a segment after which a flow is forgotten.
    max_flows : int
        Most flows that are remembered; then the closed one that was idle for longest leaves, else the open one.
    """

    def __init__(self, idle_ns: int, max_flows: int) -> None:
        self._idle_ns = idle_ns
        self._max_flows = max_flows
        self._open: OrderedDict[FlowKey, Flow] = OrderedDict()
        """Open flows in the order of their latest segment."""
        self._closed: OrderedDict[FlowKey, Flow] = OrderedDict()
        self._entered: OrderedDict[FlowKey, Flow] = OrderedDict()
        """Open flows in the order in which they entered."""

    def __len__(self) -> int:
        """Number of open flows."""
        return len(self._open)

    @property
    def largest_priority(self) -> int:
        """Largest DSCP among the open flows; 0 without any."""
        return max((one.priority for one in self._open.values()), default=0)

    def oldest_ns(self, now_ns: int) -> int:
        """Age of the oldest open flow; 0 without any."""
        first = next(iter(self._entered.values()), None)
        return 0 if first is None else now_ns - first.added_ns

    def observe(self, packet: Packet, now_ns: int) -> Flow | None:
        """Record a segment; return its flow, or `None` if it is none of TCP's or its flow has ended."""
        key = packet.flow
        if key is None:
            return None
        self._forget(now_ns)
        ends = packet.flags & (FIN | RST)
        if key in self._closed:
            if ends or not packet.flags & SYN:
                self._closed[key].updated_ns = now_ns
                self._closed.move_to_end(key)
                return None
            del self._closed[key]
        flow = self._open.get(key)
        if flow is None:
            flow = self._enter(key, now_ns)
        flow.updated_ns, flow.priority = now_ns, packet.dscp
        self._open.move_to_end(key)
        if ends:
            self._close(key)
            if packet.flags & RST:
                source, sink, ports = key
                back = (sink, source, ports[2:] + ports[:2])
                if back in self._open:
                    self._open[back].updated_ns = now_ns
                    self._close(back)
            return None
        return flow

    def _enter(self, key: FlowKey, now_ns: int) -> Flow:
        if len(self._open) + len(self._closed) >= self._max_flows:
            if self._closed:
                self._closed.popitem(last=False)
            else:
                gone, _ = self._open.popitem(last=False)
                del self._entered[gone]
        flow = Flow(now_ns, now_ns, 0)
        self._open[key] = self._entered[key] = flow
        return flow

    def _close(self, key: FlowKey) -> None:
        self._closed[key] = self._open.pop(key)
        del self._entered[key]

    def _forget(self, now_ns: int) -> None:
        for table in (self._open, self._closed):
            while table:
                key, flow = next(iter(table.items()))
                if now_ns - flow.updated_ns < self._idle_ns:
                    break
                del table[key]
                self._entered.pop(key, None) if table is self._open else None
