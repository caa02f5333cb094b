"""Evaluating a congestion control with one call, for notebooks and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.evaluate.execute import execute
from narrows.studies.evaluate.plan import make

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.execution.work import Watch
    from narrows.ownership import Target
    from narrows.studies.evaluate.result import Evaluation


def run(
    control: str,
    *,
    quick: bool = False,
    seed: int = 1,
    most: int | None = None,
    only: Iterable[str] | None = None,
    live: bool = False,
    out: Target | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    budget_s: float | None = None,
    watch: Watch | None = None,
) -> Evaluation:
    """Evaluate a congestion control by the criteria of RFC 9743.

    Parameters
    ----------
    control, quick, seed, most, only, live
        As for `narrows.studies.evaluate.make`.
    out : path, optional
        Where records are stored as runs end; runs that are already there are not repeated.
    jobs, dask, budget_s, watch
        As for `narrows.studies.evaluate.execute`.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If an argument or the directory cannot be used.
    RunError
        If a record could not be stored. A control that fails in a run does not raise: its row is not met.
    LiveError
        If no row can be run live.
    EvaluationInterrupted
        On Ctrl-C.
    """
    plan = make(control, quick=quick, seed=seed, most=most, only=only, live=live)
    return execute(plan, out, jobs=jobs, dask=dask, budget_s=budget_s, watch=watch)
