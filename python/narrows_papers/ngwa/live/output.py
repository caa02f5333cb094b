"""The complete live reproduction: run, compare, draw, write the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from narrows import _core
from narrows.errors import InputError
from narrows.ownership import NGWA_LIVE, claim, staged
from narrows.report import charts, render
from narrows.reproduction.result import Reproduction, cells_csv, command
from narrows_papers.ngwa.live import figures, page, plan, result
from narrows_papers.ngwa.live.execute import Made, execute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from narrows.ownership import Target
    from narrows.runs import ProgressHook
    from narrows_papers.ngwa.live.plan import Job

PAGE = "report.html"
SUMMARY = "summary.json"
CELLS = "cells.csv"
KIND = NGWA_LIVE
"""Kind of the directory."""


def reproduce(
    out: Target,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    at_once: int = 1,
    progress: ProgressHook | None = None,
    say: Callable[[str], None] | None = None,
) -> Reproduction:
    """Repeat the paper's Linux section on this machine's own TCP stack and write a page about it.

    Records of live runs are stored in `out` as they end: after an interruption, the same command continues.

    Parameters
    ----------
    out : Path
        Directory for page, `summary.json`, `cells.csv`, `runs.jsonl`, `figures/` and the scenarios.
    quick : bool
        15 s in steady state instead of 120.
    runs : int, optional
        Must be 1: intervals are computed by batch means within a run, as in the paper.
    jobs : int, optional
        Number of parallel simulations.
    at_once : int
        Number of parallel live runs, each with its own conditions.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    say : callable, optional
        Called with a sentence about how long it will take, before it begins.

    Returns
    -------
    Reproduction
        Its cells have no published values: the paper's rates are in figures that are lost.

    Raises
    ------
    narrows.errors.LiveError
        If live runs are not available on this machine; then nothing is written.
    narrows.errors.InputError
        If `runs` is not 1, or `out` holds something else.
    narrows.errors.RunError
        If a run or writing failed.
    narrows.errors.Interrupted
        On Ctrl-C; finished live runs are kept.
    """
    if runs not in (None, 1):
        message = f"runs is {runs}; allowed with live of ngwa: 1, since its intervals are taken within a run"
        raise InputError(message)
    lengths = plan.QUICK if quick else plan.FULL
    listed = plan.jobs(lengths)
    held = claim(out, kind=KIND)
    made = execute(listed, held, processes=jobs, at_once=at_once, progress=progress, say=say)
    with staged(held, part="page", alone=False) as folder:
        result = write(folder, made, listed, lengths, quick=quick)
    return result.moved(folder, held)


def write(folder: Path, made: Made, jobs: Sequence[Job], lengths: plan.Lengths, *, quick: bool) -> Reproduction:
    """Compare, draw and write everything into an existing directory."""
    both = result.worlds(made, lengths)
    drawn = charts.draw(figures.draw({name: world.transfers for name, world in both.items()}), folder / "figures")
    distrusted = sum(bool(record.doubts) for record in made.live.values())
    reproduction = Reproduction(
        paper="ngwa",
        cells=tuple(result.cells(both, jobs)),
        claims=result.claims(both),
        calibration={},
        text=result.headline(both, distrusted, quick),
        figures=tuple(path for one in drawn for path in one.files),
        brief=True,
        conditions=tuple(one.conditions for one in made.live.values() if one.conditions is not None),
        doubts=result.doubts(made, jobs),
    )
    shown = page.Shown(
        result=reproduction,
        both=both,
        made=made,
        jobs=jobs,
        drawn=drawn,
        lengths=lengths,
        version=str(_core.version()),
        command=command("ngwa --live", quick=quick, runs=None),
        quick=quick,
    )
    written = [
        render.write_text(folder / PAGE, page.render(shown)),
        render.write_text(folder / SUMMARY, summary_json(reproduction, made, jobs, quick=quick)),
        render.write_text(folder / CELLS, cells_csv(reproduction.cells)),
        *(
            render.write_text(folder / file.name, file.read_text(encoding="utf-8"))
            for file in sorted(plan.files().glob("*.toml"))
        ),
    ]
    return replace(reproduction, paths=(*written, *reproduction.figures))


def summary_json(reproduction: Reproduction, made: Made, jobs: Sequence[Job], *, quick: bool) -> str:
    """Return the contract's JSON object with identification of the runs."""
    extra = {
        "text": reproduction.text,
        "quick": quick,
        "version": str(_core.version()),
        "digests": {
            "live": {job.name: made.live[job.name].digest for job in jobs},
            "simulated": {job.name: made.simulated[job.name].digest for job in jobs},
        },
    }
    return json.dumps(reproduction.to_json() | extra, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
