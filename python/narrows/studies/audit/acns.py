"""The command that an ACNS router has to write, from the formulas of the papers (DCNET 2013, equations 3 to 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from narrows.studies.audit.flows import Flows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.model.resolved import Queue
    from narrows.studies.audit.packets import Packet
    from narrows.studies.audit.router import Visit, Waiting

OPTION, OPTION_CMI = 0x3E, 0x80
"""The hop-by-hop option of IPv6, and its bit for CMI in the first byte of data."""

LABEL_CMI = 0x80000
"""CMI in a flow label of IPv6."""

NORMAL, FREEZE, FALLBACK = 1, 2, 3
NAMES = {NORMAL: "normal", FREEZE: "freeze", FALLBACK: "fallback"}
"""Commands, in the order of their harshness."""

CE = 3


def message(packet: Packet, encoding: str) -> tuple[int, bool]:
    """Return the ECN field and CMI."""
    if packet.version == 4:
        return packet.ecn, packet.reserved
    if encoding == "flow_label":
        return packet.ecn, bool(packet.label & LABEL_CMI)
    options = packet.options
    return packet.ecn, len(options) > 2 and options[0] == OPTION and bool(options[2] & OPTION_CMI)


class Acns:
    """An ACNS router's decisions, when a packet comes.

    Parameters
    ----------
    settings : mapping
        The scheme's settings, as resolved.
    """

    title = "commands"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._flows = Flows(settings["idle_timeout_ns"], settings["max_flows"])

    def order_ns(self, visit: Visit) -> int:
        """When the router decides."""
        return visit.came_ns

    def decide(self, visit: Visit, waiting: Waiting, queue: Queue) -> tuple[str, list[str], str] | None:
        """Return what was written, what may be for each order of one instant, and the state; `None` if none asked."""
        ecn, cmi = message(visit.before, self._settings["ipv6"])
        now_ns = visit.came_ns
        asks = cmi and ecn != 0
        flow = self._flows.observe(visit.before, now_ns)
        if flow is None or not asks or visit.pending:
            return None
        maximum = 63 if self._settings["p_max"] != "observed" else self._flows.largest_priority
        oldest_ns, age_ns = self._flows.oldest_ns(now_ns), now_ns - flow.added_ns
        age = age_ns / oldest_ns if oldest_ns else 0.0
        before = FREEZE if ecn == CE else NORMAL
        told = []
        occupied = waiting.possible(now_ns, visit)
        for packets, length in occupied:
            command = self._command(_occupancy(queue, packets, length), flow.priority, maximum, age)
            told.append(NAMES[max(before, command)])
        ecn, cmi = message(visit.after, self._settings["ipv6"])
        written = NAMES[NORMAL if ecn != CE else FREEZE if cmi else FALLBACK]
        state = (
            f"{occupied[0][0]} packets, {occupied[0][1]} bytes waiting of {queue.limit}; age {age_ns / 1e9:.6f} of "
            f"{oldest_ns / 1e9:.6f} s; priority {flow.priority} of {maximum}"
        )
        return written, list(dict.fromkeys(told)), state

    def _command(self, occupancy: float, priority: int, maximum: int, age: float) -> int:
        weight = self._weight(occupancy, priority, max(maximum, priority), age)
        if weight < self._settings["freeze_threshold"]:
            return NORMAL
        return FREEZE if weight < self._settings["fallback_threshold"] else FALLBACK

    def _weight(self, occupancy: float, priority: int, maximum: int, age: float) -> float:
        """``W = A / (F + T)``; a part whose weight factor is 0 is left out."""
        if occupancy <= 0:
            return 0.0
        by_priority, by_age = self._settings["priority_weight"], self._settings["age_weight"]
        if self._settings["formula"] == "dcnet2013":
            first = by_priority * priority / maximum if priority else 0.0
            second = 0.0 if by_age <= 0 else by_age / age if age > 0 else math.inf
        else:
            first = 0.0 if by_priority <= 0 else by_priority * maximum / priority if priority else math.inf
            second = by_age * age
        divisor = first + second
        return occupancy / divisor if divisor else math.inf


def _occupancy(queue: Queue, packets: int, length: int) -> float:
    if queue.limit_packets is not None:
        return min(packets / queue.limit_packets, 1.0) if queue.limit_packets else 1.0
    return min(length / queue.limit_bytes, 1.0) if queue.limit_bytes else 1.0
