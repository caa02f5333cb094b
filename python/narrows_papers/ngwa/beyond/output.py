"""The complete report: run every question, draw, conclude, and write the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows import _core
from narrows.execution.means import Means
from narrows.outcome import joint_digest
from narrows.ownership import staged
from narrows.report import charts, render
from narrows.reproduction.result import Cell, Claim, Reproduction, cells_csv, command
from narrows.store import pending
from narrows_papers import execute
from narrows_papers.ngwa.beyond import page
from narrows_papers.ngwa.beyond.questions import QUESTIONS, WORK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Watch
    from narrows.ownership import Target
    from narrows.runs import ProgressHook
    from narrows_papers.ngwa.beyond.question import Question, Results, Section

PAPER = "ngwa"
PAGE = "report.html"
SUMMARY = "summary.json"
CELLS = "cells.csv"


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, its runs, and the conclusions."""

    question: Question
    results: Results
    section: Section


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
    """Run the experiments that the paper leaves open and write a page about them.

    Parameters
    ----------
    out : Path
        Output directory, written atomically: page, `summary.json`, `cells.csv`, `figures/`, the scenario files.
    quick : bool
        Fewer arms and one seed.
    runs : int, optional
        Number of seeds of each arm; the default depends on the question.
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
        Its cells have no published values, because the paper has none.

    Raises
    ------
    narrows.errors.InputError
        If `out` cannot be created or holds something other than results.
    narrows.errors.RunError
        If a run or writing failed.
    narrows.errors.Interrupted
        On Ctrl-C; finished runs are kept, and the same call continues.
    """
    with pending.kept(out) as held, staged(out) as folder:
        means = Means(jobs, dask, held, watch, progress)
        answers = [
            Answer(question, results, question.section(results))
            for question, results in _results(means, quick=quick, runs=runs)
        ]
        result = write(folder, answers, command=command("ngwa --beyond", quick=quick, runs=runs))
    return result.moved(folder, out)


def _results(means: Means, *, quick: bool, runs: int | None) -> list[tuple[Question, Results]]:
    whole = sum(WORK[one.key] for one in QUESTIONS)
    done, made = 0.0, []
    for question in QUESTIONS:
        share = WORK[question.key] / whole
        made.append((question, question.run(means.part(done, share), quick=quick, runs=runs)))
        done += share
    return made


def estimate(*, quick: bool, runs: int | None, jobs: int | None, dask: str | None) -> Estimate:
    """Estimate how long `reproduce` takes, by making some of its runs."""
    tasks = [task for question in QUESTIONS for task in question.tasks(quick, runs)[1]]
    return execute.estimate(tasks, jobs=jobs, dask=dask)


def write(folder: Path, answers: Sequence[Answer], command: str) -> Reproduction:
    """Draw and write everything into an existing directory."""
    drawn = charts.draw([figure for one in answers for figure in one.section.figures], folder / "figures")
    result = Reproduction(
        paper=PAPER,
        cells=tuple(cell for one in answers for cell in cells(one.question, one.results)),
        claims=tuple(claim for one in answers for claim in one.section.claims),
        calibration={one.question.title: one.question.setting for one in answers},
        text=headline(answers),
        figures=tuple(path for one in drawn for path in one.files),
        brief=True,
    )
    version = str(_core.version())
    written = [
        render.write_text(folder / PAGE, page.render(result, answers, drawn, command, version)),
        render.write_text(folder / SUMMARY, summary_json(result, answers, version)),
        render.write_text(folder / CELLS, cells_csv(result.cells)),
        *(
            render.write_text(folder / one.question.file.name, one.question.file.read_text(encoding="utf-8"))
            for one in answers
        ),
    ]
    return replace(result, paths=(*written, *result.figures))


def cells(question: Question, results: Results) -> list[Cell]:
    """Return a cell for every number of every arm."""
    made = []
    for key in results.arms:
        for name, unit in question.units.items():
            found = results.of(key, name)
            if found.n:
                low, high = (found.low, found.high) if found.n > 1 else (None, None)
                made.append(Cell("/".join((question.key, *key, name)), None, found.mean, low, high, unit))
    return made


def headline(answers: Sequence[Answer]) -> str:
    """Summarise in one paragraph how many expectations held, and which did not."""
    claims = [claim for one in answers for claim in one.section.claims]
    failing = [_short(claim) for claim in claims if not claim.holds]
    seeds = sorted({one.results.seeds for one in answers})
    over = (
        "one seed"
        if seeds == [1]
        else f"{' to '.join(map(str, (seeds[0], seeds[-1]))) if len(seeds) > 1 else seeds[0]} seeds"
    )
    runs = sum(len(one.results.digests) for one in answers)
    text = (
        f"{len(answers)} questions that the paper leaves open, {runs:,} runs, {over} for each arm. Of {len(claims)} "
        f"things that were to be expected of the mechanism {len(claims) - len(failing)} are so"
    )
    return f"{text}." if not failing else f"{text}; not so: {'; '.join(failing)}."


def _short(claim: Claim) -> str:
    return f"“{claim.text.split(' (')[0].split(': ')[0]}”"


def summary_json(result: Reproduction, answers: Sequence[Answer], version: str) -> str:
    """Return the contract's JSON object with identification of the runs."""
    extra = {
        "text": result.text,
        "conclusions": {one.question.key: list(one.section.conclusion) for one in answers},
        "seeds": {one.question.key: one.results.seeds for one in answers},
        "version": version,
        "digests": {one.question.key: joint_digest(one.results.digests) for one in answers},
    }
    return json.dumps(result.to_json() | extra, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
