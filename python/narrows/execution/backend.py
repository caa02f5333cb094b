"""Backends: what executes jobs, and the choice of one by the options of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from narrows.base.errors import InputError
from narrows.execution.threads import Threads

if TYPE_CHECKING:
    from narrows.execution.job import Done, Job

MOST_JOBS = 4096
"""Largest number of parallel jobs of this process."""


class Backend(Protocol):
    """An executor of jobs: this process, or a cluster."""

    @property
    def workers(self) -> int:
        """Number of jobs that it executes in parallel."""

    def submit(self, job: Job[Any]) -> None:
        """Begin to execute a job, after those submitted before."""

    def get(self, timeout_s: float) -> Done[Any] | None:
        """Wait for the next job that ends; ``None`` if none ended in that time."""

    def running(self) -> dict[str, tuple[float, float]]:
        """Completed share and elapsed time (s) of each job in progress, by key."""

    def stop(self) -> None:
        """Stop the jobs in progress and drop the others; jobs that have ended can still be taken."""


def processors() -> int:
    """Return how many processors this process may use.

    Returns
    -------
    int
        At least 1.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_of(jobs: int | None) -> int:
    """Return the number of parallel jobs.

    Parameters
    ----------
    jobs : int, optional
        By default the number of processors.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If the number is out of range.
    """
    workers = processors() if jobs is None else jobs
    if not 1 <= workers <= MOST_JOBS:
        message = f"jobs is {jobs}; allowed: 1 to {MOST_JOBS}"
        raise InputError(message)
    return workers


def choose(jobs: int | None = None, dask: str | None = None) -> Backend:
    """Return the backend that the options of a command ask for.

    Parameters
    ----------
    jobs : int, optional
        Number of parallel jobs in this process; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the jobs instead.

    Returns
    -------
    Backend

    Raises
    ------
    InputError
        If the number is out of range, both are given, or the cluster cannot be used.
    """
    if dask is None:
        return Threads(jobs_of(jobs))
    if jobs is not None:
        message = "--jobs and --dask exclude each other: the workers of a cluster set how many runs are concurrent"
        raise InputError(message)
    from narrows.execution.cluster import Cluster

    return Cluster(dask)
