"""Running a sweep on a Dask cluster: the same runs, on other machines.

The scheduler and its workers are started by their own commands or by dask-jobqueue. This process submits runs, a few
for each thread of the workers, collects their records, and writes them: workers need no shared disk. If a worker is
lost, only its current runs are lost, and Dask assigns them to another worker.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from narrows import _core, own
from narrows.errors import InputError, RunError, ScenarioError
from narrows.scenario import Scenario
from narrows.sweep import address as addresses
from narrows.sweep import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from narrows.sweep.plan import Measure, SweepRun
    from narrows.sweep.record import Record

_AHEAD: Final = 4
"""Runs submitted per worker thread: enough to keep workers busy, few enough to keep track of."""

_RETRIES: Final = 2
"""How often Dask retries a run that raised on a worker; retries after a lost worker do not count."""

_CONNECT_S: Final = 15
_RECOUNT_S: Final = 2.0


class Cluster:
    """The workers of a Dask scheduler.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    InputError
        If Dask is not installed, no scheduler answers, or a worker has another version of Narrows.
    """

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            message = "--dask needs dask.distributed, which is not installed; allowed: pip install 'narrows[dask]'"
            raise InputError(message) from None
        self._address = address
        for name in ("distributed", "distributed.client"):  # errors are reported below, in one line
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            # A client that finds no scheduler logs long errors, now and when it is collected, so try a connection
            # first.
            asyncio.run(_reached(distributed.core, address))
            self._client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False, name="narrows-sweep")
        except (OSError, ValueError, TypeError) as error:
            message = (
                f"--dask {address}: no scheduler answers there ({error}); allowed: the address that `dask scheduler` "
                "prints, such as tcp://host:8786"
            )
            raise InputError(message) from None
        self._finished: SimpleQueue[Any] = SimpleQueue()
        self._futures: dict[str, Any] = {}
        self._runs: Iterator[SweepRun] = iter(())
        self._handed: dict[str, SweepRun] = {}
        self._stopped = False
        # Two sweeps on one cluster may share runs; a key of its own keeps a sweep from cancelling the other's.
        self._own = secrets.token_hex(4)
        self._counted = (-_RECOUNT_S, 0)
        try:
            self._same_engine()
        except BaseException:
            self.stop()
            raise

    @property
    def workers(self) -> int:
        """Number of threads of all workers; at least 1."""
        counted, threads = self._counted
        if time.monotonic() - counted >= _RECOUNT_S and not self._stopped:
            with suppress(OSError, TimeoutError):
                threads = sum(self._client.nthreads().values())
            self._counted = time.monotonic(), threads
        return max(1, threads)

    def start(self, runs: Iterable[SweepRun]) -> None:
        """Begin to execute runs, in their order."""
        self._runs = iter(runs)
        self._fill()

    def get(self, timeout_s: float) -> Record | None:
        """Wait for the next finished run; ``None`` if none finished in that time."""
        future: Any = None
        with suppress(Empty):
            future = self._finished.get(timeout=timeout_s) if timeout_s > 0 else self._finished.get_nowait()
        if future is None:
            if not self._stopped:
                if self._client.status not in ("running", "connecting"):  # it accepts no more runs
                    raise self._lost()
                self._fill()
            return None
        key = str(future.key)
        run = self._handed.pop(key, None)
        self._futures.pop(key, None)
        made = None if run is None else self._taken(future, run)
        if not self._stopped:
            self._fill()
        return made

    def running(self) -> dict[str, tuple[float, float]]:
        """Return nothing: workers report a run only when it has ended."""
        return {}

    def stop(self) -> None:
        """Cancel runs that have not begun; runs in progress finish on the workers, and their results are dropped."""
        if self._stopped:
            return
        self._stopped = True
        with suppress(Exception):
            self._client.cancel(list(self._futures.values()), force=True)
        with suppress(Exception):
            self._client.close(timeout=5)

    def _fill(self) -> None:
        while len(self._futures) < _AHEAD * self.workers:
            run = next(self._runs, None)
            if run is None:
                return
            key = f"narrows-{self._own}-{run.address}"
            self._handed[key] = run
            future = self._submitted(run, key)
            self._futures[key] = future
            future.add_done_callback(self._finished.put)

    def _submitted(self, run: SweepRun, key: str) -> Any:
        try:
            return self._client.submit(remote, *_parcel(run), key=key, retries=_RETRIES, pure=False)
        except Exception:
            if self._client.status in ("running", "connecting"):
                raise
            raise self._lost() from None  # Dask reports that it is closed

    def _taken(self, future: Any, run: SweepRun) -> Record:
        try:
            if future.status == "finished":
                made: Record = future.result()
                return made
            error = future.exception() if future.status == "error" else None
        except (OSError, TimeoutError, asyncio.CancelledError):  # not raised by the run: its errors set the status
            raise self._lost() from None
        if error is not None:
            return record.failed(run.address, run.seed, f"{type(error).__name__} on the cluster: {error}")
        raise self._lost()

    def _lost(self) -> RunError:
        return RunError(
            f"--dask {self._address}: the scheduler is gone; finished runs are kept, and the same command continues "
            "from there"
        )

    def _same_engine(self) -> None:
        mine = addresses.engine()
        for worker, theirs in self._client.run(addresses.engine, on_error="return").items():
            if theirs != mine:
                message = (
                    f"--dask {self._address}: the worker {worker} has narrows {theirs}, and this is {mine}: runs of "
                    "two versions are never mixed; allowed: workers with the same wheel of narrows"
                )
                raise InputError(message)


async def _reached(core: Any, address: str) -> None:
    comm = await core.connect(address, timeout=_CONNECT_S)
    await comm.close()


def _parcel(run: SweepRun) -> tuple[Any, ...]:
    """The arguments with which a worker executes a run."""
    point = run.point
    try:
        controls = addresses.own_controls(point.scenario)
    except ScenarioError:
        controls = {}
    engine = addresses.engine()
    what = (point.base.text, point.base.path, dict(point.overrides))
    return (engine, *what, run.seed, run.address, point.sweep.measure, controls, _refusal(run))


def _refusal(run: SweepRun) -> str | None:
    return None if run.point.refusal is None else str(run.point.refusal)


def remote(
    engine: addresses.Engine,
    text: str,
    path: str,
    overrides: Mapping[str, Any],
    seed: int,
    address: str,
    measure: Measure | None,
    controls: Mapping[str, Callable[..., object]],
    refusal: str | None,
) -> Record:
    """Execute a run on a worker.

    Parameters
    ----------
    engine : Engine
        Engine of the submitting process. A worker that joined late may have another.
    text, path : str
        Text and path of the scenario file.
    overrides : mapping
        Overrides that the point sets.
    seed : int
    address : str
        Content address.
    measure : callable or None
    controls : mapping
        Congestion controls written in Python that the scenario uses, by name.
    refusal : str or None
        Why the scenario is refused, if it is.

    Returns
    -------
    Record

    Raises
    ------
    RunError
        If this worker has another engine. Dask retries, perhaps on another worker.
    """
    mine = addresses.engine()
    if mine != engine:
        raise RunError(f"the worker has narrows {mine}, and the sweep is of {engine}")
    if refusal is not None:
        return record.failed(address, seed, refusal)
    for name, factory in controls.items():
        own.register(name, factory)
    try:
        scenario = Scenario.from_text(text, path, overrides)
    except ScenarioError as error:
        return record.refused(address, seed, error)
    return record.make(scenario, seed, address, measure, _core.Progress())
