"""A sweep as a value: its crossed axes, its points, and its runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from narrows.base.errors import Problem
from narrows.execution.job import Job
from narrows.model.scenario import Override, Scenario
from narrows.studies.sweep import address as addresses
from narrows.studies.sweep.memory import Memory
from narrows.studies.sweep.ondemand import OnDemand
from narrows.studies.sweep.point import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from narrows import _core
    from narrows.execution.forecast import Estimate
    from narrows.execution.job import Parcel
    from narrows.outcome import Run
    from narrows.studies.sweep.axis import Axis, Label
    from narrows.studies.sweep.base import Base
    from narrows.studies.sweep.record import Record

    Measure = Callable[[Run], Mapping[str, float | None]]
    """What is computed of a run beside its metrics: columns of the run's row, by name."""


_TOGETHER: Final = 64
"""Number of points whose scenarios are parsed at once."""


@dataclass(frozen=True)
class SweepRun(Job["Record"]):
    """One run of a sweep: a point under a seed.

    Attributes
    ----------
    index : int
        Position in the order of the file: point by point, and seed by seed within a point.
    point : Point
    seed : int
    """

    index: int
    point: Point
    seed: int

    @cached_property
    def address(self) -> str:
        """Content address: SHA-256 over the resolved scenario, the seed, and the engine's version and build.

        If the scenario is refused, its unresolved text and overrides are hashed instead.
        """
        return addresses.of(self.point._resolved[0], self.seed)

    @property
    def key(self) -> str:
        """The content address."""
        return self.address

    @property
    def steps(self) -> tuple[int, ...]:
        """Index of the point's value on each axis."""
        return self.point.steps

    @property
    def turn(self) -> int:
        """Position of the seed among those of the sweep."""
        return self.index % len(self.point.sweep.seeds)

    def make(self, gauge: _core.Progress) -> Record:
        """Execute the run; failures are recorded, not raised."""
        from narrows.studies.sweep import job

        return job.make(self, gauge)

    def parcel(self) -> Parcel:
        """Return the run as it travels to a worker."""
        from narrows.studies.sweep import job

        return job.parcel(self)

    def lost(self, error: str) -> Record:
        """Record a run that raised on a worker."""
        from narrows.studies.sweep import record

        return record.failed(self.address, self.seed, error)

    def __str__(self) -> str:
        """Return point and seed."""
        return f"{self.point}, seed {self.seed}"


