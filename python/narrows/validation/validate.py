"""A validation from beginning to end: choose pairs, run both simulators, compare, write the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.errors import InputError
from narrows.validation import description, execute, inputs
from narrows.validation.compare import Comparison, Verdict, compare, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from narrows.runs import ProgressHook
    from narrows.validation.description import Description

AGAINST = ("ns2",)
"""What Narrows can be set beside."""

FORMAT = 1
"""Version of the JSON."""

QUICK_RUNS = 5
"""Seeds at most in a first look."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validation found.

    Attributes
    ----------
    description : Description
        What was run.
    comparisons : tuple of Comparison
        Flow by flow, in the order of variants and networks.
    verdicts : tuple of Verdict
        One per variant.
    quick : bool
        Whether it was a first look.
    """

    description: Description
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    quick: bool = False

    @property
    def unexplained(self) -> int:
        """How many flows and medians are beyond their targets without explanation."""
        medians = sum(one.far and one.why is None for one in self.verdicts)
        return sum(one.unexplained for one in self.comparisons) + medians

    @property
    def far_in_median(self) -> tuple[Verdict, ...]:
        """Variants whose median is beyond the target."""
        return tuple(one for one in self.verdicts if one.far)

    def to_json(self) -> dict[str, Any]:
        """Return everything but the windows over time as JSON has it."""
        return {
            "format": FORMAT,
            "version": _core.version(),
            "against": "ns2",
            "quick": self.quick,
            "median_within": self.description.median_within,
            "worst_within": self.description.worst_within,
            "unexplained": self.unexplained,
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
                    "median_explanation": one.why,
                }
                for one in self.verdicts
            ],
            "flows": [
                {
                    "variant": one.variant,
                    "network": one.network,
                    "flow": one.flow,
                    "runs": one.runs,
                    "difference": _finite(one.difference),
                    "distance": _finite(one.distance),
                    "ours": _side(one, "ours"),
                    "ns2": _side(one, "theirs"),
                    "explanation": one.why,
                    "unexplained": one.unexplained,
                }
                for one in self.comparisons
            ],
        }


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
    quick: bool = False,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
) -> Validation:
    """Run the same variants on the same networks on Narrows and on ns-2, and compare.

    Parameters
    ----------
    against : str
        ``ns2``.
    cc : iterable of str, optional
        Names of variants, in which a star stands for anything; all by default.
    networks : iterable of str, optional
        Names of networks, likewise.
    quick : bool
        A few pairs with few seeds, for a first look.
    jobs : int, optional
        How many runs at the same time; as many as there are processors by default.
    progress : callable, optional
        Called with the share of the work that is done, in [0, 1].

    Returns
    -------
    Validation

    Raises
    ------
    InputError
        If a name is not known, ``jobs`` is below 1, or ns-2 is not installed.
    RunError
        If a run failed.
    Interrupted
        On Ctrl-C; what ran was stopped.
    """
    if against not in AGAINST:
        message = f"--against is {against!r}; allowed: {', '.join(AGAINST)}"
        raise InputError(message)
    if jobs is not None and jobs < 1:
        message = f"jobs is {jobs}; allowed: 1 or more"
        raise InputError(message)
    chosen = description.load().choose(cc, networks, quick)
    pairs = [(variant, network) for variant in chosen.variants for network in chosen.networks]
    runs = [min(network.runs, QUICK_RUNS) if quick else network.runs for _, network in pairs]
    work = [
        execute.Job(variant, network, seed)
        for (variant, network), count in zip(pairs, runs, strict=True)
        for seed in range(1, count + 1)
    ]
    ours, theirs = execute.run_both(work, jobs, progress)
    comparisons: list[Comparison] = []
    begin = 0
    for (variant, network), count in zip(pairs, runs, strict=True):
        end = begin + count
        comparisons += compare(chosen, variant.name, network.name, ours[begin:end], theirs[begin:end], inputs.SAMPLE_S)
        begin = end
    return Validation(
        description=chosen,
        comparisons=tuple(comparisons),
        verdicts=tuple(verdict(chosen, variant.name, comparisons) for variant in chosen.variants),
        quick=quick,
    )


def write(validation: Validation, out: str | PathLike[str]) -> list[Path]:
    """Write the page and its figures.

    Parameters
    ----------
    validation : Validation
    out : path
        The page, ending in ``.md``, with the figures in a folder of its name beside it; or a directory for
        ``validation.md``.

    Returns
    -------
    list of pathlib.Path
        The page first.

    Raises
    ------
    OSError
        If something cannot be written.
    """
    from narrows.validation import page

    target = Path(out)
    if target.suffix != ".md":
        target = target / "validation.md"
    return page.write(validation, target)
