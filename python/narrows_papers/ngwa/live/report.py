"""The report: live and simulated runs, the verdicts, and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.base.errors import InputError
from narrows.ownership import NGWA_LIVE
from narrows.studies.reproduction.request import command
from narrows.studies.reproduction.result import Reproduction
from narrows_papers.frame.report import Contents, Page, Report
from narrows_papers.ngwa.live import figures, page, plan, result
from narrows_papers.ngwa.live.execute import Made, execute

if TYPE_CHECKING:
    from narrows.execution.means import Means
    from narrows.ownership import Claim
    from narrows.studies.reproduction.request import Request


class NgwaLive(Report[Made]):
    """The paper's Linux section on this machine's own TCP stack; with `quick` 15 s in steady state instead of 120.

    Its cells have no published values: the paper's rates are in figures that are lost. The number of runs must be 1:
    intervals are computed by batch means within a run, as in the paper.
    """

    name = "ngwa --live"
    kind = NGWA_LIVE

    def run(self, asked: Request, means: Means, out: Claim) -> Made:  # noqa: ARG002 - live runs are no simulations
        """Make the missing live runs, whose records are stored in `out` as they end, and the simulations."""
        if asked.runs not in (None, 1):
            message = f"runs is {asked.runs}; allowed with live of ngwa: 1, since its intervals are taken within a run"
            raise InputError(message)
        return execute(plan.jobs(_lengths(asked)), out, asked)

    def contents(self, made: Made, asked: Request) -> Contents:
        """Decide the claims, live and simulated."""
        lengths = _lengths(asked)
        jobs = plan.jobs(lengths)
        both = result.worlds(made, lengths)
        distrusted = sum(bool(record.doubts) for record in made.live.values())
        version = str(_core.version())
        reproduction = Reproduction(
            paper="ngwa",
            cells=tuple(result.cells(both, jobs)),
            claims=result.claims(both),
            calibration={},
            text=result.headline(both, distrusted, asked.quick),
            brief=True,
            conditions=tuple(one.conditions for one in made.live.values() if one.conditions is not None),
            doubts=result.doubts(made, jobs),
        )
        return Contents(
            result=reproduction,
            page=Page(
                "ngwa-live.html.j2",
                "NGWA on this machine's Linux – Narrows",
                version,
                page.context(page.Shown(both, made, jobs, lengths, asked.quick)),
            ),
            summary={
                "text": reproduction.text,
                "quick": asked.quick,
                "version": version,
                "digests": {
                    "live": {job.name: made.live[job.name].digest for job in jobs},
                    "simulated": {job.name: made.simulated[job.name].digest for job in jobs},
                },
            },
            command=command(self.name, quick=asked.quick, runs=None),
            figures=figures.draw({name: world.transfers for name, world in both.items()}),
            files={file.name: file.read_text(encoding="utf-8") for file in sorted(plan.files().glob("*.toml"))},
        )


def _lengths(asked: Request) -> plan.Lengths:
    return plan.QUICK if asked.quick else plan.FULL


REPORT: Final = NgwaLive()
