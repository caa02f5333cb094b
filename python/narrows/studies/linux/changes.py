"""What changed from one kernel to the next: Linux against Linux, flow by flow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from narrows.stats.welch import welch_difference
from narrows.studies.linux import execute
from narrows.studies.linux.compare import Side, relative, spread
from narrows.studies.linux.description import JUDGED
from narrows.studies.linux.execute import SIMULATED, Point
from narrows.studies.linux.experiments import cause_of, further_seeds, small_changes, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.execution.means import Means
    from narrows.stats.runs import Estimate
    from narrows.studies.linux.compare import Pair
    from narrows.studies.linux.description import Cause, Description, Experiment, Profile
    from narrows.studies.linux.execute import Kernels
    from narrows.studies.linux.experiments import Places


@dataclass(frozen=True, slots=True)
class Change:
    """A flow on two kernels.

    Attributes
    ----------
    before, after : Pair
        On the earlier and on the later kernel.
    """

    before: Pair
    after: Pair

    def share(self, key: str) -> float | None:
        """Return the later kernel's value against the earlier one's, as a relative difference.

        Parameters
        ----------
        key : str
            Key of the measure.

        Returns
        -------
        float or None
        """
        return relative(self.after.theirs.means[key], self.before.theirs.means[key])

    def simulated(self, key: str) -> float | None:
        """Return the same between the simulations, each with the profile of its kernel.

        Parameters
        ----------
        key : str
            Key of the measure.

        Returns
        -------
        float or None
        """
        return relative(self.after.ours.means[key], self.before.ours.means[key])


@dataclass(frozen=True, slots=True)
class Shift:
    """A measure of a flow that changed by more than the limit from one kernel to the next.

    Attributes
    ----------
    change : Change
    key : str
        Key of the measure.
    limit : float
    cause : Cause or None
        The cause, if one is listed.
    profile : Profile or None
        That of the later kernel, if the earlier one has another.
    switched : float or None
        What the cause's experiment changes in the simulation, as a relative difference.
    without : float or None
        The change on Linux where both kernels have what the experiment changes on both sides.
    spread : float or None
        Largest change that small changes alone give, relative to the earlier kernel; ``None`` if not measured.
    further : Estimate or None
        The change under further seeds, in per cent; ``None`` if they were not run.
    """

    change: Change
    key: str
    limit: float
    cause: Cause | None = None
    profile: Profile | None = None
    switched: float | None = None
    without: float | None = None
    spread: float | None = None
    further: Estimate | None = None

    @property
    def share(self) -> float:
        """The change."""
        return self.change.share(self.key) or 0.0

    @property
    def isolated(self) -> bool:
        """Whether the experiment makes or takes away at least half of the change, and leaves less than the limit."""
        gone = self.without is not None and abs(self.without) <= min(self.limit, abs(self.share) / 2)
        return gone or self._is_made_by(self.switched)

    @property
    def modelled(self) -> bool:
        """Whether the profiles make at least half of the change in the simulation, and leave less than the limit.

        Not where small changes alone give such a change: both could then agree by chance.
        """
        return self.profile is not None and not self.in_spread and self._is_made_by(self.change.simulated(self.key))

    def _is_made_by(self, simulated: float | None) -> bool:
        if simulated is None:
            return False
        rest = (1 + self.share) / (1 + simulated) - 1
        return abs(rest) <= min(self.limit, abs(self.share) / 2)

    @property
    def in_spread(self) -> bool:
        """Whether small changes alone give such a change."""
        return self.spread is not None and abs(self.share) <= self.spread

    @property
    def vanishes(self) -> bool:
        """Whether the change is at most half under further seeds, and there within the limit or no more than chance."""
        found = self.further
        if found is None:
            return False
        within = abs(found.mean) <= 100 * self.limit or found.low <= 0.0 <= found.high
        return within and abs(found.mean) <= 100 * abs(self.share) / 2

    @property
    def unexplained(self) -> bool:
        """Whether neither the profiles, nor an experiment, small changes or the choice of seeds account for it."""
        return not (self.modelled or self.isolated or self.in_spread or self.vanishes)


def between(found: Sequence[Pair], names: Sequence[str]) -> tuple[Change, ...]:
    """Pair each flow with itself on the next kernel.

    Parameters
    ----------
    found : sequence of Pair
    names : sequence of str
        The kernels, from the earliest to the latest.

    Returns
    -------
    tuple of Change
        Kernel by kernel, in the order of the pairs.
    """
    at = {(one.kernel, one.variant, one.scenario, one.flow): one for one in found}
    made = []
    for earlier, later in pairwise(names):
        for one in found:
            after = at.get((later, one.variant, one.scenario, one.flow))
            if one.kernel == earlier and after is not None:
                made.append(Change(one, after))
    return tuple(made)


def explain(description: Description, changes: Sequence[Change], kernels: Kernels, means: Means) -> tuple[Shift, ...]:
    """Find the changes beyond the limit, run their experiments, and measure what small changes give.

    Parameters
    ----------
    description : Description
    changes : sequence of Change
    kernels : Kernels
    means : Means

    Returns
    -------
    tuple of Shift
        In the order of the changes.
    """
    limit = description.change
    shifts = [
        Shift(
            one,
            key,
            limit,
            cause_of(description.changes, one.after.variant, one.after.scenario, one.after.kernel),
            _profile(description, one),
        )
        for one in changes
        for key in JUDGED
        if abs(one.share(key) or 0.0) > limit
    ]
    open_ones = [one for one in shifts if one.cause is not None and not one.modelled]
    switched = _switched(description, open_ones, kernels, means.part(0.0, 0.1))
    without = _without(description, open_ones, kernels, means.part(0.1, 0.2))
    shifts = [
        replace(one, switched=switched.get((id(one.change), one.key)), without=without.get((id(one.change), one.key)))
        for one in shifts
    ]
    rest = [one for one in shifts if not one.isolated]
    places = {(one.change.before.variant, one.change.before.scenario, one.change.before.kernel) for one in rest}
    runs = small_changes(description, places, kernels, means.part(0.3, 0.2))
    shifts = [one if one.isolated else replace(one, spread=_spread(one, runs)) for one in shifts]
    return _further(description, shifts, kernels, means.part(0.5, 0.5))


def _further(description: Description, shifts: Sequence[Shift], kernels: Kernels, means: Means) -> tuple[Shift, ...]:
    """Run unexplained changes under further seeds, on both kernels."""
    pairs = [pair for one in shifts if one.unexplained for pair in (one.change.before, one.change.after)]
    places = {(one.variant, one.scenario, one.kernel): one.starts for one in pairs}
    runs = further_seeds(description, places, kernels, means)

    def values(pair: Pair, key: str) -> list[float | None]:
        made = runs[pair.variant, pair.scenario, pair.kernel][1]
        return [flow.values[key] for record in made for flow in record.flows if flow.name == pair.flow]

    def anew(one: Shift) -> Estimate:
        return welch_difference(values(one.change.before, one.key), values(one.change.after, one.key)).percent

    return tuple(replace(one, further=anew(one)) if one.unexplained else one for one in shifts)


def _profile(description: Description, change: Change) -> Profile | None:
    later = description.profile(change.after.kernel)
    return None if later == description.profile(change.before.kernel) else later


def _switched(
    description: Description, shifts: Sequence[Shift], kernels: Kernels, means: Means
) -> Mapping[tuple[int, str], float | None]:
    """Simulate each shift with its experiment's change in the simulation; return the effect by change and measure."""
    points = []
    shifts = [one for one in shifts if _experiment(description, one).simulated]
    for one in shifts:
        pair = one.change.before
        experiment = _experiment(description, one)
        place = description.variant(pair.variant), description.scene(pair.scenario)
        profile = description.profile(pair.kernel).settings
        points.append((Point(*place, SIMULATED, {**profile, **experiment.both, **experiment.simulated}), pair.starts))
    made = execute.run(points, kernels, means, "experiments on kernels")
    effects = {}
    for one, records in zip(shifts, made, strict=True):
        pair = one.change.before
        flow = next(place for place, flow in enumerate(records[0].flows) if flow.name == pair.flow)
        turned = Side.of(records, flow).means[one.key]
        effects[id(one.change), one.key] = relative(turned, pair.ours.means[one.key])
    return effects


