"""Metrics of 802.11 channels and their stations, from the rows of totals that every run keeps.

The formulas are in `narrows.metrics`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.metrics import airtime_ratio, failure_ratio, mpdus_per_frame, retry_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NOT_MODELLED: Final = (
    "Not modelled: rate adaptation (rates are fixed), fading and mobility (frame error rates and signal strengths are "
    "constant), and the priorities of EDCA. More in docs/wifi.md."
)
"""Shown wherever the settings of a channel are shown."""

BASE: Final = "base"
"""Role of a base station, whose node is a router."""

STATION: Final = "station"
"""Role of a station, whose node is a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMetrics:
    """Metrics of an 802.11 channel over the whole run: sums over its stations, including the base station.

    In a mean over runs, every number is a mean.

    Attributes
    ----------
    name : str
        The channel.
    airtime_ratio : float or None
        `airtime_ratio`, of 1. A channel's sum counts each of several overlapping frames.
    data_frames, mpdus : int
        Data frames sent (an A-MPDU is one); MPDUs with data in them. Repetitions included.
    mpdus_per_frame : float or None
        Mean size of an aggregate, `mpdus_per_frame`.
    rts_frames, cts_frames, ack_frames : int
        Control frames sent; block ACKs are among the ACKs.
    rts_failures, data_failures : int
        Attempts without a CTS, and without an ACK.
    failure_ratio : float or None
        Both kinds of failures over all attempts: `failure_ratio`, of 1.
    retried_mpdus : int
        MPDUs sent that had been sent before.
    retry_ratio : float or None
        Share of `mpdus`: `retry_ratio`, of 1.
    given_up_packets : int
        Packets given up at a retry limit.
    received_packets : int
        Packets received, once each.
    duplicates : int
        MPDUs received again because their ACK was lost.
    collisions : int
        Frames that a station could not read because others overlapped; counted at each station that heard them.
    corrupted : int
        Frames and MPDUs lost to the frame error rate, counted at their destination.
    """

    name: str
    airtime_ratio: float | None
    data_frames: float
    mpdus: float
    mpdus_per_frame: float | None
    rts_frames: float
    cts_frames: float
    ack_frames: float
    rts_failures: float
    data_failures: float
    failure_ratio: float | None
    retried_mpdus: float
    retry_ratio: float | None
    given_up_packets: float
    received_packets: float
    duplicates: float
    collisions: float
    corrupted: float

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StationMetrics(ChannelMetrics):
    """Metrics of one station of an 802.11 channel over the whole run; see `ChannelMetrics` for the numbers.

    Attributes
    ----------
    name : str
        The node.
    channel : str
        The channel that the station belongs to.
    role : str
        ``base`` or ``station``.
    """

    channel: str
    role: str

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name: the station's identity first, then the others in declared order."""
        return {"name": self.name, "channel": self.channel, "role": self.role} | asdict(self)


_COUNTS: Final = (
    "data_frames",
    "mpdus",
    "rts_frames",
    "cts_frames",
    "ack_frames",
    "rts_failures",
    "data_failures",
    "retried_mpdus",
    "given_up_packets",
    "received_packets",
    "duplicates",
    "collisions",
    "corrupted",
)
"""Columns of the engine's ``station_totals`` that are metrics without conversion."""


def station_metrics(
    name: str, channel: str, role: str, totals: Mapping[str, int | None], duration_ns: int
) -> StationMetrics:
    """Compute the metrics of a station from its row of totals.

    Parameters
    ----------
    name, channel : str
        The node, and the channel.
    role : str
        ``base`` or ``station``.
    totals : mapping
        Value by column of the engine's ``station_totals``; ``None`` for "no value".
    duration_ns : int
        Simulated time, ns.

    Returns
    -------
    StationMetrics
    """
    counts = {column: totals[column] or 0 for column in _COUNTS}
    airtime = airtime_ratio(totals["airtime_ns"] or 0, duration_ns)
    return StationMetrics(name=name, channel=channel, role=role, airtime_ratio=airtime, **counts, **_ratios(counts))


def all_stations(
    names: Sequence[str], channels: Sequence[str], totals: Sequence[Mapping[str, int | None]], duration_ns: int
) -> tuple[StationMetrics, ...]:
    """Compute the metrics of every station of a run.

    Parameters
    ----------
    names, channels : sequence of str
        Names of the stations' nodes, one per row; names of the channels, by their index.
    totals : sequence of mapping
        Rows of ``station_totals``: channel by channel, the base station first.
    duration_ns : int
        Simulated time, ns.

    Returns
    -------
    tuple of StationMetrics
    """
    made = []
    before = -1
    for name, row in zip(names, totals, strict=True):
        channel = row["channel"] or 0
        role = BASE if channel != before else STATION
        made.append(station_metrics(name, channels[channel], role, row, duration_ns))
        before = channel
    return tuple(made)


def channel_metrics(stations: Iterable[StationMetrics]) -> tuple[ChannelMetrics, ...]:
    """Sum the stations of each channel.

    Parameters
    ----------
    stations : iterable of StationMetrics
        Of one run.

    Returns
    -------
    tuple of ChannelMetrics
        In order of first appearance; empty without stations.
    """
    by_channel: dict[str, list[StationMetrics]] = {}
    for station in stations:
        by_channel.setdefault(station.channel, []).append(station)
    made = []
    for name, members in by_channel.items():
        counts = {column: sum(getattr(member, column) for member in members) for column in _COUNTS}
        shares = [member.airtime_ratio for member in members if member.airtime_ratio is not None]
        airtime = sum(shares) if shares else None
        made.append(ChannelMetrics(name=name, airtime_ratio=airtime, **counts, **_ratios(counts)))
    return tuple(made)


def _ratios(counts: Mapping[str, float]) -> dict[str, Any]:
    return {
        "mpdus_per_frame": mpdus_per_frame(counts["mpdus"], counts["data_frames"]),
        "failure_ratio": failure_ratio(counts["data_frames"], counts["rts_failures"], counts["data_failures"]),
        "retry_ratio": retry_ratio(counts["retried_mpdus"], counts["mpdus"]),
    }
