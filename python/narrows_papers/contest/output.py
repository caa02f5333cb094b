"""The complete reproduction: run both sets, compare with the paper, write the page; or a single pair."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from narrows import contest
from narrows.execution import pilot
from narrows.execution.means import Means
from narrows.outcome import joint_digest
from narrows.ownership import CONTEST, claim, staged
from narrows.report import charts, network, render, topology
from narrows.reproduction.result import Reproduction, command
from narrows.store import pending
from narrows_papers.contest import evaluation, experiment, heat, page, pair, published, text
from narrows_papers.contest.claims import claims, examples
from narrows_papers.contest.variants import NAMES, PAIRS, variant

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Watch
    from narrows.ownership import Target
    from narrows.reproduction.result import Cell
    from narrows.runs import ProgressHook
    from narrows_papers.contest.experiment import Made
    from narrows_papers.contest.pair import Duel

PAGE = "report.html"
SUMMARY = "summary.json"
CELLS = "cells.csv"
KIND = CONTEST
TITLE = "Contest of fifteen variants: two wired hosts, one 802.11 channel"

_CONTEST_SHARE = 0.97
"""Share of the work for the contest; the rest is for the pairs that are drawn."""


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
    """Run every pair in both starting orders, with the window limit and without, and write a page about them.

    Records are stored in `out` as runs end: after an interruption, the same command continues.

    Parameters
    ----------
    out : Path
        Directory for page, `summary.json`, `cells.csv`, `runs.jsonl`, `figures/` and the scenario as run.
    quick : bool
        The seven variants of the paper's figures, in one order, with one seed.
    runs : int, optional
        Number of seeds; 3 by default.
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    dask, watch : optional
        As for `narrows.reproduction.reproduce`.

    Returns
    -------
    Reproduction

    Raises
    ------
    narrows.errors.InputError
        If `out` cannot be created or holds something other than a contest.
    narrows.errors.RunError
        If a run or writing failed.
    narrows.errors.Interrupted
        On Ctrl-C; finished runs are kept.
    """
    held = claim(out, kind=KIND)
    means = Means(jobs, dask, None, watch, progress)
    made = experiment.run(held, quick=quick, runs=_seeds(quick, runs), means=means.part(0.0, _CONTEST_SHARE))
    wanted = [(of, *names) for of in experiment.SETS for names in PAIRS]
    duels = pair.duels(wanted, 1, means.part(_CONTEST_SHARE, 1.0 - _CONTEST_SHARE))
    with staged(held, part="page", alone=False) as folder:
        result = write(folder, made, duels, command=command("contest", quick=quick, runs=runs))
    return result.moved(folder, held)


def estimate(*, quick: bool, runs: int | None, jobs: int | None, dask: str | None) -> Estimate:
    """Estimate how long the contest of `reproduce` takes, by making some of its runs."""
    plans = experiment.planned(quick=quick, runs=_seeds(quick, runs)).values()
    return pilot.total([contest.estimate(plan, jobs=jobs, dask=dask) for plan in plans])


def _seeds(quick: bool, runs: int | None) -> int:
    return runs if runs is not None else (experiment.QUICK_RUNS if quick else experiment.RUNS)


def write(folder: Path, made: Made, duels: list[Duel], command: str) -> Reproduction:
    """Compare, draw and write everything into an existing directory."""
    printed = published.read()
    limited, unlimited = (made.meetings(of) for of in experiment.SETS)
    compared = evaluation.compare(limited, printed)
    names = tuple(name for name in NAMES if any(name in both for both in limited))
    maps = page.maps(printed, compared, limited, unlimited, names)
    files = [path for one in maps for path in heat.draw(folder / "figures", one.name, one.title, one.heats)]
    drawn = charts.draw([pair.figure(duel) for duel in duels], folder / "figures")
    scenario = made.plans["limited"].scenario
    plan = network.of(scenario)
    drawings = topology.write_figures(plan, folder / "figures", TITLE)
    found = claims(limited, unlimited)
    result = Reproduction(
        paper="contest",
        cells=(*(one.cell for one in compared), *evaluation.alone(unlimited, names)),
        claims=tuple(found),
        calibration=text.calibration(scenario),
        text=text.headline(compared, found, made.runs),
        figures=(*drawings, *files, *(path for one in drawn for path in one.files)),
        brief=True,
    )
    shown = page.Shown(result, made, tuple(compared), maps, tuple(duels), tuple(drawn), plan, names, command)
    written = [
        render.write_text(folder / PAGE, page.render(shown)),
        render.write_text(folder / SUMMARY, _dump(result.to_json() | _identity(result, made, compared))),
        render.write_text(folder / CELLS, cells_csv(compared, result.cells[len(compared) :])),
        render.write_text(folder / "scenario.toml", scenario.to_toml()),
    ]
    return replace(result, paths=(*written, *result.figures))


def reproduce_pair(
    out: Target,
    names: tuple[str, str],
    *,
    runs: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
    watch: Watch | None = None,
) -> Reproduction:
    """Run one pair, the first of the two names starting first, and write a page with its curves.

    Parameters
    ----------
    out : Path
        Output directory, written atomically.
    names : pair of str
        The paper's names of variants, or ours, in upper or lower case.
    runs : int, optional
        Number of seeds; 3 by default. The curves are of the first seed.
    jobs, progress
        As for `reproduce`.

    Returns
    -------
    Reproduction
        Its two cells, and its behaviour in both sets.

    Raises
    ------
    narrows.errors.InputError
        If a name is not one of the fifteen, or `out` cannot be used.
    narrows.errors.RunError
        If a run or writing failed.
    """
    first, second = (variant(name).name for name in names)
    seeds = experiment.RUNS if runs is None else runs
    with pending.kept(out) as held, staged(out) as folder:
        means = Means(jobs, dask, held, watch, progress)
        duels = pair.duels([(of, first, second) for of in experiment.SETS], seeds, means)
        result = write_pair(folder, duels, command=_pair_command(first, second, runs))
    return result.moved(folder, out)


def write_pair(folder: Path, duels: list[Duel], command: str) -> Reproduction:
    """Compare, draw and write one pair into an existing directory."""
    limited = duels[0]
    compared = evaluation.compare({limited.names: limited.meeting})
    drawn = charts.draw([pair.figure(duel, wide=True) for duel in duels], folder / "figures")
    result = Reproduction(
        paper="contest",
        cells=(*(one.cell for one in compared), *pair.cells(duels[1:])),
        claims=tuple(examples({limited.names: limited.meeting})),
        calibration={},
        text=text.pair_headline(duels),
        figures=tuple(path for one in drawn for path in one.files),
        curves=tuple(curve for duel in duels for curve in pair.terminal(duel)),
    )
    written = [
        render.write_text(folder / PAGE, page.render_pair(result, duels, drawn, command)),
        render.write_text(folder / SUMMARY, _dump(result.to_json() | {"text": result.text})),
    ]
    written += [
        render.write_text(folder / f"scenario-{duel.of}.toml", duel.runs[0].scenario.to_toml()) for duel in duels
    ]
    return replace(result, paths=(*written, *result.figures))


def cells_csv(compared: list[evaluation.Compared], others: tuple[Cell, ...]) -> str:
    """All cells as CSV: those of the paper, with slips and reasons for differences, then the unpublished ones."""
    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(
        [
            "name",
            "first",
            "second",
            "of",
            "published",
            "measured",
            "low",
            "high",
            "difference_percent",
            "slip",
            "reason",
        ]
    )

    def plain(value: float | None) -> str:
        return "" if value is None else f"{value:.6g}"

    for one in compared:
        cell = one.cell
        numbers = (cell.published, cell.measured, cell.low, cell.high, cell.percent)
        who = (one.printed.first, one.printed.second, one.printed.of)
        rows.writerow([cell.name, *who, *map(plain, numbers), one.printed.slip, text.reason(one) or ""])
    for cell in others:
        _, table, first, second = cell.name.split("/")
        numbers = (None, cell.measured, cell.low, cell.high, None)
        rows.writerow(
            [cell.name, first, second, "first" if table == "table2" else "second", *map(plain, numbers), "", ""]
        )
    return buffer.getvalue()


def _identity(result: Reproduction, made: Made, compared: list[evaluation.Compared]) -> dict[str, Any]:
    return {
        "text": result.text,
        "calibration": result.calibration,
        "seed": made.plans["limited"].seed,
        "runs": made.runs,
        "total": made.total,
        "version": page.version(),
        "within_6_percent": {
            key: {"near": one.near, "total": one.total} for key, one in evaluation.shares(compared).items()
        },
        "digests": {of: joint_digest(one.digest for one in made.records[of]) for of in experiment.SETS},
    }


def _dump(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _pair_command(first: str, second: str, runs: int | None) -> str:
    names = f"{variant(first).cc} {variant(second).cc}"
    return f"narrows reproduce contest --pair {names}" + (f" --runs {runs}" if runs is not None else "")