def _experiment(description: Description, shift: Shift) -> Experiment:
    return description.experiment(shift.cause.experiment if shift.cause is not None else "")


def _without(
    description: Description, shifts: Sequence[Shift], kernels: Kernels, means: Means
) -> Mapping[tuple[int, str], float | None]:
    """Run both kernels with what the experiment changes on both sides; return the change that is left."""
    shifts = [one for one in shifts if not _experiment(description, one).simulated]
    points = []
    for one in shifts:
        for pair in (one.change.before, one.change.after):
            place = description.variant(pair.variant), description.scene(pair.scenario)
            points.append((Point(*place, pair.kernel, _experiment(description, one).both), pair.starts))
    made = execute.run(points, kernels, means, "experiments on both kernels")
    left = {}
    for at, one in enumerate(shifts):
        flow = next(place for place, flow in enumerate(made[2 * at][0].flows) if flow.name == one.change.before.flow)
        before, after = (Side.of(made[2 * at + side], flow).means[one.key] for side in (0, 1))
        left[id(one.change), one.key] = relative(after, before)
    return left


def _spread(shift: Shift, runs: Places) -> float | None:
    """Return how far small changes move two means apart, relative to the earlier kernel's."""
    pair = shift.change.before
    values = values_of(runs, pair, shift.key)
    reference = pair.theirs.means[shift.key]
    if len(values) < 2 or not reference:
        return None
    # Small changes move both kernels: the deviation of a difference is the square root of two larger.
    return math.sqrt(2) * spread(values, pair.starts) / reference


def why(shift: Shift) -> str | None:
    """Return the cause of a change in a sentence; ``None`` if none is isolated."""
    if shift.profile is not None and shift.modelled:
        return shift.profile.why
    return shift.cause.why if shift.cause is not None and shift.isolated else None


def to_json(shift: Shift) -> dict[str, Any]:
    """Return a change for JSON."""
    pair = shift.change.after
    return {
        "variant": pair.variant,
        "scenario": pair.scenario,
        "flow": pair.flow,
        "from": shift.change.before.kernel,
        "to": pair.kernel,
        "measure": shift.key,
        "change": shift.share,
        "simulated": shift.change.simulated(shift.key),
        "cause": why(shift),
        "modelled": shift.modelled,
        "with_experiment": shift.without,
        "isolated": shift.isolated,
        "spread": shift.spread,
        "in_spread": shift.in_spread,
        "with_further_seeds": None if shift.further is None else shift.further.mean / 100,
        "vanishes": shift.vanishes,
        "unexplained": shift.unexplained,
    }
