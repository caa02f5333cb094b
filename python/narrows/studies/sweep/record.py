"""The record of one finished run of a sweep, reduced to rows, and how it is made."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from narrows.base.errors import InputError, RunError, ScenarioError
from narrows.metrics.stations import channel_metrics
from narrows.runs import simulated as runs
from narrows.runs import taken
from narrows.studies.sweep.columns import row_of
from narrows.studies.sweep.totals import totals_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows import _core
    from narrows.model.scenario import Scenario
    from narrows.outcome import Run
    from narrows.studies.sweep.columns import Row
    from narrows.studies.sweep.plan import Measure
    from narrows.studies.sweep.totals import Totals

Status = Literal["ok", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a sweep keeps of a run.

    Attributes
    ----------
    address : str
        Content address.
    seed : int
    status : {"ok", "failed"}
    error : str or None
        Why it failed.
    digest : str or None
        SHA-256 over everything that the run yielded.
    cpu_s, wall_s : float
        Processor time and wall-clock time of the run, s.
    events, packets : int or None
        Events handled, and packets that arrived at a node, counted at every hop.
    extra : dict
        Metrics of the run as a whole: those of a measure. Jain's index follows from the totals.
    totals : tuple of Totals
        Flows and queues, whose metrics are computed for many records together.
    rows : tuple
        A row for each router, station and channel: its columns and their values.
    """

    address: str
    seed: int
    status: Status
    error: str | None = None
    digest: str | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    events: int | None = None
    packets: int | None = None
    extra: dict[str, float | None]
    totals: tuple[Totals, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def size(self) -> int:
        """Number of rows, the run's own included."""
        return 1 + sum(len(part.names) for part in self.totals) + len(self.rows)

    def own_row(self, metrics: Mapping[str, float | None]) -> Row:
        """Return the row of the run as a whole, without labels.

        Parameters
        ----------
        metrics : mapping
            Metrics of the run that follow from its totals.

        Returns
        -------
        Row
        """
        own = {
            "kind": "run",
            "status": self.status,
            "error": self.error,
            "digest": self.digest,
            "cpu_s": self.cpu_s,
            "wall_s": self.wall_s,
            "events": self.events,
            "packets": self.packets,
            **metrics,
            **self.extra,
        }
        return tuple(own), tuple(own.values())


def make(scenario: Scenario, seed: int, address: str, measure: Measure | None, gauge: _core.Progress) -> Record:
    """Execute a run on the calling thread; failures are recorded, not raised.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    address : str
        Content address of the run.
    measure : callable or None
        See `Sweep.with_measure`.
    gauge : narrows._core.Progress
        Reports the progress of the run, and can stop it.

    Returns
    -------
    Record

    Raises
    ------
    narrows._core.Stopped
        If the run was stopped through the gauge.
    """
    began, begin = time.perf_counter(), time.thread_time()
    task = runs.Task(scenario, seed)
    try:
        made = runs.converted(task, gauge, lambda result: _reduced(task, result, measure is not None, gauge))
        extra = {} if made.run is None else measured(made.run, measure)
    except (InputError, RunError) as error:
        return failed(address, seed, str(error), time.thread_time() - begin, time.perf_counter() - began)
    return Record(
        address=address,
        seed=seed,
        status="ok",
        digest=made.digest,
        cpu_s=time.thread_time() - begin,
        wall_s=time.perf_counter() - began,
        events=made.result.events,
        packets=made.result.packets,
        extra=extra,
        totals=made.totals,
        rows=made.rows,
    )


def failed(address: str, seed: int, error: str, cpu_s: float = 0.0, wall_s: float = 0.0) -> Record:
    """Record a run that failed.

    Parameters
    ----------
    address : str
    seed : int
    error : str
        Why the run failed.
    cpu_s, wall_s : float
        Processor time and wall-clock time until the failure, s.

    Returns
    -------
    Record
    """
    return Record(address=address, seed=seed, status="failed", error=error, cpu_s=cpu_s, wall_s=wall_s, extra={})


def refused(address: str, seed: int, error: ScenarioError) -> Record:
    """Record a run whose scenario is refused.

    Parameters
    ----------
    address : str
    seed : int
    error : ScenarioError

    Returns
    -------
    Record
    """
    return failed(address, seed, str(error))


def measured(made: Run, measure: Measure | None) -> dict[str, float | None]:
    """Call a measure; whatever it raises fails the run.

    Parameters
    ----------
    made : Run
    measure : callable or None

    Returns
    -------
    dict
        Numbers by column.

    Raises
    ------
    RunError
        If the measure raised, or returned something other than numbers.
    """
    if measure is None:
        return {}
    try:
        return {str(name): None if value is None else float(value) for name, value in measure(made).items()}
    except Exception as error:
        message = f"the measure {getattr(measure, '__name__', measure)!s} raised {type(error).__name__}: {error}"
        raise RunError(message) from error


@dataclass(frozen=True, slots=True)
class _Reduced:
    """What a record takes of a run; ``run`` is there for a measure only."""

    result: _core.Result
    digest: str
    totals: tuple[Totals, ...]
    rows: tuple[Row, ...]
    run: Run | None


def _reduced(task: runs.Task, result: _core.Result, measured: bool, gauge: _core.Progress) -> _Reduced:
    stations = taken.stations(task.scenario, result)
    rows = (
        *(row_of("router", router) for router in taken.routers(result, gauge.check)),
        *(row_of("station", station) for station in stations),
        *(row_of("channel", channel) for channel in (channel_metrics(stations) if stations else ())),
    )
    run = taken.taken(task.scenario, task.seed, task.index, result, gauge=gauge) if measured else None
    digest = result.digest if run is None else run.digest
    return _Reduced(result, digest, totals_of(task.scenario, result), rows, run)
