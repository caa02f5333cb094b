"""Runs: from a scenario to samples and metrics, one at a time or many at once.

A run is determined by scenario, seed, index and version. The number of simultaneous runs changes only the waiting time.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Literal, overload

from narrows import _core, estimate, interruption, memory, own
from narrows.errors import InputError, Interrupted, RunError
from narrows.outcome import Batch, Run
from narrows.routers import router_metrics
from narrows.samples import Samples
from narrows.scenario import Override, Scenario
from narrows.stations import all_stations
from narrows.totals import flow_metrics, queue_metrics, subqueue_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor
    from os import PathLike

    from narrows.chunks import CoreTable
    from narrows.conditions import Conditions
    from narrows.stations import StationMetrics

    ProgressHook = Callable[[float], None]
    """Called about ten times a second, on the calling thread, with the completed share of the work, in [0, 1]."""

__all__ = ["Batch", "Run", "Task", "make", "processors", "run", "run_all", "taken"]

_POLL_S = 0.1
_NONE = -1


@dataclass(frozen=True, slots=True)
class Task:
    """One run to make.

    Attributes
    ----------
    scenario : Scenario
        What to run.
    seed, index : int
        Seed, and index of the run under it.
    pcap_dir : Path or None
        An existing directory for captured packets (pcapng, a file per link and 802.11 channel), or ``None``.
    """

    scenario: Scenario
    seed: int
    index: int = 0
    pcap_dir: Path | None = None


@overload
def run(
    scenario: str | PathLike[str] | Scenario,
    seed: int | None = ...,
    runs: Literal[1] = ...,
    jobs: int | None = ...,
    overrides: Mapping[str, Override] | None = ...,
    pcap: str | PathLike[str] | None = ...,
    progress: ProgressHook | None = ...,
) -> Run: ...


@overload
def run(
    scenario: str | PathLike[str] | Scenario,
    seed: int | None = ...,
    runs: int = ...,
    jobs: int | None = ...,
    overrides: Mapping[str, Override] | None = ...,
    pcap: str | PathLike[str] | None = ...,
    progress: ProgressHook | None = ...,
) -> Run | Batch: ...


def run(
    scenario: str | PathLike[str] | Scenario,
    seed: int | None = None,
    runs: int = 1,
    jobs: int | None = None,
    overrides: Mapping[str, Override] | None = None,
    pcap: str | PathLike[str] | None = None,
    progress: ProgressHook | None = None,
) -> Run | Batch:
    """Run a scenario.

    Parameters
    ----------
    scenario : path, str or Scenario
        A file, the name of a bundled scenario, or a scenario.
    seed : int, optional
        From 0 to 2^63-1, as in a scenario; the scenario's own by default.
    runs : int
        Number of runs, each with random streams of its own.
    jobs : int, optional
        How many run at the same time; by default the number of processors. Results do not depend on it.
    overrides : mapping, optional
        Values by path of the field, such as ``{"flows[0].start": "2 s"}``.
    pcap : path, optional
        Directory to capture packets into (pcapng, a file per link and 802.11 channel; a directory per run if there are
        several).
    progress : callable, optional
        Called about ten times a second with the completed share of the work, in [0, 1].

    Returns
    -------
    Run or Batch
        A batch if more than one run was requested.

    Raises
    ------
    InputError
        If an argument is out of range, a file cannot be read, or the runs need more memory or disk than is available.
    ScenarioError
        If the scenario is refused; all problems at once.
    RunError
        If a run failed.
    Interrupted
        On Ctrl-C; holds the finished runs.

    Examples
    --------
    >>> result = run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
    >>> result.flows[0].throughput_mbps > 0
    True
    """
    parsed = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if overrides:
        parsed = parsed.with_overrides(overrides)
    chosen = parsed.seed if seed is None else in_range("seed", seed, 0, 2**63 - 1)
    in_range("runs", runs, 1, 1_000_000)
    estimate.check(parsed, runs, in_range("jobs", processors() if jobs is None else jobs, 1, 4096))
    tasks = [Task(parsed, chosen, index, capture_directory(pcap, index, runs)) for index in range(runs)]
    made = run_all(tasks, jobs=jobs, progress=progress)
    return made[0] if runs == 1 else Batch(scenario=parsed, seed=chosen, runs=tuple(made))


def run_all(tasks: Iterable[Task], jobs: int | None = None, progress: ProgressHook | None = None) -> list[Run]:
    """Make many runs, of one scenario or several, some at the same time.

    Parameters
    ----------
    tasks : iterable of Task
        What to run.
    jobs : int, optional
        How many run at the same time; by default the number of processors.
    progress : callable, optional
        As for `run`.

    Returns
    -------
    list of Run
        In the order of the tasks, whatever the number of jobs.

    Raises
    ------
    InputError
        If ``jobs`` is out of range.
    RunError
        If a run failed; the others are stopped.
    Interrupted
        On Ctrl-C; holds the finished runs, in order, as a batch of the first task's scenario.
    """
    listed = list(tasks)
    workers = in_range("jobs", processors() if jobs is None else jobs, 1, 4096)
    if not listed:
        return []
    crew = _Crew(listed, min(workers, len(listed)))
    try:
        crew.start()
        crew.wait(progress)
    except KeyboardInterrupt:
        crew.stop()
        finished = tuple(run for run in crew.made if run is not None)
        batch = Batch(scenario=listed[0].scenario, seed=listed[0].seed, runs=finished)
        raise Interrupted(batch, len(listed)) from None
    except BaseException:
        crew.stop()
        raise
    return [run for run in crew.made if run is not None]


class _Crew:
    """Threads that make runs, and the finished runs.

    Ctrl-C may reach the calling thread anywhere, even inside a lock's own code, and would leave that lock in a bad
    state. So that thread takes no locks: it waits on queues written in C, which nothing interrupts half-way.
    """

    def __init__(self, tasks: Sequence[Task], workers: int) -> None:
        self.made: list[Run | None] = [None] * len(tasks)
        self._tasks = tasks
        self._gauges = [_core.Progress() for _ in tasks]
        self._todo: SimpleQueue[int] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, Run | BaseException]] = SimpleQueue()
        self._stopped = False
        for index in range(len(tasks)):
            self._todo.put(index)
        self._threads = [Thread(target=self._work, name=f"narrows_{n}", daemon=True) for n in range(workers)]

    def start(self) -> None:
        """Start the threads; Ctrl-C may come before all of them run."""
        for thread in self._threads:
            thread.start()

    def wait(self, progress: ProgressHook | None) -> None:
        """Wait for all runs, or for the first failure, in short steps so that Ctrl-C takes effect at once."""
        pending, told = len(self._tasks), time.monotonic()
        while pending:
            interruption.check()
            with suppress(Empty):
                self._take(self._done.get(timeout=_POLL_S))
                pending -= 1
            if progress is not None and (not pending or time.monotonic() - told >= _POLL_S):
                done = len(self._tasks) - pending
                under_way = (g.fraction() for g, run in zip(self._gauges, self.made, strict=True) if run is None)
                progress((done + sum(under_way)) / len(self._tasks))
                told = time.monotonic()

    def stop(self) -> None:
        """Stop running runs, drop those not begun, and wait until that is done; finished runs are in `made`."""
        self._stopped = True
        for gauge in self._gauges:
            gauge.stop()
        for thread in self._threads:
            while thread.ident is not None and thread.is_alive():
                thread.join(_POLL_S)
        while not self._done.empty():
            with suppress(Exception):  # failures are no longer of interest
                self._take(self._done.get_nowait())

    def _take(self, told: tuple[int, Run | BaseException]) -> None:
        index, result = told
        if isinstance(result, BaseException):
            raise result
        self.made[index] = result

    def _work(self) -> None:
        while not self._stopped:
            try:
                index = self._todo.get_nowait()
            except Empty:
                return
            try:
                self._done.put((index, make(self._tasks[index], self._gauges[index])))
            except BaseException as failure:  # noqa: BLE001 - it is raised again, on the thread that waits
                self._done.put((index, failure))


def processors() -> int:
    """Return how many processors this process may use.

    Returns
    -------
    int
        At least 1.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stop_all(pool: ThreadPoolExecutor, gauges: Iterable[_core.Progress]) -> None:
    """Stop running runs, drop those not begun, and wait until that is done.

    Parameters
    ----------
    pool : ThreadPoolExecutor
    gauges : iterable of narrows._core.Progress
        Of the runs.
    """
    for gauge in gauges:
        gauge.stop()
    pool.shutdown(wait=True, cancel_futures=True)


