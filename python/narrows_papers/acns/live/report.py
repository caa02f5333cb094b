"""The report: live and simulated runs beside the published figures, and the page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from narrows.report import network
from narrows.store import results
from narrows.studies.reproduction.request import command
from narrows.studies.reproduction.result import Reproduction
from narrows_papers.acns.live import cells as figures_of
from narrows_papers.acns.live import claims as decided
from narrows_papers.acns.live import figures, measured, page, text
from narrows_papers.acns.live.measured import Measured
from narrows_papers.acns.text import TOPOLOGY
from narrows_papers.frame.report import Contents, Page, Report, Topology
from narrows_papers.frame.write import SUMMARY

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.execution.means import Means
    from narrows.ownership import Claim
    from narrows.studies.reproduction.request import Request

RUNS: Final = "live"
"""Directory of the live runs, a result directory for each, because live runs cannot be repeated exactly."""


class AcnsLive(Report[Measured]):
    """The evaluation and a demonstration on this machine's own TCP stack, and simulated; with `quick` shorter runs.

    A number of runs is that of live runs per arm, 1 by default.
    """

    name = "acns --live"

    def run(self, asked: Request, means: Means, out: Claim) -> Measured:  # noqa: ARG002 - `means` knows where runs are kept
        """Make the missing live runs, and all simulations."""
        return measured.run(asked, means.keep)

    def contents(self, made: Measured, asked: Request) -> Contents:
        """Compare with the published figures."""
        cells = figures_of.cells(made)
        of_paper, of_demonstration = decided.claims(made)
        claims = [*of_paper, *of_demonstration]
        evaluated = made.live.evaluation.acns
        result = Reproduction(
            paper="acns",
            cells=tuple(cells),
            claims=tuple(claims),
            calibration=text.calibration(made),
            text=text.headline(made, cells, claims),
            brief=True,
            shown=tuple(figures_of.shown(cells)),
            conditions=made.conditions,
            doubts=made.doubts,
        )
        return Contents(
            result=result,
            page=Page(
                "acns-live.html.j2",
                "ACNS on Linux's own TCP: published, simulated and live – Narrows",
                evaluated.version,
                page.context(result, made, (of_paper, of_demonstration)),
            ),
            summary=_summary(result, made),
            command=command(self.name, quick=asked.quick, runs=asked.runs),
            figures=figures.all_figures(made),
            topology=Topology(network.of(evaluated.scenario), TOPOLOGY),
            files={
                "scenario.toml": evaluated.scenario.to_file(),
                "demonstration.toml": made.live.demonstration.acns.scenario.to_file(),
            },
            keep=partial(_keep, made),
        )


def _keep(made: Measured, folder: Path) -> list[Path]:
    """Write the live runs as result directories, and return the paths of their summaries."""
    kept = []
    for name, batch in made.live.parts:
        where = folder / RUNS / name.replace(" ", "-").lower()
        where.mkdir(parents=True)
        results.fill(batch, where)
        kept.append(where / SUMMARY)
    return kept


def _summary(result: Reproduction, made: Measured) -> dict[str, Any]:
    evaluated = made.live.evaluation.acns
    return {
        "live": True,
        "quick": made.quick,
        "text": result.text,
        "calibration": result.calibration,
        "seed": evaluated.seed,
        "runs": {name: len(made.world(name).evaluation.acns.runs) for name in measured.WORLDS},
        "version": evaluated.version,
        "digests": {name: {part: batch.digest for part, batch in made.world(name).parts} for name in measured.WORLDS},
    }


REPORT: Final = AcnsLive()
