"""Making the runs: live ones, one or a few at a time, each kept as soon as it ends; then the same simulated."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from narrows import interruption, runs
from narrows.comparison.make import run_live
from narrows.contest.store import Store
from narrows.errors import Interrupted
from narrows.outcome import Batch
from narrows.ownership import NGWA_LIVE, claim
from narrows.papers.ngwa.live import plan
from narrows.papers.ngwa.live.record import Record, address, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from narrows.ownership import Target
    from narrows.papers.ngwa.live.plan import Job
    from narrows.runs import ProgressHook

LIVE_SHARE = 0.95
"""Part of the work that is live, for the progress bar."""

_POLL_S = 0.1


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
    out: Target,
    *,
    processes: int | None = None,
    at_once: int = 1,
    progress: ProgressHook | None = None,
    say: Callable[[str], None] | None = None,
) -> Made:
    """Make all runs that are not in `out` yet.

    Parameters
    ----------
    jobs : sequence of Job
        What to run, live and simulated.
    out : path or Claim
        Where records of live runs are kept as they end, and looked for before.
    processes : int, optional
        How many simulations at the same time; as many as there are processors by default.
    at_once : int
        How many live runs at the same time, each in a network of its own and judged by its own conditions.
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
    runs.in_range("at_once", at_once, 1, 64)
    wanted = {address(job): job for job in jobs}
    _check(jobs)
    home = claim(out, kind=NGWA_LIVE)
    found: dict[str, Record] = {}
    try:
        with Store(home, Record, NGWA_LIVE) as store:
            found = store.read(wanted)
            kept = len(found)
            missing = {key: job for key, job in wanted.items() if key not in found}
            if say is not None:
                say(estimate(list(missing.values()), kept, at_once))
            _Live(missing, store, found, progress).make(at_once)
    except KeyboardInterrupt:
        raise _interrupted(jobs, found) from None
    finally:
        if not found:
            home.withdraw()
    return Made(
        live={job.name: found[key] for key, job in wanted.items()},
        simulated=_simulate(jobs, processes, progress),
        kept=kept,
    )


def estimate(missing: Sequence[Job], kept: int, at_once: int = 1) -> str:
    """How long it will take, in words."""
    before = f" ({kept} {'is' if kept == 1 else 'are'} there already)" if kept else ""
    if not missing:
        return f"all {kept} live runs are there already; only simulations are made"
    how = "one after the other" if at_once == 1 else f"{at_once} at a time"
    return (
        f"{len(missing)} live run{'' if len(missing) == 1 else 's'} to make{before}, {how} in real time: "
        f"about {minutes(plan.seconds(missing) / at_once)}; then as many simulations. What has finished when it is "
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


class _StoppedError(Exception):
    """Ends a live run from its progress hook."""


class _Live:
    """The live runs that are missing, and how far each is."""

    def __init__(
        self, missing: Mapping[str, Job], store: Store[Record], found: dict[str, Record], progress: ProgressHook | None
    ) -> None:
        self._missing = missing
        self._store = store
        self._found = found
        self._progress = progress
        self._seconds = {key: plan.seconds([job]) for key, job in missing.items()}
        self._shares = dict.fromkeys(missing, 0.0)
        self._stopped = False

    def make(self, at_once: int) -> None:
        """Make all; the first that fails stops the others."""
        ended: SimpleQueue[Future[None]] = SimpleQueue()
        pool = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="narrows-live")
        try:
            for key, job in self._missing.items():
                pool.submit(self._one, key, job).add_done_callback(ended.put)
            pending = len(self._missing)
            while pending:  # in short steps, so that Ctrl-C is heard at once
                interruption.check()
                with suppress(Empty):
                    ended.get(timeout=_POLL_S).result()
                    pending -= 1
                self._tell()
        finally:
            self._stopped = True
            pool.shutdown(wait=True, cancel_futures=True)

    def _one(self, key: str, job: Job) -> None:
        def tell(share: float) -> None:
            if self._stopped:
                raise _StoppedError
            self._shares[key] = share

        made = record(job, run_live(job.scenario, 1, tell).runs[0])
        self._store.append(made)
        self._found[key] = made
        self._shares[key] = 1.0

    def _tell(self) -> None:
        if self._progress is not None:
            done = sum(self._seconds[key] * share for key, share in self._shares.items())
            self._progress(LIVE_SHARE * done / sum(self._seconds.values()))


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