def make(task: Task, gauge: _core.Progress) -> Run:
    """Make one run on the calling thread; `run_all` calls this on threads of its own.

    Parameters
    ----------
    task : Task
        What to run.
    gauge : narrows._core.Progress
        Reports progress, and can stop the run.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If it needs more memory than is available.
    RunError
        If it failed.
    narrows._core.Stopped
        If it was stopped through the gauge.
    """
    where = None if task.pcap_dir is None else str(task.pcap_dir)
    estimate.check_one(task.scenario)
    try:
        spill = (str(memory.spill_directory()), memory.budget())
        result = _core.run(task.scenario.core, task.seed, task.index, gauge, where, own.timed(), spill)
        return taken(task.scenario, task.seed, task.index, result, gauge=gauge)
    except _core.Stopped:
        raise
    except _core.AlgorithmError as error:
        message = f"{task.scenario.name}: run {task.index} with seed {task.seed} was stopped: {error}"
        raise RunError(message) from None
    except MemoryError as error:
        message = f"{task.scenario.name}: run {task.index} with seed {task.seed} failed: the system gave no more memory"
        raise RunError(message) from error
    except OSError as error:
        what = "a file cannot be written" if where is None else f"packets cannot be captured into {where}"
        message = f"{task.scenario.name}: {what}: {error.strerror or error}"
        raise RunError(message) from error
    except (RuntimeError, ValueError, OverflowError) as error:
        message = (
            f"{task.scenario.name}: run {task.index} with seed {task.seed} failed: {str(error) or type(error).__name__}"
        )
        raise RunError(message) from error


