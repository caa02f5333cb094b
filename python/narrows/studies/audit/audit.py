"""The audit of a run: reads its captures router by router, and compares every decision."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from narrows.base.errors import InputError
from narrows.studies.audit import packets
from narrows.studies.audit.acns import Acns
from narrows.studies.audit.ngwa import Ngwa
from narrows.studies.audit.router import Waiting, arrivals, visits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from narrows.model.resolved import Direction, Queue, Resolved
    from narrows.studies.audit.packets import Packet
    from narrows.studies.audit.router import Ends, Visit

FORMAT = 1
"""Version of the format of `Audit.to_json`; see `docs/json.md`."""

DROPS = ".drops"
"""End of the names of captures of dropped packets, before the suffix."""

MOST_SHOWN = 20
"""Most ties, and most differences, that are named for a router."""


class Scheme(Protocol):
    """A scheme's decisions at one router, computed from packets alone."""

    title: str

    def order_ns(self, visit: Visit) -> int:
        """When the router decides."""
        ...

    def decide(self, visit: Visit, waiting: Waiting, queue: Queue) -> tuple[str, list[str], str] | None:
        """Return what was written, what may be, and the state."""
        ...


SCHEMES: Mapping[str, Callable[[Mapping[str, Any]], Scheme]] = {"acns": Acns, "ngwa": Ngwa}
"""Schemes that can be audited, by name."""


@dataclass(frozen=True)
class Decision:
    """A decision that is named.

    Attributes
    ----------
    time_s : float
        When the router decided, s.
    flow : str
        Addresses and ports of the segment.
    out : str
        The link direction whose queue it entered.
    written : str
        What the router wrote.
    expected : tuple of str
        What it has to write; several where the order of events of one instant decides.
    state : str
        Queue, ages and priorities at that time, as rebuilt.
    """

    time_s: float
    flow: str
    out: str
    written: str
    expected: tuple[str, ...]
    state: str


@dataclass
class RouterAudit:
    """The decisions of one router.

    Attributes
    ----------
    name : str
        Name of the node.
    packets : int
        Packets that came, and left or were dropped.
    written : Counter
        Decisions by what was written.
    equal, tied, different : int
        Decisions that are the only one possible; that are one of several for events of one instant; and all others.
    ties, differences : list of Decision
        The first of those that are tied, and that differ.
    """

    name: str
    packets: int = 0
    written: Counter[str] = field(default_factory=Counter)
    equal: int = 0
    tied: int = 0
    different: int = 0
    ties: list[Decision] = field(default_factory=list)
    differences: list[Decision] = field(default_factory=list)

    @property
    def decisions(self) -> int:
        """All decisions."""
        return self.equal + self.tied + self.different


