"""The record that a contest keeps of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.studies.contest.behaviour import Behaviour
    from narrows.studies.contest.plan import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """Measurements of a contestant in the window.

    Attributes
    ----------
    throughput_mbps : float
        IP bytes that arrived at the receiving host, per time of the window, Mb/s (10^6 bit/s).
    sent_mbps : float
        IP bytes of segments with payload that the sender transmitted, per time of the window, Mb/s.
    sent_packets : float
        Segments with payload sent, including retransmissions.
    arrived_packets : float
        Packets that arrived: arrived bytes divided by the mean size of sent packets, because samples count only bytes.
        Exact if all segments are full.
    pdr : float or None
        Packet delivery ratio: `arrived_packets` divided by `sent_packets` in the same window.
    tpp_mbps : float or None
        `sent_mbps` times `pdr`, Mb/s.
    lost_packets, loss_ratio : float, float or None
        Packets dropped or corrupted on the path; `lost_packets` divided by `sent_packets`.
    retransmitted_packets, timeouts : float
        Retransmitted segments; expiries of the retransmission timer.
    rtt_mean_ms, rtt_p95_ms : float or None
        Mean and 95th percentile (nearest rank) over time of the latest round-trip time at each sample, ms.
    rtt_min_ms : float or None
        Smallest round-trip time in the whole run, ms.
    share : float or None
        The flow's throughput divided by that of both flows; ``None`` if alone.
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
        Width of a bin, s; the first bin starts with the run.
    first, second : tuple of float
        Mb/s in each bin, with four significant digits.
    """

    bin_s: float
    first: tuple[float, ...]
    second: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The stored results of a run.

    Attributes
    ----------
    key : str
        Content address; see `Plan.key`.
    first, second : str or None
        The contestants in the first and in the second slot.
    order : str
        Which slot started first.
    seed, run : int
        Seed, and index of the run.
    digest : str
        SHA-256 over everything that the run yielded.
    flows : pair of FlowRecord or None
        By slot; ``None`` for a silent slot.
    jain : float or None
        Jain's index over the two throughputs; ``None`` with one flow.
    total_mbps : float
        Sum of the throughputs, Mb/s.
    utilisation : float or None
        Utilisation of the busiest link in the window, in [0, 1]; ``None`` if a link changes its rate, or with 802.11.
    behaviour : str or None
        `narrows.studies.contest.behaviour.classify` of the flow that starts later; ``None`` with one flow.
    equilibrium_s : float or None
        `narrows.studies.contest.behaviour.equilibrium_s`, s.
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
        """Create a record from the output of `to_json`.

        Parameters
        ----------
        row : mapping

        Returns
        -------
        Record

        Raises
        ------
        KeyError, TypeError, ValueError
            If the values are not those of a record.
        """
        values = dict(row)
        first, second = (None if flow is None else FlowRecord(**flow) for flow in values.pop("flows"))
        series = values.pop("series")
        curves = Series(bin_s=series["bin_s"], first=tuple(series["first"]), second=tuple(series["second"]))
        return cls(**values, flows=(first, second), series=curves)
