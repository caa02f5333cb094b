"""The plan of a contest: contestants, the two slots of a scenario, and a scenario for every match."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from narrows.base import engine as engines
from narrows.base.errors import InputError, Problem, ScenarioError
from narrows.model import own
from narrows.model.scenario import Override, Scenario
from narrows.studies.contest.behaviour import Criteria
from narrows.studies.contest.contestant import Contestant, headings
from narrows.studies.contest.contestant import contestants as checked
from narrows.studies.contest.slots import Slot, default_window, find
from narrows.studies.contest.slots import fields as slot_fields
from narrows.studies.contest.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

Order = Literal["as_is", "swapped"]
"""Which slot starts first: as in the scenario, or with starts and stops of the two slots exchanged."""

MEASURES: Final = 1
"""Version of the measures of a run. It grows when a measure changes its meaning, which invalidates older records."""

SAMPLING: Final = "100 ms"
"""Default sampling interval of a contest."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match: a contestant in each slot, or in one of them alone.

    Attributes
    ----------
    first, second : str or None
        Labels of the contestants in the first and in the second slot; ``None`` for a silent slot.
    order : {"as_is", "swapped"}
        Which slot starts first.
    scenario : Scenario
        The scenario that is run.
    identity : str
        SHA-256 over the scenario with all defaults, and over the user's congestion controls.
    """

    first: str | None
    second: str | None
    order: Order
    scenario: Scenario
    identity: str

    @property
    def name(self) -> str:
        """Name of the match in messages."""
        told = f"{self.first or 'nobody'} against {self.second or 'nobody'}"
        return told if self.order == "as_is" else f"{told}, starts swapped"


@dataclass(frozen=True)
class Plan:
    """All runs of a contest, and how they are measured.

    Attributes
    ----------
    scenario : Scenario
        As given, with its overrides; its own congestion controls in the slots are not used.
    slots : tuple of Slot
        First and second slot.
    contestants : tuple of Contestant
    matches : tuple of Match
        Pairs in the order of rows and columns, then solo runs.
    orders : tuple of str
        The starting orders to run.
    seed, runs : int
        Seed, and runs of every match; run i of every match uses the same random streams (common random numbers).
    window : Window
        The measured part of a run.
    criteria : Criteria
        Criteria that distinguish behaviours.
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
    def headings(self) -> tuple[str, ...]:
        """Short labels that distinguish the contestants, in the order of rows and columns."""
        return headings(self.contestants)

    @property
    def total(self) -> int:
        """Number of runs."""
        return len(self.matches) * self.runs

    @property
    def has_solo(self) -> bool:
        """Whether contestants also run alone."""
        return any(one.first is None or one.second is None for one in self.matches)

    def key(self, match: Match, run: int, by: str | None = None) -> str:
        """Content address of a run's record: what is run, by which engine, and how it is measured.

        Parameters
        ----------
        match : Match
        run : int
            Index of the run.
        by : str, optional
            The engine that ran it, as `engine` returns it; this one by default.

        Returns
        -------
        str
            SHA-256, hexadecimal.
        """
        # Two contestants may have equal settings, and two orders equal start times; each still has its own record.
        who = (match.first, match.second, match.order)
        ran = engine() if by is None else by
        parts = (match.identity, who, self.seed, run, ran, MEASURES, self.slots, self.window, self.criteria)
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
    """Plan a contest: every ordered pair of contestants, including each with itself, under common random numbers.

    Parameters
    ----------
    scenario : path, str or Scenario
        A file, the name of a bundled scenario, or a scenario; it has two TCP flows, or more if ``slots`` is given.
    contestants : iterable of str or Contestant
        Congestion controls by name (see `Contestant.parse`), or contestants.
    runs : int
        Runs of each match.
    seed : int, optional
        Seed; the scenario's own by default.
    slots : two names, optional
        The two flows that contestants replace; required if there are more than two TCP flows.
    window : two numbers, optional
        Start and end of the measured part, s. By default it starts when a tenth of the time that both flows are active
        has passed, and ends when the first of them stops.
    overrides : mapping, optional
        Overrides of the scenario by path.
    orders : sequence of {"as_is", "swapped"}
        Starting orders to run.
    solo : bool
        Whether each contestant also runs alone in each slot, for harm as defined by Ware et al.
    sampling : str, optional
        Sampling interval; ``None`` keeps the scenario's.
    criteria : Criteria, optional
        Criteria that distinguish behaviours.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If an argument is out of range, a contestant is unknown or listed twice, or the scenario lacks two slots.
    ScenarioError
        If the scenario is refused, as given or with a contestant.
    """
    if runs < 1:
        message = f"runs is {runs}; allowed: 1 or more"
        raise InputError(message)
    chosen = checked(contestants)
    base = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if overrides:
        base = base.with_overrides(overrides)
    if sampling is not None and "sampling" not in base.overrides:
        sampled = base.with_overrides({"sampling": sampling})
        base = base if sampled.resolved.sampling == base.resolved.sampling else sampled
    if base.resolved.sampling.kind != "interval":
        message = f"{base.path}: sampling is not an interval; a contest measures from samples; allowed: a time"
        raise InputError(message)
    pair = find(base, slots)
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
    measured = default_window(base, pair) if window is None else Window(*window)
    measured.check(base.duration_s)
    return Plan(base, pair, chosen, tuple(matches), tuple(orders), number, runs, measured, criteria or Criteria())


def engine() -> str:
    """Identify the engine by release and build; there may be several builds of a release.

    Returns
    -------
    str
    """
    made = engines.engine()
    return f"{made.release}+{made.build}"


def _match(
    scenario: Scenario, slots: tuple[Slot, Slot], first: Contestant | None, second: Contestant | None, order: Order
) -> Match:
    values: dict[str, Override] = {}
    for slot, other, one in ((slots[0], slots[1], first), (slots[1], slots[0], second)):
        if one is None:
            # A flow cannot be left out. Start it 1 ns before the end of the run, so that its first packet never
            # arrives.
            values |= {
                f"{slot.place}.start": f"{scenario.resolved.duration_ns - 1} ns",
                f"{slot.place}.stop": "end",
                f"{slot.place}.jitter": False,
            }
            continue
        values |= slot_fields(scenario, slot, one)
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


def _identity(scenario: Scenario) -> str:
    digest = hashlib.sha256(scenario.to_toml().encode())
    controls = own.controls()
    for name in sorted({cc for cc in scenario.congestion_controls().values() if cc in controls}):
        digest.update(_source(name).encode())
    return digest.hexdigest()


def _source(name: str) -> str:
    """Source file of a user's congestion control, so that changes to it or to its helpers cause new runs."""
    factory = own.controls()[name]
    # `inspect` cannot find files that `own.load` ran, since they are not modules, but code objects name their file.
    code = getattr(getattr(factory, "on_ack", factory), "__code__", None)
    try:
        return Path(code.co_filename).read_text(encoding="utf-8") if code else _nowhere(factory)
    except OSError:
        return _nowhere(factory)


def _nowhere(factory: object) -> str:
    """Replaces the source of interactively typed code: unique to this process, so it never matches other records."""
    return f"{os.getpid()} {id(factory)}"
