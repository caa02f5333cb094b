"""The runs: every pair of variants in both starting orders, with the paper's window limit and without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows import contest
from narrows.base import bundled
from narrows.model.scenario import Scenario
from narrows_papers.contest.measured import Meeting, collect
from narrows_papers.contest.variants import PAIRS, VARIANTS, Variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.contest import Plan, Record
    from narrows.execution.means import Means
    from narrows.ownership import Target
    from narrows.studies.contest.plan import Order

SCENARIO = "hybrid-contest"
"""Name of the scenario."""

RUNS = {"limited": 5, "unlimited": 3}
"""Seeds in the full experiment, by set; the paper's claims are decided on the limited one."""

QUICK_RUNS = 1
"""Seeds in a quick experiment."""

WINDOW_S = (40.0, 100.0)
"""Start and end of the paper's measurements, s."""

SETS: tuple[str, ...] = ("limited", "unlimited")
"""The two sets of runs: windows of at most 20 segments, as in the paper, and windows without a limit."""

SET_TITLES = {"limited": "Window limit of 20 segments", "unlimited": "No window limit"}
"""Titles of the sets in figures and tables."""

ORDERS: tuple[Order, ...] = ("as_is", "swapped")
"""Which node starts first; the paper's 450 runs are 225 pairs in both orders."""

QUICK_VARIANTS: tuple[Variant, ...] = tuple(
    one for one in VARIANTS if one.name in {name for pair in PAIRS for name in pair}
)
"""The variants of the pairs in the paper's figures."""


@dataclass(frozen=True)
class Made:
    """The runs of both sets."""

    plans: Mapping[str, Plan]
    records: Mapping[str, tuple[Record, ...]]
    kept: int

    @property
    def runs(self) -> int:
        """Number of seeds of the limited set."""
        return self.plans["limited"].runs

    @property
    def total(self) -> int:
        """Number of runs of both sets together."""
        return sum(plan.total for plan in self.plans.values())

    def meetings(self, of: str) -> dict[tuple[str, str], Meeting]:
        """The pairs of a set."""
        return collect(self.records[of])


def scenario() -> Scenario:
    """The experiment's scenario, which is bundled with Narrows."""
    return Scenario.from_file(bundled.scenarios()[SCENARIO])


def plan(
    of: str, variants: Sequence[Variant] = VARIANTS, *, runs: int | None = None, orders: Sequence[Order] = ORDERS
) -> Plan:
    """Return the plan of a set.

    Parameters
    ----------
    of : str
        `limited` or `unlimited`.
    variants : sequence of Variant
        All fifteen variants by default.
    runs : int or None
        Number of seeds; by default that of `RUNS`.
    orders : sequence
        Which node starts first.
    """
    limit = of == "limited"
    contestants = [contest.Contestant(one.name, one.tcp(window_limit=limit)) for one in variants]
    return contest.make(
        scenario(), contestants, runs=RUNS[of] if runs is None else runs, window=WINDOW_S, orders=orders, solo=False
    )


def planned(*, quick: bool, runs: int | None) -> dict[str, Plan]:
    """Return the plans of both sets; see `run`."""
    variants, orders = (QUICK_VARIANTS, ORDERS[:1]) if quick else (VARIANTS, ORDERS)
    return {of: plan(of, variants, runs=runs, orders=orders) for of in SETS}


def run(
    out: Target | None,
    *,
    quick: bool,
    runs: int | None,
    means: Means,
) -> Made:
    """Execute all missing runs of both sets.

    Parameters
    ----------
    out : Path or None
        Where records are stored as runs end, and where existing ones are found.
    quick : bool
        Fewer variants, one order.
    runs : int or None
        Number of seeds; by default that of `RUNS`.
    means : Means
        How they are run; its directory is not used.
    """
    plans = planned(quick=quick, runs=runs)
    records, kept = {}, 0
    for i, (of, one) in enumerate(plans.items()):
        part = means.part(i / len(plans), 1 / len(plans))
        with part.shown(f"contest: {SET_TITLES[of].lower()}") as tell:
            done = contest.execute(one, out, jobs=means.jobs, dask=means.dask, progress=tell)
        records[of] = done.records
        kept += done.kept
    return Made(plans, records, kept)
