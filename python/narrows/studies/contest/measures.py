"""The measures of a contest, each with title, unit, formula and source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Scale = Literal["share", "harm", "ratio", "loss", "fairness", "rate"]
"""How a heat map colours a measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure of a contest.

    Attributes
    ----------
    key, title, unit : str
        Name in data, name for readers, unit.
    of : {"flow", "pair"}
        Whether the measure belongs to each flow or to the pair.
    percent : bool
        Whether it is shown in per cent.
    digits : int
        Decimal places in tables.
    scale : str
        Colour scale in heat maps.
    formula : str
        The definition, with its source.
    solo : bool
        Whether it needs runs of each contestant alone.
    """

    key: str
    title: str
    unit: str
    of: Literal["flow", "pair"]
    percent: bool = False
    digits: int = 2
    scale: Scale = "rate"
    formula: str
    solo: bool = False


MEASURES: Final[dict[str, Measure]] = {
    one.key: one
    for one in (
        Measure(
            key="share",
            title="Throughput share",
            unit="",
            of="flow",
            digits=1,
            percent=True,
            scale="share",
            formula="T / (T + T'), T the flow's throughput, T' that of the other; one half is an even share.",
        ),
        Measure(
            key="throughput_mbps",
            title="Throughput",
            unit="Mb/s",
            of="flow",
            formula="8 A / t: A the IP bytes that arrived at the receiving host in the window, t its length (RFC 5166, "
            "section 2.1); 1 Mb/s is 10⁶ bit/s.",
        ),
        Measure(
            key="tpp_mbps",
            title="TPP",
            unit="Mb/s",
            of="flow",
            formula="Throughput times PDR: the rate at which the sender put IP bytes on the wire, times the packet "
            "delivery ratio (packets arrived over packets sent), both in the window. A measure of the contest of "
            "fifteen variants that this command generalises; where all packets are full, it is the throughput.",
        ),
        Measure(
            key="harm",
            title="Harm against own kind, throughput",
            unit="",
            of="flow",
            digits=1,
            percent=True,
            scale="harm",
            formula="(T° − T) / T°, T° the flow's throughput in the same slot and run number when the other slot has "
            "its own kind too. After Ware et al., HotNets 2019: above 0, the competitor does more harm than the flow's "
            "own kind would.",
        ),
        Measure(
            key="harm_rtt",
            title="Harm against own kind, RTT",
            unit="",
            of="flow",
            digits=1,
            percent=True,
            scale="harm",
            formula="(R − R°) / R with the mean round-trip time R, of which less is better, and R° beside its own kind "
            "(Ware et al., HotNets 2019).",
        ),
        Measure(
            key="harm_solo",
            title="Harm against being alone, throughput",
            unit="",
            of="flow",
            digits=1,
            percent=True,
            scale="harm",
            solo=True,
            formula="(S − T) / S, S the flow's throughput in the same slot and run number with the other slot silent: "
            "harm as Ware et al. (HotNets 2019) define it. An even share of a link that either fills alone is 0.5.",
        ),
        Measure(
            key="harm_rtt_solo",
            title="Harm against being alone, RTT",
            unit="",
            of="flow",
            digits=1,
            percent=True,
            scale="harm",
            solo=True,
            formula="(R − R') / R, R' the mean round-trip time alone (Ware et al., HotNets 2019).",
        ),
        Measure(
            key="rtt_inflation",
            title="RTT inflation",
            unit="",
            of="flow",
            scale="ratio",
            formula="Mean round-trip time in the window over the slot's base: the smallest round-trip time that any "
            "run of this contest saw in the slot, the handshake's as a rule, whose packets are small. 1 is a path "
            "without queues.",
        ),
        Measure(
            key="rtt_mean_ms",
            title="RTT",
            unit="ms",
            of="flow",
            digits=1,
            scale="ratio",
            formula="Mean over time: of the sender's latest round-trip time at each sample in the window.",
        ),
        Measure(
            key="rtt_p95_ms",
            title="RTT, 95th percentile",
            unit="ms",
            of="flow",
            digits=1,
            scale="ratio",
            formula="95th percentile (nearest rank) of the same.",
        ),
        Measure(
            key="loss_ratio",
            title="Loss ratio",
            unit="",
            of="flow",
            percent=True,
            scale="loss",
            formula="Packets that queues dropped or links corrupted over packets sent, in the window (RFC 5166, "
            "section 2.1.3).",
        ),
        Measure(
            key="pdr",
            title="PDR",
            unit="",
            of="flow",
            percent=True,
            formula="Packet delivery ratio: packets arrived over packets sent, in the window. Those under way at its "
            "ends count on one side only, so that it may exceed 1 by a few packets.",
        ),
        Measure(
            key="retransmitted_packets",
            title="Retransmissions",
            unit="packets",
            of="flow",
            digits=0,
            formula="Segments sent again, in the window.",
        ),
        Measure(
            key="jain",
            title="Jain's index",
            unit="",
            of="pair",
            digits=3,
            scale="fairness",
            formula="(T + T')² / (2 (T² + T'²)): 1 for even throughputs, 0.5 where one flow has all (Jain, Chiu and "
            "Hawe 1984; RFC 5166, section 2.3).",
        ),
        Measure(
            key="total_mbps",
            title="Throughput of both",
            unit="Mb/s",
            of="pair",
            formula="T + T'.",
        ),
        Measure(
            key="utilisation",
            title="Utilisation",
            unit="",
            of="pair",
            digits=1,
            percent=True,
            formula="8 F / (C t) of the busiest link: F the IP bytes that left for it in the window, C its rate. None "
            "where a link changes its rate or the scenario has an 802.11 channel.",
        ),
        Measure(
            key="equilibrium_s",
            title="Time to equilibrium",
            unit="s",
            of="pair",
            digits=1,
            formula="From the later flow's start to the first time from which the two are in balance without a break "
            "(see the three behaviours); mean over the runs in which they get there.",
        ),
    )
}
"""All measures, by key, in the order of tables."""