@dataclass(frozen=True)
class Sweep:
    """A sweep: a scenario, axes that are crossed, and seeds that are shared by all points.

    Create one with `from_file` or `parse`.

    Attributes
    ----------
    name : str
        Short name.
    path, text : str
        The path as given, and the contents of the file.
    axes : tuple of Axis
        The last axis changes fastest.
    seeds : tuple of int
        Shared by all points, so that compared runs see the same random numbers.
    settings : dict
        Overrides that apply to every point.
    keep : tuple of str or None
        Metrics to keep; all by default.
    bases : dict
        Scenario files by their name in the sweep file.
    scenario : str or None
        The scenario of all points; ``None`` with an axis over scenarios.
    measure : callable or None
        Computes additional columns of a run; see `with_measure`.
    lines : dict
        Lines of the sweep file by path in ``[set]``.

    Examples
    --------
    >>> sweep = Sweep.parse('''
    ... scenario = "dumbbell-cubic"
    ... seeds = 2
    ... [set]
    ... duration = "12 s"
    ... [[axes]]
    ... path = "tcp.cc"
    ... values = ["reno", "cubic"]
    ... ''')
    >>> len(sweep.points), len(sweep.runs), str(sweep.points[1])
    (2, 4, 'tcp.cc = cubic')
    """

    name: str
    path: str
    text: str
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    settings: Mapping[str, Override]
    keep: tuple[str, ...] | None
    bases: Mapping[str, Base]
    scenario: str | None
    measure: Measure | None = None
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    @classmethod
    def from_file(cls, path: str | PathLike[str], overrides: Mapping[str, Override] | None = None) -> Sweep:
        """Read a sweep file.

        Parameters
        ----------
        path : path
        overrides : mapping, optional
            Values by path of the scenario, which replace those of ``[set]``.

        Returns
        -------
        Sweep

        Raises
        ------
        InputError
            If the file cannot be read.
        SweepError
            With all problems.
        """
        from narrows.studies.sweep import file

        return file.read(path, overrides)

    @classmethod
    def parse(cls, text: str, path: str = "<text>", overrides: Mapping[str, Override] | None = None) -> Sweep:
        """Parse the text of a sweep file.

        Parameters
        ----------
        text : str
            TOML.
        path : str
            Name for messages; scenario files are searched for in its directory.
        overrides : mapping, optional
            As for `from_file`.

        Returns
        -------
        Sweep

        Raises
        ------
        SweepError
            With all problems.
        """
        from narrows.studies.sweep import file

        return file.parse(text, path, overrides)

    def with_measure(self, measure: Measure) -> Sweep:
        """Return the same sweep with additional columns in the row of each run.

        Parameters
        ----------
        measure : callable
            Takes a `narrows.Run` (with its samples, if the scenario takes any) and returns numbers by name of column,
            with the same names for every run. It is called on the thread that executed the run. Its code is part of the
            content address: if it changes, runs are executed again.

        Returns
        -------
        Sweep
        """
        from dataclasses import replace

        return replace(self, measure=measure)

    def estimate(self, *, jobs: int | None = None, dask: str | None = None, budget_s: float | None = None) -> Estimate:
        """Estimate how long all runs take, by executing some of them; see `narrows.studies.sweep.pilot.estimate`.

        Parameters
        ----------
        jobs : int, optional
            Number of parallel runs; by default the number of processors.
        dask : str, optional
            Address of the scheduler of a Dask cluster.
        budget_s : float, optional
            Wall-clock time to spend, s; by default until enough is known, a minute at most.

        Returns
        -------
        Estimate

        Raises
        ------
        InputError
            If ``jobs`` is out of range.
        """
        from narrows.studies.sweep import pilot

        return pilot.estimate(self, jobs=jobs, dask=dask, budget_s=budget_s)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the axes, in order."""
        return tuple(column for axis in self.axes for column in axis.columns)

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns of axes whose values are numbers with a unit."""
        return {column: unit for axis in self.axes for column, unit in axis.units.items()}

    @cached_property
    def points(self) -> Sequence[Point]:
        """All points, created on first access and cached."""
        return OnDemand(math.prod(len(axis) for axis in self.axes), self._point)

    @cached_property
    def runs(self) -> Sequence[SweepRun]:
        """All runs, point by point, and seed by seed within a point."""
        return OnDemand(len(self.points) * len(self.seeds), self._run)

    @cached_property
    def memory(self) -> Memory:
        """Room for the parsed scenarios of points."""
        return Memory()

    def resolve(self) -> None:
        """Parse the scenarios of all points, many at once: what a point needs for its runs' addresses."""
        size = len(self.points)
        for begin in range(0, size, _TOGETHER):
            alike: dict[str, list[Point]] = {}
            for index in range(begin, min(begin + _TOGETHER, size)):
                point = self.points[index]
                if "_resolved" not in point.__dict__:
                    alike.setdefault(point.base.name, []).append(point)
            for points in alike.values():
                base = points[0].base
                parsed = Scenario.from_text_each(base.text, base.path, [point.overrides for point in points])
                for point, one in zip(points, parsed, strict=True):
                    point.take(one)

    def _point(self, index: int) -> Point:
        steps: list[int] = []
        rest = index
        for axis in reversed(self.axes):
            rest, step = divmod(rest, len(axis))
            steps.append(step)
        steps.reverse()
        labels: dict[str, Label] = {}
        overrides: dict[str, Override] = dict(self.settings)
        base = self.scenario
        for axis, step in zip(self.axes, steps, strict=True):
            value = axis.values[step]
            labels |= value.labels
            overrides |= value.overrides
            base = value.scenario or base
        return Point(index, labels, overrides, self.bases[str(base)], tuple(steps), self)

    def _run(self, index: int) -> SweepRun:
        point, seed = divmod(index, len(self.seeds))
        return SweepRun(index, self.points[point], self.seeds[seed])

    def told(self, problem: Problem, point: Point) -> Problem:
        """Add the line of the sweep file to a problem, if an axis or ``[set]`` caused it.

        Parameters
        ----------
        problem : Problem
            Problem as reported by the scenario.
        point : Point
            The point whose scenario has the problem.

        Returns
        -------
        Problem
        """
        if problem.path != "--set":
            return problem
        line, longest = None, -1
        for axis, step in zip(self.axes, point.steps, strict=True):
            for path in axis.values[step].overrides:
                if len(path) > longest and _about(path, problem):
                    line, longest = axis.line, len(path)
        for path in self.settings:
            if len(path) > longest and _about(path, problem):
                line, longest = self.lines.get(path), len(path)
        return Problem(self.path, line, problem.field, problem.value, problem.allowed, problem.message)

    def __repr__(self) -> str:
        """Return name and size."""
        return f"<Sweep {self.name}: {len(self.points)} points, {len(self.runs)} runs>"


def _about(path: str, problem: Problem) -> bool:
    """Whether a problem concerns the override of a path: the engine names or quotes the field."""
    told = f"{problem.field} {problem.message}"
    return path in told or path.partition(".")[2] in problem.field if "." in path else path in told
