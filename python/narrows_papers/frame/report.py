"""What a paper fills in for each of its reports: the runs, and the contents of the files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from narrows.base.errors import InputError
from narrows.ownership import RESULTS
from narrows.studies.reproduction.result import cells_csv
from narrows_papers.frame import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from narrows.execution.forecast import Estimate
    from narrows.execution.means import Means
    from narrows.ownership import Claim
    from narrows.report.charts import Figure
    from narrows.report.layout import Network
    from narrows.studies.reproduction.request import Request
    from narrows.studies.reproduction.result import Cell, Reproduction
    from narrows_papers.frame.execute import Runs

M = TypeVar("M")
"""The results of all runs of a report."""

T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """A page, without what all pages show: headline, claims, cells, calibration, charts, topology and command.

    Attributes
    ----------
    template : str
        File name of the template.
    title, version : str
        Title, and version of the engine that made the runs.
    context : mapping
        Further values for the template; they take precedence.
    """

    template: str
    title: str
    version: str
    context: Mapping[str, Any]


@dataclass(frozen=True)
class Topology:
    """The drawing of a network: its title in the files, and on the page if that differs."""

    network: Network
    title: str
    page_title: str | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The contents of a report's files.

    Attributes
    ----------
    result : Reproduction
        Cells and claims; without paths.
    page : Page
    summary : mapping
        Keys of `summary.json` besides those of `Reproduction.to_json`.
    command : str
        The command that makes this report.
    figures : sequence of Figure
        Charts, on the page and as files.
    topology : Topology or None
        Network to draw.
    files : mapping of str to str
        Text of further files, such as scenarios as run, by name.
    csv : callable or None
        Returns the text of `cells.csv`; `None` if that file is not written.
    draw : callable or None
        Writes figures that are not charts into a directory and returns their paths.
    keep : callable or None
        Writes further files into the report's directory and returns their paths.
    """

    result: Reproduction
    page: Page
    summary: Mapping[str, Any]
    command: str
    figures: Sequence[Figure] = ()
    topology: Topology | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    csv: Callable[[Sequence[Cell]], str] | None = cells_csv
    draw: Callable[[Path], Sequence[Path]] | None = None
    keep: Callable[[Path], Sequence[Path]] | None = None


class Report(ABC, Generic[M]):
    """A report of a paper.

    Attributes
    ----------
    name : str
        The paper and the option that chooses the report, as on the command line.
    kind : str
        Kind of the output directory. A directory of results is written whole; one of another kind keeps the runs too,
        and only its page is replaced.
    """

    name: str
    kind: ClassVar[str] = RESULTS

    @abstractmethod
    def run(self, asked: Request, means: Means, out: Claim) -> M:
        """Make the missing runs.

        Parameters
        ----------
        asked : Request
        means : Means
            How simulations are executed.
        out : Claim
            Output directory, for reports that keep their runs there.
        """

    @abstractmethod
    def contents(self, made: M, asked: Request) -> Contents:
        """Return the contents of the report's files."""

    def estimate(self, asked: Request) -> Estimate:  # noqa: ARG002 - for reports that have one
        """Estimate how long `run` takes, by making some of its runs.

        Raises
        ------
        InputError
            If the report has no estimate, because its runs are live.
        """
        message = f"{self.name}: has no estimate; it prints its duration before it begins"
        raise InputError(message)


class Simulated(Report["list[T]"], Generic[T]):
    """A report of simulations that are neither a contest nor a sweep."""

    @abstractmethod
    def runs(self, asked: Request) -> list[Runs[T]]:
        """Return the sets of runs, in the order in which they are made."""

    def run(self, asked: Request, means: Means, out: Claim) -> list[T]:  # noqa: ARG002 - `means` knows where runs are kept
        """Make all sets of runs, one after another, and return what each set gave."""
        sets = self.runs(asked)
        whole = sum(one.work for one in sets)
        done, made = 0.0, []
        for one in sets:
            share = one.work / whole
            made.append(execute.run_set(one, means.part(done, share)))
            done += share
        return made

    def estimate(self, asked: Request) -> Estimate:
        """Estimate how long `run` takes, by making some of its runs."""
        tasks = [task for one in self.runs(asked) for task in one.tasks]
        return execute.estimate(tasks, jobs=asked.jobs, dask=asked.dask)
