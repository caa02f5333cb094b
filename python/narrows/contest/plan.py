"""What a contest runs: contestants, the two slots of a scenario, and every match as a scenario of its own."""

from __future__ import annotations

import hashlib
import inspect
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from narrows import _core, own
from narrows.contest.behaviour import Criteria
from narrows.contest.window import Window
from narrows.errors import InputError, Problem, ScenarioError
from narrows.scenario import Override, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

Order = Literal["as_is", "swapped"]
"""Which slot starts first: as the scenario says, or with the starts and stops of the two slots exchanged."""

MEASURES: Final = 1
"""Version of what is measured of a run. It grows when a measure changes its meaning: records of before do not serve."""

SAMPLING: Final = "100 ms"
"""How often a contest samples, where the caller does not say otherwise."""

_SHORT: Final = ("cc", "stack")
"""Fields of ``tcp`` that a flow may also say outside of it, but not in both places."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A variant: a label, and what it sets of a flow's ``tcp`` table.

    Attributes
    ----------
    label : str
        Stands in matrices; unique within a contest.
    tcp : mapping
        Values by field of ``tcp`` in scenario files, such as ``{"cc": "reno", "recovery": "newreno"}``; text is taken
        as the file would write it.

    Examples
    --------
    >>> Contestant.parse("cubic:cc_params.beta=0.8:ecn=true").tcp
    {'cc': 'cubic', 'cc_params.beta': '0.8', 'ecn': 'true'}
    """

    label: str
    tcp: Mapping[str, Override]

    @classmethod
    def parse(cls, text: str) -> Contestant:
        """Read a contestant as the command line takes it: ``NAME`` or ``NAME:FIELD=VALUE:FIELD=VALUE``.

        Parameters
        ----------
        text : str
            A congestion control, and fields of ``tcp`` that go with it. The label is the whole text.

        Returns
        -------
        Contestant

        Raises
        ------
        InputError
            If there is no such congestion control, or a field is no assignment.
        """
        label = text.strip()
        name, *rest = label.split(":")
        _known(name)
        fields: dict[str, Override] = {"cc": name}
        for assignment in rest:
            key, equals, value = (part.strip() for part in assignment.partition("="))
            if not equals or not key or not value or key == "cc":
                message = (
                    f"cc {label!r}: {assignment!r} is not an assignment; allowed: NAME:FIELD=VALUE with a field of "
                    "`tcp`, such as cubic:stack=linux or cubic:cc_params.beta=0.8"
                )
                raise InputError(message)
            fields[key] = value
        return cls(label, fields)


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the two flows of the scenario that a contestant takes.

    Attributes
    ----------
    name : str
        The flow.
    index : int
        Its position among all flows of the run.
    place : str
        Its path in the file, for overrides.
    start_ns, stop_ns : int
        Its start and stop in the scenario; jitter comes on top of the start.
    """

    name: str
    index: int
    place: str
    start_ns: int
    stop_ns: int


@dataclass(frozen=True, slots=True)
class Match:
    """Who meets whom: a contestant in either slot, or in one of them alone.

    Attributes
    ----------
    first, second : str or None
        Labels of the contestants in the first and in the second slot; ``None`` for a slot that stays silent.
    order : {"as_is", "swapped"}
        Which slot starts first.
    scenario : Scenario
        What is run.
    identity : str
        SHA-256 over the scenario with every default, and over congestion controls written in Python.
    """

    first: str | None
    second: str | None
    order: Order
    scenario: Scenario
    identity: str

    @property
    def name(self) -> str:
        """For messages."""
        told = f"{self.first or 'nobody'} against {self.second or 'nobody'}"
        return told if self.order == "as_is" else f"{told}, starts swapped"


@dataclass(frozen=True)
class Plan:
    """Everything that a contest runs, and how it is measured.

    Attributes
    ----------
    scenario : Scenario
        As given, with its overrides; its own congestion controls in the slots stand for nothing.
    slots : tuple of Slot
        First and second slot.
    contestants : tuple of Contestant
    matches : tuple of Match
        Pairs in the order of rows and columns, then solo runs.
    orders : tuple of str
        The starting orders that are run.
    seed, runs : int
        Seed, and runs of every match; run i of all matches draws from the same random streams (common random numbers).
    window : Window
        What is measured.
    criteria : Criteria
        How behaviours are told apart.
    """

    scenario: Scenario
    slots: tuple[Slot, Slot]
    contestants: tuple[Contestant, ...]
    matches: tuple[Match, ...]
    orders: tuple[Order, ...]
    seed: int
    runs: int
    window: Window
    criteria: Criteria = field(default_factory=Criteria)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the contestants, in the order of rows and columns."""
        return tuple(one.label for one in self.contestants)

    @property
    def total(self) -> int:
        """Number of runs."""
        return len(self.matches) * self.runs

    @property
    def has_solo(self) -> bool:
        """Whether contestants also run alone."""
        return any(one.first is None or one.second is None for one in self.matches)

    def key(self, match: Match, run: int) -> str:
        """Content address of a run's record: what is run, by what, and how it is measured.

        Parameters
        ----------
        match : Match
        run : int
            Index of the run.

        Returns
        -------
        str
            SHA-256 in hexadecimal.
        """
        parts = (match.identity, self.seed, run, engine(), MEASURES, self.slots, self.window, self.criteria)
        return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def make(
    scenario: str | PathLike[str] | Scenario,
    contestants: Iterable[str | Contestant],
    *,
    runs: int = 5,
    seed: int | None = None,
    slots: Sequence[str] | None = None,
    window: tuple[float, float] | None = None,
    overrides: Mapping[str, Override] | None = None,
    orders: Sequence[Order] = ("as_is",),
    solo: bool = True,
    sampling: str | None = SAMPLING,
    criteria: Criteria | None = None,
) -> Plan:
    """Plan a contest: every ordered pair of contestants, each with itself included, under common random numbers.

    Parameters
    ----------
    scenario : path, str or Scenario
        A file, the name of a bundled scenario, or a scenario; with two TCP flows, or more and ``slots``.
    contestants : iterable of str or Contestant
        Congestion controls by name (see `Contestant.parse`), or contestants.
    runs : int
        Runs of each match.
    seed : int, optional
        The scenario's own by default.
    slots : two names, optional
        The two flows that contestants take; needed where there are more than two TCP flows.
    window : two numbers, optional
        From when to when is measured, s. By default from when both flows have been active for a tenth of the time that
        they have in common, to when the first of them stops.
    overrides : mapping, optional
        Values of the scenario by path.
    orders : sequence of {"as_is", "swapped"}
        Starting orders to run.
    solo : bool
        Whether each contestant also runs alone in each slot, for harm in the sense of Ware et al.
    sampling : str, optional
        Interval between samples; ``None`` leaves the scenario's.
    criteria : Criteria, optional
        How behaviours are told apart.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If an argument is out of range, a contestant unknown or named twice, or the scenario has no two slots.
    ScenarioError
        If the scenario, or a contestant in it, is refused.
    """
    if runs < 1:
        message = f"runs is {runs}; allowed: 1 or more"
        raise InputError(message)
    chosen = _contestants(contestants)
    base = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if overrides:
        base = base.with_overrides(overrides)
    if sampling is not None and "sampling" not in base.overrides:
        base = base.with_overrides({"sampling": sampling})
    if base.resolved["sampling"]["kind"] != "interval":
        message = f"{base.path}: sampling is not an interval; a contest measures from samples: allowed is a time"
        raise InputError(message)
    pair = _slots(base, slots)
    matches: list[Match] = []
    for order in orders:
        for one in chosen:
            matches += [_match(base, pair, one, other, order) for other in chosen]
        if solo:
            matches += [_match(base, pair, one, None, order) for one in chosen]
            matches += [_match(base, pair, None, one, order) for one in chosen]
    number = base.seed if seed is None else seed
    if not 0 <= number < 2**63:
        message = f"seed is {number}; allowed: 0 to {2**63 - 1}"
        raise InputError(message)
    measured = _default_window(base, pair) if window is None else Window(*window)
    measured.check(base.duration_s)
    return Plan(base, pair, chosen, tuple(matches), tuple(orders), number, runs, measured, criteria or Criteria())


