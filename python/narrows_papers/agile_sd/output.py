"""The complete reproduction: run the sweeps or read them, compare published and measured figures, write the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows.execution import pilot
from narrows.ownership import AGILE_SD, claim, staged
from narrows.report import charts, network, render, topology
from narrows.reproduction.result import Reproduction, cells_csv
from narrows.scenario import Scenario
from narrows_papers.agile_sd import cells, claims, execute, fairness, figures, page, text
from narrows_papers.agile_sd.arms import scenario
from narrows_papers.agile_sd.flows import FLOWS, TEXTS
from narrows_papers.agile_sd.parts import parts

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.ownership import Target
    from narrows.reproduction import Watch
    from narrows.reproduction.result import Claim
    from narrows.runs import ProgressHook
    from narrows_papers.agile_sd.data import Data

PAGE = "report.html"
SUMMARY = "summary.json"
KIND = AGILE_SD
CELLS = "cells.csv"


@dataclass(frozen=True)
class Found:
    """All claims, grouped by the runs that decide them.

    Attributes
    ----------
    printed : tuple of Claim
        Claims about windows, throughput, losses and intra-fairness, with the parameters as printed.
    inter, round_trips : tuple of Claim
        Claims about fairness between congestion controls, and between round-trip times.
    sack : tuple of Claim
        The claims of `printed`, evaluated with SACK.
    """

    printed: tuple[Claim, ...]
    inter: tuple[Claim, ...]
    round_trips: tuple[Claim, ...]
    sack: tuple[Claim, ...]

    @property
    def all(self) -> tuple[Claim, ...]:
        """The claims that count; those with SACK are shown only for comparison."""
        return (*self.printed, *self.inter, *self.round_trips)


def decide(data: Data) -> Found:
    """Evaluate all claims that these runs cover."""
    return Found(
        printed=tuple(claims.claims(data.printed)),
        inter=tuple(fairness.claims(data.pairs)),
        round_trips=() if data.round_trips is None else tuple(fairness.between_round_trips(data.round_trips)),
        sack=() if data.sack is None else tuple(claims.claims(data.sack)),
    )


def reproduce(
    out: Target,
    *,
    quick: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: ProgressHook | None = None,
    watch: Watch | None = None,
    flows: int = FLOWS,
    page_only: bool = False,
) -> Reproduction:
    """Run the sweeps of the paper and write a page about them.

    Runs are stored in `out` as they end: after an interruption, the same command continues.

    Parameters
    ----------
    out : Path
        Directory for page, `summary.json`, `cells.csv`, `figures/`, scenarios, and the data sets in ``runs/``.
    quick : bool
        Three buffers, the paper's three congestion controls, no packet errors, one seed.
    runs : int, optional
        Seeds of each point; by default 5, and in the side experiments the number in their files.
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster.
    progress : callable, optional
        Called with the completed share of all runs, in [0, 1].
    watch : callable, optional
        Shows each sweep while it runs, instead of `progress`.
    flows : int
        Number of flows in the second and third scenario.
    page_only : bool
        Only rewrite the page from the runs in `out`, of any version.

    Returns
    -------
    Reproduction

    Raises
    ------
    narrows.errors.InputError
        If `out` cannot be created, or holds runs of another sweep or version.
    narrows.errors.RunError
        If a run or writing failed.
    narrows.errors.Interrupted
        On Ctrl-C; finished runs are kept.
    """
    held = claim(out, kind=KIND)
    if page_only:
        data = execute.read(held.directory)
    else:
        wanted = parts(quick=quick, seeds=runs, flows=flows)
        data = execute.run(held, wanted, jobs=jobs, dask=dask, progress=progress, watch=watch)
    with staged(held, part="page", alone=False) as folder:
        result = write(folder, data)
    return result.moved(folder, held)


def estimate(*, quick: bool, runs: int | None, jobs: int | None, dask: str | None, flows: int = FLOWS) -> Estimate:
    """Estimate how long the sweeps of `reproduce` take, by making some of their runs."""
    made = [part.sweep.estimate(jobs=jobs, dask=dask) for part in parts(quick=quick, seeds=runs, flows=flows)]
    return pilot.total(made)


def write(folder: Path, data: Data) -> Reproduction:
    """Compare, draw and write everything into an existing directory."""
    compared = tuple(cells.cells(data))
    found = decide(data)
    drawn = charts.draw(figures.all_of(data), folder / "figures")
    plain = as_run("together", data.flows)
    plan = network.of(plain)
    drawings = topology.write_figures(plan, folder / "figures", text.title(data.flows))
    result = Reproduction(
        paper="agile-sd",
        cells=compared,
        claims=found.all,
        calibration=text.calibration(plain),
        text=text.headline(data, found),
        figures=(*drawings, *(path for one in drawn for path in one.files)),
        curves=figures.for_terminal(data),
        brief=True,
        shown=tuple(cell for cell in compared if cell.published is not None),
        failures=tuple(data.failures),
    )
    shown = page.Shown(result, data, found, tuple(drawn), plan, text.command(data))
    written = [
        render.write_text(folder / PAGE, page.render(shown)),
        render.write_text(folder / SUMMARY, summary_json(result, data, found)),
        render.write_text(folder / CELLS, cells_csv(compared)),
        *(
            render.write_text(folder / f"{name}.toml", as_run(name, data.flows).to_toml())
            for name in page.SCENARIO_FILES
        ),
    ]
    return replace(result, paths=(*written, *result.figures))


def as_run(name: str, flows: int) -> Scenario:
    """Return a scenario with the given number of flows, if it is one in which they vary; the files have four."""
    made = scenario(name)
    if flows == FLOWS or name not in TEXTS:
        return made
    return Scenario.from_text(TEXTS[name](flows, made.text), f"{name}.toml")


def summary_json(result: Reproduction, data: Data, found: Found) -> str:
    """Return the contract's JSON object with identification of the runs."""
    extra = {
        "text": result.text,
        "calibration": result.calibration,
        "runs": data.runs,
        "cpu_s": round(data.cpu_s, 1),
        "version": data.version,
        "failures": list(data.failures),
        "digests": dict(data.digests),
        "with_sack": [{"text": one.text, "holds": one.holds, "measured": one.measured} for one in found.sack],
    }
    return json.dumps(result.to_json() | extra, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
