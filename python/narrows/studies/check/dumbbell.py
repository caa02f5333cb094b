"""A cell of a grid as overrides of a case's dumbbell."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.resolved import Link
    from narrows.model.scenario import Override, Scenario
    from narrows.studies.check.cells import Cell

PACKET_BYTES: Final = 1500
"""Size of a packet for buffers and for the estimate of packets."""

LEAST_PACKETS: Final = 10
"""Smallest buffer of a cell, packets: a window of ten (RFC 6928) fits."""

ACCESS: Final = 10
"""Access links are at least this many times faster than the bottleneck."""

MOST_PACKETS: Final = 500_000
"""Cells run by default if the bottleneck can send at most this many packets within the duration."""

LARGEST_WINDOW: Final = 1_048_560 << 10
"""Largest receive buffer of a cell, bytes: the limit of window scaling (RFC 7323)."""


@dataclass(frozen=True, slots=True)
class Path:
    """The way of the flow under test through a dumbbell, as resolved.

    Attributes
    ----------
    rate_bps : int
        Smallest rate on it.
    rtt_ns : int
        Two-way propagation delay.
    """

    rate_bps: int
    rtt_ns: int

    @classmethod
    def of(cls, scenario: Scenario, flow: int) -> Path | None:
        """Measure the path of a flow.

        Parameters
        ----------
        scenario : Scenario
        flow : int
            Its index.

        Returns
        -------
        Path or None
            ``None`` over an 802.11 channel.
        """
        links = _on_path(scenario, flow)
        if not links:
            return None
        return cls(
            min(link.forward.rate_bps if along else link.reverse.rate_bps for link, along in links),
            sum(link.forward.delay_ns + link.reverse.delay_ns for link, _ in links),
        )

    def packets(self, duration_s: float) -> float:
        """Return how many packets can be sent within a time, s."""
        return self.rate_bps * duration_s / (8 * PACKET_BYTES)


def _on_path(scenario: Scenario, flow: int) -> list[tuple[Link, bool]]:
    """Return the links of a flow, and whether it passes each forward."""
    resolved = scenario.resolved
    by_ends = {(link.a, link.b): (link, True) for link in resolved.links}
    by_ends |= {(link.b, link.a): (link, False) for link in resolved.links}
    names = [resolved.nodes[node].name for node in scenario.paths()[flow]]
    hops = [by_ends.get(pair) for pair in pairwise(names)]
    return [hop for hop in hops if hop is not None] if all(hops) else []


def overrides(scenario: Scenario, flow: int, place: str | None, cell: Cell) -> dict[str, Override]:
    """Return the overrides that turn a scenario into a cell of its grid.

    The bottleneck's delay is what the access links leave of the round-trip time. If they leave less than half, all
    access delays are scaled down, to a fifth of the round-trip time for the flow under test. Rates of access links
    become at least `ACCESS` times the bottleneck's. The duration grows with the round-trip time, so that a cell has at
    least as many round trips as the file; the transmission time of four packets counts as a round trip where it is
    longer. A receive buffer that is too small for the cell grows, to `LARGEST_WINDOW` at most.

    Parameters
    ----------
    scenario : Scenario
    flow : int
        Index of the flow under test.
    place : str or None
        Path of the flow in the file, for its receive buffer.
    cell : Cell

    Returns
    -------
    dict
        Values by path.

    Raises
    ------
    InputError
        If the scenario is no dumbbell with one bottleneck.
    """
    if cell.is_base:
        return {}
    table = tomllib.loads(scenario.text).get("topology", {})
    base = Path.of(scenario, flow)
    if table.get("kind") != "dumbbell" or base is None:
        message = f'{scenario.path}: its grid needs a dumbbell; allowed: [topology] with kind = "dumbbell", or no grid'
        raise InputError(message)
    rate = base.rate_bps if cell.rate_bps is None else cell.rate_bps
    rtt = base.rtt_ns if cell.rtt_ns is None else cell.rtt_ns
    values = _bottleneck(scenario, flow, table, cell, rtt)
    if cell.rate_bps is not None:
        values |= _access_rates(scenario, table, rate)
    bdp = rate * rtt / 8e9
    if cell.buffer is not None:
        limit = max(LEAST_PACKETS, math.ceil(cell.buffer * bdp / PACKET_BYTES))
        values[f"{_bottleneck_place(table)}.queue.limit"] = f"{limit} packets"
    window = min(LARGEST_WINDOW, math.ceil(4 * (1 + (cell.buffer or 1.0)) * bdp))
    tcp = scenario.resolved.flows[flow].tcp
    if place is not None and tcp is not None and int(tcp.settings.get("recv_buffer_bytes") or window) < window:
        values[f"{place}.tcp.recv_buffer"] = f"{window} B"
    duration = duration_ns(scenario, flow, cell)
    if duration > scenario.resolved.duration_ns:
        values["duration"] = f"{duration} ns"
    return values


def duration_ns(scenario: Scenario, flow: int, cell: Cell) -> int:
    """Return the duration of a cell: the file's, or longer for as many round trips.

    Parameters
    ----------
    scenario : Scenario
    flow : int
        Index of the flow under test.
    cell : Cell

    Returns
    -------
    int
        ns.
    """
    own = scenario.resolved.duration_ns
    base = Path.of(scenario, flow)
    if base is None or cell.is_base:
        return own
    rate, rtt = cell.rate_bps or base.rate_bps, cell.rtt_ns or base.rtt_ns
    return max(own, math.ceil(own * _round(rate, rtt) / _round(base.rate_bps, base.rtt_ns)))


def _round(rate_bps: int, rtt_ns: int) -> float:
    """Duration of a round trip for the cell's duration, ns."""
    return max(rtt_ns, 4 * PACKET_BYTES * 8e9 / rate_bps)


