"""The complete reproduction: run both experiments, compare published and measured figures, write the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.ownership import staged
from narrows.papers.acns import evaluation, evidence, figures, page, text, verification
from narrows.papers.reproduction import Reproduction, cells_csv, command
from narrows.report import charts, network, render, topology
from narrows.runs import run_all

if TYPE_CHECKING:
    from pathlib import Path

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
    progress: ProgressHook | None = None,
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
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].

    Returns
    -------
    Reproduction

    Raises
    ------
    narrows.errors.InputError
        If `out` cannot be created or holds something other than results.
    narrows.errors.RunError
        If a run or writing failed.
    """
    arms = runs if runs is not None else (evaluation.QUICK_RUNS if quick else evaluation.RUNS)
    populations = verification.QUICK_SEEDS if quick else verification.SEEDS
    if runs is not None:
        populations = max(1, runs // 2)
    with staged(out) as folder:
        first = evaluation.tasks(arms)
        seeds = range(1, populations + 1)
        second = verification.tasks(seeds)
        made = run_all([*first, *second], jobs=jobs, progress=progress)
        evaluated = evaluation.collect(made[: len(first)])
        verified = verification.collect(made[len(first) :], seeds)
        result = write(folder, evaluated, verified, command=command("acns", quick=quick, runs=runs))
    return result.moved(folder, out)


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
