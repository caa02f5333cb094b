"""The contents of ``validation/pairs.toml``: networks, variants, and explanations of differences."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from narrows.base import bundled
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

PAYLOAD_BYTES = 1000
"""Payload of a segment in every pair, in bytes."""

PACKET_BYTES = PAYLOAD_BYTES + 40
"""Size of that segment with headers, as both simulators send it."""

MIN_BUFFER_PACKETS = 4
"""The smallest buffer. Below this size, fast retransmit is impossible and every loss is a timeout."""


@dataclass(frozen=True, slots=True)
class Network:
    """A dumbbell and its flows.

    Attributes
    ----------
    name : str
        Short name.
    rate : float
        Rate of the bottleneck, Mb/s.
    rtt : float
        Round-trip time without queueing, ms.
    duration : float
        Simulated time, s.
    buffer : float
        Queue limit at the bottleneck, in bandwidth-delay products.
    per : float
        Packet error rate of data packets.
    flows : int
        Number of flows.
    stagger : float
        Time between the starts of consecutive flows, s.
    runs : int
        Number of runs that are averaged, each under its own seed.
    quick : bool
        Whether the network belongs to ``--quick``.
    drawn : bool
        Whether the page draws the windows on this network.
    held_out : bool
        Whether no explanation's range was fitted to this network, so that it tests how well the ranges generalise.
    packets : int, optional
        Queue limit at the bottleneck, in packets; replaces `buffer`.
    """

    name: str
    rate: float
    rtt: float
    duration: float
    buffer: float = 1.0
    per: float = 0.0
    flows: int = 1
    stagger: float = 0.0
    runs: int = 1
    quick: bool = False
    drawn: bool = False
    held_out: bool = False
    packets: int | None = None

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product, in packets.

        Examples
        --------
        >>> round(Network("n", rate=10, rtt=50, buffer=1, duration=60).bdp_packets, 1)
        60.1
        """
        return self.rate * 1e6 * self.rtt / 1e3 / 8 / PACKET_BYTES

    @property
    def buffer_packets(self) -> int:
        """Limit of the queue in packets, not counting the packet in transmission."""
        wanted = round(self.buffer * self.bdp_packets) if self.packets is None else self.packets
        return max(MIN_BUFFER_PACKETS, wanted)

    @property
    def chaotic(self) -> bool:
        """Whether small changes of start times change the numbers, so that only means can be compared."""
        return self.per > 0 or self.flows > 1

    @property
    def cost(self) -> float:
        """Largest number of packets that a run can send, which estimates how long the run takes."""
        return self.rate * 1e6 * self.duration / 8 / PACKET_BYTES


@dataclass(frozen=True, slots=True)
class Variant:
    """A TCP variant that both simulators have.

    Attributes
    ----------
    name : str
        Unique name.
    agent : str
        ``linux`` for a module of ``Agent/TCP/Linux``, ``own`` for one of ns-2's own agents.
    ns2 : str
        Name of the module or agent in ns-2.
    tcp : mapping
        The ``[tcp]`` table of the Narrows scenario: the agent's table, overridden by the variant's own.
    handshake : bool
        Whether ns-2 opens a connection first, as Narrows does.
    quick : bool
        Whether the variant belongs to ``--quick``.
    also_fill : int, optional
        A second fill value of fresh memory, which makes ns-2 take another branch of this variant; also shown.
    """

    name: str
    agent: str
    ns2: str
    tcp: Mapping[str, Any]
    handshake: bool
    quick: bool = False
    also_fill: int | None = None

    @property
    def title(self) -> str:
        """The variant's name in ns-2."""
        if self.agent == "linux":
            return f"TCP/Linux {self.ns2}"
        return "Agent/TCP" if self.ns2 == "Tahoe" else f"Agent/TCP/{self.ns2}"


