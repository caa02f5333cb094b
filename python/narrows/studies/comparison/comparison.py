"""Two outcomes of one scenario, flow by flow and queue by queue, whether simulated or live."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.stats import CONFIDENCE, welch_difference
from narrows.studies.comparison import measures
from narrows.studies.comparison.texts import interval_text, signed_text
from narrows.studies.comparison.values import metrics_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.scenario import Scenario
    from narrows.outcome import Batch, Run
    from narrows.stats import Difference, Estimate
    from narrows.studies.comparison.measures import Measure
    from narrows.studies.comparison.values import Key, Values

FORMAT: Final = 1
"""Version of the JSON format."""

KIND: Final = "comparison"
"""Distinguishes the JSON of a comparison from that of a run."""

BUSY: Final = 0.1
"""Utilisation in either arm from which a queue is shown even if it lost nothing."""

_LOSSES: Final = ("dropped_packets", "marked_packets", "corrupted_packets")


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the two outcomes.

    Attributes
    ----------
    label : str
        Label, for example ``simulated``.
    outcome : Run or Batch
        At least one run.
    """

    label: str
    outcome: Run | Batch

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust runs of this arm, a sentence each; empty if all runs are trusted."""
        return tuple(f"{self.label}: {doubt}" for doubt in self.outcome.doubts)


@dataclass(frozen=True, slots=True)
class Compared:
    """A measure with its values in both arms.

    Attributes
    ----------
    measure : Measure
    difference : narrows.stats.Difference
        Second arm minus first arm, in the unit of the measure's key.
    """

    measure: Measure
    difference: Difference

    @property
    def first(self) -> Estimate:
        """Estimate over the runs of the first arm."""
        return self.difference.baseline

    @property
    def second(self) -> Estimate:
        """Estimate over the runs of the second arm."""
        return self.difference.treatment

    @property
    def never(self) -> bool:
        """Whether the measure is a count that is zero in every run of both arms, so that it need not be shown."""
        return self.measure.is_count and all(one.mean == 0 for one in (self.first, self.second) if one.n)

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Both arms, the difference and the difference in per cent, formatted, each with half of its interval."""
        scale, made = self.measure.scale, self.difference
        return (
            interval_text(self.first, scale),
            interval_text(self.second, scale),
            signed_text(made.difference, scale),
            signed_text(made.percent),
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """A flow, a queue, or all flows together, in both arms.

    Attributes
    ----------
    name : str
    cc : str or None
        Congestion control of a flow; ``None`` for UDP, for queues and for all flows together.
    compared : tuple of Compared
        Measures that have a value in at least one arm.
    """

    name: str
    cc: str | None
    compared: tuple[Compared, ...]

    def of(self, key: str) -> Compared | None:
        """Find a measure.

        Parameters
        ----------
        key : str
            Key of the measure, such as ``throughput_mbps``.

        Returns
        -------
        Compared or None
            ``None`` if neither arm has a value.
        """
        return next((one for one in self.compared if one.measure.key == key), None)


class Comparison:
    """Two outcomes of the same scenario and their differences.

    Parameters
    ----------
    first, second : Arm
        Differences are second minus first.

    Raises
    ------
    InputError
        If the flows differ, an arm has no run, or both arms have the same label.
    """

    def __init__(self, first: Arm, second: Arm) -> None:
        names = [[flow.name for flow in arm.outcome.runs[0].flows] for arm in (first, second) if arm.outcome.runs]
        if len(names) < 2:
            message = "a comparison needs a finished run of either; allowed: one or more of each"
            raise InputError(message)
        if names[0] != names[1]:
            message = (
                f"{first.label} has the flows {', '.join(names[0])} and {second.label} {', '.join(names[1])}; "
                "allowed: outcomes of one scenario"
            )
            raise InputError(message)
        if first.label == second.label:
            message = f"both are called {first.label!r}; allowed: two labels"
            raise InputError(message)
        self.first = first
        self.second = second

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Both arms, the first one first."""
        return self.first, self.second

    @property
    def scenario(self) -> Scenario:
        """The scenario as run."""
        return self.first.outcome.scenario

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to trust runs, a sentence each, with arm and run; empty if all runs are trusted."""
        return self.first.doubts + self.second.doubts

    @property
    def trusted(self) -> bool:
        """Whether every run can be trusted."""
        return not self.doubts

    @property
    def has_intervals(self) -> bool:
        """Whether each arm has the two runs that intervals need."""
        return all(len(arm.outcome.runs) > 1 for arm in self.arms)

    @cached_property
    def flows(self) -> tuple[Subject, ...]:
        """The flows, in the order of the scenario."""
        controls = {flow.name: flow.cc for flow in self.first.outcome.runs[0].flows}
        return self._subjects("flow", measures.FLOW, controls)

    @cached_property
    def queues(self) -> tuple[Subject, ...]:
        """The queues that packets passed in both arms, in the order of the scenario."""
        return self._subjects("queue", measures.QUEUE, {})

    @cached_property
    def transfers(self) -> tuple[Subject, ...]:
        """The transfers that both arms have, by workload or flow and by size class."""
        return self._subjects("transfer_class", measures.TRANSFER, {})

    @cached_property
    def playbacks(self) -> tuple[Subject, ...]:
        """The video players, by flow."""
        return self._subjects("playback", measures.PLAYBACK, {})

    @cached_property
    def datagrams(self) -> tuple[Subject, ...]:
        """The datagrams of UDP flows, by flow."""
        return self._subjects("datagram", measures.DATAGRAM, {})

    @property
    def telling_queues(self) -> list[Subject]:
        """The queues that had losses or high utilisation in either arm, the busiest first."""
        told = [
            queue
            for queue in self.queues
            if _most(queue, "utilisation") >= BUSY or any(_most(queue, key) for key in _LOSSES)
        ]
        return sorted(told, key=lambda queue: -_most(queue, "utilisation"))

    @cached_property
    def together(self) -> Subject | None:
        """All flows together; ``None`` if there is only one flow."""
        if len(self.first.outcome.runs[0].flows) < 2:
            return None
        return self._subjects("run", measures.TOGETHER, {})[0]

    def flow(self, name: str) -> Subject:
        """Find a flow.

        Parameters
        ----------
        name : str

        Returns
        -------
        Subject

        Raises
        ------
        InputError
            If there is no flow of that name.
        """
        for subject in self.flows:
            if subject.name == name:
                return subject
        message = f"flow is {name!r}; allowed: {', '.join(subject.name for subject in self.flows)}"
        raise InputError(message)

    @cached_property
    def _values(self) -> tuple[list[dict[Key, Values]], ...]:
        return tuple([metrics_of(run) for run in arm.outcome.runs] for arm in self.arms)

    def _subjects(
        self, kind: str, wanted: Sequence[Measure], controls: Mapping[str, str | None]
    ) -> tuple[Subject, ...]:
        """Compare the objects of a kind that both arms have."""
        first, second = self._values
        keys = [key for key in dict.fromkeys(key for one in first for key in one) if key[0] == kind]
        return tuple(
            Subject(
                key[1],
                controls.get(key[1]),
                _compared(wanted, [one.get(key, {}) for one in first], [one.get(key, {}) for one in second]),
            )
            for key in keys
            if any(key in one for one in second)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``narrows run --both --json``; see ``docs/json.md``.

        Returns
        -------
        dict
            Ready for JSON: no NaN, no infinity; ``None`` means "no value".
        """
        return {
            "format": FORMAT,
            "kind": KIND,
            "scenario": self.scenario.name,
            "duration_s": self.scenario.duration_s,
            "overrides": self.scenario.overrides,
            "version": self.first.outcome.version,
            "confidence": CONFIDENCE,
            "arms": [_arm(arm) for arm in self.arms],
            "trusted": self.trusted,
            "doubts": list(self.doubts),
            "flows": [{"name": one.name, "cc": one.cc, "measures": measures_json(one)} for one in self.flows],
            "queues": [{"name": one.name, "measures": measures_json(one)} for one in self.queues],
            **_named("transfers", self.transfers),
            **_named("playbacks", self.playbacks),
            **_named("datagrams", self.datagrams),
            "together": None if self.together is None else measures_json(self.together),
        }

    def _repr_html_(self) -> str:
        from narrows.studies.comparison import notebook

        return notebook.comparison(self)

    def __repr__(self) -> str:
        """Return the scenario and the labels."""
        return f"<Comparison of {self.scenario.name}: {self.first.label} and {self.second.label}>"


def _named(key: str, subjects: Sequence[Subject]) -> dict[str, Any]:
    """Return the measures of subjects as an item of the JSON; nothing without subjects."""
    listed = [{"name": one.name, "measures": measures_json(one)} for one in subjects]
    return {key: listed} if listed else {}


def _most(queue: Subject, key: str) -> float:
    """The larger of the two arms' means."""
    found = queue.of(key)
    if found is None:
        return 0.0
    return max((one.mean for one in (found.first, found.second) if one.n), default=0.0)


def _compared(wanted: Sequence[Measure], first: Sequence[Values], second: Sequence[Values]) -> tuple[Compared, ...]:
    made = (
        Compared(
            measure,
            welch_difference([one.get(measure.key) for one in first], [one.get(measure.key) for one in second]),
        )
        for measure in wanted
    )
    return tuple(one for one in made if one.first.n or one.second.n)


def _arm(arm: Arm) -> dict[str, Any]:
    outcome = arm.outcome
    return {
        "label": arm.label,
        "seed": outcome.seed,
        "runs": len(outcome.runs),
        "digest": outcome.digest,
        "trusted": outcome.trusted,
        "doubts": list(outcome.doubts),
        "conditions": [run.conditions for run in outcome.runs],
    }


def measures_json(subject: Subject) -> dict[str, Any]:
    """Return the measures of a flow or queue for JSON.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    dict
        Estimates of both arms and of their difference, by key of the measure.
    """
    return {
        one.measure.key: {
            "first": estimate_json(one.first),
            "second": estimate_json(one.second),
            "difference": estimate_json(one.difference.difference),
            "percent": estimate_json(one.difference.percent),
            "p_value": _finite(one.difference.p_value),
        }
        for one in subject.compared
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate for JSON: mean, interval and runs.

    Parameters
    ----------
    estimate : Estimate

    Returns
    -------
    dict
        ``null`` where there is no value or no interval.
    """
    return {
        "mean": _finite(estimate.mean),
        "low": _finite(estimate.low),
        "high": _finite(estimate.high),
        "n": estimate.n,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