def _bottleneck_place(table: Mapping[str, Any]) -> str:
    return "topology.bottleneck[0]" if isinstance(table.get("bottleneck"), list) else "topology.bottleneck"


def _sides(place: str, given: Mapping[str, Any], key: str, sides: Sequence[str]) -> list[str]:
    """Return the paths of a value: that of the link, and those of directions that set their own."""
    own = [f"{place}.{side}.{key}" for side in sides if key in (given.get(side) or {})]
    return [f"{place}.{key}", *own]


def _bottleneck(
    scenario: Scenario, flow: int, table: Mapping[str, Any], cell: Cell, rtt_ns: int
) -> dict[str, Override]:
    place, given = _bottleneck_place(table), table.get("bottleneck") or {}
    link: Mapping[str, Any] = given[0] if isinstance(given, list) else given
    values: dict[str, Override] = {}
    if cell.rate_bps is not None:
        values |= dict.fromkeys(_sides(place, link, "rate", ("forward", "reverse")), f"{cell.rate_bps} b/s")
    if cell.rtt_ns is None:
        return values
    others = [one for one, _ in _on_path(scenario, flow) if {one.a, one.b} != {"r1", "r2"}]
    access = sum(one.forward.delay_ns + one.reverse.delay_ns for one in others)
    if 2 * access > rtt_ns:
        share = rtt_ns / (5 * access)
        values |= _access_delays(scenario, table, share)
        access = sum(_scaled(way.delay_ns, share) for one in others for way in (one.forward, one.reverse))
    values |= dict.fromkeys(_sides(place, link, "delay", ("forward", "reverse")), f"{max(0, rtt_ns - access) // 2} ns")
    return values


def _scaled(delay_ns: int, share: float) -> int:
    return max(1, int(delay_ns * share)) if delay_ns else 0


def _access(table: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tables of access links, each with its path in the file."""
    given = table.get("access") or {}
    if isinstance(given, list):
        return [(f"topology.access[{index}]", one) for index, one in enumerate(given)]
    return [("topology.access", given)]


def _links(scenario: Scenario, index: int, count: int) -> list[Link]:
    """Return the access links that come from one table of `count`: all, or those of a pair."""
    access = [link for link in scenario.resolved.links if {link.a, link.b} != {"r1", "r2"}]
    if count == 1:
        return access
    ends = {f"s{index + 1}", f"d{index + 1}"}
    return [link for link in access if ends & {link.a, link.b}]


def _access_delays(scenario: Scenario, table: Mapping[str, Any], share: float) -> dict[str, Override]:
    values: dict[str, Override] = {}
    tables = _access(table)
    for index, (place, given) in enumerate(tables):
        for link in _links(scenario, index, len(tables))[:1]:
            for path in _sides(place, given, "delay", ("forward", "reverse")):
                way = link.reverse if ".reverse." in path else link.forward
                values[path] = f"{_scaled(way.delay_ns, share)} ns"
    return values


def _access_rates(scenario: Scenario, table: Mapping[str, Any], rate_bps: int) -> dict[str, Override]:
    values: dict[str, Override] = {}
    tables = _access(table)
    for index, (place, given) in enumerate(tables):
        links = _links(scenario, index, len(tables))
        if any(way.rate_bps < ACCESS * rate_bps for link in links for way in (link.forward, link.reverse)):
            values |= dict.fromkeys(_sides(place, given, "rate", ("forward", "reverse")), f"{ACCESS * rate_bps} b/s")
    return values
