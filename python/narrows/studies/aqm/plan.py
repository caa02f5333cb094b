"""The plan of a comparison of queue disciplines: every discipline on every scenario."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.base import engine as engines
from narrows.base.errors import InputError
from narrows.model.catalogue import engine_catalogue
from narrows.model.scenario import Override, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

SCENARIOS: Final = (
    "aqm-tcp-friendly",
    "aqm-unresponsive",
    "aqm-bursts",
    "aqm-mixed-rtt",
    "aqm-transitions",
    "aqm-ecn",
    "aqm-asymmetric",
)
"""The bundled scenarios, after RFC 7928: sections 5.1, 5.3, 7, 6 and 8.2; ECN; and traffic in both directions."""

MEASURES: Final = 1
"""Version of the measures of a run. It grows when one changes its meaning, which invalidates older records."""

ECN: Final = "aqm-ecn"
"""The scenario in which disciplines with a parameter ``ecn`` have it switched on."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A queue discipline on a scenario.

    Attributes
    ----------
    scenario_label, queue : str
        Name of the scenario; the discipline as it was given, such as ``codel:target=10 ms``.
    scenario : Scenario
        The scenario with the discipline.
    observed : str
        The queue that is measured: that of the slowest link direction, the first of equal ones.
    identity : str
        SHA-256 over the scenario with all defaults.
    """

    scenario_label: str
    queue: str
    scenario: Scenario
    observed: str
    identity: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a comparison.

    Attributes
    ----------
    scenarios, queues : tuple of str
        Labels, in the order of the page.
    cells : tuple of Cell
        Every discipline on every scenario, scenario by scenario.
    seed, runs : int
        Seed, and runs of each cell; run i of every cell uses the same random streams (common random numbers).
    """

    scenarios: tuple[str, ...]
    queues: tuple[str, ...]
    cells: tuple[Cell, ...]
    seed: int
    runs: int

    @property
    def total(self) -> int:
        """Number of runs."""
        return len(self.cells) * self.runs

    def key(self, cell: Cell, run: int) -> str:
        """Content address of a run's record: what is run, by which engine, and how it is measured.

        Parameters
        ----------
        cell : Cell
        run : int
            Index of the run.

        Returns
        -------
        str
            SHA-256, hexadecimal.
        """
        made = engines.engine()
        parts = (cell.identity, cell.scenario_label, cell.queue, self.seed, run, made.release, made.build, MEASURES)
        return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def make(
    queues: Iterable[str] | None = None,
    scenarios: Iterable[str | PathLike[str]] | None = None,
    *,
    runs: int = 10,
    seed: int = 1,
    overrides: Mapping[str, Override] | None = None,
) -> Plan:
    """Plan a comparison: every queue discipline on every scenario.

    Parameters
    ----------
    queues : iterable of str, optional
        Disciplines of ``narrows list queues``, with parameters after colons; by default all of the engine but shapers
        and policers, whose rate depends on the link.
    scenarios : iterable of path or str, optional
        Scenario files or names of bundled ones; by default `SCENARIOS`.
    runs : int
        Runs of each cell.
    seed : int
        Seed.
    overrides : mapping, optional
        Overrides of all scenarios by path.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If an argument is out of range, or a scenario or discipline is named twice.
    ScenarioError
        If a scenario or a discipline is refused.
    """
    known = {row["name"]: row for row in engine_catalogue()["queues"]}
    chosen = [text.strip() for text in (comparable() if queues is None else queues)]
    files = [str(one) for one in (SCENARIOS if scenarios is None else scenarios)]
    for what, names in (("queue", chosen), ("scenario", files)):
        if not names:
            message = f"no {what}; allowed: one or more"
            raise InputError(message)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            message = f"{what} {twice!r}: is named twice; allowed: each once"
            raise InputError(message)
    if runs < 1:
        message = f"runs is {runs}; allowed: 1 or more"
        raise InputError(message)
    if not 0 <= seed < 2**63:
        message = f"seed is {seed}; allowed: 0 to {2**63 - 1}"
        raise InputError(message)
    cells = []
    for file in files:
        base = Scenario.from_file(file)
        for text in chosen:
            kind = text.split(":", 1)[0].strip()
            parameters = {one["name"] for one in known.get(kind, {}).get("parameters", ())}
            marks = base.name == ECN and "ecn" in parameters and "ecn=" not in text
            made = base.with_queue(f"{text}:ecn=true" if marks else text).with_overrides(overrides or {})
            cells.append(Cell(base.name, text, made, _observed(made), _identity(made)))
    return Plan(tuple(dict.fromkeys(one.scenario_label for one in cells)), tuple(chosen), tuple(cells), seed, runs)


def comparable() -> tuple[str, ...]:
    """Return the disciplines that are compared by default: all without a rate of their own.

    Returns
    -------
    tuple of str
    """
    rows = engine_catalogue()["queues"]
    return tuple(row["name"] for row in rows if all(one["name"] != "rate" for one in row["parameters"]))


def _observed(scenario: Scenario) -> str:
    """Name of the queue in front of the slowest link direction."""
    slowest: tuple[int, str] | None = None
    for link in scenario.resolved.links:
        for rate, name in (
            (link.forward.rate_bps, f"{link.a}->{link.b}"),
            (link.reverse.rate_bps, f"{link.b}->{link.a}"),
        ):
            if slowest is None or rate < slowest[0]:
                slowest = (rate, name)
    if slowest is None:
        message = f"{scenario.path}: has no wired link; a comparison of queue disciplines needs one"
        raise InputError(message)
    return slowest[1]


def _identity(scenario: Scenario) -> str:
    return hashlib.sha256(scenario.to_nameless_toml().encode()).hexdigest()
