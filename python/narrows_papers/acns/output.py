"""The complete reproduction: run both experiments, compare published and measured figures, write the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.execution.means import Means
from narrows.ownership import staged
from narrows.report import charts, network, render, topology
from narrows.reproduction.result import Reproduction, cells_csv, command
from narrows.store import pending
from narrows_papers import execute
from narrows_papers.acns import evaluation, evidence, figures, page, text, verification
from narrows_papers.execute import run_all

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Watch
    from narrows.ownership import Target
    from narrows.runs import ProgressHook

PAGE = "report.html"
SUMMARY = "summary.json"
CELLS = "cells.csv"


def reproduce(
    out: Target,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
    watch: Watch | None = None,
) -> Reproduction:
    """Repeat both of the papers' experiments and write a page about them.

    Parameters
    ----------
    out : Path
        Output directory, written atomically: page, `summary.json`, `cells.csv`, `figures/`, scenarios as run.
    quick : bool
        Fewer runs: 4 per arm instead of 20, 2 populations instead of 10.
    runs : int, optional
        Runs per arm; the verification has half as many populations.
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    watch : callable, optional
        Shows the progress of a set of runs; see `narrows.execution.work.Watch`.

    Returns
    -------
    Reproduction

    Raises
    ------
    narrows.errors.InputError
        If `out` cannot be created or holds something other than results.
    narrows.errors.RunError
        If a run or writing failed.
    narrows.errors.Interrupted
        On Ctrl-C; finished runs are kept, and the same call continues.
    """
    arms, populations = _numbers(quick, runs)
    with pending.kept(out) as held, staged(out) as folder:
        means = Means(jobs, dask, held, watch, progress)
        first = evaluation.tasks(arms)
        seeds = range(1, populations + 1)
        made = run_all([*first, *verification.tasks(seeds)], means, "acns")
        evaluated = evaluation.collect(made[: len(first)])
        verified = verification.collect(made[len(first) :], seeds)
        result = write(folder, evaluated, verified, command=command("acns", quick=quick, runs=runs))
    return result.moved(folder, out)


def estimate(*, quick: bool, runs: int | None, jobs: int | None, dask: str | None) -> Estimate:
    """Estimate how long `reproduce` takes, by making some of its runs."""
    arms, populations = _numbers(quick, runs)
    tasks = [*evaluation.tasks(arms), *verification.tasks(range(1, populations + 1))]
    return execute.estimate(tasks, jobs=jobs, dask=dask)


def _numbers(quick: bool, runs: int | None) -> tuple[int, int]:
    """Return the runs per arm, and the number of populations of the verification."""
    if runs is not None:
        return runs, max(1, runs // 2)
    if quick:
        return evaluation.QUICK_RUNS, verification.QUICK_SEEDS
    return evaluation.RUNS, verification.SEEDS


def write(
    folder: Path, evaluated: evaluation.Evaluation, verified: verification.Verification, command: str
) -> Reproduction:
    """Compare, draw and write everything into an existing directory."""
    published = evaluation.Published.read()
    cells = evaluation.cells(evaluated, published)
    claims = [*evaluation.claims(evaluated), *verification.claims(verified)]
    drawn = charts.draw(
        [*figures.of_evaluation(evaluated), figures.of_comparison(cells), *figures.of_verification(verified)],
        folder / "figures",
    )
    plan = network.of(evaluated.acns.scenario)
    drawings = topology.write_figures(plan, folder / "figures", "ACNS evaluation: two sites")
    result = Reproduction(
        paper="acns",
        cells=tuple(cells),
        claims=tuple(claims),
        calibration=text.calibration(evaluated.acns.scenario),
        text=text.headline(cells, claims, len(evaluated.acns.runs), evidence.variations()),
        figures=(*drawings, *(path for one in drawn for path in one.files)),
    )
    written = [
        render.write_text(folder / PAGE, page.render(result, evaluated, verified, drawn, plan, command)),
        render.write_text(folder / SUMMARY, summary_json(result, evaluated)),
        render.write_text(folder / CELLS, cells_csv(result.cells)),
        render.write_text(folder / "scenario.toml", evaluated.acns.scenario.to_toml()),
        *(
            render.write_text(
                folder / f"verification-{setting}.toml", verification.scenario_text(setting, verified.seeds[0])
            )
            for setting in verification.SETTINGS
        ),
    ]
    return replace(result, paths=(*written, *result.figures))


def summary_json(result: Reproduction, evaluated: evaluation.Evaluation) -> str:
    """Return the contract's JSON object with identification of the runs."""
    extra = {
        "text": result.text,
        "calibration": result.calibration,
        "seed": evaluated.acns.seed,
        "runs": len(evaluated.acns.runs),
        "version": evaluated.acns.version,
        "digests": {arm: evaluated.arm(arm).digest for arm in evaluation.ARMS},
    }
    return json.dumps(result.to_json() | extra, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
