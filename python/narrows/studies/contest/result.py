"""Results of a contest: values, means with intervals, matrices, and a ranking."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from narrows.base.errors import InputError
from narrows.stats import Estimate, mean_ci
from narrows.studies.contest import harm
from narrows.studies.contest.behaviour import Behaviour, classify
from narrows.studies.contest.measures import MEASURES, Measure
from narrows.studies.contest.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    import pandas as pd

    from narrows.ownership import Target
    from narrows.studies.contest.plan import Order, Plan
    from narrows.studies.contest.record import FlowRecord, Record

    Values = list[float | None]

Place = Literal["first", "second"]
"""Name of a slot."""

PLACES: tuple[Place, Place] = ("first", "second")

_HARMS: dict[str, tuple[str, bool, Callable[[float | None, float | None], float | None]]] = {
    "harm": ("throughput_mbps", False, harm.more_is_better),
    "harm_rtt": ("rtt_mean_ms", False, harm.less_is_better),
    "harm_solo": ("throughput_mbps", True, harm.more_is_better),
    "harm_rtt_solo": ("rtt_mean_ms", True, harm.less_is_better),
}
"""The measure that is harmed, whether the reference is a solo run (else the flow's own kind), and the fraction."""


@dataclass(frozen=True)
class Contest:
    """The results of a contest.

    Attributes
    ----------
    plan : Plan
        The runs, and how they were measured.
    records : tuple of Record
        The record of each run.
    kept, foreign : int
        Number of records that were already there; number of records in the directory that belong to other work.
    """

    plan: Plan
    records: tuple[Record, ...] = field(repr=False)
    kept: int = 0
    foreign: int = 0

    def runs(self, first: str | None, second: str | None, order: Order | None = None) -> list[Record]:
        """Records of a match, by run.

        Parameters
        ----------
        first, second : str or None
            Labels; ``None`` for a silent slot.
        order : str, optional
            Starting order; the first of the plan's by default.

        Returns
        -------
        list of Record

        Raises
        ------
        InputError
            If the match does not exist.
        """
        if order is not None and order not in self.plan.orders:
            raise InputError(_not_allowed("order", order, self.plan.orders))
        key = (order or self.plan.orders[0], first, second)
        if key not in self._by_match:
            message = f"match is {first} against {second} ({key[0]}); allowed: {', '.join(self.plan.labels)}"
            raise InputError(message)
        return self._by_match[key]

    def values(
        self, measure: str, first: str, second: str, slot: Place = "first", order: Order | None = None
    ) -> Values:
        """Values of a measure, one for each run.

        Parameters
        ----------
        measure : str
            A key of `narrows.studies.contest.measures.MEASURES`, or a field of `FlowRecord`.
        first, second : str
            The pair.
        slot : {"first", "second"}
            The flow's slot; ignored for a measure of the pair.
        order : str, optional
            Starting order; the first of the plan's by default.

        Returns
        -------
        list of float or None

        Raises
        ------
        InputError
            If the measure, the pair or the slot does not exist.
        """
        if slot not in PLACES:
            raise InputError(_not_allowed("slot", slot, PLACES))
        runs = self.runs(first, second, order)
        if measure in _HARMS:
            of, alone, fraction = _HARMS[measure]
            own = first if slot == "first" else second
            reference = self._reference(own, slot, order, alone)
            return [
                fraction(getattr(_flow(before, slot), of), getattr(_flow(now, slot), of))
                for before, now in zip(reference, runs, strict=True)
            ]
        if measure == "rtt_inflation":
            base = self.base_rtt_ms(slot)
            return [_over(_flow(run, slot).rtt_mean_ms, base) for run in runs]
        of_pair = measure in MEASURES and MEASURES[measure].of == "pair"
        holders: Sequence[Any] = runs if of_pair else [_flow(run, slot) for run in runs]
        if not all(hasattr(holder, measure) for holder in holders):
            raise InputError(_not_allowed("measure", measure, MEASURES))
        return [getattr(holder, measure) for holder in holders]

    def estimate(
        self, measure: str, first: str, second: str, slot: Place = "first", order: Order | None = None
    ) -> Estimate:
        """Mean of a measure over the runs, with its 95 % confidence interval.

        Parameters
        ----------
        measure, first, second, slot, order
            As for `values`.

        Returns
        -------
        Estimate
        """
        key = (measure, first, second, slot, order or self.plan.orders[0])
        if key not in self._estimates:
            self._estimates[key] = mean_ci(self.values(*key))
        return self._estimates[key]

    def base_rtt_ms(self, slot: Place) -> float | None:
        """Smallest round-trip time of all runs in a slot, ms.

        Parameters
        ----------
        slot : {"first", "second"}

        Returns
        -------
        float or None
        """
        return self._bases[slot]

    def behaviour(self, first: str, second: str, order: Order | None = None) -> Behaviour | None:
        """Return the behaviour of a pair, from the mean share of the flow that starts later.

        Parameters
        ----------
        first, second, order
            As for `runs`.

        Returns
        -------
        str or None
        """
        mean = self.estimate("share", first, second, self.later(order), order).mean
        return classify(None if math.isnan(mean) else mean, self.plan.criteria)

    def is_sure(self, first: str, second: str, order: Order | None = None) -> bool:
        """Whether the whole 95 % interval of the later flow's share gives the same behaviour.

        Parameters
        ----------
        first, second, order
            As for `runs`.

        Returns
        -------
        bool
            True for a single run, which has no interval.
        """
        told = self.estimate("share", first, second, self.later(order), order)
        ends = (told.low, told.high) if told.n > 1 else ()
        return len({classify(end, self.plan.criteria) for end in ends}) <= 1

    def later(self, order: Order | None = None) -> Place:
        """Return the slot that starts later.

        Parameters
        ----------
        order : str, optional

        Returns
        -------
        str
            The second, if both start at the same time.
        """
        slots = self.plan.slots
        as_is = slots[1].start_ns >= slots[0].start_ns
        return "second" if as_is == ((order or self.plan.orders[0]) == "as_is") else "first"

    def measures(self) -> list[Measure]:
        """Return the measures that this contest has.

        Returns
        -------
        list of Measure
        """
        return [one for one in MEASURES.values() if self.plan.has_solo or not one.solo]

    def matrix(self, measure: str, slot: Place = "first", order: Order | None = None) -> pd.DataFrame:
        """Return the means of a measure as a matrix: rows are contestants in the first slot, columns in the second.

        Parameters
        ----------
        measure : str
            As for `values`.
        slot : {"first", "second"}
            The slot whose measure is returned.
        order : str, optional

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        labels = list(self.plan.labels)
        rows = [[self.estimate(measure, row, column, slot, order).mean for column in labels] for row in labels]
        return pd.DataFrame(
            rows, index=pd.Index(labels, name="first slot"), columns=pd.Index(labels, name="second slot")
        )

    def table(self) -> pd.DataFrame:
        """Return every pair and measure as a tidy table.

        Returns
        -------
        pandas.DataFrame
            Columns ``first second order slot measure unit mean low high n``; ``slot`` is ``both`` for a measure of the
            pair.
        """
        import pandas as pd

        rows = []
        for order in self.plan.orders:
            for first in self.plan.labels:
                for second in self.plan.labels:
                    for one in self.measures():
                        for slot in PLACES if one.of == "flow" else PLACES[:1]:
                            told = self.estimate(one.key, first, second, slot, order)
                            where = slot if one.of == "flow" else "both"
                            numbers = (told.mean, told.low, told.high, told.n)
                            rows.append((first, second, order, where, one.key, one.unit, *numbers))
        names = ["first", "second", "order", "slot", "measure", "unit", "mean", "low", "high", "n"]
        return pd.DataFrame(rows, columns=pd.Index(names))

    def standings(self) -> list[Standing]:
        """Return the standing of each contestant, sorted by harm done, smallest first.

        Returns
        -------
        list of Standing
        """
        made = [self._standing(label) for label in self.plan.labels]
        return sorted(made, key=lambda one: math.inf if math.isnan(one.harm_done.mean) else one.harm_done.mean)

    def alike(self) -> bool:
        """Whether all runs of each match are equal, because nothing in the scenario is random.

        Returns
        -------
        bool
        """
        return self.plan.runs > 1 and all(len({run.digest for run in runs}) == 1 for runs in self._by_match.values())

    def report(self, directory: Target) -> Path:
        """Write the page, its figures, and the numbers into a directory.

        Parameters
        ----------
        directory : path
            Created if missing.

        Returns
        -------
        pathlib.Path
            The page.
        """
        from narrows.studies.contest.page import write

        return write(self, directory)

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``narrows contest --json``; see ``docs/json.md``.

        Returns
        -------
        dict
        """
        from narrows.studies.contest.export import to_json

        return to_json(self)

    def _repr_html_(self) -> str:
        from narrows.studies.contest.heat import notebook

        return notebook(self)

    @cached_property
    def _by_match(self) -> dict[tuple[Order, str | None, str | None], list[Record]]:
        found: dict[tuple[Order, str | None, str | None], list[Record]] = defaultdict(list)
        for one in self.records:
            found[one.order, one.first, one.second].append(one)
        return {key: sorted(runs, key=lambda one: one.run) for key, runs in found.items()}

    @cached_property
    def _estimates(self) -> dict[tuple[str, str, str, Place, Order], Estimate]:
        return {}

    @cached_property
    def _bases(self) -> dict[Place, float | None]:
        def least(index: int) -> float | None:
            flows = (record.flows[index] for record in self.records)
            return min((f.rtt_min_ms for f in flows if f is not None and f.rtt_min_ms is not None), default=None)

        return {"first": least(0), "second": least(1)}

    def _reference(self, own: str, slot: Place, order: Order | None, alone: bool) -> list[Record]:
        if not alone:
            return self.runs(own, own, order)
        if not self.plan.has_solo:
            message = "this contest has no runs of contestants alone; plan it with solo=True"
            raise InputError(message)
        return self.runs(own, None, order) if slot == "first" else self.runs(None, own, order)

    def _standing(self, label: str) -> Standing:
        others = [other for other in self.plan.labels if other != label]
        orders = self.plan.orders

        def mine(measure: str, *, middle: bool = False) -> Estimate:
            rows = [self.values(measure, label, other, "first", o) for other in others for o in orders]
            rows += [self.values(measure, other, label, "second", o) for other in others for o in orders]
            return _over_runs(rows, middle=middle)

        def theirs(measure: str, *, middle: bool = False) -> Estimate:
            rows = [self.values(measure, label, other, "second", o) for other in others for o in orders]
            rows += [self.values(measure, other, label, "first", o) for other in others for o in orders]
            return _over_runs(rows, middle=middle)

        def own(measure: str, places: tuple[Place, ...] = ("first",)) -> Estimate:
            return _over_runs([self.values(measure, label, label, place, o) for place in places for o in orders])

        return Standing(
            label=label,
            share=mine("share"),
            harm_done=theirs("harm", middle=True),
            harm_suffered=mine("harm", middle=True),
            jain=own("jain"),
            total_mbps=own("total_mbps"),
            utilisation=own("utilisation"),
            rtt_inflation=own("rtt_inflation", PLACES),
            loss_ratio=own("loss_ratio", PLACES),
        )


def _flow(record: Record, slot: Place) -> FlowRecord:
    flow = record.flows[0 if slot == "first" else 1]
    if flow is None:
        message = f"the {slot} slot was silent"
        raise InputError(message)
    return flow


def _not_allowed(what: str, value: str, allowed: Collection[str]) -> str:
    return f"{what} is {value!r}; allowed: {', '.join(allowed)}"


def _over(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base


def _over_runs(rows: Sequence[Values], *, middle: bool = False) -> Estimate:
    """Mean (or median) over matches within each run, then the mean over runs.

    Runs are independent; matches of the same run are not.
    """
    found: list[float | None] = []
    for column in zip(*rows, strict=True):
        present = [value for value in column if value is not None]
        if not present:
            found.append(None)
        else:
            found.append(statistics.median(present) if middle else math.fsum(present) / len(present))
    return mean_ci(found)
