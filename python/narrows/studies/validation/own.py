"""The user's own networks: from a file in the format of ``pairs.toml``, or from a scenario that is a dumbbell."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.model.scenario import Scenario
from narrows.studies.validation.description import MIN_BUFFER_PACKETS, Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from narrows.model.resolved import Direction, Flow, Resolved

LARGEST_FILE: Final = 1_000_000
"""Largest size of a file of networks, in bytes."""

CHAOTIC_RUNS: Final = 10
"""Number of seeds for a scenario's network with random losses or competing flows."""

FASTER: Final = 2.0
"""Minimum rate of a path's other links, relative to its bottleneck, so that they never fill up."""

# Smallest and largest allowed value of each number.
_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "rate": (0.01, 1e5),
    "rtt": (4.0, 1e5),
    "buffer": (0.0, 1e3),
    "duration": (1.0, 1e4),
    "per": (0.0, 0.5),
    "flows": (1, 100),
    "stagger": (0.0, 1e4),
    "runs": (1, 1000),
    "packets": (MIN_BUFFER_PACKETS, 10_000_000),
}


def from_file(path: str | PathLike[str]) -> list[Network]:
    """Read networks from a file.

    Parameters
    ----------
    path : path
        TOML with ``[[networks]]`` tables, whose keys ``validation/README.md`` explains.

    Returns
    -------
    list of Network
        At least one.

    Raises
    ------
    InputError
        Lists all problems at once, each with file, network, key, value and what is allowed.
    """
    where = Path(path)
    if not where.is_file():
        message = f"{path}: is not a file; allowed: a TOML file with [[networks]]"
        raise InputError(message)
    try:
        with where.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            message = f"{path}: is larger than {LARGEST_FILE} bytes"
            raise InputError(message)
        read = tomllib.loads(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{path}: cannot be read as TOML: {error}"
        raise InputError(message) from None
    entries = read.get("networks")
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        message = f"{path}: has no [[networks]]; allowed: one or more of these tables"
        raise InputError(message)
    problems = [f"{key}: unknown key; allowed: [[networks]]" for key in read if key != "networks"]
    for i, entry in enumerate(entries):
        problems += [f"networks[{i}].{problem}" for problem in _problems(entry)]
    names = [entry.get("name") for entry in entries]
    problems += [f"networks: the name {name!r} occurs twice" for name in {n for n in names if names.count(n) > 1}]
    if problems:
        raise InputError("\n".join(f"{path}: {problem}" for problem in problems))
    return [_network(entry) for entry in entries]


def _network(entry: Mapping[str, Any]) -> Network:
    chaotic = entry.get("per", 0.0) > 0 or entry.get("flows", 1) > 1
    return Network(**({"runs": CHAOTIC_RUNS} if chaotic else {}) | dict(entry))


def _problems(entry: Mapping[str, Any]) -> list[str]:
    """Return all problems of a network's table."""
    known = {one.name: one for one in fields(Network) if one.name not in {"held_out", "drawn", "quick"}}
    problems = [f"{key}: unknown key; allowed: {', '.join(known)}" for key in entry if key not in known]
    problems += [f"{name}: is missing" for name, one in known.items() if one.default is MISSING and name not in entry]
    if "name" in entry and (not isinstance(entry["name"], str) or not entry["name"].strip()):
        problems.append(f"name: is {entry['name']!r}; allowed: a text")
    for key, (low, high) in _RANGES.items():
        if key not in entry:
            continue
        value = entry[key]
        whole = key in {"flows", "runs", "packets"}
        of_kind = isinstance(value, int) if whole else isinstance(value, (int, float))
        if isinstance(value, bool) or not of_kind or not low <= value <= high:
            kind = "a whole number" if whole else "a number"
            problems.append(f"{key}: is {value!r}; allowed: {kind} from {low:g} to {high:g}")
    if "packets" in entry and "buffer" in entry:
        problems.append("packets, buffer: both are given; allowed: one of them")
    return problems


def from_scenario(name: str | PathLike[str]) -> Network:
    """Derive a network from a scenario that is a dumbbell.

    Each TCP flow runs the variant under validation. Congestion control, segment size and ACK settings are those that
    both simulators share, not the scenario's.

    Parameters
    ----------
    name : path
        A scenario file, or the name of a bundled scenario.

    Returns
    -------
    Network

    Raises
    ------
    InputError
        If the scenario is not a dumbbell that ns-2's script can run; lists all reasons at once.
    ScenarioError
        If the file is not a valid scenario.
    """
    scenario = Scenario.from_file(name)
    found = scenario.resolved
    problems: list[str] = []
    if found.wifi:
        problems.append("it has an 802.11 channel")
    problems += [f"it runs {scheme}" for scheme in found.schemes]
    problems += [f"flow {flow.name}: {why}" for flow in found.flows for why in _flow_problems(flow, found)]
    if len(found.links) >= len(found.nodes):
        problems.append("its links form a ring")
    if problems:
        raise _refused(name, problems)
    routed = sorted(zip(found.flows, _paths(scenario), strict=True), key=lambda one: int(one[0].start_ns))
    flows, paths = [flow for flow, _ in routed], [path for _, path in routed]
    problems += _path_problems(flows, paths)
    gaps = {later.start_ns - earlier.start_ns for earlier, later in pairwise(flows)}
    if len(gaps) > 1:
        problems.append(f"its flows start {', '.join(f'{gap / 1e9:g} s' for gap in sorted(gaps))} apart, not evenly")
    if problems:
        raise _refused(name, problems)
    bottleneck = min((one for one, _ in paths[0]), key=lambda one: int(one.rate_bps))
    per = _loss(paths[0])
    return Network(
        name=scenario.name,
        rate=bottleneck.rate_bps / 1e6,
        rtt=_rtt_ns(paths[0]) / 1e6,
        duration=scenario.duration_s,
        per=per,
        flows=len(flows),
        stagger=next(iter(gaps), 0) / 1e9,
        runs=CHAOTIC_RUNS if per > 0 or len(flows) > 1 else 1,
        packets=bottleneck.queue.limit_packets,
    )


_Hop = tuple["Direction", "Direction"]
"""The two directions of a link, as a data packet and its ACK cross it."""


def _refused(name: str | PathLike[str], problems: Sequence[str]) -> InputError:
    wanted = (
        "allowed: a wired dumbbell with one drop-tail bottleneck, TCP flows without end, their starts evenly spaced"
    )
    return InputError("\n".join([*(f"{name}: cannot be compared with ns-2: {one}" for one in problems), wanted]))


def _flow_problems(flow: Flow, found: Resolved) -> list[str]:
    problems = []
    if flow.tcp is None:
        problems.append("is not TCP")
    if flow.traffic.kind != "bulk" or flow.traffic.size_bytes is not None:
        problems.append(f"sends {flow.traffic.kind} traffic with an end or pauses")
    if flow.stop_ns < found.duration_ns:
        problems.append(f"stops at {flow.stop_ns / 1e9:g} s")
    return problems


def _paths(scenario: Scenario) -> list[list[_Hop]]:
    """Return the links that each flow's packets pass, by the engine's routes; two nodes share one link at most."""
    found = scenario.resolved
    names = [node.name for node in found.nodes]
    between: dict[tuple[str, str], _Hop] = {}
    for link in found.links:
        between[link.a, link.b] = link.forward, link.reverse
        between[link.b, link.a] = link.reverse, link.forward
    return [[between[names[a], names[b]] for a, b in pairwise(path)] for path in scenario.paths()]


def _path_problems(flows: Sequence[Flow], paths: Sequence[Sequence[_Hop]]) -> list[str]:
    problems = []
    if len({round(_rtt_ns(path)) for path in paths}) > 1:
        rtts = ", ".join(f"{_rtt_ns(path) / 1e6:g} ms" for path in paths)
        problems.append(f"its flows have round-trip times of {rtts}; they must be equal")
    if len({round(_loss(path), 12) for path in paths}) > 1:
        problems.append("its flows have paths of different packet error rates")
    shared = [min((hop for hop, _ in path), key=lambda one: int(one.rate_bps)) for path in paths]
    if any(one is not shared[0] for one in shared):
        problems.append("its flows have bottlenecks of their own")
    for flow, path, narrow in zip(flows, paths, shared, strict=True):
        for hop, back in path:
            problems.extend(f"flow {flow.name}: a link of its path {told}" for told in _link_problems(hop, back))
            if hop is not narrow and hop.rate_bps < FASTER * narrow.rate_bps:
                problems.append(f"flow {flow.name}: a second link of its path is nearly as slow as the bottleneck")
        queue = narrow.queue
        if queue.kind != "droptail" or queue.limit_packets is None:
            problems.append(f"flow {flow.name}: its bottleneck's queue is not drop-tail with a limit in packets")
        elif queue.limit_packets < MIN_BUFFER_PACKETS:
            problems.append(f"flow {flow.name}: its bottleneck's queue holds less than {MIN_BUFFER_PACKETS} packets")
    least = _RANGES["rtt"][0]
    if any(_rtt_ns(path) < least * 1e6 for path in paths):
        problems.append(f"its round-trip time is below {least:g} ms")
    return list(dict.fromkeys(problems))


def _link_problems(hop: Direction, back: Direction) -> list[str]:
    both = (hop, back)
    problems = []
    if any(one.changes or one.trace is not None for one in both):
        problems.append("changes")
    if any(one.impairments for one in both):
        problems.append("has impairments besides losses")
    if any(one.loss.kind not in {"none", "uniform"} for one in both) or _lossy(back):
        problems.append("loses packets other than data, or not at one rate")
    return problems


def _rtt_ns(path: Iterable[_Hop]) -> int:
    return sum(int(hop.delay_ns) + int(back.delay_ns) for hop, back in path)


def _lossy(direction: Direction) -> bool:
    return bool(direction.loss.kind == "uniform" and (direction.loss.per or 0) > 0)


def _loss(path: Iterable[_Hop]) -> float:
    """Return the packet error rate over all links of a path."""
    kept = 1.0
    for hop, _ in path:
        if _lossy(hop):
            kept *= 1.0 - (hop.loss.per or 0.0)
    return 1.0 - kept


def check_page(target: Path, title: str, command: str = "validate") -> None:
    """Refuse to replace a file that is not a page of a command.

    Parameters
    ----------
    target : Path
        Path of the page.
    title : str
        The first line of such a page.
    command : str
        The command, for the message.

    Raises
    ------
    InputError
        If the path holds something else.
    """
    if not target.exists() and not target.is_symlink():
        return
    ours = False
    if target.is_file():
        with target.open(encoding="utf-8", errors="replace") as opened:
            ours = opened.readline().rstrip("\n") == title
    if not ours:
        message = f"{target}: holds something other than a page of `narrows {command}`; allowed: another file with -o"
        raise InputError(message)
