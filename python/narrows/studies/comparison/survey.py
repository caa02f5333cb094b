"""A survey: congestion controls on networks, each simulated and live, on the machine's own stack."""

from __future__ import annotations

import math
import platform
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from narrows import _core, ownership
from narrows.base import bundled
from narrows.base.errors import InputError, Interrupted, NarrowsError
from narrows.model.scenario import Scenario
from narrows.runs import simulated
from narrows.store.archive import Archive
from narrows.studies.comparison import gauge as gauges
from narrows.studies.comparison.comparison import FORMAT, Arm, Comparison, measures_json
from narrows.studies.comparison.make import LIVE, SIMULATED, run_live

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from narrows.execution.job import ProgressHook
    from narrows.model.scenario import Override
    from narrows.outcome.conditions import Conditions
    from narrows.ownership import Target
    from narrows.studies.comparison.comparison import Subject
    from narrows.studies.comparison.gauge import Gauge

CONTROLS: Final = ("reno", "cubic", "bbr", "agile_sd")
"""Congestion controls in a survey."""

RUNS: Final = 3
"""Live runs of a cell; few, because they take real time."""

SIMULATED_RUNS: Final = 10
"""Simulated runs of a cell."""

QUICK_DURATION: Final = "3 s"
"""Duration of the runs of a quick survey."""

THROUGHPUT_WITHIN: Final = 5.0
RTT_WITHIN: Final = 10.0
"""Largest deviation of simulated from live in mean throughput and in mean RTT for a yardstick cell, per cent."""

YARDSTICK: Final = ("100m-12ms-1bdp", ("reno", "cubic"))
"""The network and the congestion controls that those limits apply to."""


_AND: Final = " + "
"""Joins the congestion controls of a scenario whose flows name their own."""

SMALL_QUEUE: Final = ("100m-12ms-small", "agile_sd", "cubic")
"""A network whose queue is so small that the decrease factor decides, and two controls to compare on it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A congestion control on a network.

    Attributes
    ----------
    network, title, cc : str
        Name and title of the network; the congestion control of all flows, or those of each flow: ``cubic + bbr``.
    flows : tuple of Subject
        The flows in both arms, simulated first; empty if the cell could not be run.
    live_runs, simulated_runs : int
        Numbers of runs.
    conditions : tuple of dict
        Conditions of the live runs.
    doubts : tuple of str
        Reasons not to trust the live runs.
    failure : str or None
        Why the cell could not be run.
    """

    network: str
    title: str
    cc: str
    flows: tuple[Subject, ...] = ()
    live_runs: int = 0
    simulated_runs: int = 0
    conditions: tuple[Conditions, ...] = ()
    doubts: tuple[str, ...] = ()
    failure: str | None = None

    @property
    def asked(self) -> bool:
        """Whether the cell is a yardstick."""
        return self.network == YARDSTICK[0] and self.cc in YARDSTICK[1]

    def percent(self, flow: int, key: str) -> float | None:
        """Difference of live from simulated, per cent of simulated.

        Parameters
        ----------
        flow : int
            Index of the flow.
        key : str
            Key of the measure, such as ``throughput_mbps``.

        Returns
        -------
        float or None
        """
        found = self.flows[flow].of(key) if self.flows else None
        return None if found is None or math.isnan(found.difference.percent.mean) else found.difference.percent.mean

    @property
    def within(self) -> bool:
        """Whether simulated is within the yardstick limits, in per cent of live, as the limits are stated."""
        near = [(self._of_live("throughput_mbps"), THROUGHPUT_WITHIN), (self._of_live("rtt_mean_ms"), RTT_WITHIN)]
        return all(value is not None and abs(value) <= limit for value, limit in near)

    def _of_live(self, key: str) -> float | None:
        """Difference of simulated from live, per cent of live."""
        found = self.flows[0].of(key) if self.flows else None
        if found is None or not found.first.n or not found.second.n or not found.second.mean:
            return None
        return 100 * (found.first.mean / found.second.mean - 1)


