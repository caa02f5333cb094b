"""The report of one pair: both sets of runs, and their curves over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.studies.reproduction.result import Reproduction, on_runs
from narrows_papers.contest import evaluation, experiment, page, pair, text
from narrows_papers.contest.claims import examples
from narrows_papers.contest.variants import variant
from narrows_papers.frame.report import Contents, Page, Simulated

if TYPE_CHECKING:
    from narrows.studies.reproduction.request import Request
    from narrows_papers.contest.pair import Duel
    from narrows_papers.frame.execute import Runs


class Pair(Simulated["list[Duel]"]):
    """One pair, the first of the two names starting first; curves are of the first seed.

    Names are the paper's or ours, in upper or lower case. A number of runs is the number of seeds: 3 by default, with
    `quick` 1.
    """

    name = "contest --pair"

    def runs(self, asked: Request) -> list[Runs[list[Duel]]]:
        """Return the runs of the pair in both sets."""
        first, second = _names(asked)
        seeds = _seeds(asked)
        wanted = [(of, first, second) for of in experiment.SETS]
        return [pair.runs(wanted, experiment.RUNS["limited"] if seeds is None else seeds)]

    def contents(self, made: list[list[Duel]], asked: Request) -> Contents:
        """Compare with the paper's tables."""
        (duels,) = made
        limited = duels[0]
        compared = evaluation.compare({limited.names: limited.meeting})
        result = Reproduction(
            paper="contest",
            cells=(*(one.cell for one in compared), *pair.cells(duels[1:])),
            claims=tuple(on_runs(examples({limited.names: limited.meeting}), limited.meeting.seeds)),
            calibration={},
            text=text.pair_headline(duels),
            curves=tuple(curve for duel in duels for curve in pair.terminal(duel)),
        )
        first, second = limited.names
        return Contents(
            result=result,
            page=Page(
                "contest-pair.html.j2",
                f"{first} against {second} – Narrows",
                page.version(),
                page.pair_context(duels),
            ),
            summary={"text": result.text},
            command=_command(asked),
            figures=[pair.figure(duel, wide=True) for duel in duels],
            files={f"scenario-{duel.of}.toml": duel.runs[0].scenario.to_file() for duel in duels},
            csv=None,
        )


def _names(asked: Request) -> tuple[str, str]:
    if asked.pair is None:
        message = "pair is missing; allowed: two names of variants"
        raise InputError(message)
    first, second = (variant(name).name for name in asked.pair)
    return first, second


def _seeds(asked: Request) -> int | None:
    return 1 if asked.quick and asked.runs is None else asked.runs


def _command(asked: Request) -> str:
    names = " ".join(variant(name).cc for name in _names(asked))
    seeds = _seeds(asked)
    return f"narrows reproduce contest --pair {names}" + (f" --runs {seeds}" if seeds is not None else "")


REPORT: Final = Pair()
