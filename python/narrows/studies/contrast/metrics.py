"""Metrics as readers see them: title, unit, and the order of the objects that they describe."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from narrows.studies.comparison import measures
from narrows.studies.comparison.measures import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from narrows.studies.comparison.values import Key

KINDS: Final = {
    "run": "run",
    "flow": "flow",
    "transfer_class": "transfers",
    "playback": "video",
    "datagram": "datagrams",
    "queue": "queue",
    "subqueue": "sub-queue",
    "router": "router",
    "station": "station",
    "channel": "channel",
    "impairment": "impairments",
}
"""Kinds of objects, in the order in which they are shown, with what a reader calls them."""

_TITLES: Final = {
    measure.key: measure.title for measure in (*measures.FLOW, *measures.QUEUE, *measures.TRANSFER, *measures.PLAYBACK)
} | {
    "throughput_max_mbps": "Throughput, largest",
    "sent_bytes": "Sent",
    "arrived_bytes": "Arrived",
    "delivered_bytes": "Delivered",
    "forwarded_bytes": "Forwarded",
    "loss_ratio": "Lost, share",
    "drop_ratio": "Dropped, share",
    "retransmitted_bytes": "Sent again",
    "rtt_min_ms": "RTT, least",
    "rtt_max_ms": "RTT, largest",
    "rtt_p99_ms": "RTT, 99 %",
    "delay_min_ms": "Delay, least",
    "delay_max_ms": "Delay, largest",
    "delay_p50_ms": "Delay, median",
    "delay_p99_ms": "Delay, 99 %",
    "max_bytes": "Longest",
    "active_s": "Time to send",
    "fct_p99_ms": "Completion time, 99 %",
    "ecn_reductions": "Reductions by ECN",
    "triple_duplicate_acks": "Triple duplicate ACKs",
    "later_duplicate_acks": "Later duplicate ACKs",
    "spurious": "Reductions undone",
    "jain": "Jain's index",
    "rtt_samples": "RTT samples",
}
_UNITS: Final = (
    ("_mbps", "Mb/s", 1.0),
    ("_ms", "ms", 1.0),
    ("_s", "s", 1.0),
    ("_bytes", "kB", 1e-3),
    ("_packets", "packets", 1.0),
    ("_ratio", "%", 100.0),
    ("utilisation", "%", 100.0),
    ("asked", "packets", 1.0),
    ("_frames", "frames", 1.0),
    ("_mpdus", "MPDUs", 1.0),
)
"""Ends of names, with the unit shown and the factor from the name's unit to it."""

_NO_COUNTS: Final = ("_mbps", "_ms", "_s", "_ratio", "utilisation", "_bytes", "_per_frame", "slowdown", "jain")

SHOWN: Final = frozenset(
    measure.key
    for measure in (
        *measures.FLOW,
        *measures.QUEUE,
        *measures.TRANSFER,
        *measures.PLAYBACK,
        *measures.DATAGRAM,
        *measures.TOGETHER,
    )
)
"""Metrics that tables for people show unless others are asked for."""


@cache
def described(key: str) -> Measure:
    """Return the measure of a metric: title, unit and scale by its name.

    Parameters
    ----------
    key : str
        Name of the metric, such as ``rtt_p99_ms``.

    Returns
    -------
    Measure

    Examples
    --------
    >>> one = described("rtt_p99_ms")
    >>> one.title, one.unit, described("delivered_bytes").unit, described("dropped_early").title
    ('RTT, 99 %', 'ms', 'kB', 'Dropped early')
    """
    end, unit, scale = next(((end, unit, scale) for end, unit, scale in _UNITS if key.endswith(end)), ("", "", 1.0))
    stem = key.removesuffix(end) if end.startswith("_") else key
    title = _TITLES.get(key) or stem.replace("_", " ").capitalize()
    counted = not any(part in key if part == "slowdown" else key.endswith(part) for part in _NO_COUNTS)
    return Measure(key, title, unit, scale, is_count=counted)


def ordered(keys: Iterable[Key]) -> list[Key]:
    """Sort objects by kind; within a kind their order stays.

    Parameters
    ----------
    keys : iterable
        Kinds and names.

    Returns
    -------
    list
    """
    order = list(KINDS)
    place: Callable[[Any], int] = lambda key: order.index(key[0])  # noqa: E731 - a name for the type alone
    return sorted(dict.fromkeys(keys), key=place)