@dataclass(frozen=True, slots=True)
class Survey:
    """The results of a survey.

    Attributes
    ----------
    cells : tuple of Cell
        Cells, network by network.
    date, kernel, machine : str
        Date (UTC), kernel release and machine of the survey.
    version : str
        Version of Narrows.
    quick : bool
        Whether it was a quick survey.
    gauges : tuple of Gauge
        Gauges of the live network itself; empty if cells were chosen.
    """

    cells: tuple[Cell, ...]
    date: str
    kernel: str
    machine: str
    version: str
    quick: bool = False
    gauges: tuple[Gauge, ...] = ()

    @property
    def missed(self) -> tuple[Cell, ...]:
        """Yardstick cells that are outside their limits, or could not be run."""
        return tuple(cell for cell in self.cells if cell.asked and not cell.within)

    @property
    def off(self) -> tuple[Gauge, ...]:
        """Gauges whose rate or round-trip time is outside its limit."""
        return tuple(one for one in self.gauges if not one.within)

    @property
    def failed(self) -> tuple[Cell, ...]:
        """Cells that could not be run."""
        return tuple(cell for cell in self.cells if cell.failure is not None)

    def cell(self, network: str, cc: str) -> Cell | None:
        """Find a cell that was run.

        Parameters
        ----------
        network, cc : str

        Returns
        -------
        Cell or None
        """
        return next((one for one in self.cells if (one.network, one.cc) == (network, cc) and one.flows), None)

    def to_json(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "format": FORMAT,
            "kind": "survey",
            "against": "live",
            "version": self.version,
            "date": self.date,
            "kernel": self.kernel,
            "machine": self.machine,
            "quick": self.quick,
            "yardstick_met": not self.missed,
            "gauges": [one.to_json() for one in self.gauges],
            "cells": [
                {
                    "network": cell.network,
                    "cc": cell.cc,
                    "live_runs": cell.live_runs,
                    "simulated_runs": cell.simulated_runs,
                    "trusted": not cell.doubts,
                    "doubts": list(cell.doubts),
                    "failure": cell.failure,
                    "flows": [{"name": flow.name, "measures": measures_json(flow)} for flow in cell.flows],
                    "conditions": list(cell.conditions),
                }
                for cell in self.cells
            ],
        }


def networks() -> dict[str, Path]:
    """Scenario files of the networks, by name, the yardstick network first.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If this installation lacks them.
    """
    found = {path.stem: path for path in sorted(bundled.directory("validation/live").glob("*.toml"))}
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != YARDSTICK[0], entry[0])))


def pairs() -> dict[str, Path]:
    """Scenario files of networks whose flows name their own congestion controls, by name, the smallest queue first.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If this installation lacks them.
    """
    found = {path.stem: path for path in bundled.directory("validation/live/pairs").glob("*.toml")}
    return dict(sorted(found.items(), key=lambda entry: (not entry[0].endswith("-half"), entry[0])))


