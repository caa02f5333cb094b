"""Running points in the simulator and on Linux in virtual time; finished runs are kept by content address."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import ownership
from narrows.base.engine import engine
from narrows.base.errors import LiveError
from narrows.execution.forecast import Scale
from narrows.execution.job import Job
from narrows.runs.simulated import Task, make
from narrows.store.journal import Journal
from narrows.studies.linux import record
from narrows.studies.linux.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows import _core
    from narrows.execution.means import Means
    from narrows.model.scenario import Override, Scenario
    from narrows.studies.linux.description import Scene, Variant

FORMAT: Final = 3
"""Version of what is kept of a run; a new version invalidates kept runs."""

SIMULATED: Final = "simulated"
"""The side that is Narrows; all others are names of kernels."""


@dataclass(frozen=True)
class Point:
    """A scenario under one variant on one side, without a seed.

    Attributes
    ----------
    variant : Variant
    scene : Scene
    side : str
        `SIMULATED`, or the name of a kernel.
    changed : mapping
        Settings that an experiment changes, by path.
    """

    variant: Variant
    scene: Scene
    side: str = SIMULATED
    changed: Mapping[str, Override] = field(default_factory=dict)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario to run."""
        return self.scene.scenario(self.variant, self.changed)


class Kernels:
    """The kernels of a validation, and the means to run one in virtual time.

    Parameters
    ----------
    names : iterable of str or None
        Names as the user gave them; ``None`` selects the default kernel.
    earlier : bool
        Whether kept runs count that an earlier version of Narrows made.

    Attributes
    ----------
    releases : dict
        Release of each kernel by its name on the page, the first one first: ``6.1``, or the whole release if two have
        the same first numbers.

    Raises
    ------
    InputError
        If no kernel has such a name.
    LiveError
        If this machine cannot run Linux in virtual time.
    """

    def __init__(self, names: Iterable[str | None], *, earlier: bool = False) -> None:
        # By name, so that a substitute module can be used.
        kernels: Any = import_module("narrows.kernels")
        self._vm: Any = import_module("narrows.runs.vm")
        self._kernels = _named([kernels.find(name) for name in names])
        self.releases = {name: str(one.release) for name, one in self._kernels.items()}
        self.addresses = {name: str(self._vm.address(one)) for name, one in self._kernels.items()}
        self.machines = {name: str(self._vm.machine_address(one)) for name, one in self._kernels.items()}
        self.earlier = earlier

    def run(self, scenario: Scenario, side: str, seed: int, gauge: _core.Progress) -> Any:
        """Run a scenario on a kernel.

        Parameters
        ----------
        scenario : Scenario
        side : str
            Name of the kernel.
        seed : int
        gauge : narrows._core.Progress
            Can stop the run.

        Returns
        -------
        Run
        """
        return self._vm.run(scenario, self._kernels[side], seed=seed, gauge=gauge)


def _named(kernels: Sequence[Any]) -> dict[str, Any]:
    """Return kernels by the first two numbers of their release if these differ, else by release."""
    by_release = {str(one.release): one for one in kernels}
    by_numbers = {".".join(release.split(".")[:2]): one for release, one in by_release.items()}
    return by_numbers if len(by_numbers) == len(by_release) else by_release


@dataclass(frozen=True)
class _Run(Job[Record]):
    """One run of a point."""

    point: Point
    seed: int
    at: tuple[int, ...]
    kernels: Kernels

    @cached_property
    def key(self) -> str:
        side, made = self.point.side, engine()
        who = f"narrows {made.release} {made.build}" if side == SIMULATED else f"linux {self.kernels.addresses[side]}"
        what = ("narrows validate linux", str(FORMAT), who, str(self.seed), self.point.scenario.to_nameless_toml())
        return hashlib.sha256("\n".join(what).encode()).hexdigest()

    @cached_property
    def place(self) -> str:
        """The run on Linux without the version of Narrows: machine, scenario file, settings and seed."""
        point = self.point
        if point.side == SIMULATED:
            return ""
        settings = {"tcp.cc": point.variant.name, **point.variant.settings, **point.changed}
        told = json.dumps({path: str(value) for path, value in settings.items()}, sort_keys=True)
        what = (self.kernels.machines[point.side], str(self.seed), told, Path(point.scene.path).read_text("utf-8"))
        return hashlib.sha256("\n".join(what).encode()).hexdigest()

    @property
    def steps(self) -> tuple[int, ...]:
        return self.at

    @property
    def turn(self) -> int:
        return self.seed

    def make(self, gauge: _core.Progress) -> Record:
        begin = time.monotonic()
        point = self.point
        try:
            run = (
                make(Task(point.scenario, self.seed), gauge)
                if point.side == SIMULATED
                else self.kernels.run(point.scenario, point.side, self.seed, gauge)
            )
        except LiveError as error:
            if error.kind != "unsupported":
                raise
            return Record(key=self.key, failure=str(error))
        return record.of(self.key, self.place, run, time.monotonic() - begin)


def run(
    points: Sequence[tuple[Point, int]], kernels: Kernels, means: Means, what: str = "validation"
) -> list[tuple[Record, ...]]:
    """Run points, except for runs that are kept.

    Parameters
    ----------
    points : sequence of tuple
        Each with its number of seeds, from 1 on.
    kernels : Kernels
    means : Means
    what : str
        What is executed, in words.

    Returns
    -------
    list of tuple of Record
        The runs of each point, seed by seed.

    Raises
    ------
    ScenarioError
        If a scenario is refused; before anything runs.
    LiveError, RunError
        If a run failed; finished ones are kept.
    Interrupted
        On Ctrl-C; likewise.
    """
    if not points:
        return []
    places = _places([point for point, _ in points])
    runs = [
        [_Run(point, seed, at, kernels) for seed in range(1, seeds + 1)]
        for (point, seeds), at in zip(points, places, strict=True)
    ]
    wanted = {one.key: one for of_point in runs for one in of_point}
    with ExitStack() as stack:
        store = None
        if means.keep is not None:
            store = stack.enter_context(Journal(means.keep, Record, ownership.UNFINISHED))
        found = {} if store is None else store.read(wanted)
        if store is not None and kernels.earlier:
            places_of = {one.place: key for key, one in wanted.items() if one.place and key not in found}
            by_place = store.read(places_of, lambda one: one.place)
            found |= {places_of[place]: one for place, one in by_place.items()}

        def keep(made: Mapping[str, Record]) -> None:
            if store is not None:
                store.append([one for one in made.values() if one.failure is None])

        axes = [Scale(1 + max(at[axis] for at in places)) for axis in range(len(places[0]))]
        means.execute(what, wanted, axes, found, keep, points[0][0].scenario)
    return [tuple(found[one.key] for one in of_point) for of_point in runs]


def _places(points: Sequence[Point]) -> list[tuple[int, ...]]:
    """Return the position of each point on the axes of the forecast: side, scenario, variant."""

    def places(names: Iterable[str]) -> dict[str, int]:
        return {name: place for place, name in enumerate(dict.fromkeys(names))}

    sides = places(point.side for point in points)
    scenes = places(point.scene.name for point in points)
    variants = places(point.variant.name for point in points)
    return [(sides[one.side], scenes[one.scene.name], variants[one.variant.name]) for one in points]
