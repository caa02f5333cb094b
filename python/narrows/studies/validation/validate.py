"""A complete validation: choose pairs, run both simulators, compare, write the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.base.errors import InputError
from narrows.execution import pilot
from narrows.execution.backend import choose, jobs_of
from narrows.execution.means import Means
from narrows.studies.validation import description, execute, experiments, inputs
from narrows.studies.validation.compare import Comparison, Verdict, compare, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from narrows.execution.forecast import Estimate
    from narrows.execution.job import ProgressHook
    from narrows.execution.work import Watch
    from narrows.ownership import Target
    from narrows.studies.validation.description import Description, Explanation, Network, Variant
    from narrows.studies.validation.experiments import Measured

AGAINST = ("ns2",)
"""Simulators that Narrows can be compared with."""

FORMAT = 2
"""Version of the JSON format."""

QUICK_RUNS = 5
"""Largest number of seeds in a quick validation."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The results of a validation.

    Attributes
    ----------
    description : Description
        What was run.
    comparisons : tuple of Comparison
        Comparisons flow by flow, in the order of variants and networks.
    verdicts : tuple of Verdict
        One per variant.
    quick : bool
        Whether it was a quick validation.
    experiments : tuple of Measured
        Effects of switches on differences.
    branches : tuple of Comparison
        Variants for which ns-2 takes another branch under another memory fill, compared under that fill.
    """

    description: Description
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    quick: bool = False
    experiments: tuple[Measured, ...] = ()
    branches: tuple[Comparison, ...] = ()

    @property
    def unexplained(self) -> int:
        """Number of flows and medians that are beyond their targets and outside the recorded ranges."""
        medians = sum(one.far and one.explanation is None for one in self.verdicts)
        return sum(one.unexplained for one in self.comparisons) + medians

    def isolated(self, explanation: Explanation | None) -> bool:
        """Whether an explanation's experiment was run, and isolates the cause on every network that it was run on."""
        if explanation is None or explanation.experiment is None:
            return False
        own = [one for one in self.experiments if one.experiment.name == explanation.experiment]
        return bool(own) and all(one.isolates for one in own)

    @property
    def beyond(self) -> tuple[Comparison, ...]:
        """Flows beyond the target on networks that ranges were fitted to."""
        return tuple(one for one in self.comparisons if one.beyond and not one.held_out)

    @property
    def held_out(self) -> tuple[Comparison, ...]:
        """Flows on networks that no range was fitted to."""
        return tuple(one for one in self.comparisons if one.held_out)

    @property
    def far_in_median(self) -> tuple[Verdict, ...]:
        """Variants whose median is beyond the target."""
        return tuple(one for one in self.verdicts if one.far)

    def to_json(self) -> dict[str, Any]:
        """Return everything except the windows over time, for JSON."""
        return {
            "format": FORMAT,
            "version": _core.version(),
            "against": "ns2",
            "quick": self.quick,
            "median_within": self.description.median_within,
            "worst_within": self.description.worst_within,
            "unexplained": self.unexplained,
            "isolated": sum(self.isolated(one.explanation) for one in self.beyond),
            "fill": self.description.fill,
            "held_out": {"flows": len(self.held_out), "beyond": sum(one.beyond for one in self.held_out)},
            "experiments": [experiments.to_json(one) for one in self.experiments],
            "variants": [
                {
                    "name": one.variant,
                    "median": one.median,
                    "worst": _finite(one.worst),
                    "worst_network": one.where,
                    "lost_median": _finite(one.losses),
                    "distance_median": _finite(one.distance),
                    "flows": one.compared,
                    "beyond": one.beyond,
                    "unexplained": one.unexplained,
                    "median_explanation": _why(one.explanation),
                }
                for one in self.verdicts
            ],
            "flows": [self._flow(one) for one in self.comparisons],
            "branches": [self._flow(one) for one in self.branches],
        }

    def _flow(self, one: Comparison) -> dict[str, Any]:
        return {
            "variant": one.variant,
            "network": one.network,
            "flow": one.flow,
            "runs": one.runs,
            "difference": _finite(one.difference),
            "distance": _finite(one.distance),
            "ours": _side(one, "ours"),
            "ns2": _side(one, "theirs"),
            "explanation": _why(one.explanation),
            "isolated": self.isolated(one.explanation),
            "held_out": one.held_out,
            "unexplained": one.unexplained,
        }


def _why(explanation: Explanation | None) -> str | None:
    return None if explanation is None else explanation.why


def _side(comparison: Comparison, which: str) -> dict[str, float]:
    side = getattr(comparison, which)
    return {
        "mbps": side.mbps,
        "mbps_sd": side.mbps_sd,
        "lost": side.lost,
        "lost_sd": side.lost_sd,
        "timeouts": side.timeouts,
    }


def _finite(value: float) -> float | None:
    return value if abs(value) != float("inf") else None


