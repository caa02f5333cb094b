"""Jobs: what a backend executes, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from narrows.base.errors import InputError, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from narrows import _core

    ProgressHook = Callable[[float], None]
    """Called about ten times a second, on the calling thread, with the completed share of the work, in [0, 1]."""

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A job as it travels to a worker of a cluster.

    Attributes
    ----------
    function : callable
        A function of a module, which takes the arguments and a `narrows._core.Progress`.
    arguments : tuple
        Values that can be pickled.
    controls : mapping
        Factories of the congestion controls written in Python that the job uses, by name.
    unpack : callable, optional
        Converts the function's result on this side.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    controls: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    unpack: Callable[[Any], Any] | None = None


class Job(ABC, Generic[R_co]):
    """One piece of work whose result depends on nothing but the job."""

    @property
    @abstractmethod
    def key(self) -> str:
        """Name of the job, unique among those that are executed together; a content address if results are stored."""

    @property
    def steps(self) -> tuple[int, ...]:
        """Position on each axis of the set, for the forecast; jobs with equal steps take about the same time."""
        return ()

    @property
    def turn(self) -> int:
        """Jobs of a lower turn are executed first; usually the position of the seed."""
        return 0

    @abstractmethod
    def make(self, gauge: _core.Progress) -> R_co:
        """Do the work on the calling thread.

        Parameters
        ----------
        gauge : narrows._core.Progress
            Reports the completed share, and can stop the job.

        Returns
        -------
        R

        Raises
        ------
        narrows._core.Stopped
            If the job was stopped through the gauge.
        """

    def parcel(self) -> Parcel:
        """Return the job as it travels to a worker.

        Returns
        -------
        Parcel

        Raises
        ------
        InputError
            If the job can only be made in this process.
        """
        message = "--dask: this can only run on this machine; allowed: without --dask"
        raise InputError(message)

    def lost(self, error: str) -> R_co:
        """Return what is kept of a job that raised on a worker.

        Parameters
        ----------
        error : str
            What it raised.

        Returns
        -------
        R

        Raises
        ------
        RunError
            If a failed job has no result.
        """
        raise RunError(error)


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """A job that has ended.

    Attributes
    ----------
    job : Job
    result : R or None
        ``None`` if it failed.
    error : BaseException or None
        What it raised.
    seconds : float
        Wall-clock time, s.
    """

    job: Job[R]
    result: R | None
    error: BaseException | None
    seconds: float

    def value(self) -> R:
        """Return the result, or raise the error.

        Returns
        -------
        R
        """
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]