def taken(
    scenario: Scenario,
    seed: int,
    index: int,
    result: _core.Result,
    conditions: Conditions | None = None,
    gauge: _core.Progress | None = None,
) -> Run:
    """Convert the engine's result of a run.

    Parameters
    ----------
    scenario : Scenario
        As run.
    seed, index : int
        Seed, and index of the run under it.
    result : narrows._core.Result
    conditions : dict, optional
        Of a live run.
    gauge : narrows._core.Progress, optional
        Can stop the conversion.

    Returns
    -------
    Run

    Raises
    ------
    narrows._core.Stopped
        If it was stopped through the gauge.
    """
    tables = result.tables()
    check = (lambda: None) if gauge is None else gauge.check
    controls, channels = scenario.congestion_controls(), scenario.interface_queues()
    return Run(
        scenario=scenario,
        seed=seed,
        index=index,
        digest=result.digest,
        version=_core.version(),
        events=result.events,
        packets=result.packets,
        flows=tuple(
            flow_metrics(name, controls.get(name), totals)
            for name, totals in zip(result.flow_names, _rows(tables["flow_totals"], check), strict=True)
        ),
        queues=tuple(
            queue_metrics(name, totals, channels.get(name))
            for name, totals in zip(result.queue_names, _rows(tables["queue_totals"], check), strict=True)
        ),
        samples=Samples.from_result(result, index),
        routers=tuple(
            router_metrics(name, totals)
            for name, totals in zip(result.router_names, _rows(tables["router_totals"], check), strict=True)
        ),
        stations=_stations(scenario, result, tables),
        subqueues=tuple(
            subqueue_metrics(f"{result.queue_names[queue]}/{label}", totals)
            for (queue, _, label), totals in zip(
                result.subqueue_names, _rows(tables["subqueue_totals"], check), strict=True
            )
        ),
        conditions=conditions,
    )


def _stations(scenario: Scenario, result: _core.Result, tables: Mapping[str, CoreTable]) -> tuple[StationMetrics, ...]:
    rows = list(_rows(tables["station_totals"], lambda: None))
    return all_stations(result.station_names, result.channel_names, rows, scenario.core.duration_ns)


def _rows(table: CoreTable, check: Callable[[], None]) -> Iterator[dict[str, int | None]]:
    """Yield rows of a table of totals one at a time: those of 100,000 flows would take gigabytes together."""
    names = [name for name, *_ in table]
    for row in zip(*(memoryview(data).cast("q") for *_, data in table), strict=True):
        check()
        yield {name: None if value == _NONE else value for name, value in zip(names, row, strict=True)}


def in_range(what: str, value: int, low: int, high: int) -> int:
    """Refuse a number outside its range.

    Parameters
    ----------
    what : str
        Its name.
    value, low, high : int

    Returns
    -------
    int
        The value.

    Raises
    ------
    InputError
    """
    if not low <= value <= high:
        message = f"{what} is {value}; allowed: {low} to {high}"
        raise InputError(message)
    return value


def capture_directory(pcap: str | PathLike[str] | None, index: int, runs: int) -> Path | None:
    """Make the directory for a run's captured packets: a subdirectory of its own if there are several runs.

    Parameters
    ----------
    pcap : path or None
        Directory for all runs; ``None`` if nothing is captured.
    index, runs : int
        Index of the run; number of runs, or the most there may be.

    Returns
    -------
    pathlib.Path or None

    Raises
    ------
    InputError
        If the directory cannot be made.
    """
    if pcap is None:
        return None
    directory = Path(pcap) if runs == 1 else Path(pcap) / f"run-{index}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{directory}: cannot be made: {error.strerror or error}"
        raise InputError(message) from None
    return directory
