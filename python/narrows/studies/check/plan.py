"""The plan of a check: each case, for each control, in each cell of its grid that is run."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError, Problem, ScenarioError
from narrows.model.scenario import Scenario
from narrows.studies.check import cells as grids
from narrows.studies.check import dumbbell
from narrows.studies.check.cells import Cell, Grid
from narrows.studies.check.selection import Selection
from narrows.studies.contest.slots import Slot, fields, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.studies.contest.contestant import Contestant

NOT_OF_CONTROL: Final = "not_of_control"
"""Kind of the problem that an expression names a variable that the control lacks."""


@dataclass(frozen=True, slots=True)
class About:
    """What the table ``[case]`` of a file says.

    Attributes
    ----------
    flow : int
        Index of the flow under test.
    source : str or None
        Document and section that the case is from.
    open : str or None
        What the document leaves open, and how the file reads it.
    grid : Grid
    """

    flow: int
    source: str | None
    open: str | None
    grid: Grid

    @classmethod
    def of(cls, scenario: Scenario) -> About | None:
        """Read a scenario's case; ``None`` if it has none.

        Parameters
        ----------
        scenario : Scenario

        Returns
        -------
        About or None
        """
        given: Mapping[str, Any] | None = json.loads(scenario.core.to_json()).get("case")
        if given is None:
            return None
        names = [flow.name for flow in scenario.resolved.flows]
        return cls(
            names.index(given["flow"]),
            given["source"] or None,
            given["open"] or None,
            Grid.from_json(given.get("grid")),
        )


@dataclass(frozen=True, slots=True)
class Item:
    """One run of a case: a control, and a cell of the grid.

    Attributes
    ----------
    name : str
        Name of the case.
    cc : str
        The control of the flow under test, as it was given.
    cell : Cell
    about : About
    scenario : Scenario
        The scenario that is run; of an item that does not apply, the file's own.
    inapplicable : str or None
        Why the case does not apply to the control.
    gridded : bool
        Whether the case has a grid, so that its names need the cell.
    named : bool
        Whether the control was given, so that names need it.
    """

    name: str
    cc: str
    cell: Cell
    about: About
    scenario: Scenario
    inapplicable: str | None = None
    gridded: bool = False
    named: bool = False

    @property
    def id(self) -> str:
        """Name of the case with control and cell, unique within a check."""
        inside = ", ".join([*([self.cc] if self.named else []), *([self.cell.label] if self.gridded else [])])
        return f"{self.name}[{inside}]" if inside else self.name


@dataclass(frozen=True, slots=True)
class NotRun:
    """A cell that is not run.

    Attributes
    ----------
    name, cc : str
        The case, and the control.
    cell : Cell
    packets : float
        Packets that the bottleneck can send within the cell's duration.
    """

    name: str
    cc: str
    cell: Cell
    packets: float


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a check.

    Attributes
    ----------
    items : tuple of Item
        Case by case.
    not_run : tuple of NotRun
        Cells of the grids that are left out.
    unselected : int
        Runs that ``-k`` leaves out.
    seed : int or None
        ``None``: each file's own.
    live : bool
        Whether the runs are made on this machine's own TCP stack.
    """

    items: tuple[Item, ...]
    not_run: tuple[NotRun, ...]
    unselected: int
    seed: int | None
    live: bool = False


def load(files: Iterable[Any]) -> list[tuple[str, Scenario]]:
    """Parse files as scenarios.

    Parameters
    ----------
    files : iterable of narrows.studies.check.files.File

    Returns
    -------
    list of (str, Scenario)
        With the name of each.

    Raises
    ------
    ScenarioError
        With every problem of all files.
    """
    made: list[tuple[str, Scenario]] = []
    problems: list[Problem] = []
    for file in files:
        try:
            made.append((file.name, Scenario.from_text(file.text, file.path)))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise CaseError(problems)
    return made


class CaseError(ScenarioError):
    """A refused test case, with every problem found."""

    what = "test case"


