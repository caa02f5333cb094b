"""Experiments: one thing is changed, and cells that differ run again; and what small changes alone give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import ScenarioError
from narrows.studies.linux import execute
from narrows.studies.linux.compare import Pair, pairs, spread
from narrows.studies.linux.execute import SIMULATED, Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.execution.means import Means
    from narrows.studies.linux.description import Cause, Description, Experiment
    from narrows.studies.linux.execute import Kernels
    from narrows.studies.linux.record import Record

SPREAD_RUNS: Final = 30
"""Simulated runs that tell how much small changes alone change a cell."""

FURTHER: Final = 3
"""How many times the seeds of a scenario an unexplained cell gets further ones, on both sides."""

FEWEST: Final = 5
"""How many at least."""

STARTS: Final[Mapping[str, Any]] = {"start_jitter": "20 ms"}
"""Draws the starts of these runs, in a scenario that has fixed ones too."""

HOSTS: Final[Mapping[str, Any]] = {"topology.bottleneck.reverse": {"jitter": "20 us"}}
"""Delays ACKs by up to 20 us more or less, as hosts do, which take no time in a simulation. Where an ACK's packets meet
a queue that is full but for one place, this decides which packet is lost. Only dumbbells take it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A pair before and after one thing was changed.

    Attributes
    ----------
    cause : Cause
    experiment : Experiment
    before, after : Pair
    limit : float
        Difference beyond which a cell needs a cause.
    """

    cause: Cause
    experiment: Experiment
    before: Pair
    after: Pair
    limit: float

    def isolates(self, key: str) -> bool:
        """Return whether the change brings a measure's difference within the limit, and at least halves it."""
        was, now = self.before.difference(key), self.after.difference(key)
        return was is not None and now is not None and abs(now) <= min(self.limit, abs(was) / 2)


@dataclass(frozen=True, slots=True)
class Cell:
    """A measure of a pair whose difference is beyond the limit.

    Attributes
    ----------
    pair : Pair
    key : str
        Key of the measure.
    measured : Measured or None
        The experiment that belongs to it, if there is one.
    spread : float or None
        Largest relative difference that small changes alone give; ``None`` if not measured.
    off : float or None
        Difference of the mean over runs with small changes from Linux, relative to Linux.
    limit : float
        Difference beyond which a cell needs a cause.
    further : Pair or None
        The same under further seeds; ``None`` if they were not run.
    """

    pair: Pair
    key: str
    measured: Measured | None = None
    spread: float | None = None
    off: float | None = None
    limit: float = 0.0
    further: Pair | None = None

    @property
    def difference(self) -> float:
        """Relative difference, simulated against Linux."""
        return self.pair.difference(self.key) or 0.0

    @property
    def isolated(self) -> bool:
        """Whether an experiment isolates the cause."""
        return self.measured is not None and self.measured.isolates(self.key)

    @property
    def in_spread(self) -> bool:
        """Whether small changes alone give such a difference."""
        return self.spread is not None and self.off is not None and abs(self.off) <= self.spread

    @property
    def vanishes(self) -> bool:
        """Whether the difference is within the limit, and at most half, under further seeds."""
        now = None if self.further is None else self.further.difference(self.key)
        return now is not None and abs(now) <= min(self.limit, abs(self.difference) / 2)

    @property
    def unexplained(self) -> bool:
        """Whether neither an experiment, nor small changes, nor the choice of seeds accounts for it."""
        return not (self.isolated or self.in_spread or self.vanishes)


def explain(description: Description, found: Sequence[Pair], kernels: Kernels, means: Means) -> tuple[Cell, ...]:
    """Run the experiments that belong to differences beyond the limit, measure what small changes give, and try others.

    Cells that are then unexplained run under further seeds.

    Parameters
    ----------
    description : Description
    found : sequence of Pair
    kernels : Kernels
    means : Means

    Returns
    -------
    tuple of Cell
        In the order of the pairs.
    """
    far = [one for one in found if one.beyond(description.cell)]
    measured = _measure(description, far, kernels, means.part(0.0, 0.4))
    cells = [
        Cell(pair, key, next((one for one in measured if one.before is pair), None), limit=description.cell)
        for pair in far
        for key in pair.beyond(description.cell)
    ]
    rest = [one for one in cells if not one.isolated]
    runs = small_changes(
        description,
        {(one.pair.variant, one.pair.scenario, one.pair.kernel) for one in rest},
        kernels,
        means.part(0.4, 0.2),
    )
    cells = [one if one.isolated else _with_spread(one, runs) for one in cells]
    return _further(description, cells, kernels, means.part(0.6, 0.4))


def _further(description: Description, cells: Sequence[Cell], kernels: Kernels, means: Means) -> tuple[Cell, ...]:
    """Run unexplained cells under further seeds."""
    rest = [one.pair for one in cells if one.unexplained]
    places = {(one.variant, one.scenario, one.kernel): one.starts for one in rest}
    runs = further_seeds(description, places, kernels, means)
    return tuple(
        replace(one, further=_same_flow(one.pair, *runs[one.pair.variant, one.pair.scenario, one.pair.kernel]))
        if one.unexplained
        else one
        for one in cells
    )