@dataclass(frozen=True)
class Audit:
    """The decisions of all routers of a scheme."""

    scheme: str
    title: str
    routers: tuple[RouterAudit, ...]

    @property
    def passed(self) -> bool:
        """Whether there is a decision, and none differs."""
        return any(one.decisions for one in self.routers) and not any(one.different for one in self.routers)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `narrows audit --json` prints."""

        def named(some: list[Decision]) -> list[dict[str, Any]]:
            return [{**vars(one), "expected": list(one.expected)} for one in some]

        return {
            "format": FORMAT,
            "scheme": self.scheme,
            "passed": self.passed,
            "routers": [
                {
                    "name": one.name,
                    "packets": one.packets,
                    "decisions": one.decisions,
                    "equal": one.equal,
                    "tied": one.tied,
                    "different": one.different,
                    "written": dict(one.written) if self.scheme == "acns" else {},
                    "ties": named(one.ties),
                    "differences": named(one.differences),
                }
                for one in self.routers
            ],
        }


def audit(
    source: str | PathLike[str],
    scheme: str | None = None,
    *,
    scenario: str | PathLike[str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Audit:
    """Compute every decision of a scheme's routers again, from captures and the routers' settings.

    Parameters
    ----------
    source : path
        Directory of a run with captures (``narrows run --pcap -o DIR``), or the directory of the captures.
    scheme : str or None
        ``acns`` or ``ngwa``; by default the one that the scenario has.
    scenario : path or None
        File with the routers' settings, or the name of a bundled scenario; by default ``scenario.toml`` of the run.
    tell : callable or None
        Told the name of each router before it is read.

    Raises
    ------
    InputError
        If captures or settings are missing, or the queues cannot be rebuilt.
    """
    folder = Path(source)
    if not folder.is_dir():
        message = f"{source}: is no directory; allowed: a run's directory with captures, or that of the captures"
        raise InputError(message)
    from narrows.model.scenario import Scenario

    if (folder / "pcap").is_dir():
        folder, settings = folder / "pcap", folder / "scenario.toml"
    else:
        settings = folder.parent / "scenario.toml"
    resolved = _resolved(settings, source) if scenario is None else Scenario.from_file(scenario).resolved
    name = _scheme(resolved, scheme, source)
    links = _links(resolved)
    wireless = {one.node for channel in resolved.wifi for one in (channel.base, *channel.stations)}
    routers = []
    for router in resolved.schemes[name]["routers"]:
        if router in wireless:
            message = f"router {router}: is on an 802.11 channel, whose captures do not say when frames were queued"
            raise InputError(message)
        if tell is not None:
            tell(router)
        routers.append(_router(router, folder, links, SCHEMES[name](resolved.schemes[name]), resolved.duration_ns))
    return Audit(name, SCHEMES[name](resolved.schemes[name]).title, tuple(routers))


def _resolved(file: Path, source: str | PathLike[str]) -> Resolved:
    from narrows.model.scenario import Scenario

    if not file.is_file():
        message = f"{source}: no settings at {file}; allowed: a run's directory, or settings by --scenario"
        raise InputError(message)
    return Scenario.from_file(file).resolved


def _scheme(resolved: Resolved, wanted: str | None, source: str | PathLike[str]) -> str:
    if wanted is not None and wanted not in SCHEMES:
        message = f"scheme is {wanted!r}; allowed: {', '.join(SCHEMES)}"
        raise InputError(message)
    there = [name for name in SCHEMES if name in resolved.schemes]
    if wanted is None and len(there) == 1:
        return there[0]
    if wanted is None or wanted not in there:
        message = f"{source}: its scenario has {', '.join(there) or 'no scheme'}; allowed: a scheme that it has"
        raise InputError(message)
    return wanted


def _links(resolved: Resolved) -> dict[Ends, Direction]:
    links = {}
    for link in resolved.links:
        links[link.a, link.b], links[link.b, link.a] = link.forward, link.reverse
    return links


def _router(name: str, folder: Path, links: Mapping[Ends, Direction], scheme: Scheme, end_ns: int) -> RouterAudit:
    made = RouterAudit(name)
    came, left, dropped = _captured(name, folder, links)
    found = visits(came, left, dropped, end_ns)
    made.packets = sum(not one.pending for one in found)
    by_link: dict[Ends, list[Visit]] = defaultdict(list)
    for visit in found:
        by_link[visit.out].append(visit)
    waiting = {ends: Waiting(some) for ends, some in by_link.items()}
    for visit in sorted(found, key=scheme.order_ns):
        decided = scheme.decide(visit, waiting[visit.out], links[visit.out].queue)
        if decided is None:
            continue
        written, told, state = decided
        made.written[written] += 1
        if told == [written]:
            made.equal += 1
            continue
        one = Decision(
            scheme.order_ns(visit) / 1e9, _flow(visit.before), "->".join(visit.out), written, tuple(told), state
        )
        if written in told:
            made.tied += 1
            made.ties += [one] if len(made.ties) < MOST_SHOWN else []
        else:
            made.different += 1
            made.differences += [one] if len(made.differences) < MOST_SHOWN else []
    return made


def _captured(
    name: str, folder: Path, links: Mapping[Ends, Direction]
) -> tuple[list[tuple[int, Packet]], dict[Ends, list[Packet]], dict[Ends, list[Packet]]]:
    """Read the captures of a router's links: what came in order of time, what left, and what was dropped."""
    came: list[tuple[int, Packet]] = []
    left: dict[Ends, list[Packet]] = {}
    dropped: dict[Ends, list[Packet]] = {}
    for a, b in links:
        if b != name:
            continue
        for ends in ((a, b), (b, a)):
            _check(ends, links[ends])
        sent: list[Packet] = []
        file = next((one for one in (folder / f"{x}-{y}.pcapng" for x, y in ((a, b), (b, a))) if one.is_file()), None)
        if file is None:
            message = f"{folder}: no capture of the link between {a} and {b}; allowed: the captures of all links"
            raise InputError(message)
        gone = left[name, a] = []
        for begin, end, packet in packets.read(file):
            if (begin, end) == (a, b):
                sent.append(packet)
            elif (begin, end) == (b, a):
                gone.append(packet)
        lost = dropped[name, a] = []
        drops = file.with_name(f"{file.stem}{DROPS}{file.suffix}")
        if drops.is_file():
            lost += [packet for begin, end, packet in packets.read(drops) if (begin, end) == (name, a)]
        came += arrivals(sent, links[a, b])
    came.sort(key=lambda one: one[0])
    return came, left, dropped


def _check(ends: Ends, direction: Direction) -> None:
    """Reject a link whose arrivals do not follow from its departures."""
    why = None
    if direction.changes or direction.trace is not None:
        why = "its rate or delay changes"
    elif direction.impairments is not None:
        why = "it has impairments"
    if why is not None:
        message = f"link {'->'.join(ends)}: {why}, so its packets' arrivals are not in the captures"
        raise InputError(message)


def _flow(packet: Packet) -> str:
    from ipaddress import ip_address

    if packet.flow is None:
        return ""
    source, sink, ports = packet.flow
    return f"{ip_address(source)}:{int.from_bytes(ports[:2])} > {ip_address(sink)}:{int.from_bytes(ports[2:])}"