@cache
def engine() -> str:
    """Identify the engine: its version, and the digest of the extension itself, since a version may be built anew.

    Returns
    -------
    str
    """
    digest = hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()
    return f"{_core.version()}+{digest[:12]}"


def _known(name: str) -> None:
    import difflib

    from narrows.catalogue import list_algorithms

    known = [str(entry["name"]) for entry in list_algorithms()]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "see `narrows list cc`"
        message = f"cc {name!r}: no such congestion control; {hint}"
        raise InputError(message)


def _contestants(given: Iterable[str | Contestant]) -> tuple[Contestant, ...]:
    chosen = tuple(one if isinstance(one, Contestant) else Contestant.parse(one) for one in given)
    if not chosen:
        message = "no contestants; allowed: one or more congestion controls, such as cubic,bbr"
        raise InputError(message)
    seen: set[str] = set()
    for one in chosen:
        if one.label in seen:
            message = f"cc {one.label!r}: is named twice; allowed: each contestant once"
            raise InputError(message)
        seen.add(one.label)
    return chosen


def _slots(scenario: Scenario, names: Sequence[str] | None) -> tuple[Slot, Slot]:
    flows = scenario.resolved["flows"]
    tcp = [flow["name"] for flow in flows if flow.get("tcp")]
    if names is None:
        if len(tcp) != 2:
            more = f"; name two with --slots: {', '.join(tcp[:12])}" if len(tcp) > 2 else ""
            message = (
                f"{scenario.path}: has {len(tcp)} TCP flow{'' if len(tcp) == 1 else 's'}; needed are two slots{more}"
            )
            raise InputError(message)
        names = tcp
    if len(names) != 2 or names[0] == names[1]:
        message = f"slots are {','.join(names)}; allowed: two different TCP flows of {', '.join(tcp)}"
        raise InputError(message)
    for name in names:
        if name not in tcp:
            message = f"slot {name!r}: {scenario.path} has no TCP flow of this name; allowed: {', '.join(tcp)}"
            raise InputError(message)
    places = _places(scenario)
    taken: list[Slot] = []
    for name in names:
        index = next(i for i, flow in enumerate(flows) if flow["name"] == name)
        place = places[index]
        if place is None:
            message = f"slot {name!r}: is one of several copies; allowed: a flow that stands alone in the file"
            raise InputError(message)
        taken.append(Slot(name, index, place, flows[index]["start_ns"], flows[index]["stop_ns"]))
    return taken[0], taken[1]


