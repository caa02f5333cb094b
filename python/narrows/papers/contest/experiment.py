"""The runs: every pair of variants in both starting orders, with the paper's window limit and without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows import bundled, contest
from narrows.papers.contest.measured import Meeting, collect
from narrows.papers.contest.variants import PAIRS, VARIANTS, Variant
from narrows.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.contest import Plan, Record
    from narrows.contest.plan import Order
    from narrows.ownership import Target
    from narrows.runs import ProgressHook

SCENARIO = "hybrid-contest"
"""Name of the scenario."""

RUNS = 3
"""Seeds of the full experiment."""

QUICK_RUNS = 1
"""Seeds of a first look."""

WINDOW_S = (40.0, 100.0)
"""From when to when the paper measures, s."""

SETS: tuple[str, ...] = ("limited", "unlimited")
"""The two sets of parameters: windows of at most 20 segments, as in the paper's runs, and windows without a limit."""

SET_TITLES = {"limited": "Window limit of 20 segments", "unlimited": "No window limit"}
"""What the sets are called in figures and tables."""

ORDERS: tuple[Order, ...] = ("as_is", "swapped")
"""Which node starts first; the paper's 450 runs are 225 pairs in both."""

QUICK_VARIANTS: tuple[Variant, ...] = tuple(
    one for one in VARIANTS if one.name in {name for pair in PAIRS for name in pair}
)
"""Those of the figures' pairs."""


@dataclass(frozen=True)
class Made:
    """Both sets, run."""

    plans: Mapping[str, Plan]
    records: Mapping[str, tuple[Record, ...]]
    kept: int

    @property
    def runs(self) -> int:
        """Seeds."""
        return self.plans["limited"].runs

    @property
    def total(self) -> int:
        """Runs of both sets together."""
        return sum(plan.total for plan in self.plans.values())

    def meetings(self, of: str) -> dict[tuple[str, str], Meeting]:
        """The pairs of a set."""
        return collect(self.records[of])


def scenario() -> Scenario:
    """The experiment's scenario, one of the bundled ones."""
    return Scenario.from_file(bundled.scenarios()[SCENARIO])


def plan(
    of: str, variants: Sequence[Variant] = VARIANTS, *, runs: int = RUNS, orders: Sequence[Order] = ORDERS
) -> Plan:
    """What is run of a set.

    Parameters
    ----------
    of : str
        `limited` or `unlimited`.
    variants : sequence of Variant
        All fifteen by default.
    runs : int
        Seeds.
    orders : sequence
        Which node starts first.
    """
    limit = of == "limited"
    contestants = [contest.Contestant(one.name, one.tcp(window_limit=limit)) for one in variants]
    return contest.make(scenario(), contestants, runs=runs, window=WINDOW_S, orders=orders, solo=False)


def run(
    out: Target | None, *, quick: bool, runs: int, jobs: int | None = None, progress: ProgressHook | None = None
) -> Made:
    """Make all runs of both sets that are not there yet.

    Parameters
    ----------
    out : Path or None
        Where records are kept as runs end, and looked for before.
    quick : bool
        Fewer variants, one order.
    runs : int
        Seeds.
    jobs : int, optional
        How many runs at the same time.
    progress : callable, optional
        Called with the share of the work that is done, in [0, 1].
    """
    variants, orders = (QUICK_VARIANTS, ORDERS[:1]) if quick else (VARIANTS, ORDERS)
    plans = {of: plan(of, variants, runs=runs, orders=orders) for of in SETS}
    records, kept = {}, 0
    for i, (of, one) in enumerate(plans.items()):

        def tell(news: contest.Progress, i: int = i) -> None:
            if progress is not None:
                progress((i + news.fraction) / len(plans))

        done = contest.execute(one, out, jobs=jobs, progress=tell)
        records[of] = done.records
        kept += done.kept
    return Made(plans, records, kept)
