"""Executing jobs on a Dask cluster: the same jobs, on other machines.

The scheduler and its workers are started by their own commands or by dask-jobqueue. This process submits jobs, a few
for each thread of the workers, and collects their results: workers need no shared disk. If a worker is lost, only its
current jobs are lost, and Dask assigns them to another worker.
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

from narrows import _core
from narrows.base.engine import Engine, engine
from narrows.base.errors import InputError, RunError
from narrows.execution.job import Done
from narrows.model import own

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from narrows.execution.job import Job

_RETRIES: Final = 2
"""How often Dask retries a job that raised on a worker; retries after a lost worker do not count."""

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
            self._client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False, name="narrows")
        except (OSError, ValueError, TypeError) as error:
            message = (
                f"--dask {address}: no scheduler answers there ({error}); allowed: the address that `dask scheduler` "
                "prints, such as tcp://host:8786"
            )
            raise InputError(message) from None
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._handed: dict[str, tuple[Job[Any], Callable[[Any], Any] | None, Any]] = {}
        self._stopped = False
        # Two commands on one cluster may share jobs; a key of its own keeps one from cancelling the other's.
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

    def submit(self, job: Job[Any]) -> None:
        """Begin to execute a job, after those submitted before."""
        parcel = job.parcel()
        key = f"narrows-{self._own}-{job.key}"
        try:
            future = self._client.submit(
                remote,
                engine(),
                dict(parcel.controls),
                parcel.function,
                *parcel.arguments,
                key=key,
                retries=_RETRIES,
                pure=False,
            )
        except Exception:
            if self._client.status in ("running", "connecting"):
                raise
            raise self._lost() from None  # Dask reports that it is closed
        self._handed[key] = job, parcel.unpack, future
        future.add_done_callback(self._ended.put)

    def get(self, timeout_s: float) -> Done[Any] | None:
        """Wait for the next job that ends; ``None`` if none ended in that time."""
        future: Any = None
        with suppress(Empty):
            future = self._ended.get(timeout=timeout_s) if timeout_s > 0 else self._ended.get_nowait()
        if future is None:
            if not self._stopped and self._client.status not in ("running", "connecting"):  # it accepts no more jobs
                raise self._lost()
            return None
        handed = self._handed.pop(str(future.key), None)
        return None if handed is None else self._taken(future, handed[0], handed[1])

    def running(self) -> dict[str, tuple[float, float]]:
        """Return nothing: workers report a job only when it has ended."""
        return {}

    def stop(self) -> None:
        """Cancel jobs that have not begun; jobs in progress finish on the workers, and their results are dropped."""
        if self._stopped:
            return
        self._stopped = True
        with suppress(Exception):
            self._client.cancel([future for _, _, future in self._handed.values()], force=True)
        with suppress(Exception):
            self._client.close(timeout=5)

    def _taken(self, future: Any, job: Job[Any], unpack: Callable[[Any], Any] | None) -> Done[Any]:
        try:
            if future.status == "finished":
                result, seconds = future.result()
                return Done(job, result if unpack is None else unpack(result), None, seconds)
            error = future.exception() if future.status == "error" else None
        except (OSError, TimeoutError, asyncio.CancelledError):  # not raised by the job: its errors set the status
            raise self._lost() from None
        if error is None:
            raise self._lost()
        told = str(error) if isinstance(error, RunError) else f"{type(error).__name__} on the cluster: {error}"
        try:
            return Done(job, job.lost(told), None, 0.0)
        except RunError as failure:
            return Done(job, None, failure, 0.0)

    def _lost(self) -> RunError:
        return RunError(
            f"--dask {self._address}: the scheduler is gone; finished runs are kept, and the same command continues "
            "from there"
        )

    def _same_engine(self) -> None:
        mine = engine()
        for worker, theirs in self._client.run(engine, on_error="return").items():
            if theirs != mine:
                message = (
                    f"--dask {self._address}: the worker {worker} has narrows {theirs}, and this is {mine}: runs of "
                    "two versions are never mixed; allowed: workers with the same wheel of narrows"
                )
                raise InputError(message)


async def _reached(core: Any, address: str) -> None:
    comm = await core.connect(address, timeout=_CONNECT_S)
    await comm.close()


def remote(
    wanted: Engine, controls: Mapping[str, Callable[..., object]], function: Callable[..., Any], *arguments: Any
) -> tuple[Any, float]:
    """Execute a job on a worker.

    Parameters
    ----------
    wanted : Engine
        Engine of the submitting process. A worker that joined late may have another.
    controls : mapping
        Congestion controls written in Python that the job uses, by name.
    function : callable
    *arguments
        See `narrows.execution.job.Parcel`.

    Returns
    -------
    tuple
        The function's result, and the wall-clock time that it took, s.

    Raises
    ------
    RunError
        If this worker has another engine. Dask retries, perhaps on another worker.
    """
    mine = engine()
    if mine != wanted:
        raise RunError(f"the worker has narrows {mine}, and the job needs {wanted}")
    for name, factory in controls.items():
        own.register(name, factory)
    begin = time.perf_counter()
    return function(*arguments, _core.Progress()), time.perf_counter() - begin
