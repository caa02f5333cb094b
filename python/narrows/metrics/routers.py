"""Metrics of a network-assisted scheme's router agents, from the rows of totals that every run keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterMetrics:
    """Counters of a router's agent over the whole run, in packets. In a mean over runs, every number is a mean.

    Counters that the router's scheme does not use stay zero.

    Attributes
    ----------
    name : str
        The router.
    asked : int
        ACNS: segments that asked for a command.
    wrote_freeze, wrote_fallback : int
        ACNS: segments into which the router wrote "freeze", "fallback".
    inserted : int
        NGWA: segments that arrived without an option and were given one.
    lowered, kept : int
        NGWA: segments whose option had a larger value and was lowered to this router's; segments whose value was as
        small or smaller and was kept.
    full : int
        NGWA: segments left unchanged because their IPv4 option area had no room.
    malformed : int
        NGWA: segments left unchanged because their options were malformed.
    unsupported : int
        NGWA: segments left unchanged because they cannot carry a value (IPv6, or longer than IPv4 allows).
    """

    name: str
    asked: float
    wrote_freeze: float
    wrote_fallback: float
    inserted: float
    lowered: float
    kept: float
    full: float
    malformed: float
    unsupported: float

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return asdict(self)


COUNTERS = tuple(field.name for field in fields(RouterMetrics) if field.name != "name")
"""All counters of a router, in declared order."""


def router_metrics(name: str, totals: Mapping[str, int | None]) -> RouterMetrics:
    """Compute the metrics of a router from its row of totals.

    Parameters
    ----------
    name : str
        The router's name.
    totals : mapping
        Value by column of the engine's ``router_totals``.

    Returns
    -------
    RouterMetrics
    """
    return RouterMetrics(name=name, **{counter: totals[counter] or 0 for counter in COUNTERS})


def told(routers: Iterable[RouterMetrics]) -> list[str]:
    """Name the counters that are non-zero for some of these routers: the columns that a table needs.

    Parameters
    ----------
    routers : iterable of RouterMetrics

    Returns
    -------
    list of str
        In declared order.
    """
    listed = list(routers)
    return [counter for counter in COUNTERS if any(getattr(router, counter) for router in listed)]
