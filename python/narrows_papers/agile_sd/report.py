"""The report: the sweeps, published and measured figures, and the page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from narrows.execution import pilot
from narrows.model.scenario import Scenario
from narrows.ownership import AGILE_SD
from narrows.report import network
from narrows.studies.reproduction.result import Reproduction, resting
from narrows_papers.agile_sd import cells, execute, factor, figures, page, rests, text
from narrows_papers.agile_sd.arms import scenario
from narrows_papers.agile_sd.claimed import decide
from narrows_papers.agile_sd.data import Data
from narrows_papers.agile_sd.flows import FLOWS, TEXTS
from narrows_papers.agile_sd.parts import parts
from narrows_papers.frame.report import Contents, Page, Report, Topology

if TYPE_CHECKING:
    from narrows.execution.forecast import Estimate
    from narrows.execution.means import Means
    from narrows.ownership import Claim
    from narrows.studies.reproduction.request import Request
    from narrows_papers.agile_sd.parts import Part


class AgileSd(Report[Data]):
    """The paper's sweeps, whose data sets are in ``runs`` of the output; `page_only` reads those of any version.

    With `quick` three buffers, the paper's three congestion controls, no packet errors, one seed. A number of runs is
    the number of seeds of each point: by default 5, and in the side experiments the number in their files.
    """

    name = "agile-sd"
    kind = AGILE_SD

    def run(self, asked: Request, means: Means, out: Claim) -> Data:  # noqa: ARG002 - sweeps have progress of their own
        """Make the missing runs of all sweeps, or read those that are there."""
        if asked.page_only:
            return execute.read(out.directory)
        return execute.run(out, _parts(asked), asked)

    def estimate(self, asked: Request) -> Estimate:
        """Estimate how long the sweeps take, by making some of their runs."""
        return pilot.total([part.sweep.estimate(jobs=asked.jobs, dask=asked.dask) for part in _parts(asked)])

    def contents(self, made: Data, asked: Request) -> Contents:  # noqa: ARG002 - existing runs say what was asked for
        """Compare with the published figures."""
        compared = tuple(cells.cells(made))
        factors = factor.traces()
        decided = decide(made)
        found = replace(decided, printed=tuple(resting(decided.printed, rests.choices(decided))))
        plain = as_run("together", made.flows)
        result = Reproduction(
            paper="agile-sd",
            cells=compared,
            claims=found.all,
            calibration=text.calibration(plain),
            text=text.headline(made, found, rests.linux_cubic()),
            curves=figures.for_terminal(made),
            brief=True,
            shown=tuple(cell for cell in compared if cell.published is not None),
            failures=tuple(made.failures),
        )
        return Contents(
            result=result,
            page=Page(
                "agile-sd.html.j2",
                "Agile-SD: published beside measured – Narrows",
                made.version,
                page.context(made, found) | factor.context(factors),
            ),
            summary={
                "text": result.text,
                "calibration": result.calibration,
                "runs": made.runs,
                "cpu_s": round(made.cpu_s, 1),
                "version": made.version,
                "failures": list(made.failures),
                "digests": dict(made.digests),
                "with_sack": [one.to_json() for one in found.sack],
            },
            command=text.command(made),
            figures=[*figures.all_of(made), *factor.figures(factors)],
            topology=Topology(network.of(plain), text.title(made.flows)),
            files={f"{name}.toml": as_run(name, made.flows).to_file() for name in page.SCENARIO_FILES},
        )


def _parts(asked: Request) -> tuple[Part, ...]:
    return parts(quick=asked.quick, seeds=asked.runs, flows=FLOWS if asked.flows is None else asked.flows)


def as_run(name: str, flows: int) -> Scenario:
    """Return a scenario with the given number of flows, if it is one in which they vary; the files have four."""
    made = scenario(name)
    if flows == FLOWS or name not in TEXTS:
        return made
    return Scenario.from_text(TEXTS[name](flows, made.text), f"{name}.toml")


REPORT: Final = AgileSd()