def survey(
    cc: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    *,
    own: Iterable[str] | None = None,
    runs: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
    keep: Target | None = None,
) -> Survey:
    """Run congestion controls on networks, simulated and live, on the machine's own stack.

    If neither congestion controls nor networks are chosen, the gauges of the live network run first.

    Parameters
    ----------
    cc : iterable of str, optional
        Congestion controls, or patterns with ``*`` that select from `CONTROLS`; all of these by default.
    names : iterable of str, optional
        Names of networks, where ``*`` matches anything; all by default.
    own : iterable of str, optional
        Scenarios, by file or name, that replace the networks.
    runs : int, optional
        Live runs per cell, one after the other; `RUNS` by default.
    quick : bool
        One short run per cell.
    jobs : int, optional
        Number of parallel simulations.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    keep : path or Claim, optional
        Directory in which finished live runs are kept, and where existing ones are found; see `narrows.store.pending`.

    Returns
    -------
    Survey

    Raises
    ------
    InputError, ScenarioError
        If a name is unknown or a number out of range.
    LiveError
        If live runs are not available and the first cell could not be run. Later failures are kept as cells.
    Interrupted
        On Ctrl-C.
    """
    count = simulated.in_range("runs", (1 if quick else RUNS) if runs is None else runs, 1, 1000)
    overrides = {"duration": QUICK_DURATION} if quick else {}
    known: dict[str, str | Path] = {**networks(), **pairs()}
    if own is not None:
        known = {Scenario.from_file(one).name: one for one in own}
    chosen = _chosen(names, known)
    controls = _controls(cc)
    # Parse all scenarios first, so that errors appear before the long runs.
    work = [
        (network, told, scenario)
        for network, path in chosen.items()
        for told, scenario in _cells_of(path, controls, overrides).items()
        # If only congestion controls are chosen, include the pairs that consist of them.
        if names is not None or own is not None or set(told.split(_AND)) <= set(controls)
    ]
    measured = gauges.networks() if cc is None and names is None and own is None else {}
    before = [Scenario.from_file(path, overrides) for path in measured.values()]
    total = len(before) + len(work)
    with nullcontext() if keep is None else Archive(keep, ownership.UNFINISHED) as store:
        first = tuple(gauges.gauge(one, count, _part(progress, done, total), store) for done, one in enumerate(before))
        cells: list[Cell] = []
        for done, (network, control, scenario) in enumerate(work, len(before)):
            part = _part(progress, done, total)
            try:
                cells.append(_cell(network, control, scenario, count, jobs, part, store))
            except (Interrupted, InputError):
                raise
            except NarrowsError as error:
                if not cells and not first:
                    raise
                cells.append(Cell(network, scenario.title, control, failure=str(error)))
            if part is not None:
                part(1.0)
    return Survey(
        cells=tuple(cells),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        kernel=platform.release(),
        machine=platform.machine(),
        version=_core.version(),
        quick=quick,
        gauges=first,
    )


def _cells_of(path: str | Path, controls: Sequence[str], overrides: Mapping[str, Override]) -> dict[str, Scenario]:
    """Scenarios of one network, by congestion control; a single one if its flows name their own."""
    made: dict[str, Scenario] = {}
    for control in controls:
        scenario = Scenario.from_file(path, {"tcp.cc": control, **overrides})
        used = [name for name in scenario.congestion_controls().values() if name is not None]
        made.setdefault(_AND.join(dict.fromkeys(used)), scenario)
    return made


def _cell(
    network: str,
    control: str,
    scenario: Scenario,
    count: int,
    jobs: int | None,
    progress: ProgressHook | None,
    store: Archive | None,
) -> Cell:
    live = run_live(scenario, count, progress, store)
    ours = simulated.run(scenario, runs=SIMULATED_RUNS, jobs=jobs)
    made = Comparison(Arm(SIMULATED, ours), Arm(LIVE, live))
    return Cell(
        network=network,
        title=scenario.title,
        cc=control,
        flows=made.flows,
        live_runs=len(live.runs),
        simulated_runs=len(ours.runs),
        conditions=tuple(run.conditions for run in live.runs if run.conditions is not None),
        doubts=live.doubts,
    )


def _controls(cc: Iterable[str] | None) -> list[str]:
    """Expand patterns to the matching `CONTROLS`; names are kept as given, and the scenario rejects unknown ones."""
    if cc is None:
        return list(CONTROLS)
    named = [match for name in cc for match in ([one for one in CONTROLS if fnmatchcase(one, name)] or [name])]
    return list(dict.fromkeys(named))


def _chosen(names: Iterable[str] | None, known: dict[str, str | Path]) -> dict[str, str | Path]:
    if names is None:
        return known
    wanted: Sequence[str] = list(names)
    for name in wanted:
        if not any(fnmatchcase(one, name) for one in known):
            message = f"--network is {name!r}; allowed: {', '.join(known)}, or a pattern with *"
            raise InputError(message)
    return {name: path for name, path in known.items() if any(fnmatchcase(name, one) for one in wanted)}


def _part(progress: ProgressHook | None, done: int, total: int) -> ProgressHook | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / total)
