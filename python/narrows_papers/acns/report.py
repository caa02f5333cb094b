"""The report: both experiments, published and measured figures, and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from narrows.report import network
from narrows.studies.reproduction.request import command
from narrows.studies.reproduction.result import Reproduction, on_runs, resting
from narrows_papers.acns import ages, decisions, evaluation, evidence, figures, page, rests, text, verification
from narrows_papers.frame.execute import Runs
from narrows_papers.frame.report import Contents, Page, Simulated, Topology

if TYPE_CHECKING:
    from narrows.outcome import Run
    from narrows.studies.reproduction.request import Request


class Made(NamedTuple):
    """Results of both experiments."""

    evaluated: evaluation.Evaluation
    verified: verification.Verification


class Acns(Simulated[Made]):
    """The evaluation (20 runs per arm, 4 with `quick`) and the verification (10 populations, 2 with `quick`).

    With a number of runs, the verification has half as many populations.
    """

    name = "acns"

    def runs(self, asked: Request) -> list[Runs[Made]]:
        """Return the runs of both experiments, as one set."""
        arms, populations = _numbers(asked)
        first = evaluation.tasks(arms)
        seeds = range(1, populations + 1)

        def collect(made: list[Run]) -> Made:
            parts = made[: len(first)], made[len(first) :]
            return Made(evaluation.collect(parts[0]), verification.collect(parts[1], seeds))

        return [Runs("acns", [*first, *verification.tasks(seeds)], collect)]

    def contents(self, made: list[Made], asked: Request) -> Contents:
        """Compare with the published figures."""
        ((evaluated, verified),) = made
        scenario = evaluated.acns.scenario
        cells = evaluation.cells(evaluated, evaluation.Published.read())
        asked_of = evaluation.claims(evaluated)
        claims = [
            *on_runs(resting(asked_of, rests.choices(asked_of, evidence.variations())), len(evaluated.acns.runs)),
            *on_runs(verification.claims(verified), len(verified.seeds)),
        ]
        result = Reproduction(
            paper="acns",
            cells=tuple(cells),
            claims=tuple(claims),
            calibration=text.calibration(scenario),
            text=text.headline(cells, claims, len(evaluated.acns.runs), evidence.variations()),
        )
        return Contents(
            result=result,
            page=Page(
                "acns.html.j2",
                "ACNS: published beside measured – Narrows",
                evaluated.acns.version,
                page.context(result, evaluated, verified),
            ),
            summary={
                "text": result.text,
                "calibration": result.calibration,
                "seed": evaluated.acns.seed,
                "runs": len(evaluated.acns.runs),
                "version": evaluated.acns.version,
                "digests": {arm: evaluated.arm(arm).digest for arm in evaluation.ARMS},
            },
            command=command("acns", quick=asked.quick, runs=asked.runs),
            figures=[
                *figures.of_evaluation(evaluated),
                decisions.figure(decisions.made()),
                *ages.of_evaluation(evaluated),
                figures.of_comparison(cells),
                *figures.of_verification(verified),
            ],
            topology=Topology(network.of(scenario), text.TOPOLOGY),
            files={
                "scenario.toml": scenario.to_file(),
                **{
                    f"verification-{setting}.toml": verification.scenario_text(setting, verified.seeds[0])
                    for setting in verification.SETTINGS
                },
            },
        )


def _numbers(asked: Request) -> tuple[int, int]:
    """Return the runs per arm, and the number of populations of the verification."""
    if asked.runs is not None:
        return asked.runs, max(1, asked.runs // 2)
    if asked.quick:
        return evaluation.QUICK_RUNS, verification.QUICK_SEEDS
    return evaluation.RUNS, verification.SEEDS


REPORT: Final = Acns()
