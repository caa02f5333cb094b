"""The report: every question's runs, figures and conclusions, and the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.outcome import joint_digest
from narrows.studies.reproduction.request import command
from narrows.studies.reproduction.result import Cell, Claim, Reproduction, on_runs
from narrows_papers.frame.beyond.question import written
from narrows_papers.frame.report import Contents, Page, Simulated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.studies.reproduction.request import Request
    from narrows_papers.frame.beyond.question import Question, Results, Section
    from narrows_papers.frame.execute import Runs


RULE: Final = "means over the seeds, by any amount that the text does not bound"
"""How an expectation is decided that names no rule of its own."""


@dataclass(frozen=True)
class About:
    """The page's own words.

    Attributes
    ----------
    paper : str
        Name of the paper on the command line, which is also that of its directory of experiments.
    scheme : str
        Name of the scheme, for headings.
    subtitle : str
        What the scheme is and what is asked, in two sentences.
    note : str
        Explanation of the arms, below the table of expectations.
    expected : str
        Where the expectations come from, as a clause.
    limits, sources : tuple of str
        What the reader has to keep in mind; where the statements come from.
    """

    paper: str
    scheme: str
    subtitle: str
    note: str
    expected: str
    limits: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, its runs, and the conclusions."""

    question: Question
    results: Results
    section: Section


class Beyond(Simulated["Results"]):
    """Experiments that a paper leaves open; its cells have no published values. With `quick` fewer arms, one seed.

    A number of runs is the number of seeds of each arm; by default the question chooses.

    Parameters
    ----------
    about : About
        The page's own words.
    questions : sequence of Question
        All questions, in the order in which they are run and shown.
    work : mapping
        Approximate relative duration of each question by its key, for the progress bar.
    """

    def __init__(self, about: About, questions: Sequence[Question], work: Mapping[str, float]) -> None:
        self.name = f"{about.paper} --beyond"
        self.about = about
        self.questions = tuple(questions)
        self.work = work

    def runs(self, asked: Request) -> list[Runs[Results]]:
        """Return the runs, a set for each question."""
        return [one.runs(asked.quick, asked.runs, self.work[one.key]) for one in self.questions]

    def contents(self, made: list[Results], asked: Request) -> Contents:
        """Draw the conclusions."""
        both = zip(self.questions, made, strict=True)
        answers = [
            Answer(question, results, _decided(question.section(results), results)) for question, results in both
        ]
        result = Reproduction(
            paper=self.about.paper,
            cells=tuple(cell for one in answers for cell in cells(one.question, one.results)),
            claims=tuple(claim for one in answers for claim in one.section.claims),
            calibration={one.question.title: one.question.setting for one in answers},
            text=headline(answers, self.about.expected),
            brief=True,
        )
        version = str(_core.version())
        title = f"{self.about.scheme} beyond its paper – Narrows"
        return Contents(
            result=result,
            page=Page("beyond.html.j2", title, version, context(self.about, answers)),
            summary={
                "text": result.text,
                "conclusions": {one.question.key: list(one.section.conclusion) for one in answers},
                "seeds": {one.question.key: one.results.seeds for one in answers},
                "version": version,
                "digests": {one.question.key: joint_digest(one.results.digests) for one in answers},
            },
            command=command(self.name, quick=asked.quick, runs=asked.runs),
            figures=[figure for one in answers for figure in one.section.figures],
            files={f"{one.question.key}.toml": one.question.file.read_text(encoding="utf-8") for one in answers},
        )


def _decided(section: Section, results: Results) -> Section:
    """Return the section with the number of runs that its claims rest on."""
    claims = (replace(one, rule=one.rule or RULE) for one in on_runs(section.claims, results.seeds))
    return replace(section, claims=tuple(claims))


def cells(question: Question, results: Results) -> list[Cell]:
    """Return a cell for every number of every arm."""
    made = []
    for key in results.arms:
        for name, unit in question.units.items():
            found = results.of(key, name)
            if found.n:
                made.append(Cell.of("/".join((question.key, *key, name)), None, found, unit))
    return made


def headline(answers: Sequence[Answer], expected: str) -> str:
    """Summarise in one paragraph how many expectations held, and which did not."""
    claims = [claim for one in answers for claim in one.section.claims]
    failing = [_short(claim) for claim in claims if claim.verdict == "differs"]
    verdicts = [claim.verdict for claim in claims]
    undecided = verdicts.count("undecided")
    seeds = sorted({one.results.seeds for one in answers})
    over = (
        "one seed"
        if seeds == [1]
        else f"{' to '.join(map(str, (seeds[0], seeds[-1]))) if len(seeds) > 1 else seeds[0]} seeds"
    )
    runs = sum(len(one.results.digests) for one in answers)
    asked = "One question" if len(answers) == 1 else f"{len(answers)} questions"
    text = (
        f"{asked} that the paper leaves open, {runs:,} runs, {over} for each arm. Of {len(claims)} expectations "
        f"{expected} {verdicts.count('holds')} hold" + (f", {undecided} are undecided" if undecided else "")
    )
    return f"{text}." if not failing else f"{text}; these do not: {'; '.join(failing)}."


def context(about: About, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what the page shows besides what all pages do."""
    return {
        "sections": [_section(one) for one in answers],
        "scheme": about.scheme,
        "subtitle": about.subtitle,
        "note": about.note,
        "limits": about.limits,
        "sources": about.sources,
    }


def _section(answer: Answer) -> dict[str, Any]:
    question, results, section = answer.question, answer.results, answer.section
    return {
        "key": question.key,
        "title": question.title,
        "asks": question.asks,
        "setting": question.setting,
        "conclusion": section.conclusion,
        "claims": section.claims,
        "tables": section.tables,
        "charts": [figure.name for figure in section.figures],
        "file": where(question),
        "seeds": results.seeds,
        "runs": len(results.digests),
        "commands": [
            f"narrows run {where(question)} {written(arm.overrides)}".rstrip()
            for arm in question.arms(False)
            if arm.key in results.arms
        ],
    }


def where(question: Question) -> str:
    """Path of a question's scenario file, as a user writes it."""
    return f"experiments/{question.paper}/{question.scenario or f'beyond/{question.key}.toml'}"


def _short(claim: Claim) -> str:
    return f"“{claim.text.split(' (')[0].split(': ')[0]}”"
