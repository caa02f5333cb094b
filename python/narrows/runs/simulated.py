"""Runs: from a scenario to samples and metrics, one at a time or many at once.

A run is determined by scenario, seed, index and version. The number of simultaneous runs changes only the waiting time.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from narrows import _core
from narrows.base import memory
from narrows.base.errors import Interrupted, RunError
from narrows.execution.backend import processors
from narrows.execution.job import Job
from narrows.execution.loop import drive
from narrows.execution.threads import Threads
from narrows.model import own
from narrows.model.scenario import Override, Scenario
from narrows.outcome import Batch, Run
from narrows.runs import captures, estimate
from narrows.runs.taken import taken
from narrows.runs.task import MOST_THREADS, Judged, Task, in_range, threads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from narrows.execution.job import Done, ProgressHook
    from narrows.runs.kept import Kept

T = TypeVar("T")

__all__ = [
    "MOST_THREADS",
    "Batch",
    "Judged",
    "Run",
    "Task",
    "TaskJob",
    "converted",
    "engine_result",
    "in_range",
    "make",
    "processors",
    "run",
    "run_all",
    "taken",
    "threads_of",
]


@overload
def run(
    scenario: str | PathLike[str] | Scenario,
    seed: int | None = ...,
    runs: Literal[1] = ...,
    jobs: int | None = ...,
    overrides: Mapping[str, Override] | None = ...,
    pcap: str | PathLike[str] | None = ...,
    progress: ProgressHook | None = ...,
    kept: Kept | None = ...,
    threads: int | None = ...,
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
    kept: Kept | None = ...,
    threads: int | None = ...,
) -> Run | Batch: ...


def run(
    scenario: str | PathLike[str] | Scenario,
    seed: int | None = None,
    runs: int = 1,
    jobs: int | None = None,
    overrides: Mapping[str, Override] | None = None,
    pcap: str | PathLike[str] | None = None,
    progress: ProgressHook | None = None,
    kept: Kept | None = None,
    threads: int | None = None,
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
        several). Captures of an earlier run there are replaced; other files are kept.
    progress : callable, optional
        Called about ten times a second with the completed share of the work, in [0, 1].
    kept : narrows.runs.kept.Kept, optional
        Where runs are kept as they end, and found again; only without captures.
    threads : int, optional
        How many threads each run has if its network can be divided (see docs/performance.md), from 1 to 64. By default
        a single run has two where that is faster, and runs of several have one. Results do not depend on it.

    Returns
    -------
    Run or Batch
        A batch if more than one run was requested.

    Raises
    ------
    InputError
        If an argument is out of range, a file cannot be read, the runs need more memory or disk than is available, or
        a capture would replace a file that Narrows did not write.
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
    each = threads_of(threads, runs)
    jobs = max(1, processors() // (each or 1)) if jobs is None else jobs
    estimate.check(parsed, runs, in_range("jobs", jobs, 1, 4096), threads=each)
    with captures.into(pcap, parsed, runs) as folder:
        tasks = [Task(parsed, chosen, index, captures.of_run(folder, index, runs), each) for index in range(runs)]
        made, interruption = _finished(tasks, jobs, progress, kept)
        captures.drop_unfinished(folder, made, runs)
    if interruption is not None:
        raise interruption
    made = [captures.located(one, pcap, runs) for one in made]
    return made[0] if runs == 1 else Batch(scenario=parsed, seed=chosen, runs=tuple(made))


def _finished(
    tasks: Sequence[Task], jobs: int | None, progress: ProgressHook | None, kept: Kept | None
) -> tuple[Sequence[Run], Interrupted | None]:
    """Make runs; after Ctrl-C return those that had finished, and the interruption."""
    try:
        return run_all(tasks, jobs=jobs, progress=progress, kept=kept), None
    except Interrupted as caught:
        return caught.finished.runs, caught


def run_all(
    tasks: Iterable[Task], jobs: int | None = None, progress: ProgressHook | None = None, kept: Kept | None = None
) -> list[Run]:
    """Make many runs, of one scenario or several, some at the same time.

    Parameters
    ----------
    tasks : iterable of Task
        What to run.
    jobs : int, optional
        How many run at the same time; by default the number of processors.
    progress : callable, optional
        As for `run`.
    kept : narrows.runs.kept.Kept, optional
        As for `run`; the tasks are then of one scenario and seed.

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
    waiting = iter([TaskJob(index, task, kept) for index, task in enumerate(listed)])
    made: dict[str, Run] = {}
    backend = Threads(min(workers, len(listed)))

    def took(done: Done[Run]) -> None:
        made[done.job.key] = done.value()

    def report() -> None:
        if progress is not None:
            under_way = sum(fraction for fraction, _ in backend.running().values())
            progress(min(1.0, (len(made) + under_way) / len(listed)))

    try:
        drive(backend, lambda: next(waiting, None), took, report=report)
    except KeyboardInterrupt:
        backend.stop()
        while (done := backend.get(0)) is not None:
            if done.error is None:
                took(done)
        finished = tuple(made[key] for key in sorted(made, key=int))
        batch = Batch(scenario=listed[0].scenario, seed=listed[0].seed, runs=finished)
        raise Interrupted(batch, len(listed)) from None
    finally:
        backend.stop()
    return [made[str(index)] for index in range(len(listed))]


