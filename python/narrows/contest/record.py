"""What is kept of a run of a contest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.contest.behaviour import Behaviour
    from narrows.contest.plan import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """What a contestant did in the window.

    Attributes
    ----------
    throughput_mbps : float
        IP bytes that arrived at the receiving host, over the window, Mb/s (10^6 bit/s).
    sent_mbps : float
        IP bytes of the segments with payload that the sender put on the wire, over the window, Mb/s.
    sent_packets : float
        Segments with payload sent, retransmissions included.
    arrived_packets : float
        Packets that arrived: the bytes that arrived over the mean size of those sent, which is exact where all segments
        are full; samples count bytes only.
    pdr : float or None
        Packet delivery ratio: `arrived_packets` over `sent_packets` of the same window.
    tpp_mbps : float or None
        `sent_mbps` times `pdr`, Mb/s.
    lost_packets, loss_ratio : float, float or None
        Packets dropped or corrupted on the way; the same over `sent_packets`.
    retransmitted_packets, timeouts : float
        Segments sent again; expiries of the retransmission timer.
    rtt_mean_ms, rtt_p95_ms : float or None
        Mean and 95th percentile (nearest rank) over time: of the latest round-trip time at each sample, ms.
    rtt_min_ms : float or None
        Smallest round-trip time of the whole run, ms.
    share : float or None
        Own throughput over that of both; ``None`` alone.
    """

    throughput_mbps: float
    sent_mbps: float
    sent_packets: float
    arrived_packets: float
    pdr: float | None
    tpp_mbps: float | None
    lost_packets: float
    loss_ratio: float | None
    retransmitted_packets: float
    timeouts: float
    rtt_mean_ms: float | None
    rtt_p95_ms: float | None
    rtt_min_ms: float | None
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Throughput over time, in bins.

    Attributes
    ----------
    bin_s : float
        Width of a bin, s; bins start with the run.
    first, second : tuple of float
        Mb/s in each bin, four digits that count.
    """

    bin_s: float
    first: tuple[float, ...]
    second: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is kept of a run.

    Attributes
    ----------
    key : str
        Content address; see `Plan.key`.
    first, second : str or None
        The contestants in the first and in the second slot.
    order : str
        Which slot started first.
    seed, run : int
        Seed, and index of the run under it.
    digest : str
        SHA-256 over everything the run yielded.
    flows : pair of FlowRecord or None
        By slot; ``None`` for a silent one.
    jain : float or None
        Jain's index over the two throughputs; ``None`` with one flow.
    total_mbps : float
        Sum of the throughputs, Mb/s.
    utilisation : float or None
        Of the busiest link in the window, of 1; ``None`` where a link changes its rate, or with an 802.11 channel.
    behaviour : str or None
        `narrows.contest.behaviour.classify` of the flow that starts later; ``None`` with one flow.
    equilibrium_s : float or None
        `narrows.contest.behaviour.equilibrium_s`, s.
    series : Series
        Throughput over time.
    """

    key: str
    first: str | None
    second: str | None
    order: Order
    seed: int
    run: int
    digest: str
    flows: tuple[FlowRecord | None, FlowRecord | None]
    jain: float | None
    total_mbps: float
    utilisation: float | None
    behaviour: Behaviour | None
    equilibrium_s: float | None
    series: Series

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values.

        Returns
        -------
        dict
        """
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Take over what `to_json` gave.

        Parameters
        ----------
        row : mapping

        Returns
        -------
        Record

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is something else.
        """
        values = dict(row)
        first, second = (None if flow is None else FlowRecord(**flow) for flow in values.pop("flows"))
        series = values.pop("series")
        curves = Series(bin_s=series["bin_s"], first=tuple(series["first"]), second=tuple(series["second"]))
        return cls(**values, flows=(first, second), series=curves)
