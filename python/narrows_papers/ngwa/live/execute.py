"""Executing the runs: live ones, one or a few at a time, each stored when it ends; then the same ones simulated."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from narrows.base.errors import Interrupted
from narrows.execution import job as execution
from narrows.execution.loop import drive
from narrows.execution.threads import Threads
from narrows.outcome import Batch
from narrows.ownership import NGWA_LIVE, claim
from narrows.runs import simulated as runs
from narrows.store.journal import Journal
from narrows.studies.comparison.make import run_live
from narrows_papers.ngwa.live import plan
from narrows_papers.ngwa.live.record import Record, address, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows import _core
    from narrows.execution.job import ProgressHook
    from narrows.ownership import Target
    from narrows.studies.reproduction.request import Request
    from narrows_papers.ngwa.live.plan import Job

LIVE_SHARE = 0.95
"""Share of the progress bar for live runs."""


@dataclass(frozen=True)
class Made:
    """The results of all runs.

    Attributes
    ----------
    live, simulated : mapping of str to Record
        By name of the job.
    kept : int
        Number of live runs that were already there and were not repeated.
    """

    live: Mapping[str, Record]
    simulated: Mapping[str, Record]
    kept: int


def execute(jobs: Sequence[Job], out: Target, asked: Request) -> Made:
    """Execute all runs that are not in `out` yet.

    Parameters
    ----------
    jobs : sequence of Job
        Runs to execute, live and simulated.
    out : path or Claim
        Where records of live runs are stored as they end, and where existing ones are found.
    asked : Request
        How runs are made: `live_jobs` live runs at a time, each in its own network, with its own conditions.

    Returns
    -------
    Made

    Raises
    ------
    narrows.base.errors.LiveError
        If live runs are not available on this machine; then nothing is written. Or if a run failed; earlier ones are
        kept.
    narrows.base.errors.InputError
        If `out` cannot be used.
    narrows.base.errors.RunError
        If storing a record or a simulation failed.
    narrows.base.errors.Interrupted
        On Ctrl-C; finished live runs are kept.
    """
    at_once = 1 if asked.live_jobs is None else asked.live_jobs
    runs.in_range("at_once", at_once, 1, 64)
    wanted = {address(job): job for job in jobs}
    _check(jobs)
    home = claim(out, kind=NGWA_LIVE)
    found: dict[str, Record] = {}
    try:
        with Journal(home, Record, NGWA_LIVE) as store:
            found = store.read(wanted)
            kept = len(found)
            missing = {key: job for key, job in wanted.items() if key not in found}
            if asked.say is not None:
                asked.say(estimate(list(missing.values()), kept, at_once))
            _live(missing, at_once, store, found, asked.progress)
    except KeyboardInterrupt:
        raise _interrupted(jobs, found) from None
    finally:
        if not found:
            home.withdraw()
    return Made(
        live={job.name: found[key] for key, job in wanted.items()},
        simulated=_simulate(jobs, asked.jobs, asked.progress),
        kept=kept,
    )


def estimate(missing: Sequence[Job], kept: int, at_once: int = 1) -> str:
    """Describe how long it will take."""
    before = f" ({kept} {'is' if kept == 1 else 'are'} there already)" if kept else ""
    if not missing:
        return f"all {kept} live runs are there already; only simulations are made"
    how = "one after the other" if at_once == 1 else f"{at_once} at a time"
    return (
        f"{len(missing)} live run{'' if len(missing) == 1 else 's'} to make{before}, {how} in real time: "
        f"about {minutes(plan.seconds(missing) / at_once)}; then as many simulations. What has finished when it is "
        "interrupted is kept, and the same command continues from there"
    )


def minutes(seconds: float) -> str:
    """Format a long time.

    >>> minutes(63), minutes(4779), minutes(20)
    ('2 min', '1 h 20 min', '1 min')
    """
    hours, rest = divmod(math.ceil(seconds / 60), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def _check(jobs: Sequence[Job]) -> None:
    """Reject scenarios that this machine cannot run, before anything is written."""
    live: Any = import_module("narrows.runs.live")
    for job in jobs:
        live.check(job.scenario)


@dataclass(frozen=True)
class _LiveJob(execution.Job[Record]):
    """A live run; its share goes into the dictionary, because the engine's gauge does not see it."""

    name: str
    job: Job
    shares: dict[str, float]

    @property
    def key(self) -> str:
        return self.name

    def make(self, gauge: _core.Progress) -> Record:
        def tell(share: float) -> None:
            gauge.check()
            self.shares[self.name] = share

        made = record(self.job, run_live(self.job.scenario, 1, tell).runs[0])
        self.shares[self.name] = 1.0
        return made


def _live(
    missing: Mapping[str, Job],
    at_once: int,
    store: Journal[Record],
    found: dict[str, Record],
    progress: ProgressHook | None,
) -> None:
    """Execute all missing runs, and store each when it ends; the first failure stops the others."""
    seconds = {key: plan.seconds([job]) for key, job in missing.items()}
    shares = dict.fromkeys(missing, 0.0)
    waiting = iter([_LiveJob(key, job, shares) for key, job in missing.items()])
    backend = Threads(at_once)

    def took(done: execution.Done[Record]) -> None:
        made = done.value()
        store.append([made])
        found[made.key] = made

    def report() -> None:
        if progress is not None and seconds:
            done = sum(seconds[key] * share for key, share in shares.items())
            progress(LIVE_SHARE * done / sum(seconds.values()))

    try:
        drive(backend, lambda: next(waiting, None), took, report=report)
    except BaseException:
        backend.stop()
        with suppress(Exception):  # what had ended by then is kept
            while (done := backend.get(0)) is not None:
                if done.error is None:
                    took(done)
        raise
    finally:
        backend.stop()


def _simulate(jobs: Sequence[Job], processes: int | None, progress: ProgressHook | None) -> dict[str, Record]:
    def tell(share: float) -> None:
        if progress is not None:
            progress(LIVE_SHARE + (1 - LIVE_SHARE) * share)

    made = runs.run_all([runs.Task(job.scenario, job.scenario.seed) for job in jobs], jobs=processes, progress=tell)
    return {job.name: record(job, run) for job, run in zip(jobs, made, strict=True)}


def _interrupted(jobs: Sequence[Job], found: Mapping[str, Record]) -> Interrupted:
    """Return the exception for Ctrl-C during the live runs."""
    nothing = Batch(scenario=jobs[0].scenario, seed=jobs[0].scenario.seed, runs=())
    rest = "the same command continues from there" if found else "nothing was kept"
    return Interrupted(nothing, len(jobs), f"interrupted: {len(found)} of {len(jobs)} live runs had finished; {rest}")