def further_seeds(
    description: Description, places: Mapping[tuple[str, str, str], int], kernels: Kernels, means: Means
) -> dict[tuple[str, str, str], tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """Run both sides under seeds that were not compared; where all starts are fixed, with starts that are drawn.

    Parameters
    ----------
    description : Description
    places : mapping
        Number of seeds that were compared, by variant, scenario and kernel.
    kernels : Kernels
    means : Means

    Returns
    -------
    dict
        Simulated runs and those on Linux by place.
    """
    points = []
    for (variant, scenario, kernel), starts in places.items():
        plain = Point(description.variant(variant), description.scene(scenario), kernel)
        changed = {} if plain.scenario.resolved.start_jitter_ns > 0 else STARTS
        seeds = starts + max(FURTHER * starts, FEWEST)
        ours = {**description.profile(kernel).settings, **changed}
        points.append((replace(plain, side=SIMULATED, changed=ours), seeds))
        points.append((replace(plain, changed=changed), seeds))
    made = execute.run(points, kernels, means, "further seeds")
    return {
        names: (made[2 * place][starts:], made[2 * place + 1][starts:])
        for place, (names, starts) in enumerate(places.items())
    }


def _measure(description: Description, far: Sequence[Pair], kernels: Kernels, means: Means) -> list[Measured]:
    """Run the experiment of each pair that has one."""
    chosen: list[tuple[Pair, Cause, Experiment]] = []
    for pair in far:
        cause = cause_of(description.causes, pair.variant, pair.scenario, pair.kernel)
        if cause is not None:
            chosen.append((pair, cause, description.experiment(cause.experiment)))
    points = []
    for pair, _, one in chosen:
        place = description.variant(pair.variant), description.scene(pair.scenario)
        profile = description.profile(pair.kernel).settings
        points.append((Point(*place, SIMULATED, {**profile, **one.both, **one.simulated}), pair.starts))
        points.append((Point(*place, pair.kernel, one.both), pair.starts))
    made = execute.run(points, kernels, means, "experiments")
    return [
        Measured(cause, one, pair, _same_flow(pair, made[2 * place], made[2 * place + 1]), description.cell)
        for place, (pair, cause, one) in enumerate(chosen)
    ]


def _same_flow(pair: Pair, ours: Sequence[Record], theirs: Sequence[Record]) -> Pair:
    return next(one for one in pairs(pair.variant, pair.scenario, pair.kernel, ours, theirs) if one.flow == pair.flow)


def cause_of(causes: Iterable[Cause], variant: str, scenario: str, kernel: str) -> Cause | None:
    """Find the first cause that applies to a cell.

    Parameters
    ----------
    causes : iterable of Cause
    variant, scenario, kernel : str

    Returns
    -------
    Cause or None
    """
    return next((one for one in causes if one.covers(variant, scenario, kernel)), None)


Places = dict[tuple[str, str, str], tuple["Record", ...]]
"""Simulated runs by variant, scenario, and kernel whose profile they have."""


def small_changes(
    description: Description, places: Iterable[tuple[str, str, str]], kernels: Kernels, means: Means
) -> Places:
    """Simulate under `SPREAD_RUNS` seeds, each with starts and delays of hosts of its own.

    Parameters
    ----------
    description : Description
    places : iterable of tuple
        Variants, scenarios and kernels.
    kernels : Kernels
    means : Means

    Returns
    -------
    dict
        Runs by variant, scenario and kernel.
    """
    wanted = sorted(places)
    points = []
    for variant, scenario, kernel in wanted:
        profile = description.profile(kernel).settings
        point = Point(description.variant(variant), description.scene(scenario), SIMULATED, profile)
        points.append((_shaken(point), SPREAD_RUNS))
    return dict(zip(wanted, execute.run(points, kernels, means, "small changes"), strict=True))


def _shaken(point: Point) -> Point:
    """Return a point with small changes that are drawn by seed."""
    starts = {} if point.scenario.resolved.start_jitter_ns > 0 else STARTS
    shaken = replace(point, changed={**point.changed, **starts, **HOSTS})
    try:
        _ = shaken.scenario
    except ScenarioError:  # a scenario of the user's that is no dumbbell
        return replace(point, changed={**point.changed, **starts})
    return shaken


def values_of(runs: Places, pair: Pair, key: str) -> list[float]:
    """Return the values of a measure in all runs.

    Parameters
    ----------
    runs : dict
        As `small_changes` returns them.
    pair : Pair
    key : str
        Key of the measure.

    Returns
    -------
    list of float
    """
    made = runs[pair.variant, pair.scenario, pair.kernel]
    flows = [one for record in made for one in record.flows if one.name == pair.flow]
    return [value for one in flows if (value := one.values[key]) is not None]


def _with_spread(cell: Cell, runs: Places) -> Cell:
    pair = cell.pair
    values = values_of(runs, pair, cell.key)
    linux = pair.theirs.means[cell.key]
    if len(values) < 2 or not linux:
        return cell
    return replace(cell, spread=spread(values, pair.starts) / linux, off=fmean(values) / linux - 1)


def to_json(cell: Cell) -> dict[str, Any]:
    """Return a cell beyond the limit for JSON."""
    made = cell.measured
    return {
        "variant": cell.pair.variant,
        "scenario": cell.pair.scenario,
        "flow": cell.pair.flow,
        "kernel": cell.pair.kernel,
        "measure": cell.key,
        "difference": cell.difference,
        "experiment": None if made is None else made.experiment.name,
        "with_experiment": None if made is None else made.after.difference(cell.key),
        "cause": made.cause.why if made is not None and cell.isolated else None,
        "isolated": cell.isolated,
        "spread": cell.spread,
        "in_spread": cell.in_spread,
        "further_seeds": None if cell.further is None else cell.further.starts,
        "with_further_seeds": None if cell.further is None else cell.further.difference(cell.key),
        "vanishes": cell.vanishes,
        "unexplained": cell.unexplained,
    }
