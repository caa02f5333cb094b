"""Running until an interval is narrow enough: the sequential rule of `narrows.stats.Precision`, on all cores.

Runs are made in parallel and partly ahead, but the rule examines them only in the order of their index. So neither the
number of jobs nor which run finishes first changes the number of runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError, Interrupted
from narrows.execution.loop import AHEAD, drive
from narrows.execution.threads import Threads
from narrows.metrics.aggregate import aggregate_mbps
from narrows.metrics.flows import FlowMetrics
from narrows.metrics.queues import QueueMetrics
from narrows.metrics.routers import RouterMetrics
from narrows.metrics.stations import ChannelMetrics, StationMetrics
from narrows.model.scenario import Override, Scenario
from narrows.outcome import Batch
from narrows.outcome.rows import WORDS
from narrows.runs import captures, estimate
from narrows.runs.simulated import Task, TaskJob, in_range, processors
from narrows.stats import Estimate, Precision, Reached, mean_ci

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike
    from pathlib import Path

    from narrows.execution.job import Done
    from narrows.metrics.aggregate import Counter
    from narrows.outcome import Run
    from narrows.runs.kept import Kept

    Metric = Callable[[Run], float | None]
    ProgressHook = Callable[["State"], None]

__all__ = ["DEFAULT_METRIC", "State", "metric_of", "run_until"]

DEFAULT_METRIC: Final = "throughput_mbps"
"""Aggregate throughput."""

_TOGETHER: Final[dict[str, Counter]] = {"throughput_mbps": "arrived_bytes", "goodput_mbps": "delivered_bytes"}
"""Metrics of all flows together, and the counter of each."""

_ROWS: Final = {
    "flow": FlowMetrics,
    "queue": QueueMetrics,
    "router": RouterMetrics,
    "station": StationMetrics,
    "channel": ChannelMetrics,
}


@dataclass(frozen=True, slots=True)
class State:
    """Progress of a search for precision.

    Attributes
    ----------
    estimate : Estimate
        Of the metric, over the examined runs.
    runs, needed : int
        Number of examined runs; number of runs likely to be needed in all, judging from them.
    fraction : float
        Share of the work that is likely done, in [0, 1]; it may fall if more runs turn out to be needed.
    """

    estimate: Estimate
    runs: int
    needed: int
    fraction: float


def metric_of(name: str) -> Metric:
    """Find a metric of a run by its name.

    Parameters
    ----------
    name : str
        ``throughput_mbps`` or ``goodput_mbps`` (of all flows together, see `narrows.metrics.aggregate.aggregate_mbps`),
        ``jain``, or ``KIND.NAME.METRIC``, such as ``flow.first.rtt_mean_ms`` or ``queue.r1->r2.utilisation``.

    Returns
    -------
    callable
        Takes a run and returns the value, or ``None`` for "no value".

    Raises
    ------
    InputError
        If there is no such kind or metric; the callable raises it if the run has no such object.

    Examples
    --------
    >>> import narrows as nw
    >>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
    >>> metric_of("flow.first.throughput_mbps")(run) == run.flow("first").throughput_mbps
    True
    """
    if name == "jain":
        return lambda run: run.jain
    if name in _TOGETHER:
        return lambda run: aggregate_mbps(run.flows, _TOGETHER[name])
    kind, _, rest = name.partition(".")
    what, _, metric = rest.rpartition(".")
    if kind not in _ROWS or not what:
        message = (
            f"metric is {name!r}; allowed: {', '.join((*_TOGETHER, 'jain'))}, "
            f"or KIND.NAME.METRIC with a KIND of {', '.join(_ROWS)}, such as flow.first.rtt_mean_ms"
        )
        raise InputError(message)
    known = [field.name for field in fields(_ROWS[kind]) if field.name not in WORDS]
    if metric not in known:
        message = f"metric is {name!r}, and {metric!r} is not a metric of a {kind}; allowed: {', '.join(known)}"
        raise InputError(message)

    def value(run: Run) -> float | None:
        found: float | None = getattr(getattr(run, kind)(what), metric)
        return found

    return value


def run_until(
    scenario: str | PathLike[str] | Scenario,
    precision: Precision | float,
    metric: str = DEFAULT_METRIC,
    seed: int | None = None,
    jobs: int | None = None,
    overrides: Mapping[str, Override] | None = None,
    pcap: str | PathLike[str] | None = None,
    progress: ProgressHook | None = None,
    kept: Kept | None = None,
) -> Batch:
    """Run a scenario until the confidence interval of a metric is as narrow as requested.

    Parameters
    ----------
    scenario : path, str or Scenario
        A file, the name of a bundled scenario, or a scenario.
    precision : Precision or float
        The wanted half width and the fewest and most runs; a number is a fraction of the mean, such as 0.02.
    metric : str
        See `metric_of`.
    seed, jobs, overrides, pcap
        As for `narrows.run`. Results do not depend on ``jobs``.
    progress : callable, optional
        Called about ten times a second with a `State`.
    kept : narrows.runs.kept.Kept, optional
        As for `narrows.run`.

    Returns
    -------
    Batch
        Identical to that of `narrows.run` with the same number of runs; its ``until`` is the precision reached, and
        ``until.met`` whether it is as requested.

    Raises
    ------
    InputError, ScenarioError, RunError
        As for `narrows.run`. A failure of a run beyond those needed does not matter.
    Interrupted
        On Ctrl-C; holds the finished runs, without a gap.

    Examples
    --------
    >>> wanted = Precision(relative=0.2, least=3)
    >>> batch = run_until("dumbbell-cubic", wanted, overrides={"duration": "12 s"}, seed=1)
    >>> batch.until.met, len(batch.runs) >= 3
    (True, True)
    """
    parsed = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if overrides:
        parsed = parsed.with_overrides(overrides)
    wanted = precision if isinstance(precision, Precision) else Precision(relative=precision)
    chosen = parsed.seed if seed is None else in_range("seed", seed, 0, 2**63 - 1)
    workers = in_range("jobs", processors() if jobs is None else jobs, 1, 4096)
    estimate.check(parsed, wanted.least, workers)
    with captures.into(pcap, parsed, wanted.most) as folder:
        search = _Search(parsed, chosen, wanted, metric, (folder, kept))
        interruption = search.run(Threads(min(workers, wanted.most)), progress)
        made = search.batch()
        captures.drop_unfinished(folder, made.runs, wanted.most)
    if interruption is not None:
        raise interruption
    return replace(made, runs=tuple(captures.located(one, pcap, wanted.most) for one in made.runs))


class _Search:
    """Runs under way, and runs already examined."""

    def __init__(
        self, scenario: Scenario, seed: int, wanted: Precision, metric: str, where: tuple[Path | None, Kept | None]
    ) -> None:
        self._scenario, self._seed, self._wanted = scenario, seed, wanted
        self._captured, self._kept = where
        self._metric, self._value = metric, metric_of(metric)
        kind, _, rest = metric.partition(".")
        flows = scenario.congestion_controls()
        if kind == "flow" and rest.rpartition(".")[0] not in flows:  # checked before anything runs
            message = f"metric is {metric!r}; allowed flows: {', '.join(flows)}"
            raise InputError(message)
        self._started = 0
        self._ended: dict[int, Done[Run]] = {}
        self._runs: list[Run] = []
        self._values: list[float | None] = []
        self._estimate = mean_ci((), wanted.confidence)

    def batch(self) -> Batch:
        """The examined runs, and the precision that they reached."""
        reached = Reached(self._metric, self._wanted, self._estimate, len(self._runs))
        return Batch(scenario=self._scenario, seed=self._seed, runs=tuple(self._runs), until=reached)

    def run(self, backend: Threads, progress: ProgressHook | None) -> Interrupted | None:
        """Make runs until the rule stops; after Ctrl-C, examine the finished ones and return the interruption."""

        def report() -> None:
            if progress is not None:
                progress(self._state(backend))

        try:
            drive(backend, lambda: self._next(backend.workers), self._took, over=self._over, report=report)
        except KeyboardInterrupt:
            backend.stop()
            while (done := backend.get(0)) is not None:
                self._ended[int(done.job.key)] = done
            self._look(final=True)
            message = f"interrupted: {len(self._runs)} of at most {self._wanted.most} runs had finished"
            return Interrupted(self.batch(), self._wanted.most, message)
        finally:
            backend.stop()
        return None

    def _over(self) -> bool:
        return len(self._runs) >= self._wanted.most or self._wanted.met(self._estimate)

    def _next(self, workers: int) -> TaskJob | None:
        """Return the next run to make, unless enough are ahead of the examined ones."""
        if self._started >= min(self._wanted.most, len(self._runs) + AHEAD * workers):
            return None
        index = self._started
        where = captures.of_run(self._captured, index, self._wanted.most)
        self._started += 1
        return TaskJob(index, Task(self._scenario, self._seed, index, where), self._kept)

    def _took(self, done: Done[Run]) -> None:
        self._ended[int(done.job.key)] = done
        self._look()

    def _look(self, *, final: bool = False) -> None:
        """Examine finished runs in order; a failure is raised when its turn comes, not before."""
        while not self._over():
            done = self._ended.get(len(self._runs))
            if done is None or (final and done.error is not None):
                return
            del self._ended[len(self._runs)]
            run = done.value()
            value = self._value(run)
            self._runs.append(run)
            self._values.append(value)
            self._estimate = mean_ci(self._values, self._wanted.confidence)

    def _state(self, backend: Threads) -> State:
        seen = self._wanted.needed(self._estimate) or self._wanted.least
        needed = max(len(self._runs), min(seen, self._wanted.most))
        if self._over():
            return State(self._estimate, len(self._runs), len(self._runs), 1.0)
        under_way = [share for key, (share, _) in backend.running().items() if int(key) < needed]
        ended = sum(index < needed for index in self._ended)
        done = len(self._runs) + ended + math.fsum(under_way)
        return State(self._estimate, len(self._runs), needed, min(1.0, done / max(1, needed)))
