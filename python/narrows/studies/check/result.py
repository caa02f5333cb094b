"""The result of a check: a verdict for each run of each case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from narrows import _core

if TYPE_CHECKING:
    import pandas as pd

    from narrows.execution.means import Means
    from narrows.ownership import Target
    from narrows.studies.check.outcome import Expectation, Outcome
    from narrows.studies.check.plan import Item, Plan
    from narrows.studies.check.series import Series

Verdict = Literal["passed", "failed", "error", "not applicable"]
"""Of one run: ``error`` if the run itself failed, ``not applicable`` if the case cannot be judged for its control."""

VERDICTS: Final[tuple[Verdict, ...]] = ("passed", "failed", "error", "not applicable")

FORMAT: Final = 1
"""Version of the format of `Check.to_json`."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one run of a case.

    Attributes
    ----------
    item : Item
        What was run.
    verdict : str
        See `Verdict`.
    outcome : Outcome or None
        Steps and expectations; ``None`` if the run failed or was not made.
    reason : str or None
        Why it did not pass, as sentences.
    seconds : float
        Wall-clock time of the run, s; of all its repetitions, if it is live.
    doubts : tuple of str
        Reasons not to trust a live run, a sentence each.
    tries : int
        Number of runs that were made; a live run is repeated while it is not to be trusted.
    series : Series or None
        The variables over time, if they were recorded.
    """

    item: Item
    verdict: Verdict
    outcome: Outcome | None
    reason: str | None
    seconds: float = 0.0
    doubts: tuple[str, ...] = ()
    tries: int = 1
    series: Series | None = None

    @property
    def name(self) -> str:
        """Name of the case."""
        return self.item.name

    @property
    def cell(self) -> str:
        """Label of the cell; ``base`` is the file as it is."""
        return self.item.cell.label

    @property
    def failed(self) -> bool:
        """Whether it fails the check."""
        return self.verdict in ("failed", "error")

    @property
    def shown(self) -> str:
        """The verdict as tables show it: with a mark if the run is not to be trusted."""
        return f"{self.verdict} (doubtful)" if self.doubts else self.verdict

    def first_failure(self) -> Expectation | None:
        """Return the failed expectation that was decided first.

        Returns
        -------
        Expectation or None
        """
        failed = [one for one in (self.outcome.expectations if self.outcome else ()) if one.verdict == "not met"]
        return min(failed, key=lambda one: one.decided_s or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class Group:
    """All runs of one case for one control.

    Attributes
    ----------
    name, cc : str
    runs : tuple of CaseResult
        In the order of the cells.
    """

    name: str
    cc: str
    runs: tuple[CaseResult, ...]

    @property
    def base(self) -> Verdict | None:
        """Verdict of the file as it is; ``None`` if that was not run."""
        return next((one.verdict for one in self.runs if one.item.cell.is_base), None)

    @property
    def cells(self) -> str:
        """In how many cells of the grid the case is met; empty if none was run."""
        run = [one for one in self.runs if not one.item.cell.is_base]
        return f"{sum(one.verdict == 'passed' for one in run)} of {len(run)}" if run else ""

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The runs that failed."""
        return tuple(one for one in self.runs if one.failed)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check.

    Attributes
    ----------
    plan : Plan
        What was run, and which cells were not.
    cases : tuple of CaseResult
        In the plan's order.
    """

    plan: Plan
    cases: tuple[CaseResult, ...]

    @property
    def passed(self) -> bool:
        """Whether no case failed; cases that do not apply do not count."""
        return not any(one.failed for one in self.cases)

    def count(self, verdict: Verdict) -> int:
        """Return how many runs have a verdict.

        Parameters
        ----------
        verdict : str

        Returns
        -------
        int
        """
        return sum(one.verdict == verdict for one in self.cases)

    def groups(self) -> list[Group]:
        """Return the runs of each case and control.

        Returns
        -------
        list of Group
        """
        found: dict[tuple[str, str], list[CaseResult]] = {}
        for one in self.cases:
            found.setdefault((one.name, one.item.cc), []).append(one)
        return [Group(name, cc, tuple(runs)) for (name, cc), runs in found.items()]

    @property
    def summary(self) -> str:
        """The counts in one line, with the number of cells that were not run."""
        counts = [(self.count(verdict), verdict) for verdict in VERDICTS]
        told = ", ".join(
            f"{number:,} {'errors' if verdict == 'error' and number > 1 else verdict}"
            for number, verdict in counts
            if number or verdict == "passed"
        )
        left = len(self.plan.not_run)
        cells = f"; {left:,} cell{'' if left == 1 else 's'} of the grids not run" if left else ""
        doubted = sum(bool(one.doubts) for one in self.cases)
        trust = f"; {doubted:,} doubtful" if doubted else ""
        more = f"; {self.plan.unselected:,} not selected by -k" if self.plan.unselected else ""
        return told + trust + cells + more

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values; ``docs/json.md`` describes them.

        Returns
        -------
        dict
        """
        return {
            "format": FORMAT,
            "version": _core.version(),
            "live": self.plan.live,
            "passed": self.passed,
            "counts": {verdict: self.count(verdict) for verdict in VERDICTS},
            "cases": [_case(one, self.plan.seed) for one in self.cases],
            "not_run": [
                {"name": one.name, "cc": one.cc, "cell": one.cell.label, "packets": round(one.packets)}
                for one in self.plan.not_run
            ],
            "unselected": self.plan.unselected,
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each step and expectation of each run.

        Returns
        -------
        pandas.DataFrame
            Columns ``case cell cc verdict what name line text time_s outcome reason``; a run without an outcome has
            one row whose ``what`` is ``run``.
        """
        import pandas as pd

        columns = ("case", "cell", "cc", "verdict", "what", "name", "line", "text", "time_s", "outcome", "reason")
        rows = [
            (one.name, one.cell, one.item.cc, one.verdict, *row)
            for one in self.cases
            for row in (_rows(one.outcome) if one.outcome else [("run", "", None, "", None, one.verdict, one.reason)])
        ]
        return pd.DataFrame(rows, columns=list(columns))

    def report(self, directory: Target, means: Means | None = None) -> None:
        """Write the page, ``junit.xml`` and ``check.json`` into a directory; failed cases are run again for plots.

        Parameters
        ----------
        directory : path or Claim
        means : Means, optional
            How the cases are run again.

        Raises
        ------
        InputError
            If the directory cannot be used.
        RunError
            If a file cannot be written.
        """
        from narrows.studies.check import directory as files

        files.write(self, directory, means)

    def _repr_html_(self) -> str:
        from narrows.studies.check import page

        return page.table(self)

    def __repr__(self) -> str:
        """Return the counts."""
        return f"<Check: {self.summary}>"


def _rows(outcome: Outcome) -> list[tuple[Any, ...]]:
    steps = [
        (
            "step",
            one.name,
            one.line,
            one.what,
            one.happened_s,
            "never" if one.happened_s is None else "happened",
            one.reason,
        )
        for one in outcome.steps
    ]
    expectations = [
        ("expectation", one.name, one.line, f"{one.kind} {one.text}", one.decided_s, one.verdict, one.reason)
        for one in outcome.expectations
    ]
    return steps + expectations


def _case(one: CaseResult, seed: int | None) -> dict[str, Any]:
    item = one.item
    cell = {
        "label": item.cell.label,
        "rate_bps": item.cell.rate_bps,
        "rtt_s": None if item.cell.rtt_ns is None else item.cell.rtt_ns / 1e9,
        "buffer_bdp": item.cell.buffer,
    }
    return {
        "name": item.name,
        "id": item.id,
        "cc": item.cc,
        "cell": cell,
        "source": item.about.source,
        "open": item.about.open,
        "seed": item.scenario.seed if seed is None else seed,
        "verdict": one.verdict,
        "reason": one.reason,
        "doubts": list(one.doubts),
        "tries": one.tries,
        "outcome": None if one.outcome is None else one.outcome.to_json(),
    }
