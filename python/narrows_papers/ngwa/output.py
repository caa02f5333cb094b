"""The complete reproduction: run all experiments, compare published and measured figures, write the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows.execution.means import Means
from narrows.ownership import staged
from narrows.report import charts, network, render, topology
from narrows.reproduction.result import Reproduction, cells_csv, command
from narrows.store import pending
from narrows_papers import execute
from narrows_papers.execute import run_all
from narrows_papers.ngwa import cells, claims, figures, linux, linux_claims, page, rounds, text, window, window_claims
from narrows_papers.ngwa.arms import ARMS, scenario
from narrows_papers.ngwa.published import Published

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Watch
    from narrows.ownership import Target
    from narrows.runs import ProgressHook, Task
    from narrows_papers.ngwa.linux import Transfers
    from narrows_papers.ngwa.rounds import Rounds
    from narrows_papers.ngwa.window import Window

PAGE = "report.html"
SUMMARY = "summary.json"
CELLS = "cells.csv"


@dataclass(frozen=True)
class Made:
    """Results of all runs: windows over time, rounds of the arms, transfers of the Linux section."""

    windows: Mapping[str, Window]
    arms: Mapping[str, Rounds]
    transfers: Transfers
    version: str


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
    """Repeat the paper's experiments and write a page about them.

    Parameters
    ----------
    out : Path
        Output directory, written atomically: page, `summary.json`, `cells.csv`, `figures/`, scenarios as run.
    quick : bool
        2 rounds instead of 30, and 15 s in steady state instead of 120 for the Linux section.
    runs : int, optional
        Number of rounds.
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
    number = _rounds(quick, runs)
    with pending.kept(out) as held, staged(out) as folder:
        made = run(number, Means(jobs, dask, held, watch, progress), quick=quick)
        result = write(folder, made, command("ngwa", quick=quick, runs=runs), quick=quick)
    return result.moved(folder, out)


def estimate(*, quick: bool, runs: int | None, jobs: int | None, dask: str | None) -> Estimate:
    """Estimate how long `reproduce` takes, by making some of its runs."""
    parts = _parts(_rounds(quick, runs), quick)
    return execute.estimate([task for part in parts for task in part], jobs=jobs, dask=dask)


def _rounds(quick: bool, runs: int | None) -> int:
    return runs if runs is not None else (rounds.QUICK_ROUNDS if quick else rounds.ROUNDS)


def _parts(number: int, quick: bool) -> tuple[list[Task], list[Task], list[Task]]:
    return linux.tasks(quick), rounds.tasks(number), window.tasks()


def run(number: int, means: Means, *, quick: bool = False) -> Made:
    """Run everything with the given number of rounds."""
    parts = _parts(number, quick)
    made = run_all([task for part in parts for task in part], means, "ngwa")
    first, second = len(parts[0]), len(parts[0]) + len(parts[1])
    return Made(
        windows=window.collect(made[second:]),
        arms=rounds.collect(made[first:second]),
        transfers=linux.collect(made[:first]),
        version=made[0].version,
    )


def write(folder: Path, made: Made, command: str, *, quick: bool = False) -> Reproduction:
    """Compare, draw and write everything into an existing directory."""
    published = Published.read()
    compared = (
        *cells.of_windows(made.windows, published),
        *cells.of_rounds(made.arms, published),
        *cells.of_linux(made.transfers),
    )
    simulated = (*window_claims.claims(made.windows), *claims.claims(made.arms, published))
    of_linux, variation = (tuple(linux_claims.claims(made.transfers, name)) for name in linux.WINDOWS)
    drawn = charts.draw(
        [
            figures.of_windows(made.windows),
            *figures.of_rates(made.arms),
            figures.of_counts(compared),
            *(figure for name in linux.WINDOWS for figure in figures.of_linux(made.transfers, name)),
        ],
        folder / "figures",
    )
    plain = scenario()
    plan = network.of(plain)
    drawings = topology.write_figures(plan, folder / "figures", "NGWA: four pairs")
    result = Reproduction(
        paper="ngwa",
        cells=compared,
        claims=(*simulated, *of_linux, *variation),
        calibration=text.calibration(plain),
        text=text.headline(made.windows, made.arms, (*simulated, *of_linux), variation, published),
        figures=(*drawings, *(path for one in drawn for path in one.files)),
        curves=figures.for_terminal(made.windows),
        brief=True,
        shown=tuple(cell for cell in compared if cell.published is not None),
    )
    shown = page.Shown(
        result=result,
        windows=made.windows,
        arms=made.arms,
        published=published,
        transfers=made.transfers,
        simulated=simulated,
        of_linux=of_linux,
        variation=variation,
        drawn=drawn,
        plan=plan,
        scenario=plain,
        version=made.version,
        command=command,
        quick=quick,
    )
    written = [
        render.write_text(folder / PAGE, page.render(shown)),
        render.write_text(folder / SUMMARY, summary_json(result, made, plain.seed)),
        render.write_text(folder / CELLS, cells_csv(compared)),
        render.write_text(folder / "scenario.toml", plain.to_toml()),
        render.write_text(folder / "linux.toml", linux.scenario().to_toml()),
    ]
    return replace(result, paths=(*written, *result.figures))


def summary_json(result: Reproduction, made: Made, seed: int) -> str:
    """Return the contract's JSON object with identification of the runs."""
    extra = {
        "text": result.text,
        "calibration": result.calibration,
        "seed": seed,
        "rounds": len(made.arms["newreno"].rounds),
        "version": made.version,
        "digests": {
            "window": {arm: one.digest for arm, one in made.windows.items()},
            "rounds": {arm.name: list(made.arms[arm.name].digests) for arm in ARMS},
            "linux": {"/".join(key): one.digest for key, one in made.transfers.items()},
        },
        "batch_means": {
            f"{arm}/{flow}": {
                "batch_size": one.batch_size,
                "warmup": one.warmup,
                "autocorrelation": one.autocorrelation,
                "p_value": one.p_value,
                "independent": one.independent,
                "warnings": list(one.warnings),
            }
            for arm, rates in made.arms.items()
            for flow, one in rates.rates.items()
        },
    }
    return json.dumps(result.to_json() | extra, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
