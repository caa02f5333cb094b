"""The value that an NGWA router has to write: the free bytes of its queue, or a flow's share of it (equation 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.studies.audit.flows import Flows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.model.resolved import Queue
    from narrows.studies.audit.packets import Packet
    from narrows.studies.audit.router import Ends, Visit, Waiting

OPTION, LENGTH = 33, 6
"""Type and length of the option (section 4.1)."""

AREA = 40
"""Largest number of bytes of IPv4 options (RFC 791, section 3.1)."""

DIVIDES = 5
"""The first of the modes that divide the queue among the flows."""


def value(packet: Packet) -> int | None:
    """Return the value of the packet's option; `None` without one.

    Raises
    ------
    ValueError
        If the options cannot be parsed.
    """
    options, at = packet.options, 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2 or at + length > len(options) or (options[at] == OPTION and length != LENGTH):
            message = "malformed options"
            raise ValueError(message)
        if options[at] == OPTION:
            return int.from_bytes(options[at + 2 : at + 6])
        at += length
    return None


class Ngwa:
    """An NGWA router's decisions, when a packet leaves its queue, or when it comes with ``stamp = "arrival"``.

    Parameters
    ----------
    settings : mapping
        The scheme's settings, as resolved.
    """

    title = "values"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._flows: dict[Ends, Flows] = {}
        self._departure = settings["stamp"] == "departure"

    def order_ns(self, visit: Visit) -> int:
        """When the router decides."""
        return visit.left_ns if self._departure else visit.came_ns

    def decide(self, visit: Visit, waiting: Waiting, queue: Queue) -> tuple[str, list[str], str] | None:
        """Return what was written, what may be for each order of one instant, and the state; `None` if nothing is.

        A packet that a queue drops does not leave, so it is decided on only with ``stamp = "arrival"``.
        """
        if self._departure and (visit.dropped or visit.pending):
            return None
        now_ns = self.order_ns(visit)
        table = self._flows.get(visit.out)
        if table is None:
            table = self._flows[visit.out] = Flows(self._settings["idle_timeout_ns"], self._settings["max_flows"])
        table.observe(visit.before, now_ns)
        packet = visit.before
        if (
            visit.pending
            or packet.flow is None
            or packet.version != 4
            or (self._settings["marks"] == "data" and not packet.payload)
        ):
            return None
        try:
            there = value(packet)
        except ValueError:
            return None
        if there is None and len(packet.options) + LENGTH > AREA:
            return None
        flows = max(len(table), 1)
        occupied = waiting.possible(now_ns, visit)
        if not self._departure:
            occupied = [(packets + 1, length + packet.length) for packets, length in occupied]
        told = []
        for packets, length in occupied:
            mine = self._value(queue, packets, length, flows)
            told.append(str(mine if there is None else min(there, mine)))
        written = value(visit.after)
        state = f"{occupied[0][0]} packets, {occupied[0][1]} bytes waiting of {queue.limit}; {flows} flows"
        return "none" if written is None else str(written), list(dict.fromkeys(told)), state

    def _value(self, queue: Queue, packets: int, length: int, flows: int) -> int:
        if queue.limit_packets is not None:
            size: int = self._settings["packet_size_bytes"]
            limit, length = queue.limit_packets * size, packets * size
        else:
            limit = queue.limit_bytes or 0
        if self._settings["mode"] >= DIVIDES:
            share: float = self._settings["flow_factor"] * limit / flows
            # The small addend keeps a share that is whole, such as 47,530, from being one byte less.
            return min(int(share + 1e-6), 2**32 - 1)
        return min(max(limit - length, 0), 2**32 - 1)
