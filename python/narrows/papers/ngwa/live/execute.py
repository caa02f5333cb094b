"""Making the runs: live ones one after the other, each kept as soon as it ends; then the same simulated."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from narrows import runs
from narrows.comparison.make import run_live
from narrows.contest.store import Store
from narrows.errors import Interrupted
from narrows.outcome import Batch
from narrows.papers.ngwa.live import plan
from narrows.papers.ngwa.live.record import Record, address, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from narrows.papers.ngwa.live.plan import Job
    from narrows.runs import ProgressHook

WHAT = "live reproduction of NGWA"
"""What the directory is of."""

LIVE_SHARE = 0.95
"""Part of the work that is live, for the progress bar."""


@dataclass(frozen=True)
class Made:
    """What the runs yielded.

    Attributes
    ----------
    live, simulated : mapping of str to Record
        By name of the job.
    kept : int
        How many live ones were there before, and were not run again.
    """

    live: Mapping[str, Record]
    simulated: Mapping[str, Record]
    kept: int


def execute(
    jobs: Sequence[Job],
    out: Path,
    *,
    processes: int | None = None,
    progress: ProgressHook | None = None,
    say: Callable[[str], None] | None = None,
) -> Made:
    """Make all runs that are not in `out` yet.

    Parameters
    ----------
    jobs : sequence of Job
        What to run, live and simulated.
    out : Path
        Where records of live runs are kept as they end, and looked for before.
    processes : int, optional
        How many simulations at the same time; as many as there are processors by default.
    progress : callable, optional
        Called with the share of the work that is done, in [0, 1].
    say : callable, optional
        Told how long it will take, before it begins.

    Returns
    -------
    Made

    Raises
    ------
    narrows.errors.LiveError
        If this machine cannot do it; nothing is written then. Or if a run failed; those before are kept.
    narrows.errors.InputError
        If `out` cannot be used.
    narrows.errors.RunError
        If keeping a record, or a simulation, failed.
    narrows.errors.Interrupted
        On Ctrl-C; what had finished live is kept.
    """
    wanted = {address(job): job for job in jobs}
    _check(jobs)
    fresh = not out.exists()
    found: dict[str, Record] = {}
    try:
        with Store(out, Record, WHAT) as store:
            found = store.read(wanted)
            kept = len(found)
            missing = {key: job for key, job in wanted.items() if key not in found}
            if say is not None:
                say(estimate(list(missing.values()), kept))
            _live(missing, store, found, progress)
    except KeyboardInterrupt:
        raise _interrupted(jobs, found) from None
    finally:
        if fresh and not found:
            shutil.rmtree(out, ignore_errors=True)
    return Made(
        live={job.name: found[key] for key, job in wanted.items()},
        simulated=_simulate(jobs, processes, progress),
        kept=kept,
    )


def estimate(missing: Sequence[Job], kept: int) -> str:
    """How long it will take, in words."""
    before = f" ({kept} {'is' if kept == 1 else 'are'} there already)" if kept else ""
    if not missing:
        return f"all {kept} live runs are there already; only simulations are made"
    return (
        f"{len(missing)} live run{'' if len(missing) == 1 else 's'} to make{before}, one after the other in real time: "
        f"about {minutes(plan.seconds(missing))}; then as many simulations. What has finished when it is "
        "interrupted is kept, and the same command goes on from there"
    )


def minutes(seconds: float) -> str:
    """A long time in words.

    >>> minutes(63), minutes(4779), minutes(20)
    ('2 min', '1 h 20 min', '1 min')
    """
    hours, rest = divmod(math.ceil(seconds / 60), 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def _check(jobs: Sequence[Job]) -> None:
    """Refuse what this machine cannot do, before anything is written."""
    live: Any = import_module("narrows.live")
    for job in jobs:
        live.check(job.scenario)


def _live(
    missing: Mapping[str, Job], store: Store[Record], found: dict[str, Record], progress: ProgressHook | None
) -> None:
    whole = plan.seconds(missing.values())
    done = 0.0
    for key, job in missing.items():
        part = plan.seconds([job])

        def tell(share: float, done: float = done, part: float = part) -> None:
            if progress is not None:
                progress(LIVE_SHARE * (done + share * part) / whole)

        made = record(job, run_live(job.scenario, 1, tell).runs[0])
        store.append(made)
        found[key] = made
        done += part
        tell(0.0, done)


def _simulate(jobs: Sequence[Job], processes: int | None, progress: ProgressHook | None) -> dict[str, Record]:
    def tell(share: float) -> None:
        if progress is not None:
            progress(LIVE_SHARE + (1 - LIVE_SHARE) * share)

    made = runs.run_all([runs.Task(job.scenario, job.scenario.seed) for job in jobs], jobs=processes, progress=tell)
    return {job.name: record(job, run) for job, run in zip(jobs, made, strict=True)}


def _interrupted(jobs: Sequence[Job], found: Mapping[str, Record]) -> Interrupted:
    """Ctrl-C during the live runs."""
    nothing = Batch(scenario=jobs[0].scenario, seed=jobs[0].scenario.seed, runs=())
    rest = "the same command goes on from there" if found else "nothing was kept"
    return Interrupted(nothing, len(jobs), f"interrupted: {len(found)} of {len(jobs)} live runs had finished; {rest}")