def make(
    scenarios: Sequence[tuple[str, Scenario]],
    contestants: Sequence[Contestant] = (),
    *,
    grid: str | None = None,
    select: str | None = None,
    seed: int | None = None,
    live: bool = False,
) -> Plan:
    """Plan a check.

    Parameters
    ----------
    scenarios : sequence of (str, Scenario)
        The cases with their names.
    contestants : sequence of Contestant
        Controls for the flow under test; empty: each file's own.
    grid : str, optional
        ``all``, ``base``, or cells separated by commas; see `narrows.studies.check.cells.parse`. By default the file
        as it is, and the cells of its grid with at most `narrows.studies.check.dumbbell.MOST_PACKETS` packets.
    select : str, optional
        See `narrows.studies.check.selection.Selection`.
    seed : int, optional
        Seed; each file's own by default.
    live : bool
        Whether the runs are made on this machine's own TCP stack, in real time; by default of each case the file as it
        is.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If an argument cannot be used, or nothing is selected.
    ScenarioError
        If a case is refused in a cell or for a control, for another reason than a variable that the control lacks.
    """
    if seed is not None and not 0 <= seed < 2**63:
        message = f"seed is {seed}; allowed: 0 to {2**63 - 1}"
        raise InputError(message)
    grid = "base" if live and grid is None else grid
    chosen = None if select is None else Selection.parse(select)
    items: list[Item] = []
    left: list[NotRun] = []
    unselected = 0
    for name, scenario in scenarios:
        about = About.of(scenario)
        if about is None:
            message = f"{name}: has neither steps nor expectations; allowed: a scenario with [[steps]] or [[expect]]"
            raise InputError(message)
        for one in contestants or (None,):
            for cell, packets in _cells(scenario, about, grid):
                item = _item(name, scenario, about, one, cell, runs=packets is None)
                if chosen is not None and not chosen.takes(item.id):
                    unselected += packets is None
                elif packets is None:
                    items.append(item)
                    if item.inapplicable is not None:  # in no cell
                        break
                else:
                    left.append(NotRun(name, item.cc, cell, packets))
    if not items:
        message = f"-k {select!r}: selects none of the {unselected} runs; `--list` shows their names"
        raise InputError(message)
    return Plan(tuple(items), tuple(left), unselected, seed, live)


def _cells(scenario: Scenario, about: About, grid: str | None) -> list[tuple[Cell, float | None]]:
    """Return cells, each with ``None`` if it is run, else with its number of packets."""
    cells = about.grid.cells()
    if grid not in (None, "all", "base"):
        asked = [grids.parse(text, about.grid) for text in str(grid).split(",") if text.strip()]
        rest = [(cell, _packets(scenario, about, cell)) for cell in cells if cell not in asked]
        return [*((cell, None) for cell in asked), *rest]
    made: list[tuple[Cell, float | None]] = [(Cell(), None)]
    for cell in cells:
        packets = _packets(scenario, about, cell)
        runs = grid == "all" or (grid is None and packets <= dumbbell.MOST_PACKETS)
        made.append((cell, None if runs else packets))
    return made


def _packets(scenario: Scenario, about: About, cell: Cell) -> float:
    """Return how many packets the bottleneck can send within the duration of a cell."""
    duration = dumbbell.duration_ns(scenario, about.flow, cell) / 1e9
    path = dumbbell.Path.of(scenario, about.flow)
    rate = cell.rate_bps or (path.rate_bps if path is not None else 0)
    return rate * duration / (8 * dumbbell.PACKET_BYTES)


def _item(name: str, scenario: Scenario, about: About, one: Contestant | None, cell: Cell, *, runs: bool) -> Item:
    flow = scenario.resolved.flows[about.flow]
    place = places(scenario)[about.flow]
    own = flow.tcp.cc if flow.tcp is not None else "none"
    cc = own if one is None else one.label
    gridded = about.grid != Grid() or not cell.is_base
    bare = Item(name, cc, cell, about, scenario, gridded=gridded, named=one is not None)
    if not runs:
        return bare
    made = scenario
    if one is not None:
        if place is None or flow.tcp is None:
            what = "is UDP" if flow.tcp is None else "is one of several copies"
            message = f"{name}: the flow under test, {flow.name}, {what}; --cc needs a TCP flow that stands alone"
            raise InputError(message)
        slot = Slot(flow.name, about.flow, place, flow.start_ns, flow.stop_ns)
        try:
            made = scenario.with_overrides(fields(scenario, slot, one))
        except ScenarioError as error:
            if all(problem.kind == NOT_OF_CONTROL for problem in error.problems):
                return replace(bare, inapplicable=error.problems[0].message)
            raise _told(error, one.label) from None
    try:
        values = dumbbell.overrides(made, about.flow, place, cell)
        return replace(bare, scenario=made.with_overrides({**values, "sampling": "off"}))
    except ScenarioError as error:
        raise _told(error, cell.label) from None


def _told(error: ScenarioError, where: str) -> CaseError:
    return CaseError(
        Problem(one.path, one.line, one.field, one.value, one.allowed, f"{where}: {one.message}")
        for one in error.problems
    )
