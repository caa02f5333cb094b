"""A complete validation against Linux in virtual time: choose, run both sides, compare, explain, write the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.execution.backend import jobs_of
from narrows.execution.means import Means
from narrows.runs.simulated import in_range
from narrows.studies.linux import changes, description, execute, experiments
from narrows.studies.linux.compare import pairs, verdict
from narrows.studies.linux.execute import SIMULATED, Kernels, Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from narrows.execution.work import Watch
    from narrows.outcome.conditions import Conditions
    from narrows.ownership import Target
    from narrows.studies.linux.changes import Change, Shift
    from narrows.studies.linux.compare import Pair, Verdict
    from narrows.studies.linux.description import Description
    from narrows.studies.linux.experiments import Cell
    from narrows.studies.linux.record import Record

FORMAT: Final = 1
"""Version of the JSON format."""

KIND: Final = "linux"
"""Name of the study in JSON."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A scenario under a variant that a kernel could not run.

    Attributes
    ----------
    variant, scenario, kernel, why : str
    """

    variant: str
    scenario: str
    kernel: str
    why: str


@dataclass(frozen=True, slots=True)
class LinuxValidation:
    """The results of a validation against Linux.

    Attributes
    ----------
    description : Description
        What was run.
    kernels : dict
        Release of each kernel by its name, the first one first.
    pairs : tuple of Pair
        Flow by flow, in the order of kernels, variants and scenarios.
    verdicts : tuple of Verdict
        One per kernel and variant.
    cells : tuple of Cell
        Measures beyond the limit.
    changes : tuple of Change
        Flows from one kernel to the next.
    shifts : tuple of Shift
        Changes beyond their limit.
    failures : tuple of Failure
    conditions : tuple of dict
        Conditions of the runs on Linux.
    doubts : tuple of str
        Reasons not to trust runs, a sentence each.
    runs : int
        Number of runs on Linux.
    seconds : float
        Wall-clock time of these runs when they were made, all together, s.
    versions : tuple of str
        Narrows' versions that made them: runs are kept until the guest's program, the kernel or the scenario changes.
    date : str
        Day of the validation (UTC).
    quick : bool
    """

    description: Description
    kernels: dict[str, str]
    pairs: tuple[Pair, ...]
    verdicts: tuple[Verdict, ...]
    cells: tuple[Cell, ...]
    changes: tuple[Change, ...]
    shifts: tuple[Shift, ...]
    failures: tuple[Failure, ...]
    conditions: tuple[Conditions, ...]
    doubts: tuple[str, ...]
    runs: int
    seconds: float
    versions: tuple[str, ...]
    date: str
    quick: bool = False

    @property
    def missed(self) -> tuple[Verdict, ...]:
        """Variants with a median beyond its target; none if medians are not judged."""
        if not self.description.judged:
            return ()
        return tuple(one for one in self.verdicts if one.missed(self.description.targets))

    @property
    def unexplained(self) -> int:
        """Number of cells beyond the limit that neither an experiment nor small changes account for."""
        return sum(one.unexplained for one in self.cells)

    def to_json(self) -> dict[str, Any]:
        """Return everything except the windows over time, for JSON."""
        return {
            "format": FORMAT,
            "kind": KIND,
            "against": "linux",
            "version": _core.version(),
            "date": self.date,
            "quick": self.quick,
            "kernels": [{"name": name, "release": release} for name, release in self.kernels.items()],
            "targets": dict(self.description.targets),
            "limit": self.description.cell,
            "unexplained": self.unexplained,
            "runs": self.runs,
            "seconds": self.seconds,
            "versions": list(self.versions),
            "trusted": not self.doubts,
            "doubts": list(self.doubts),
            "variants": [
                {
                    "name": one.variant,
                    "kernel": one.kernel,
                    "medians": dict(one.medians),
                    "distance": one.distance,
                    "flows": one.flows,
                    "missed": list(one.missed(self.description.targets)) if self.description.judged else [],
                }
                for one in self.verdicts
            ],
            "flows": [
                {
                    "variant": one.variant,
                    "scenario": one.scenario,
                    "flow": one.flow,
                    "kernel": one.kernel,
                    "starts": one.starts,
                    "simulated": dict(one.ours.means),
                    "linux": dict(one.theirs.means),
                    "distance": one.distance,
                }
                for one in self.pairs
            ],
            "cells": [experiments.to_json(one) for one in self.cells],
            "changes": [changes.to_json(one) for one in self.shifts],
            "failures": [
                {"variant": one.variant, "scenario": one.scenario, "kernel": one.kernel, "failure": one.why}
                for one in self.failures
            ],
        }


def validate(
    cc: Iterable[str] | None = None,
    scenarios: Iterable[str] | None = None,
    *,
    kernels: Iterable[str] | None = None,
    runs: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    keep: Target | None = None,
    earlier: bool = False,
    watch: Watch | None = None,
) -> LinuxValidation:
    """Run the same variants in the same scenarios on Narrows and on Linux in virtual time, and compare.

    Parameters
    ----------
    cc : iterable of str, optional
        Names of variants, where ``*`` matches anything; all by default.
    scenarios : iterable of str, optional
        Names of scenarios likewise, or files of scenarios to run instead; all by default.
    kernels : iterable of str, optional
        Names of kernels, from the earliest to the latest; by default the one that `narrows.kernels.find` chooses.
    runs : int, optional
        Number of seeds of every scenario; by default its own.
    quick : bool
        A few variants in a few scenarios, under one seed.
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    keep : path or Claim, optional
        Directory in which finished runs are kept, and where existing ones are found.
    earlier : bool
        Whether kept runs on Linux count that earlier versions of Narrows made, on the same kernel in the same machine.
    watch : callable, optional
        Shows the progress of a set of runs; see `narrows.execution.work.Watch`.

    Returns
    -------
    LinuxValidation

    Raises
    ------
    InputError
        If a name is unknown, or a number out of range.
    LiveError
        If this machine cannot run Linux in virtual time, or a run failed.
    RunError
        If a simulation failed, or a run cannot be stored.
    Interrupted
        On Ctrl-C; finished runs are kept if there is a directory.
    """
    starts = None if runs is None else in_range("runs", runs, 1, 1000)
    chosen = description.load().choose(cc, scenarios, starts=starts, quick=quick)
    means = Means(None if jobs is None else jobs_of(jobs), None, keep, watch)
    places = [(variant, scene) for variant in chosen.variants for scene in chosen.scenes]
    for variant, scene in places:  # a refused scenario is reported before anything runs
        scene.scenario(variant)
    at_hand = Kernels([None] if kernels is None else list(dict.fromkeys(kernels)), earlier=earlier)
    ours = [
        (Point(variant, scene, SIMULATED, chosen.profile(name).settings), scene.starts)
        for name in at_hand.releases
        for variant, scene in places
    ]
    theirs = [(Point(variant, scene, name), scene.starts) for name in at_hand.releases for variant, scene in places]
    made = execute.run([*ours, *theirs], at_hand, means)
    simulated, measured = made[: len(ours)], made[len(ours) :]
    compared, failures = _compared(theirs, simulated, measured)
    steps = changes.between(compared, list(at_hand.releases))
    linux = [one for runs in measured for one in runs]
    found = [verdict(variant.name, name, compared) for name in at_hand.releases for variant in chosen.variants]
    return LinuxValidation(
        description=chosen,
        kernels=at_hand.releases,
        pairs=compared,
        verdicts=tuple(one for one in found if one is not None),
        cells=() if quick else experiments.explain(chosen, compared, at_hand, means),
        changes=steps,
        shifts=() if quick else changes.explain(chosen, steps, at_hand, means),
        failures=failures,
        conditions=tuple(dict(one.conditions) for one in linux if one.conditions is not None),
        doubts=_doubts(theirs, measured),
        runs=sum(one.failure is None for one in linux),
        seconds=round(sum(one.seconds for one in linux), 1),
        versions=tuple(dict.fromkeys(one.version for one in linux if one.version)),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        quick=quick,
    )


def _compared(
    points: Sequence[tuple[Point, int]],
    simulated: Sequence[tuple[Record, ...]],
    measured: Sequence[tuple[Record, ...]],
) -> tuple[tuple[Pair, ...], tuple[Failure, ...]]:
    """Compare each point on Linux with the same point in the simulator."""
    compared: list[Pair] = []
    failures: list[Failure] = []
    for (point, _), ours, runs in zip(points, simulated, measured, strict=True):
        names = point.variant.name, point.scene.name
        failed = next((one.failure for one in runs if one.failure is not None), None)
        if failed is None:
            compared += pairs(*names, point.side, ours, runs)
        else:
            failures.append(Failure(*names, point.side, failed))
    return tuple(compared), tuple(failures)


def _doubts(points: Sequence[tuple[Point, int]], made: Sequence[tuple[Record, ...]]) -> tuple[str, ...]:
    return tuple(
        f"{point.variant.name} in {point.scene.name} on {point.side}, seed {seed}: {doubt}"
        for (point, _), runs in zip(points, made, strict=True)
        for seed, one in enumerate(runs, 1)
        for doubt in one.doubts
    )


def write(validation: LinuxValidation, out: str | PathLike[str]) -> list[Path]:
    """Write the page and its figures.

    Parameters
    ----------
    validation : LinuxValidation
    out : path
        Path of the page, ending in ``.md``, with the figures in a folder of the same name beside it; or a directory, in
        which the page is ``linux.md``.

    Returns
    -------
    list of pathlib.Path
        The page first.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    from narrows.studies.linux import page

    target = Path(out)
    return page.write(validation, target if target.suffix == ".md" else target / "linux.md")
