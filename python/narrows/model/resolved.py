"""A scenario as the engine resolved it: shorthands expanded, defaults filled in, numbers in base units.

Fields are named as in the engine's JSON, with the unit as suffix. Settings that a row of the engine declares (of TCP, a
queue discipline, a scheme) are mappings, because the front only shows them: a new setting needs no change here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]
"""Values by the name of a declared setting, with the unit as suffix."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes
    ----------
    name, kind, address : str
        ``host``, ``router`` or ``base``; an IP address.
    ip_options : str
        What a router does to IPv4 options: ``keep``, ``drop``, ``strip`` or ``copy``.
    """

    name: str
    kind: str
    address: str
    ip_options: str = "keep"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue.

    Attributes
    ----------
    kind, limit : str
        Discipline; limit as people read it.
    limit_packets, limit_bytes : int or None
        One of the two.
    settings : mapping
        Parameters of the discipline.
    """

    kind: str
    limit: str
    limit_packets: int | None
    limit_bytes: int | None
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Loss:
    """A model of packet losses.

    Attributes
    ----------
    kind : str
        ``none``, ``uniform`` or ``bursts``.
    per : float or None
        Packet error rate of uniform losses.
    settings : mapping
        Parameters of the other models.
    """

    kind: str
    per: float | None = None
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a link direction; ``None`` keeps a value."""

    at_ns: int
    rate_bps: int | None
    delay_ns: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace of deliveries that a link direction follows; `kind` is ``opportunities`` or ``rates``."""

    file: str
    kind: str
    rows: int
    repeat: bool
    period_ns: int
    largest_rate_bps: int


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link.

    Attributes
    ----------
    rate_bps, delay_ns, queue, loss, changes
        As in ``[[links]]``; with a trace, `rate_bps` is its mean rate.
    impairments : mapping or None
        The other impairments, by key; ``None`` if the direction has none.
    trace : Trace or None
        The trace that it follows.
    """

    rate_bps: int
    delay_ns: int
    queue: Queue
    loss: Loss
    changes: tuple[Change, ...]
    impairments: Settings | None = None
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A link between the nodes `a` and `b`; `forward` leads from `a` to `b`."""

    a: str
    b: str
    forward: Direction
    reverse: Direction


@dataclass(frozen=True, slots=True)
class Traffic:
    """What an application sends.

    Attributes
    ----------
    kind : str
        ``bulk``, ``udp``, ``rate``, ``on_off`` or ``requests``.
    size_bytes, rate_bps, on_ns, off_ns, payload_bytes, request_bytes, response_bytes : int or None
        ``None`` where the kind has no such value, or no limit.
    settings : mapping
        Further values of the kind.
    """

    kind: str
    size_bytes: int | None = None
    rate_bps: int | None = None
    on_ns: int | None = None
    off_ns: int | None = None
    payload_bytes: int | None = None
    request_bytes: int | None = None
    response_bytes: int | None = None
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tcp:
    """Settings of a TCP connection.

    Attributes
    ----------
    cc, stack : str
    assist : str or None
        The scheme that the connection takes part in.
    settings : mapping
        All settings by name, those above included.
    """

    cc: str
    stack: str
    assist: str | None
    settings: Settings


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow.

    Attributes
    ----------
    name, source, sink : str
        Its name, and those of the nodes that send and receive.
    start_ns, stop_ns, dscp : int
    jitter : bool
        Whether its start is drawn at random.
    traffic : Traffic
    tcp : Tcp or None
        ``None`` for UDP.
    """

    name: str
    source: str
    sink: str
    start_ns: int
    stop_ns: int
    dscp: int
    jitter: bool
    traffic: Traffic
    tcp: Tcp | None


@dataclass(frozen=True, slots=True)
class Station:
    """A station of an 802.11 channel, or its base station."""

    node: str
    queue: Queue
    signal_db: float
    overhead_bytes: int


@dataclass(frozen=True, slots=True)
class Mode:
    """The modulation of a channel's data frames: a rate, or an MCS with width, streams and guard interval."""

    kind: str
    rate_bps: int = 0
    mcs: int = 0
    width_mhz: int = 0
    streams: int = 1
    guard_interval_ns: int = 0


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Limits of an A-MPDU."""

    max_mpdus: int
    max_bytes: int
    max_time_ns: int


@dataclass(frozen=True, slots=True)
class FrameErrors:
    """Frame error rate of a station, at one rate or at all (``None``)."""

    station: str
    rate_bps: int | None
    fer: float


@dataclass(frozen=True, slots=True)
class Channel:
    """An 802.11 channel; `hidden` has pairs of stations of which the first does not hear the second."""

    name: str
    base: Station
    stations: tuple[Station, ...]
    phy: str
    mode: Mode
    basic_rate_bps: int
    short_preamble: bool
    slot_ns: int
    sifs_ns: int
    cw_min: int
    cw_max: int
    short_retry: int
    long_retry: int
    rts_threshold_bytes: int | None
    propagation_ns: int
    capture_db: float | None
    aggregation: Aggregation | None
    queues: str
    hidden: tuple[tuple[str, str], ...]
    errors: tuple[FrameErrors, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is sampled: ``off``, at ``events`` or each ``interval``; and whether state of algorithms is."""

    kind: str
    interval_ns: int = 0
    state: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """Transfers that come and go.

    Attributes
    ----------
    name, kind : str
        ``transfers``, ``requests`` or ``pages``.
    pairs : list of [str, str]
        Hosts that open connections, and those that they connect to.
    start_ns, stop_ns, dscp : int
    arrivals : str
        ``poisson``, ``constant`` or ``trace``.
    interval_ns, load : int or float or None
        Mean time between two transfers, or their share of the narrowest link.
    size : mapping or None
        ``distribution``, ``mean_bytes`` and its parameters; ``None`` if a file has them.
    tcp : mapping
        TCP settings by name.
    settings : mapping
        Further values of the kind.
    """

    name: str
    kind: str
    pairs: list[list[str]]
    start_ns: int
    stop_ns: int
    dscp: int
    arrivals: str
    interval_ns: int | None
    load: float | None
    size: Settings | None
    tcp: Settings
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A resolved scenario.

    Attributes
    ----------
    name : str
    title, description : str or None
    duration_ns, seed, start_jitter_ns, ip : int
        Length of a run; seed; largest random delay of a start; version of IP.
    sampling : Sampling
    nodes, links, wifi, flows, workloads : tuple
        ``wifi`` are the 802.11 channels.
    schemes : mapping
        Settings of the scheme that runs, by its name; empty without one.
    """

    name: str
    title: str | None
    description: str | None
    duration_ns: int
    seed: int
    start_jitter_ns: int
    ip: int
    sampling: Sampling
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    wifi: tuple[Channel, ...]
    flows: tuple[Flow, ...]
    workloads: tuple[Workload, ...]
    schemes: Mapping[str, Settings]

    @property
    def first_tcp(self) -> Tcp:
        """Settings of the first TCP flow; `StopIteration` without one."""
        return next(flow.tcp for flow in self.flows if flow.tcp is not None)

    def flow(self, name: str) -> Flow:
        """Return a flow.

        Parameters
        ----------
        name : str

        Returns
        -------
        Flow

        Raises
        ------
        KeyError
            If there is no such flow.
        """
        for flow in self.flows:
            if flow.name == name:
                return flow
        raise KeyError(name)