def _places(scenario: Scenario) -> list[str | None]:
    """Path in the file of each flow of the run; ``None`` for copies."""
    places: list[str | None] = []
    for i, flow in enumerate(tomllib.loads(scenario.text)["flows"]):
        copies = scenario.overrides.get(f"flows[{i}].copies", flow.get("copies"))
        places += [f"flows[{i}]"] if copies is None else [None] * int(copies)
    return places


def _match(
    scenario: Scenario, slots: tuple[Slot, Slot], first: Contestant | None, second: Contestant | None, order: Order
) -> Match:
    values: dict[str, Override] = {}
    for slot, other, one in ((slots[0], slots[1], first), (slots[1], slots[0], second)):
        if one is None:
            # It starts with the end of the run: a flow cannot be left out, and its first packet reaches nobody.
            values |= {
                f"{slot.place}.start": f"{scenario.resolved['duration_ns'] - 1} ns",
                f"{slot.place}.stop": "end",
                f"{slot.place}.jitter": False,
            }
            continue
        values |= {_field(scenario, slot, key): value for key, value in one.tcp.items()}
        if _forgets_parameters(scenario, slot, one):
            values[f"{slot.place}.tcp.cc_params"] = {}
        if order == "swapped":
            values[f"{slot.place}.start"] = f"{other.start_ns} ns"
            values[f"{slot.place}.stop"] = f"{other.stop_ns} ns"
    try:
        made = scenario.with_overrides(values)
    except ScenarioError as error:
        who = " against ".join(one.label for one in (first, second) if one)
        raise ScenarioError(_said(problem, who) for problem in error.problems) from None
    labels = (first.label if first else None, second.label if second else None)
    return Match(*labels, order, made, _identity(made))


def _said(problem: Problem, who: str) -> Problem:
    return Problem(
        problem.path, problem.line, problem.field, problem.value, problem.allowed, f"{who}: {problem.message}"
    )


def _flow_in_file(scenario: Scenario, slot: Slot) -> dict[str, Any]:
    position = int(slot.place.removeprefix("flows[").removesuffix("]"))
    flow: dict[str, Any] = tomllib.loads(scenario.text)["flows"][position]
    return flow


def _field(scenario: Scenario, slot: Slot, key: str) -> str:
    """Path of a field of ``tcp``: where the file has it, since it may not stand in both places."""
    inside = f"{slot.place}.tcp.{key}"
    if key not in _SHORT or key in _flow_in_file(scenario, slot).get("tcp", {}) or inside in scenario.overrides:
        return inside
    return f"{slot.place}.{key}"


def _forgets_parameters(scenario: Scenario, slot: Slot, one: Contestant) -> bool:
    """Parameters that the file has for a slot's own congestion control mean nothing to another."""
    return "cc_params" in _flow_in_file(scenario, slot).get("tcp", {}) and not any(
        key.startswith("cc_params") for key in one.tcp
    )


def _identity(scenario: Scenario) -> str:
    digest = hashlib.sha256(scenario.to_toml().encode())
    controls = own.controls()
    for name in sorted({cc for cc in scenario.congestion_controls().values() if cc in controls}):
        digest.update(_source(name).encode())
    return digest.hexdigest()


def _source(name: str) -> str:
    """Source of an own congestion control, so that a changed one is run anew; its file's, since it may call around."""
    factory = own.controls()[name]
    try:
        return Path(inspect.getfile(factory)).read_text(encoding="utf-8")
    except (OSError, TypeError):
        return f"{name} {id(factory)}"  # known to this process only, and so never taken for another


def _default_window(scenario: Scenario, slots: tuple[Slot, Slot]) -> Window:
    flows = scenario.resolved["flows"]
    jitter = scenario.resolved["start_jitter_ns"]
    starts = [slot.start_ns + (jitter if flows[slot.index]["jitter"] else 0) for slot in slots]
    begin, end = max(starts), min(slot.stop_ns for slot in slots)
    if end <= begin:
        message = (
            f"{scenario.path}: the flows {slots[0].name} and {slots[1].name} are never active together "
            f"({begin / 1e9:g} s to {end / 1e9:g} s)"
        )
        raise InputError(message)
    step = scenario.resolved["sampling"]["interval_ns"]
    warm = begin + (end - begin) // 10
    start = -(-warm // step) * step  # on the grid of samples, where counters are exact
    stop = end // step * step
    return Window(start / 1e9, stop / 1e9) if start < stop else Window(warm / 1e9, end / 1e9)
