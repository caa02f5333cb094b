"""Cases on this machine's own TCP stack: which can run there, and runs that judge their own conditions."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.base.errors import InputError, LiveError
from narrows.runs import live as runs
from narrows.studies.check.case_job import CaseJob
from narrows.studies.check.made import Made
from narrows.studies.check.outcome import Outcome
from narrows.studies.check.series import Series

if TYPE_CHECKING:
    from narrows.execution.job import Parcel
    from narrows.execution.means import Means
    from narrows.studies.check.plan import Item, Plan

TRIES: Final = 3
"""Most runs of a case under conditions that are not to be trusted; the last one's outcome counts."""


def fitting(plan: Plan) -> Plan:
    """Find the items of a plan that cannot run live, before anything is run.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    Plan
        Those items do not apply, with the reason.

    Raises
    ------
    LiveError
        If this machine can run none of them.
    """
    items: list[Item] = []
    failure: LiveError | None = None
    for item in plan.items:
        if item.inapplicable is not None:
            items.append(item)
            continue
        try:
            runs.check(item.scenario)
            items.append(item)
        except LiveError as error:
            if error.kind not in ("unavailable", "unsupported"):
                raise
            failure = error if error.kind == "unavailable" and failure is None else failure
            items.append(replace(item, inapplicable=_reason(item, error)))
    if failure is not None and all(item.inapplicable is not None for item in items):
        raise failure
    return replace(plan, items=tuple(items))


def _reason(item: Item, error: LiveError) -> str:
    head, *refusals = (line.strip() for line in str(error).splitlines())
    told = refusals or [head.removeprefix("the scenario cannot run live: ")]
    return f"cannot run live: {PurePath(item.scenario.path).name}: {'; '.join(told)}"


def alone(means: Means) -> Means:
    """Return means by which runs are made one after another on this machine: two at once would disturb each other.

    Parameters
    ----------
    means : Means

    Returns
    -------
    Means

    Raises
    ------
    InputError
        If several at once are asked for, or a cluster.
    """
    if means.dask is not None:
        message = f"--dask {means.dask}: live runs are made on this machine; allowed: no --dask with --live"
        raise InputError(message)
    if means.jobs not in (None, 1):
        message = f"--jobs {means.jobs}: live runs are made one after another; allowed: 1 with --live"
        raise InputError(message)
    return replace(means, jobs=1)


@dataclass(frozen=True, slots=True)
class LiveRun(CaseJob):
    """One case on the kernel's TCP as a job; repeated while its conditions are not to be trusted."""

    def make(self, gauge: _core.Progress) -> Made:
        """Make the run; one that fails is a result too, so that the others go on."""
        begin = time.perf_counter()
        for tries in range(1, TRIES + 1):
            try:
                made = replace(self._once(gauge), tries=tries)
            except _core.LiveError as error:
                gauge.check()  # the run was asked to stop
                return Made(None, str(LiveError.from_core(error)), time.perf_counter() - begin, tries=tries)
            gauge.check()  # a run that was asked to stop has no outcome
            if not made.doubts:
                break
        return replace(made, seconds=time.perf_counter() - begin)

    def _once(self, gauge: _core.Progress) -> Made:
        scenario = self.item.scenario
        seed = scenario.seed if self.seed is None else self.seed
        looks = (0.0, scenario.duration_s)
        result = _core.live(scenario.core, seed, 0, gauge, None, [], True, looks)
        told, recorded = result.case(), result.case_series()
        outcome = None if told is None else Outcome.from_json(json.loads(told))
        series = None if recorded is None else Series.from_json(json.loads(recorded))
        conditions = result.conditions() or {}
        return Made(outcome, None, 0.0, series, doubts=tuple(conditions.get("doubts", ())))

    def parcel(self) -> Parcel:
        """Live runs do not travel; `alone` refuses clusters."""
        message = "live runs are made on this machine"
        raise InputError(message)
