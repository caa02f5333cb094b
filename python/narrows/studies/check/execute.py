"""Running the cases of a plan: parallel runs, of which one that fails leaves the others alone."""

from __future__ import annotations

import json
import math
import pickle
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.base.errors import InputError, Interrupted, RunError
from narrows.execution.forecast import Scale
from narrows.execution.job import Job, Parcel
from narrows.execution.means import Means
from narrows.execution.work import WorkInterrupted
from narrows.runs import simulated as runs
from narrows.studies.check import live
from narrows.studies.check.case_job import CaseJob
from narrows.studies.check.made import Made
from narrows.studies.check.outcome import Outcome
from narrows.studies.check.result import CaseResult, Check
from narrows.studies.check.series import Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows import _core
    from narrows.studies.check.plan import Item, Plan
    from narrows.studies.check.result import Verdict


class CheckInterrupted(Interrupted):
    """Ctrl-C during a check."""


@dataclass(frozen=True, slots=True)
class CaseRun(CaseJob):
    """One simulated run of a case as a job.

    Attributes
    ----------
    looks : tuple of float or None
        Begin and end, s, of the time in which the variables are recorded; ``None``: they are not.
    """

    looks: tuple[float, float] | None

    def make(self, gauge: _core.Progress) -> Made:
        """Make the run; one that fails is a result too, so that the others go on."""
        begin = time.perf_counter()
        scenario = self.item.scenario
        task = runs.Task(scenario, scenario.seed if self.seed is None else self.seed)
        try:
            result = runs.engine_result(task, gauge, runs.Judged(self.looks))
        except (RunError, InputError) as error:
            return Made(None, str(error), time.perf_counter() - begin)
        gauge.check()  # a run that was asked to stop has no outcome, even if it ends before it notices
        told, recorded = result.case(), result.case_series()
        outcome = None if told is None else Outcome.from_json(json.loads(told))
        series = None if recorded is None else Series.from_json(json.loads(recorded))
        return Made(outcome, None, time.perf_counter() - begin, series)

    def parcel(self) -> Parcel:
        """Return the run as it travels to a worker."""
        return Parcel(_remote, (pickle.dumps(self),), self.item.scenario.own_controls())


def _remote(content: bytes, gauge: _core.Progress) -> Made:
    job: CaseRun = pickle.loads(content)  # noqa: S301 - `CaseRun.parcel` made it, in the process that has the cluster
    return job.make(gauge)


def execute(plan: Plan, means: Means | None = None) -> Check:
    """Run all cases of a plan.

    Parameters
    ----------
    plan : Plan
    means : Means, optional
        How runs are executed; nothing is kept.

    Returns
    -------
    Check

    Raises
    ------
    InputError
        If no case applies to its control, the number of jobs is out of range, or the cluster cannot be used.
    LiveError
        If this machine can run none of the cases live.
    CheckInterrupted
        On Ctrl-C.
    """
    if plan.live:
        means, plan = live.alone(means or Means()), live.fitting(plan)
    applying = [index for index, item in enumerate(plan.items) if item.inapplicable is None]
    if not applying:
        first = plan.items[0]
        message = f"no case applies to {first.cc}, so nothing was checked; {first.name}: {first.inapplicable}"
        raise InputError(message)
    made = _run(plan, dict.fromkeys(applying), means or Means())
    check = Check(plan, tuple(_result(item, made.get(index)) for index, item in enumerate(plan.items)))
    if not any(check.count(one) for one in ("passed", "failed", "error")):
        case = check.cases[applying[0]]
        message = f"nothing was checked: no expectation applies; {case.item.id}: {case.reason}"
        raise InputError(message)
    return check


def traced(check: Check, windows: Mapping[int, tuple[float, float]], means: Means | None = None) -> dict[int, Series]:
    """Run cases again and record their variables at each look; runs with equal seeds are equal.

    Live runs are not repeated: their variables were recorded when they were made.

    Parameters
    ----------
    check : Check
    windows : mapping
        Begin and end of the recorded time, s, by index of a case that was run.
    means : Means, optional

    Returns
    -------
    dict
        By index; runs that fail have none.

    Raises
    ------
    CheckInterrupted
        On Ctrl-C.
    """
    if check.plan.live:
        recorded = ((index, check.cases[index].series) for index in windows)
        return {index: series for index, series in recorded if series is not None}
    made = _run(check.plan, windows, means or Means())
    return {index: one.series for index, one in made.items() if one.series is not None}


def _run(plan: Plan, windows: Mapping[int, tuple[float, float] | None], means: Means) -> dict[int, Made]:
    if not windows:
        return {}
    names = list(dict.fromkeys(item.name for item in plan.items))
    sizes = {index: _size(plan.items[index]) for index in windows}
    steps = sorted(set(sizes.values()))
    jobs: dict[str, Job[Made]] = {}
    for index, looks in windows.items():
        item = plan.items[index]
        place = names.index(item.name), steps.index(sizes[index])
        job: Job[Made] = (
            live.LiveRun(index, item, plan.seed, *place)
            if plan.live
            else CaseRun(index, item, plan.seed, *place, looks)
        )
        jobs[job.key] = job
    found: dict[str, Made] = {}
    axes = [Scale(len(names)), Scale(len(steps), tuple(2.0**step for step in steps))]
    try:
        means.execute("test cases", jobs, axes, found, None, plan.items[next(iter(windows))].scenario)
    except WorkInterrupted as stopped:
        message = f"interrupted: {stopped.done:,} of {len(jobs):,} runs had finished; nothing is written"
        raise CheckInterrupted(stopped.finished, len(jobs), message) from None
    return {int(key): one for key, one in found.items()}


def _size(item: Item) -> int:
    """Return the power of two of the packets that the cell's bottleneck can send."""
    from narrows.studies.check.dumbbell import Path

    path = Path.of(item.scenario, item.about.flow)
    packets = 1.0 if path is None else path.packets(item.scenario.duration_s)
    return max(0, math.ceil(math.log2(max(1.0, packets))))


def _result(item: Item, made: Made | None) -> CaseResult:
    if made is None:
        return CaseResult(item, "not applicable", None, item.inapplicable)
    if made.outcome is None:
        return CaseResult(item, "error", None, made.error, made.seconds, made.doubts, made.tries)
    verdict, reason = _judged(made.outcome)
    return CaseResult(item, verdict, made.outcome, reason, made.seconds, made.doubts, made.tries, made.series)


def _judged(outcome: Outcome) -> tuple[Verdict, str | None]:
    if not outcome.passed:
        return "failed", "; ".join(outcome.failures) or "the engine's verdict: not passed"
    if not outcome.is_judged:
        reasons = [one.reason for one in outcome.expectations if one.reason]
        return "not applicable", "no expectation applies: " + "; ".join(reasons)
    return "passed", None