def validate(
    against: str = "ns2",
    cc: Iterable[str] | None = None,
    networks: Iterable[str] | None = None,
    *,
    own: Sequence[Network] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    dask: str | None = None,
    keep: Target | None = None,
    progress: ProgressHook | None = None,
    watch: Watch | None = None,
) -> Validation:
    """Run the same variants on the same networks on Narrows and on ns-2, and compare.

    Parameters
    ----------
    against : str
        ``ns2``.
    cc : iterable of str, optional
        Names of variants, where ``*`` matches anything; all by default.
    networks : iterable of str, optional
        Names of networks, where ``*`` matches anything; all by default.
    own : sequence of Network, optional
        Networks that replace the bundled ones; recorded differences do not apply to them.
    quick : bool
        A few pairs with few seeds, without held-out networks and without experiments.
    jobs : int, optional
        Number of parallel runs; by default the number of processors.
    dask : str, optional
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    keep : path or Claim, optional
        Directory in which finished runs are kept, and where existing ones are found; see `narrows.store.pending`.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    watch : callable, optional
        Shows the progress of a set of runs; see `narrows.execution.work.Watch`.

    Returns
    -------
    Validation

    Raises
    ------
    InputError
        If a name is unknown, ``jobs`` is below 1, or ns-2 is not installed.
    RunError
        If a run failed.
    Interrupted
        On Ctrl-C; the runs in progress were stopped, and finished ones are kept if there is a directory.
    """
    if against not in AGAINST:
        message = f"--against is {against!r}; allowed: {', '.join(AGAINST)}"
        raise InputError(message)
    means = Means(None if jobs is None else jobs_of(jobs), dask, keep, watch, progress)
    known, chosen = _chosen(cc, networks, own, quick=quick)
    places, also = _places(chosen, quick=quick)
    comparisons = _compared(chosen, places + also, quick, means.part(0.0, 0.9))
    first = tuple(one for of_pair in comparisons[: len(places)] for one in of_pair)
    turned = () if quick else experiments.wanted(chosen, first)
    measured = experiments.measure(chosen, known.variants, turned, first, means.part(0.9, 0.1))
    return Validation(
        description=chosen,
        comparisons=first,
        verdicts=tuple(verdict(chosen, variant.name, first) for variant in chosen.variants),
        quick=quick,
        experiments=measured,
        branches=tuple(one for of_pair in comparisons[len(places) :] for one in of_pair),
    )


def estimate(
    cc: Iterable[str] | None = None,
    networks: Iterable[str] | None = None,
    *,
    own: Sequence[Network] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    dask: str | None = None,
    budget_s: float | None = None,
) -> Estimate:
    """Estimate how long the pairs of a validation take, by executing some runs without storing them.

    The experiments are not included: which of them are run depends on the differences.

    Parameters
    ----------
    cc, networks, own, quick, jobs, dask
        As for `validate`.
    budget_s : float, optional
        Wall-clock time to spend, s; by default until enough is known, a minute at most.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError, RunError
        As for `validate`.
    """
    _, chosen = _chosen(cc, networks, own, quick=quick)
    places, also = _places(chosen, quick=quick)
    simulations = execute.both(_work(places + also, quick=quick)[0])
    return pilot.estimate(simulations, execute.scales(simulations), choose(jobs, dask), budget_s=budget_s)


Place = tuple["Variant", "Network", int]
"""A pair, and the fill value of ns-2's memory."""


def _chosen(
    cc: Iterable[str] | None, networks: Iterable[str] | None, own: Sequence[Network] | None, *, quick: bool
) -> tuple[Description, Description]:
    """Return the whole description, and the chosen part of it."""
    known = description.load()
    if own is not None:
        known = known.with_networks([replace(one, quick=True) for one in own])
    return known, known.choose(cc, networks, quick)


def _places(chosen: Description, *, quick: bool) -> tuple[list[Place], list[Place]]:
    """Return the pairs, and those that are run again under another fill of ns-2's memory."""
    pairs = [(variant, network) for variant in chosen.variants for network in chosen.networks]
    again = [
        (variant, network, variant.also_fill)
        for variant, network in pairs
        if variant.also_fill is not None and not quick
    ]
    return [(*pair, chosen.fill) for pair in pairs], again


def _work(places: Sequence[Place], *, quick: bool) -> tuple[list[execute.Job], list[int]]:
    """Return the runs of pairs, and how many each pair has."""
    counts = [min(network.runs, QUICK_RUNS) if quick else network.runs for _, network, _ in places]
    jobs = [
        execute.Job(variant, network, seed, fill)
        for (variant, network, fill), count in zip(places, counts, strict=True)
        for seed in range(1, count + 1)
    ]
    return jobs, counts


def _compared(chosen: Description, places: Sequence[Place], quick: bool, means: Means) -> list[list[Comparison]]:
    """Run pairs and compare them, pair by pair."""
    work, counts = _work(places, quick=quick)
    ours, theirs = execute.run_both(work, means)
    made: list[list[Comparison]] = []
    begin = 0
    for (variant, network, _), count in zip(places, counts, strict=True):
        end = begin + count
        made.append(compare(chosen, variant.name, network.name, ours[begin:end], theirs[begin:end], inputs.SAMPLE_S))
        begin = end
    return made


def write(validation: Validation, out: str | PathLike[str]) -> list[Path]:
    """Write the page and its figures.

    Parameters
    ----------
    validation : Validation
    out : path
        Path of the page, ending in ``.md``, with the figures in a folder of the same name beside it; or a directory, in
        which the page is ``ns2.md``.

    Returns
    -------
    list of pathlib.Path
        The page first.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    from narrows.studies.validation import page

    target = Path(out)
    if target.suffix != ".md":
        target = target / "ns2.md"
    return page.write(validation, target)