T = TypeVar("T", Network, Variant)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A recorded difference: its range and, if an experiment isolates it, its cause.

    Attributes
    ----------
    variant, networks : str
        Names, where ``*`` matches anything; several networks are separated by blanks.
    between : tuple of float
        Smallest and largest recorded relative difference in mean throughput.
    why : str
        A sentence: the cause, or what is known about it.
    experiment : str or None
        The experiment that isolates the cause; ``None`` if the cause is not known.
    median : float
        Largest recorded median over the networks; 0 for none.
    """

    variant: str
    networks: str
    between: tuple[float, float]
    why: str
    experiment: str | None = None
    median: float = 0.0

    def covers(self, variant: str, network: str, difference: float) -> bool:
        """Whether a difference lies in the recorded range.

        Examples
        --------
        >>> known = Explanation("compound", "10m-*", (0.2, 0.6), "The delay window stays 0.")
        >>> known.covers("compound", "10m-50ms", 0.4), known.covers("compound", "10m-50ms", 0.7)
        (True, False)
        """
        named = any(fnmatchcase(network, pattern) for pattern in self.networks.split())
        return named and fnmatchcase(variant, self.variant) and self.between[0] <= difference <= self.between[1]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A single switch that is changed in one simulator or in both.

    Attributes
    ----------
    name : str
        Unique name.
    variant : str
        The variant of the first flow, and of the second unless `rival` is given.
    networks : tuple of Network
        The networks on which the switch is changed.
    switch : str
        The switch and its change, in words.
    tcp : mapping
        Settings that override the variant's in Narrows.
    ns2 : mapping
        Arguments of ``pair.tcl`` that override the pair's.
    fill : int or None
        Fill value of ns-2's fresh memory, if the experiment changes it.
    rival : str or None
        The variant of the second flow.
    rival_tcp : mapping
        Settings that override the rival's in Narrows.
    """

    name: str
    variant: str
    networks: tuple[Network, ...]
    switch: str
    tcp: Mapping[str, Any] = field(default_factory=dict)
    ns2: Mapping[str, str] = field(default_factory=dict)
    fill: int | None = None
    rival: str | None = None
    rival_tcp: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """The contents of ``pairs.toml``.

    Attributes
    ----------
    networks : tuple of Network
    variants : tuple of Variant
    explanations : tuple of Explanation
    experiments : tuple of Experiment
    fill : int
        Value of each byte of memory that ns-2 allocates, so that its reads of uninitialised memory are reproducible.
    faults : tuple of str
        Known faults and outdated behaviour of ns-2 that Narrows does not imitate, a sentence each.
    median_within, worst_within : float
        The targets.
    judged : bool
        Whether the targets of medians apply; a median over a few chosen networks is not meaningful.
    """

    networks: tuple[Network, ...]
    variants: tuple[Variant, ...]
    explanations: tuple[Explanation, ...]
    faults: tuple[str, ...] = field(default=())
    experiments: tuple[Experiment, ...] = field(default=())
    fill: int = 0
    median_within: float = 0.05
    worst_within: float = 0.20
    judged: bool = True

    def explain(self, variant: str, network: str, difference: float) -> Explanation | None:
        """Find the explanation whose recorded range contains a difference; none on a held-out network."""
        if any(one.name == network and one.held_out for one in self.networks):
            return None
        return next((e for e in self.explanations if e.covers(variant, network, difference)), None)

    def explain_median(self, variant: str, median: float) -> Explanation | None:
        """Find the explanation whose recorded median covers a variant's median, if any."""
        named = (e for e in self.explanations if fnmatchcase(variant, e.variant))
        return next((e for e in named if median <= e.median), None)

    def with_networks(self, networks: Sequence[Network]) -> Description:
        """Replace all networks with others, to which no explanation was fitted.

        Parameters
        ----------
        networks : sequence of Network

        Returns
        -------
        Description
        """
        return replace(self, networks=tuple(networks), explanations=(), experiments=(), judged=False)

    def choose(
        self, variants: Iterable[str] | None = None, networks: Iterable[str] | None = None, quick: bool = False
    ) -> Description:
        """Keep some variants and networks.

        Parameters
        ----------
        variants, networks : iterable of str, optional
            Names, where ``*`` matches anything; all by default.
        quick : bool
            If nothing is named, keep only what belongs to ``--quick``.

        Returns
        -------
        Description

        Raises
        ------
        InputError
            If a name matches nothing.
        """
        return replace(
            self,
            networks=_chosen("network", self.networks, networks, quick),
            variants=_chosen("cc", self.variants, variants, quick),
            judged=self.judged and networks is None,
        )


def _chosen(what: str, known: Sequence[T], names: Iterable[str] | None, quick: bool) -> tuple[T, ...]:
    if names is None:
        return tuple(one for one in known if one.quick or not quick)
    wanted = list(names)
    for name in wanted:
        if not any(fnmatchcase(one.name, name) for one in known):
            message = f"{what} is {name!r}; allowed: {', '.join(one.name for one in known)}, or a pattern with stars"
            raise InputError(message)
    return tuple(one for one in known if any(fnmatchcase(one.name, name) for name in wanted))


def load() -> Description:
    """Read the description that is bundled with Narrows.

    Returns
    -------
    Description

    Raises
    ------
    InputError
        If this installation lacks the description.
    """
    return parse((bundled.directory("validation") / "pairs.toml").read_text(encoding="utf-8"))


def script() -> Path:
    """Find the Tcl script that runs a pair on ns-2."""
    return bundled.directory("validation") / "pair.tcl"


def parse(text: str) -> Description:
    """Read a description.

    Parameters
    ----------
    text : str
        TOML, as ``validation/README.md`` describes it.

    Returns
    -------
    Description
    """
    read = tomllib.loads(text)
    agents = read["agents"]
    networks = tuple(Network(**entry) for entry in read["networks"])
    return Description(
        networks=networks,
        variants=tuple(
            Variant(
                name=entry["name"],
                agent=entry["agent"],
                ns2=entry["ns2"],
                tcp=agents[entry["agent"]]["tcp"] | entry.get("tcp", {}),
                handshake=agents[entry["agent"]]["handshake"],
                quick=entry.get("quick", False),
                also_fill=entry.get("also_fill"),
            )
            for entry in read["variants"]
        ),
        explanations=tuple(
            Explanation(
                variant=entry["variant"],
                networks=entry["networks"],
                why=entry["why"],
                between=(entry["between"][0], entry["between"][1]),
                experiment=entry.get("experiment"),
                median=entry.get("median", 0.0),
            )
            for entry in read.get("explanations", [])
        ),
        experiments=tuple(_experiment(entry, networks) for entry in read.get("experiments", [])),
        fill=read.get("fill", 0),
        faults=tuple(read.get("faults", [])),
        median_within=read["median_within"],
        worst_within=read["worst_within"],
    )


def _experiment(entry: Mapping[str, Any], known: Sequence[Network]) -> Experiment:
    """Read an experiment; its networks are names of known networks, or tables."""
    named = [next(one for one in known if one.name == name) for name in entry.get("on", "").split()]
    own = [Network(**table) for table in entry.get("networks", [])]
    return Experiment(
        name=entry["name"],
        variant=entry["variant"],
        networks=tuple(named + own),
        switch=entry["switch"],
        **{key: entry[key] for key in ("tcp", "ns2", "fill", "rival", "rival_tcp") if key in entry},
    )
