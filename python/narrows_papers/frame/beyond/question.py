"""A question that the paper leaves open: scenario file, overrides, measurements, and conclusions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from narrows.base import bundled
from narrows.model.scenario import Scenario
from narrows.runs.simulated import Task
from narrows.stats import Estimate, mean_ci, paired_difference
from narrows_papers.frame.execute import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from narrows.model.scenario import Override
    from narrows.outcome import Run
    from narrows.report.charts import Figure
    from narrows.studies.reproduction.result import Claim

Key = tuple[str, ...]
"""Key of an arm within its question, such as ``("cubic", "6")``."""

Numbers = dict[str, float]
"""Results of one run, by name; NaN means "no value"."""


@dataclass(frozen=True)
class Arm:
    """One variant of a scenario.

    Attributes
    ----------
    key : Key
        Key of the arm.
    overrides : dict
        Overrides of the scenario file, by path of the field.
    """

    key: Key
    overrides: dict[str, Override]


@dataclass(frozen=True)
class Table:
    """A table of words and numbers; the first column labels the rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """The results of a question.

    Attributes
    ----------
    conclusion : tuple of str
        Paragraphs, generated from the runs.
    claims : tuple of Claim
        Expectations, and whether they hold.
    tables : tuple of Table
    figures : tuple of Figure
    """

    conclusion: tuple[str, ...]
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of a question.

    Attributes
    ----------
    arms : mapping
        Results of each run by key of the arm, in the order of seeds.
    shown : mapping
        The first run of each arm that is drawn over time.
    digests : tuple of str
        Digests of all runs, in order.
    """

    arms: Mapping[Key, Sequence[Numbers]]
    shown: Mapping[Key, Run] = field(default_factory=dict)
    digests: tuple[str, ...] = ()

    @property
    def seeds(self) -> int:
        """Number of runs of each arm."""
        return max((len(rows) for rows in self.arms.values()), default=0)

    def of(self, key: Key, name: str) -> Estimate:
        """Mean of a quantity over the seeds, with its 95 % interval; NaN if the arm was not run."""
        return mean_ci(row.get(name, math.nan) for row in self.arms.get(key, ()))

    def mean(self, key: Key, name: str) -> float:
        """Mean of a quantity over the seeds."""
        return self.of(key, name).mean

    def change(self, base: Key, key: Key, name: str) -> Estimate:
        """Increase of a quantity from one arm to another under the same seeds, with its 95 % interval."""
        before, after = ([row.get(name, math.nan) for row in self.arms.get(one, ())] for one in (base, key))
        return paired_difference(before, after).difference

    def has(self, key: Key) -> bool:
        """Whether the arm was run."""
        return key in self.arms


@dataclass(frozen=True)
class Question:
    """An open question, and how it is answered.

    Attributes
    ----------
    paper : str
        Name of the paper's directory of experiments.
    key, title : str
        Name in the cells and of the scenario file, and heading.
    asks : str
        The paper's statement, with its letter.
    setting : str
        The network and the measurements, in words.
    arms : callable
        Returns the arms: all of them, or some for a quick experiment.
    measure : callable
        Returns the results of a run.
    units : mapping
        Units of the quantities that become cells.
    section : callable
        Returns the section of the results.
    seeds : int
        Number of runs of each arm.
    shown : tuple of Key
        Arms whose first run is kept.
    scenario : str
        The scenario file, relative to the paper's experiments; by default that of the key below `beyond`.
    """

    paper: str
    key: str
    title: str
    asks: str
    setting: str
    arms: Callable[[bool], list[Arm]]
    measure: Callable[[Run], Numbers]
    units: Mapping[str, str]
    section: Callable[[Results], Section]
    seeds: int = 5
    shown: tuple[Key, ...] = ()
    scenario: str = ""

    @property
    def file(self) -> Path:
        """The scenario file."""
        if self.scenario:
            return bundled.directory(f"experiments/{self.paper}") / self.scenario
        return folder(self.paper) / f"{self.key}.toml"

    def runs(self, quick: bool, runs: int | None, work: float) -> Runs[Results]:
        """Return the runs of all arms, arm by arm.

        Parameters
        ----------
        quick : bool
            Fewer arms, and one seed.
        runs : int or None
            Number of seeds.
        work : float
            Work relative to that of the other questions.
        """
        base = Scenario.from_file(self.file)
        arms = self.arms(quick)
        seeds = runs if runs is not None else (1 if quick else self.seeds)
        tasks = [
            Task(scenario, base.seed, index)
            for scenario in (base.with_overrides(arm.overrides) for arm in arms)
            for index in range(seeds)
        ]

        def collect(made: list[Run]) -> Results:
            grouped = {arm.key: made[i * seeds : (i + 1) * seeds] for i, arm in enumerate(arms)}
            return Results(
                {key: tuple(self.measure(run) for run in some) for key, some in grouped.items()},
                {key: grouped[key][0] for key in self.shown if key in grouped},
                tuple(run.digest for run in made),
            )

        return Runs(f"{self.paper} --beyond: {self.key}", tasks, collect, work)


def folder(paper: str) -> Path:
    """Directory of the scenario files of a paper's questions."""
    return bundled.directory(f"experiments/{paper}") / "beyond"


def written(overrides: Mapping[str, Override]) -> str:
    """Format overrides as command-line options.

    >>> written({"ngwa.mode": 5, "tcp.window_scaling": False, "queue.limit": "97 kB"})
    "--set ngwa.mode=5 --set tcp.window_scaling=false --set queue.limit='97 kB'"
    """
    import shlex

    def one(value: Override) -> str:
        return str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))

    return " ".join(f"--set {shlex.quote(path).strip(chr(39))}={one(value)}" for path, value in overrides.items())


def average(values: Sequence[float]) -> float:
    """Mean of the values that are not NaN; NaN if there are none.

    >>> average([1.0, 3.0, math.nan])
    2.0
    """
    present = [value for value in values if not math.isnan(value)]
    return fmean(present) if present else math.nan
