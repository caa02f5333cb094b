"""The complete live reproduction: run live and simulated, compare with the published figures, write the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from narrows import ownership, results
from narrows.report import charts, network, render, topology
from narrows.reproduction.result import Reproduction, cells_csv, command
from narrows_papers.acns.live import cells as figures_of
from narrows_papers.acns.live import claims as decided
from narrows_papers.acns.live import figures, measured, page, plan, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.ownership import Target
    from narrows.runs import ProgressHook
    from narrows_papers.acns.live.measured import Measured

PAGE: Final = "report.html"
SUMMARY: Final = "summary.json"
CELLS: Final = "cells.csv"
RUNS: Final = "live"
"""Directory of the live runs, a result directory for each, because live runs cannot be repeated exactly."""


def reproduce(
    out: Target,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
    say: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the evaluation and a demonstration on the machine's own TCP stack and in the simulator, and write a page.

    Parameters
    ----------
    out : Path
        Output directory, written atomically: page, `summary.json`, `cells.csv`, `figures/`, scenarios as run, and the
        live runs as result directories in `live/`.
    quick : bool
        Shorter runs.
    runs : int, optional
        Live runs per arm, one by default.
    jobs : int, optional
        Number of parallel simulations; by default the number of processors.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    say : callable, optional
        Called with a sentence about how long it will take, before it begins.

    Returns
    -------
    Reproduction

    Raises
    ------
    narrows.errors.LiveError
        If live runs are not available on this machine; then nothing is written.
    narrows.errors.InputError
        If `out` cannot be created or holds something other than results.
    narrows.errors.Interrupted
        On Ctrl-C; nothing is written.
    narrows.errors.RunError
        If a run or writing failed.
    """
    # Create the directory first, so that an unwritable one is reported before the long runs.
    with ownership.staged(out) as folder:
        made = measured.run(
            quick=quick, runs=plan.RUNS if runs is None else runs, jobs=jobs, progress=progress, say=say
        )
        result = write(folder, made, command=command("acns --live", quick=quick, runs=runs))
    return result.moved(folder, out)


def write(folder: Path, made: Measured, command: str) -> Reproduction:
    """Compare, draw and write everything into an existing directory.

    Parameters
    ----------
    folder : Path
    made : Measured
    command : str
        The command line that was run.

    Returns
    -------
    Reproduction
    """
    cells = figures_of.cells(made)
    of_paper, of_demonstration = decided.claims(made)
    claims = [*of_paper, *of_demonstration]
    drawn = charts.draw(figures.all_figures(made), folder / "figures")
    scenario = made.live.evaluation.acns.scenario
    drawings = topology.write_figures(network.of(scenario), folder / "figures", "ACNS evaluation: two sites")
    result = Reproduction(
        paper="acns",
        cells=tuple(cells),
        claims=tuple(claims),
        calibration=text.calibration(made),
        text=text.headline(made, cells, claims),
        figures=(*drawings, *(path for one in drawn for path in one.files)),
        brief=True,
        shown=tuple(figures_of.shown(cells)),
        conditions=made.conditions,
        doubts=made.doubts,
    )
    written = [
        render.write_text(folder / PAGE, page.render(result, made, (of_paper, of_demonstration), drawn, command)),
        render.write_text(folder / SUMMARY, _summary(result, made)),
        render.write_text(folder / CELLS, cells_csv(result.cells)),
        render.write_text(folder / "scenario.toml", scenario.to_toml()),
        render.write_text(folder / "demonstration.toml", made.live.demonstration.acns.scenario.to_toml()),
        *_keep(made, folder / RUNS),
    ]
    return replace(result, paths=(*written, *result.figures))


def _keep(made: Measured, folder: Path) -> list[Path]:
    """Write the live runs as result directories, and return the paths of their summaries."""
    kept = []
    for name, batch in made.live.parts:
        where = folder / name.replace(" ", "-").lower()
        where.mkdir(parents=True)
        results.fill(batch, where)
        kept.append(where / SUMMARY)
    return kept


def _summary(result: Reproduction, made: Measured) -> str:
    """Return the contract's JSON object with identification of the runs."""
    evaluated = made.live.evaluation.acns
    extra = {
        "live": True,
        "quick": made.quick,
        "text": result.text,
        "calibration": result.calibration,
        "seed": evaluated.seed,
        "runs": {name: len(made.world(name).evaluation.acns.runs) for name in measured.WORLDS},
        "version": evaluated.version,
        "digests": {name: {part: batch.digest for part, batch in made.world(name).parts} for name in measured.WORLDS},
    }
    return json.dumps(result.to_json() | extra, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
