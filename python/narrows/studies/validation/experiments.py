"""Experiments: a pair without and with one changed switch, which measures the effect of the switch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from narrows.studies.validation import execute, inputs
from narrows.studies.validation.compare import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.execution.means import Means
    from narrows.studies.validation.compare import Flow
    from narrows.studies.validation.description import Description, Experiment, Network, Variant


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of an experiment on one network.

    Attributes
    ----------
    experiment : Experiment
    network : str
        Name of the network.
    before, after : tuple of Comparison
        Comparisons of each flow, without and with the changed switch.
    """

    experiment: Experiment
    network: str
    before: tuple[Comparison, ...]
    after: tuple[Comparison, ...]

    @property
    def isolates(self) -> bool:
        """Whether the switch brings every difference beyond the target within it, and at least halves it."""
        pairs = [(was, now) for was, now in zip(self.before, self.after, strict=True) if was.beyond]
        return bool(pairs) and all(
            not now.beyond and abs(now.difference) <= abs(was.difference) / 2 for was, now in pairs
        )


def wanted(description: Description, comparisons: Iterable[Comparison]) -> tuple[Experiment, ...]:
    """Choose the experiments that belong to some comparisons.

    Parameters
    ----------
    description : Description
        The chosen variants and networks.
    comparisons : iterable of Comparison

    Returns
    -------
    tuple of Experiment
        Those named by an explanation of a comparison, and those that no explanation names if their variant was run.
    """
    used = {one.explanation.experiment for one in comparisons if one.explanation is not None}
    named = {one.experiment for one in description.explanations}
    run = {variant.name for variant in description.variants}
    return tuple(
        one
        for one in description.experiments
        if one.name in used or (one.name not in named and run & {one.variant, one.rival})
    )


def measure(
    description: Description,
    variants: Sequence[Variant],
    chosen: Iterable[Experiment],
    known: Iterable[Comparison],
    means: Means,
) -> tuple[Measured, ...]:
    """Run experiments.

    Parameters
    ----------
    description : Description
        Provides the targets.
    variants : sequence of Variant
        All known variants.
    chosen : iterable of Experiment
    known : iterable of Comparison
        Comparisons of unchanged pairs that were already run and need not be run again.
    means : Means

    Returns
    -------
    tuple of Measured
        In the order of the experiments and of their networks.

    Raises
    ------
    InputError, ScenarioError, RunError, Interrupted
        As `narrows.studies.validation.execute.run_both`.
    """
    run: dict[tuple[str, str], list[Comparison]] = {}
    for one in known:
        run.setdefault((one.variant, one.network), []).append(one)
    places = [(one, network) for one in chosen for network in one.networks]
    parts = [
        (i, turned, [job(description, variants, one, network, seed, turned=turned) for seed in _seeds(network)])
        for i, (one, network) in enumerate(places)
        for turned in (False, True)
        if turned or one.rival is not None or (one.variant, network.name) not in run
    ]
    ours, theirs = execute.run_both([one for *_, part in parts for one in part], means)
    made: dict[tuple[int, bool], tuple[Comparison, ...]] = {}
    begin = 0
    for i, turned, part in parts:
        end = begin + len(part)
        made[i, turned] = _compared(description, part[0], ours[begin:end], theirs[begin:end])
        begin = end
    return tuple(
        Measured(
            experiment=one,
            network=network.name,
            before=made.get((i, False)) or tuple(run[one.variant, network.name]),
            after=made[i, True],
        )
        for i, (one, network) in enumerate(places)
    )


def _seeds(network: Network) -> range:
    return range(1, network.runs + 1)


def _compared(
    description: Description, job: execute.Job, ours: Sequence[Sequence[Flow]], theirs: Sequence[Sequence[Flow]]
) -> tuple[Comparison, ...]:
    return tuple(compare(description, job.variant.name, job.network.name, ours, theirs, inputs.SAMPLE_S))


def job(
    description: Description,
    variants: Sequence[Variant],
    experiment: Experiment,
    network: Network,
    seed: int,
    *,
    turned: bool,
) -> execute.Job:
    """Create the job of a run of an experiment.

    Parameters
    ----------
    description : Description
        Provides the fill value of ns-2's memory.
    variants : sequence of Variant
        All known variants.
    experiment : Experiment
    network : Network
    seed : int
    turned : bool
        Whether the experiment's switch is changed.

    Returns
    -------
    Job
    """
    variant, rival = _named(variants, experiment.variant), None
    if experiment.rival is not None:
        rival = _named(variants, experiment.rival)
    if not turned:
        return execute.Job(variant, network, seed, description.fill, rival)
    return execute.Job(
        replace(variant, tcp={**variant.tcp, **experiment.tcp}),
        network,
        seed,
        description.fill if experiment.fill is None else experiment.fill,
        None if rival is None else replace(rival, tcp={**rival.tcp, **experiment.rival_tcp}),
        tuple(f"{key}={value}" for key, value in experiment.ns2.items()),
    )


def _named(variants: Sequence[Variant], name: str) -> Variant:
    return next(one for one in variants if one.name == name)


def to_json(measured: Measured) -> dict[str, Any]:
    """Return an experiment for JSON."""

    def sides(comparisons: Iterable[Comparison]) -> list[dict[str, Any]]:
        return [
            {"flow": one.flow, "ours_mbps": one.ours.mbps, "ns2_mbps": one.theirs.mbps, "difference": one.difference}
            for one in comparisons
        ]

    return {
        "name": measured.experiment.name,
        "variant": measured.experiment.variant,
        "rival": measured.experiment.rival,
        "network": measured.network,
        "switch": measured.experiment.switch,
        "before": sides(measured.before),
        "after": sides(measured.after),
        "isolates": measured.isolates,
    }
