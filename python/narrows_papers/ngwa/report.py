"""The report: all experiments, published and measured figures, and the page."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.report import network
from narrows.studies.reproduction.request import command
from narrows.studies.reproduction.result import DECIDING_RUNS, Reproduction, by_majority, on_runs, resting
from narrows_papers.frame.execute import Runs
from narrows_papers.frame.report import Contents, Page, Simulated, Topology
from narrows_papers.ngwa import (
    cells,
    claims,
    evidence,
    figures,
    linux,
    linux_claims,
    page,
    rests,
    rounds,
    text,
    window,
    window_claims,
)
from narrows_papers.ngwa.arms import ARMS, scenario
from narrows_papers.ngwa.published import published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from narrows.outcome import Run
    from narrows.studies.reproduction.request import Request
    from narrows_papers.ngwa.linux import Transfers
    from narrows_papers.ngwa.rounds import Rounds
    from narrows_papers.ngwa.window import Window


@dataclass(frozen=True)
class Made:
    """Results of all runs.

    Attributes
    ----------
    every_window : sequence of mapping
        Windows over time by arm, for each seed.
    arms : mapping
        Rounds by arm.
    every_transfer : sequence of Transfers
        The Linux section, for each seed; the window that the paper does not have is in the first alone.
    version : str
    """

    every_window: Sequence[Mapping[str, Window]]
    arms: Mapping[str, Rounds]
    every_transfer: Sequence[Transfers]
    version: str

    @property
    def windows(self) -> Mapping[str, Window]:
        """The windows that are drawn: those of the first seed."""
        return self.every_window[0]

    @property
    def transfers(self) -> Transfers:
        """The transfers that are drawn: those of the first seed."""
        return self.every_transfer[0]


class Ngwa(Simulated[Made]):
    """The paper's experiments; with `quick` 2 rounds instead of 30, and 15 s of the Linux section instead of 120.

    A number of runs is the number of rounds.
    """

    name = "ngwa"

    def runs(self, asked: Request) -> list[Runs[Made]]:
        """Return all runs, as one set."""
        number = asked.runs if asked.runs is not None else (rounds.QUICK_ROUNDS if asked.quick else rounds.ROUNDS)
        seeds = 1 if asked.quick else DECIDING_RUNS
        parts = (
            *(linux.tasks(asked.quick, run) for run in range(seeds)),
            *(window.tasks(run) for run in range(seeds)),
            rounds.tasks(number),
        )

        def collect(made: list[Run]) -> Made:
            ends = list(itertools.accumulate(map(len, parts), initial=0))
            pieces = [made[begin:end] for begin, end in itertools.pairwise(ends)]
            return Made(
                every_transfer=[linux.collect(one, run) for run, one in enumerate(pieces[:seeds])],
                every_window=[window.collect(one) for one in pieces[seeds:-1]],
                arms=rounds.collect(pieces[-1]),
                version=made[0].version,
            )

        return [Runs("ngwa", [task for part in parts for task in part], collect)]

    def contents(self, made: list[Made], asked: Request) -> Contents:
        """Compare with the published figures."""
        (one,) = made
        told = published()
        compared = (
            *cells.of_windows(one.windows, told),
            *cells.of_rounds(one.arms, told),
            *cells.of_linux(one.transfers),
        )
        of_rounds = claims.claims(one.arms, told)
        simulated = (
            *by_majority([window_claims.claims(windows) for windows in one.every_window]),
            *on_runs(
                resting(of_rounds, rests.choices(of_rounds, evidence.search(), told)), len(one.arms["newreno"].rounds)
            ),
        )
        of_linux, variation = (
            tuple(
                by_majority(
                    [
                        linux_claims.claims(transfers, name)
                        for transfers in one.every_transfer
                        if linux.has(transfers, name)
                    ]
                )
            )
            for name in linux.WINDOWS
        )
        plain = scenario()
        result = Reproduction(
            paper="ngwa",
            cells=compared,
            claims=(*simulated, *of_linux, *variation),
            calibration=text.calibration(plain),
            text=text.headline(
                one.windows, one.arms, (*simulated, *of_linux), variation, told, rests.phases(evidence.search())
            ),
            curves=figures.for_terminal(one.windows),
            brief=True,
            shown=tuple(cell for cell in compared if cell.published is not None),
        )
        shown = page.Shown(
            cells=compared,
            windows=one.windows,
            arms=one.arms,
            published=told,
            transfers=one.transfers,
            simulated=simulated,
            of_linux=of_linux,
            variation=variation,
            scenario=plain,
            version=one.version,
            quick=asked.quick,
            window_runs=len(one.every_window),
        )
        return Contents(
            result=result,
            page=Page("ngwa.html.j2", "NGWA: published beside measured – Narrows", one.version, page.context(shown)),
            summary={"text": result.text, "calibration": result.calibration, **_identity(one, plain.seed)},
            command=command("ngwa", quick=asked.quick, runs=asked.runs),
            figures=[
                figures.of_windows(one.windows),
                *figures.of_rates(one.arms),
                figures.of_counts(compared),
                *(figure for name in linux.WINDOWS for figure in figures.of_linux(one.transfers, name)),
            ],
            topology=Topology(network.of(plain), "NGWA: four pairs"),
            files={"scenario.toml": plain.to_file(), "linux.toml": linux.scenario().to_file()},
        )


def _identity(made: Made, seed: int) -> dict[str, Any]:
    return {
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


REPORT: Final = Ngwa()
