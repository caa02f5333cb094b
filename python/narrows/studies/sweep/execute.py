"""Executing the missing runs of a sweep, and storing each run when it ends."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.base.collection import settled, uncollected
from narrows.execution.backend import choose
from narrows.execution.forecast import in_order
from narrows.execution.work import Progress, Set, Work, WorkInterrupted
from narrows.outcome import Batch
from narrows.studies.sweep import bounds, table
from narrows.studies.sweep.pool import small_pages
from narrows.studies.sweep.result import SweepResult
from narrows.studies.sweep.rows import from_records
from narrows.studies.sweep.scale import scales
from narrows.studies.sweep.store import Store
from narrows.studies.sweep.stored import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from narrows.execution.work import Hook
    from narrows.ownership import Target
    from narrows.studies.sweep.plan import Sweep, SweepRun
    from narrows.studies.sweep.record import Record

__all__ = ["Progress", "SweepInterrupted", "execute"]


class SweepInterrupted(WorkInterrupted):
    """Ctrl-C during a sweep."""


def execute(
    sweep: Sweep,
    directory: Target | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Hook | None = None,
    large: bool = False,
) -> SweepResult:
    """Execute all missing runs of a sweep.

    Parameters
    ----------
    sweep : Sweep
    directory : path or Claim, optional
        Where finished runs are stored, and where existing ones are found. By default runs are kept in memory only.
    jobs : int, optional
        Number of parallel runs; by default the number of processors. Results do not depend on it.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    progress : callable, optional
        Called before the first run, then about ten times per second.
    large : bool
        Whether to allow more than 100,000 runs, or more than seems to fit on the disk.

    Returns
    -------
    SweepResult
        Includes failed runs: see its ``failures``.

    Raises
    ------
    InputError
        If an argument is out of range, the directory cannot be used, or the sweep is too large.
    ScenarioError
        If the scenario of every point is refused.
    RunError
        If finished runs cannot be stored, for example because the disk is full.
    SweepInterrupted
        On Ctrl-C.
    """
    if not large:
        bounds.check_runs(sweep)
    _check_points(sweep)
    with ExitStack() as stack:
        backend = choose(jobs, dask)
        stack.callback(backend.stop)
        store = None if directory is None else stack.enter_context(Store(directory, sweep))
        with uncollected():
            plan = _plan(sweep)
        there = {} if store is None else store.load()
        missing = in_order([runs[0] for key, runs in plan.items() if there.get(key) != "ok"])
        if directory is not None and not large:
            bounds.check_room(sweep, directory, len(missing))
        made: list[Record] = []
        layout = table.Layout.of(sweep)
        work = Work(_set(sweep, plan, missing, store, made), backend)
        begin = time.monotonic()
        try:
            with settled(), small_pages():
                work.run(progress)
                if store is None:
                    rows = Rows(table.ordered(from_records(made, layout), plan, layout))
                else:
                    rows = Rows(store.compact(plan))
        except KeyboardInterrupt:
            raise _interrupted(sweep, work.done, directory) from None
        return SweepResult(
            rows=rows,
            axes=tuple(layout.axes),
            directory=None if directory is None else Path(directory),
            asked=len(sweep.runs),
            kept=len(sweep.runs) - sum(len(plan[run.address]) for run in missing),
            made=work.made,
            seconds=time.monotonic() - begin,
            broken=0 if store is None else store.broken,
        )


def _set(
    sweep: Sweep,
    plan: Mapping[str, Sequence[SweepRun]],
    missing: Sequence[SweepRun],
    store: Store | None,
    made: list[Record],
) -> Set[Record]:
    """Return the missing runs, and what is known of the others; without a store records go into the list."""
    walls = {} if store is None else store.walls

    def commit(records: Mapping[str, Record]) -> None:
        if store is None:
            made.extend(records.values())
        else:
            store.append(list(records.values()), plan)

    return Set(
        missing=missing,
        axes=scales(sweep),
        total=len(sweep.runs),
        kept=len(sweep.runs) - sum(len(plan[run.address]) for run in missing),
        known=[(runs[0].steps, walls[key]) for key, runs in plan.items() if key in walls],
        commit=commit,
        runs_of=lambda job: len(plan[job.key]),
        failed=lambda record: record.status == "failed",
        counts=lambda job: plan[job.key][0].point.refusal is None,
        nbytes=bounds.room(sweep, len(missing)),
    )


def _interrupted(sweep: Sweep, done: int, directory: str | PathLike[str] | None) -> SweepInterrupted:
    scenario = next(point for point in sweep.points if point.refusal is None).scenario
    nothing = Batch(scenario=scenario, seed=sweep.seeds[0], runs=())
    return SweepInterrupted(nothing, done, len(sweep.runs), directory)


def _check_points(sweep: Sweep) -> None:
    """Refuse a sweep if every point is refused, before anything is written: then the sweep file is wrong."""
    refusal = None
    for point in sweep.points:
        refusal = point.refusal
        if refusal is None:
            return
    if refusal is not None:
        raise refusal


def _plan(sweep: Sweep) -> dict[str, list[SweepRun]]:
    """Group runs by content address: points with the same scenario share an address, and run once."""
    sweep.resolve()
    plan: dict[str, list[SweepRun]] = {}
    for run in sweep.runs:
        plan.setdefault(run.address, []).append(run)
    return plan
