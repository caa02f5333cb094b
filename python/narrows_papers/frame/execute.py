"""Executing a paper's runs: whole runs, kept beside the output until it is written."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from narrows import ownership
from narrows.execution import pilot
from narrows.execution.backend import choose
from narrows.execution.forecast import Scale
from narrows.execution.job import Job, Parcel
from narrows.runs import simulated as runs
from narrows.runs import tasks
from narrows.store.archive import Archive
from narrows.studies.sweep import address as addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from narrows import _core
    from narrows.execution.forecast import Estimate
    from narrows.execution.means import Means
    from narrows.outcome import Run
    from narrows.runs.simulated import Task


T = TypeVar("T")
"""The results of a set of runs."""


@dataclass(frozen=True)
class Runs(Generic[T]):
    """A set of simulations.

    Attributes
    ----------
    what : str
        What is run, in words.
    tasks : sequence of Task
    collect : callable
        Returns the results of the runs, which come in the order of the tasks.
    work : float
        Its work relative to that of the other sets, for the progress.
    """

    what: str
    tasks: Sequence[Task]
    collect: Callable[[list[Run]], T]
    work: float = 1.0


@dataclass(frozen=True)
class _PaperRun(Job["Run"]):
    """A run, and the position of its scenario among those of the paper."""

    task: Task
    place: int

    @cached_property
    def key(self) -> str:
        scenario = self.task.scenario
        parts = [
            f"cc {name} {addresses.fingerprint(factory)}" for name, factory in sorted(scenario.own_controls().items())
        ]
        return addresses.of(addresses.content(scenario.to_toml(), [f"run {self.task.index}", *parts]), self.task.seed)

    @property
    def steps(self) -> tuple[int, ...]:
        return (self.place,)

    @property
    def turn(self) -> int:
        return self.task.index

    def make(self, gauge: _core.Progress) -> Run:
        return runs.make(self.task, gauge)

    def parcel(self) -> Parcel:
        return tasks.of_task(self.task)


def run_set(wanted: Runs[T], means: Means) -> T:
    """Make the runs of a set that are not kept yet, and return their results; see `run_all`."""
    return wanted.collect(run_all(wanted.tasks, means, wanted.what))


def run_all(wanted: Sequence[Task], means: Means, what: str) -> list[Run]:
    """Make the runs that are not kept yet.

    Parameters
    ----------
    wanted : sequence of Task
    means : Means
    what : str
        What is run, in words.

    Returns
    -------
    list of Run
        In the order of the tasks.

    Raises
    ------
    InputError
        If the number of jobs is out of range, or the directory or the cluster cannot be used.
    RunError
        If a run failed; the others are stopped.
    WorkInterrupted
        On Ctrl-C; finished runs are kept.
    """
    jobs = _jobs(wanted)
    by_key = {job.key: job for job in jobs}
    with ExitStack() as stack:
        store = None
        if means.keep is not None:
            store = stack.enter_context(Archive(means.keep, ownership.UNFINISHED))
        found = {} if store is None else tasks.kept(store, by_key)

        def keep(made: Mapping[str, Run]) -> None:
            if store is not None:
                store.append((key, tasks.packed(run)) for key, run in made.items())

        means.execute(what, by_key, _axes(jobs), found, keep, wanted[0].scenario)
    return [found[job.key] for job in jobs]


def estimate(wanted: Sequence[Task], *, jobs: int | None, dask: str | None) -> Estimate:
    """Estimate how long runs take, by executing some of them without storing them.

    Parameters
    ----------
    wanted : sequence of Task
    jobs : int or None
        Number of parallel runs; by default the number of processors.
    dask : str or None
        Address of the scheduler of a Dask cluster.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError, RunError
        As for `run_all`.
    """
    made = list({job.key: job for job in _jobs(wanted)}.values())
    return pilot.estimate(made, _axes(made), choose(jobs, dask))


def _jobs(wanted: Sequence[Task]) -> list[_PaperRun]:
    places: dict[int, int] = {}
    return [_PaperRun(task, places.setdefault(id(task.scenario), len(places))) for task in wanted]


def _axes(jobs: Sequence[_PaperRun]) -> list[Scale]:
    return [Scale(1 + max((job.place for job in jobs), default=0))]