@dataclass(frozen=True, slots=True)
class TaskJob(Job["Run"]):
    """A task as a job; its key is its index among those that are executed together.

    Attributes
    ----------
    index : int
    task : Task
    kept : narrows.runs.kept.Kept or None
        Where the run is kept when it has ended, and found again.
    """

    index: int
    task: Task
    kept: Kept | None = None

    @property
    def key(self) -> str:
        """The index."""
        return str(self.index)

    def make(self, gauge: _core.Progress) -> Run:
        """Make the run, or read it if it is kept."""
        if self.kept is None or self.task.pcap_dir is not None:
            return make(self.task, gauge)
        found = self.kept.get(self.task.scenario, self.task.index)
        if found is None:
            found = make(self.task, gauge)
            self.kept.put(found, gauge.check)
        return found


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
    return converted(task, gauge, lambda result: taken(task.scenario, task.seed, task.index, result, gauge=gauge))


def converted(task: Task, gauge: _core.Progress, convert: Callable[[_core.Result], T]) -> T:
    """Make one run on the calling thread, and convert what the engine yields.

    Parameters
    ----------
    task, gauge
        As for `make`.
    convert : callable
        Its errors are those of the run.

    Returns
    -------
    T

    Raises
    ------
    InputError, RunError, narrows._core.Stopped
        As `make` does.
    """
    with _told(task):
        made = convert(engine_result(task, gauge))
        gauge.check()  # a run that was asked to stop is not a finished one, even if it ends before it notices
    return made


def engine_result(task: Task, gauge: _core.Progress, judged: Judged | None = None) -> _core.Result:
    """Make one run on the calling thread, and return what the engine yields: columns, before any metric is computed.

    Parameters
    ----------
    task, gauge
        As for `make`.
    judged : Judged, optional
        How the scenario's test case is judged; by default the run goes on to its end.

    Returns
    -------
    narrows._core.Result

    Raises
    ------
    InputError, RunError, narrows._core.Stopped
        As `make` does.
    """
    where = None if task.pcap_dir is None else str(task.pcap_dir)
    looks = None if judged is None else judged.looks
    estimate.check_one(task.scenario, task.threads)
    with _told(task):
        spill = (str(memory.spill_directory()), memory.budget())
        return _core.run(
            task.scenario.core,
            task.seed,
            task.index,
            gauge,
            where,
            own.timed(),
            spill,
            judged is not None,
            looks,
            task.threads,
        )


@contextmanager
def _told(task: Task) -> Iterator[None]:
    """Turn what the engine raises into errors that name the run."""
    try:
        yield
    except _core.Stopped:
        raise
    except _core.AlgorithmError as error:
        message = f"{task.scenario.name}: run {task.index} with seed {task.seed} was stopped: {error}"
        raise RunError(message) from None
    except MemoryError as error:
        message = f"{task.scenario.name}: run {task.index} with seed {task.seed} failed: out of memory"
        raise RunError(message) from error
    except OSError as error:
        where = task.pcap_dir
        what = "a file cannot be written" if where is None else f"packets cannot be captured into {where}"
        message = f"{task.scenario.name}: {what}: {error.strerror or error}"
        raise RunError(message) from error
    except (RuntimeError, ValueError, OverflowError) as error:
        message = (
            f"{task.scenario.name}: run {task.index} with seed {task.seed} failed: {str(error) or type(error).__name__}"
        )
        raise RunError(message) from error
