"""Results beside a baseline: every metric of all, its difference from the baseline's, and an interval of that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.stats import adjusted_p, mean_ci
from narrows.studies.comparison.values import metrics_of
from narrows.studies.contrast import changes, metrics
from narrows.studies.contrast.differences import Against, Difference, against, difference

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

    import pandas as pd

    from narrows.stats import Estimate
    from narrows.studies.comparison.comparison import Arm
    from narrows.studies.comparison.measures import Measure
    from narrows.studies.comparison.values import Key

MATCHED: Final = ("flow", "transfer_class")
"""Kinds of which two results need an object in common."""


@dataclass(frozen=True, slots=True)
class Row:
    """A metric of one object in all results.

    Attributes
    ----------
    kind : str
        ``run``, ``flow``, ``queue`` and others; see `narrows.studies.contrast.metrics.KINDS`.
    name : str
        Name of the flow, queue or other object.
    measure : narrows.comparison.Measure
        The metric, with title and unit.
    estimates : tuple of narrows.stats.Estimate
        Mean over the runs of each result, the baseline first, in the unit of the metric's name.
    differences : tuple of Difference
        Of each further result from the baseline.
    """

    kind: str
    name: str
    measure: Measure
    estimates: tuple[Estimate, ...]
    differences: tuple[Difference, ...]

    @property
    def never(self) -> bool:
        """Whether it is a count that is zero in every run of all results."""
        return self.measure.is_count and all(one.mean == 0 for one in self.estimates if one.n)


class Contrast:
    """Two or more results, each beside the first, which is the baseline.

    Parameters
    ----------
    arms : sequence of narrows.comparison.Arm
        At least two, with different labels.
    wanted : sequence of str, optional
        Names of metrics to compare; all by default. The correction for many tests counts these alone.

    Raises
    ------
    InputError
        If there are fewer than two, a label repeats, a result has no run or shares no flow with the baseline, or there
        is no such metric.

    Examples
    --------
    >>> import narrows as nw
    >>> names = ("reno", "cubic")
    >>> runs = [nw.run("dumbbell-cubic", overrides={"duration": "12 s", "tcp.cc": name}) for name in names]
    >>> made = nw.compare(*runs, names=names)
    >>> [str(change) for change in made.against[0].changes][:1]
    ['flows.*.cc: reno → cubic']
    """

    def __init__(self, arms: Sequence[Arm], wanted: Sequence[str] | None = None) -> None:
        _check(arms)
        self.arms = tuple(arms)
        self._values = [[metrics_of(run) for run in arm.outcome.runs] for arm in self.arms]
        self._names = [
            metrics.ordered(key for run in sorted(runs, key=len, reverse=True) for key in run) for runs in self._values
        ]
        for arm, keys in zip(self.arms[1:], self._names[1:], strict=True):
            _check_common(self.arms[0].label, self._names[0], arm.label, keys)
        self.wanted = self._known(wanted)

    @property
    def baseline(self) -> Arm:
        """The result that the others are compared with."""
        return self.arms[0]

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust runs, a sentence each, with label and run; empty if all runs are trusted."""
        return tuple(doubt for arm in self.arms for doubt in arm.doubts)

    @cached_property
    def against(self) -> tuple[Against, ...]:
        """For each further result: what differs from the baseline, and how differences are estimated."""
        return tuple(
            against(self.baseline, arm, changes.between(self.baseline.outcome.scenario, arm.outcome.scenario))
            for arm in self.arms[1:]
        )

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every metric of every object that the baseline and another result have, with its differences."""
        keys = [key for key in self._names[0] if any(key in names for names in self._names[1:])]
        made = [row for key in keys for row in self._rows(key)]
        tests = [math.nan if row.never else one.p_value for row in made for one in row.differences]
        adjusted = iter(adjusted_p(tests))
        return tuple(
            replace(row, differences=tuple(replace(one, p_adjusted=next(adjusted)) for one in row.differences))
            for row in made
        )

    @property
    def tests(self) -> int:
        """Number of tests that the correction counts: differences with a p-value."""
        return sum(not math.isnan(one.p_adjusted) for row in self.rows for one in row.differences)

    @property
    def beyond(self) -> int:
        """Number of differences that the correction leaves."""
        return sum(one.survives for row in self.rows for one in row.differences)

    def row(self, kind: str, name: str, metric: str) -> Row:
        """Find a metric of an object.

        Parameters
        ----------
        kind, name, metric : str
            Such as ``flow``, ``first``, ``throughput_mbps``.

        Returns
        -------
        Row

        Raises
        ------
        InputError
            If there is none, with those that there are.
        """
        found = [row for row in self.rows if row.kind == kind]
        for what, value, of in (
            ("kind", kind, [row.kind for row in self.rows]),
            (kind, name, [row.name for row in found]),
            ("metric", metric, [row.measure.key for row in found if row.name == name]),
        ):
            if value not in of:
                message = f"{what} is {value!r}; allowed: {', '.join(dict.fromkeys(of))}"
                raise InputError(message)
        return next(row for row in found if (row.name, row.measure.key) == (name, metric))

    def unmatched(self, index: int) -> list[tuple[str, str, str]]:
        """List the objects that only the baseline or only one further result has.

        Parameters
        ----------
        index : int
            Place of the further result, from 0.

        Returns
        -------
        list of (str, str, str)
            Label of the result that has it, kind and name.
        """
        base, other = self._names[0], self._names[index + 1]
        label = self.arms[index + 1].label
        return [(self.baseline.label, *key) for key in base if key not in other] + [
            (label, *key) for key in other if key not in base
        ]

    def to_pandas(self) -> pd.DataFrame:
        """Return every difference as a row of a data frame; see `narrows.studies.contrast.table.COLUMNS`.

        Returns
        -------
        pandas.DataFrame
            NaN is "no value".
        """
        from narrows.studies.contrast import table

        return table.frame(self)

    def to_json(self) -> dict[str, object]:
        """Return the object of ``narrows compare --json``; see ``docs/json.md``.

        Returns
        -------
        dict
            Ready for JSON: no NaN, no infinity; ``None`` means "no value".
        """
        from narrows.studies.contrast import table

        return table.to_json(self)

    def report(self, directory: str | PathLike[str]) -> Path:
        """Write a page of the comparison with its figures, ``compare.json`` and the tables as CSV.

        Parameters
        ----------
        directory : path
            As for `narrows.ownership.staged`.

        Returns
        -------
        pathlib.Path
            The page.
        """
        from narrows.studies.contrast import directory as directories

        return directories.write(self, directory)

    def _repr_html_(self) -> str:
        from narrows.studies.contrast import notebook

        return notebook.contrast(self)

    def __repr__(self) -> str:
        """Return the labels."""
        others = ", ".join(arm.label for arm in self.arms[1:])
        return f"<Contrast of {others} with {self.baseline.label}>"

    def _rows(self, key: Key) -> list[Row]:
        listed = [[run.get(key, {}) for run in runs] for runs in self._values]
        names = dict.fromkeys(name for runs in listed for values in runs for name in values)
        made = []
        for name in names:
            if self.wanted is not None and name not in self.wanted:
                continue
            values = [[one.get(name) for one in runs] for runs in listed]
            estimates = tuple(mean_ci(one) for one in values)
            if not any(one.n for one in estimates):
                continue
            differences = tuple(
                difference(how, values[0], other) for how, other in zip(self.against, values[1:], strict=True)
            )
            made.append(Row(*key, metrics.described(name), estimates, differences))
        return made

    def _known(self, wanted: Sequence[str] | None) -> tuple[str, ...] | None:
        if wanted is None:
            return None
        known = dict.fromkeys(
            name for runs in self._values for run in runs for values in run.values() for name in values
        )
        for name in wanted:
            if name not in known:
                message = f"metric is {name!r}; allowed: {', '.join(known)}"
                raise InputError(message)
        return tuple(dict.fromkeys(wanted))


def _check(arms: Sequence[Arm]) -> None:
    if len(arms) < 2:
        message = f"a comparison needs two results or more, and got {len(arms)}; allowed: A B [C ..]"
        raise InputError(message)
    for arm in arms:
        if not arm.outcome.runs:
            message = f"{arm.label}: has no finished run; allowed: results with one run or more"
            raise InputError(message)
    labels = [arm.label for arm in arms]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        message = f"two results are called {twice!r}; allowed: a name for each (--names)"
        raise InputError(message)


def _check_common(first: str, mine: Sequence[Key], second: str, theirs: Sequence[Key]) -> None:
    """Raise if two results share neither a flow nor a class of transfers, although they have some."""
    here, there = ([key for key in keys if key[0] in MATCHED] for keys in (mine, theirs))
    if (here or there) and not set(here) & set(there):
        flows = [", ".join(name for _, name in keys[:8]) or "none" for keys in (here, there)]
        message = (
            f"{first} and {second} have no flow in common: {first} has {flows[0]}; {second} has {flows[1]}; allowed: "
            "results with a flow of the same name"
        )
        raise InputError(message)
