"""The report: both sets of runs, published and measured matrices, and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from narrows import contest
from narrows.execution import pilot
from narrows.outcome import joint_digest
from narrows.ownership import CONTEST
from narrows.report import network
from narrows.studies.reproduction.request import command
from narrows.studies.reproduction.result import Reproduction, resting
from narrows_papers.contest import evaluation, evidence, experiment, heat, page, pair, published, rests, table, text
from narrows_papers.contest.claims import claims
from narrows_papers.contest.variants import NAMES, PAIRS
from narrows_papers.frame.execute import run_set
from narrows_papers.frame.report import Contents, Page, Report, Topology

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.execution.means import Means
    from narrows.ownership import Claim
    from narrows.studies.reproduction.request import Request
    from narrows.studies.reproduction.result import Cell
    from narrows_papers.contest.evaluation import Readings
    from narrows_papers.contest.experiment import Made
    from narrows_papers.contest.pair import Duel

_CONTEST_SHARE = 0.97
"""Share of the work for the contest; the rest is for the pairs that are drawn."""


class Both(NamedTuple):
    """The contest, and the runs of the pairs that are drawn over time."""

    made: Made
    duels: list[Duel]


class Contest(Report[Both]):
    """Every pair in both starting orders, with the window limit and without; records of runs are in ``runs.jsonl``.

    With `quick` the seven variants of the paper's figures, in one order, with one seed. A number of runs is the number
    of seeds; by default 5 with the window limit, 3 without.
    """

    name = "contest"
    kind = CONTEST

    def run(self, asked: Request, means: Means, out: Claim) -> Both:
        """Make the missing runs of the contest, and those of the pairs."""
        part = means.part(0.0, _CONTEST_SHARE)
        made = experiment.run(out, quick=asked.quick, runs=_seeds(asked), means=part)
        wanted = [(of, *names) for of in experiment.SETS for names in PAIRS]
        return Both(made, run_set(pair.runs(wanted, 1), means.part(_CONTEST_SHARE, 1.0 - _CONTEST_SHARE)))

    def estimate(self, asked: Request) -> Estimate:
        """Estimate how long the contest takes, by making some of its runs."""
        plans = experiment.planned(quick=asked.quick, runs=_seeds(asked)).values()
        return pilot.total([contest.estimate(plan, jobs=asked.jobs, dask=asked.dask) for plan in plans])

    def contents(self, made: Both, asked: Request) -> Contents:
        """Compare with the paper's tables."""
        runs, duels = made
        printed = published.read()
        limited, unlimited = (runs.meetings(of) for of in experiment.SETS)
        readings = evaluation.readings(limited, printed)
        compared = readings.read
        names = tuple(name for name in NAMES if any(name in both for both in limited))
        maps = page.maps(printed, compared, limited, unlimited, names)
        scenario = runs.plans["limited"].scenario
        decided = claims(limited, unlimited)
        found = resting(decided, rests.choices(decided, evidence.search()))
        result = Reproduction(
            paper="contest",
            cells=(*(one.cell for one in compared), *evaluation.alone(unlimited, names)),
            claims=tuple(found),
            calibration=text.calibration(scenario),
            text=text.headline(readings, found, runs.runs, rests.score(readings, evidence.search())),
            brief=True,
        )

        def cells_csv(cells: Sequence[Cell]) -> str:
            return table.cells_csv(compared, cells[len(compared) :])

        def draw(folder: Path) -> list[Path]:
            return [path for one in maps for path in heat.draw(folder, one.name, one.title, one.heats)]

        return Contents(
            result=result,
            page=Page(
                "contest-of-fifteen.html.j2",
                "Fifteen variants in pairs: published beside measured – Narrows",
                page.version(),
                page.context(page.Shown(found, runs, readings, maps, duels, names)),
            ),
            summary={"text": result.text, "calibration": result.calibration, **_identity(runs, readings)},
            command=command("contest", quick=asked.quick, runs=asked.runs),
            figures=[pair.figure(duel) for duel in duels],
            topology=Topology(
                network.of(scenario),
                "Contest of fifteen variants: two wired hosts, one 802.11 channel",
                page_title="Two wired hosts, two stations",
            ),
            files={"scenario.toml": scenario.to_file()},
            csv=cells_csv,
            draw=draw,
        )


def _seeds(asked: Request) -> int | None:
    return experiment.QUICK_RUNS if asked.runs is None and asked.quick else asked.runs


def _identity(made: Made, readings: Readings) -> dict[str, Any]:
    return {
        "seed": made.plans["limited"].seed,
        "runs": made.runs,
        "total": made.total,
        "version": page.version(),
        "within_6_percent": {
            key: {"near": one.near, "total": one.total}
            for key, one in (
                *evaluation.shares(readings.read).items(),
                ("captions", evaluation.share(readings.captioned)),
                ("table3_by_row", evaluation.share(readings.by_row)),
            )
        },
        "digests": {of: joint_digest(one.digest for one in made.records[of]) for of in experiment.SETS},
    }


REPORT: Final = Contest()
