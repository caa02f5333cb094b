"""The evaluation of ACNS (Hruby et al. 2013, section 4; Olsovsky 2013, section 5): two sites, with and without ACNS.

Both arms run the same scenario file under the same seeds; the only difference is `acns.enabled`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows.base import bundled
from narrows.model.scenario import Scenario
from narrows.outcome import Batch
from narrows.runs.simulated import Task, run_all
from narrows.stats import Estimate, mean_ci, paired_difference
from narrows.studies.reproduction.result import Cell, Claim
from narrows_papers.frame import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from narrows.execution.job import ProgressHook
    from narrows.outcome import Run

ARMS = ("without", "acns")
"""Names of the arms: the base variant alone, and with ACNS."""

FLOWS = ("1", "2", "3")
"""Numbers of the TCP flows in the papers; the scenario calls them `tcp1` to `tcp3`."""

RUNS = 20
"""Runs per arm of the full experiment."""

QUICK_RUNS = 4
"""Runs per arm of a quick experiment."""

RUNS_FOR_A_CLAIM = 2


@dataclass(frozen=True)
class Published:
    """Figures printed in the papers, by (arm, quantity, flow), each with its unit."""

    values: Mapping[tuple[str, str, str], tuple[float, str]]

    @classmethod
    def read(cls, path: Path | None = None) -> Published:
        """Read `published.csv` of the experiment; lines that begin with `#` are comments."""
        where = folder() / "published.csv" if path is None else path
        rows = tables.rows(where)
        return cls({(r["arm"], r["quantity"], r["flow"]): (float(r["value"]), r["unit"]) for r in rows})


@dataclass(frozen=True)
class Evaluation:
    """Both arms, run by run."""

    without: Batch
    acns: Batch

    def arm(self, name: str) -> Batch:
        """The arm of this name."""
        return self.without if name == "without" else self.acns


def folder() -> Path:
    """Directory of the experiment's files."""
    return bundled.directory("experiments/acns")


def scenario() -> Scenario:
    """The experiment's scenario, with ACNS."""
    return Scenario.from_file(folder() / "scenario.toml")


def tasks(runs: int, seed: int | None = None) -> list[Task]:
    """Return the runs of both arms, those of `without` first."""
    treated = scenario()
    plain = treated.with_overrides({"acns.enabled": False})
    chosen = treated.seed if seed is None else seed
    return [Task(arm, chosen, index) for arm in (plain, treated) for index in range(runs)]


def collect(made: Sequence[Run]) -> Evaluation:
    """Sort the runs of `tasks` into their arms."""
    half = len(made) // 2
    arms = [
        Batch(scenario=part[0].scenario, seed=part[0].seed, runs=tuple(part)) for part in (made[:half], made[half:])
    ]
    return Evaluation(*arms)


def run(runs: int, jobs: int | None = None, progress: ProgressHook | None = None) -> Evaluation:
    """Run both arms.

    Parameters
    ----------
    runs : int
        Runs per arm.
    jobs : int, optional
        Number of parallel runs.
    progress : callable, optional
        As for `narrows.run`.
    """
    return collect(run_all(tasks(runs), jobs=jobs, progress=progress))


def values(batch: Batch, quantity: str, flow: str) -> list[float]:
    """Values of one quantity of one flow (or `total`), one per run; NaN if a run has no value.

    `throughput_mean` is IP bytes that arrived over the whole simulated time, as the papers' averages are; `sent` is
    payload in MB, including retransmissions; `rtt_mean` of `total` is the mean over the three flows.
    """
    if flow == "total":
        parts = [values(batch, quantity, one) for one in FLOWS]
        summed = [math.fsum(row) for row in zip(*parts, strict=True)]
        return [value / len(FLOWS) for value in summed] if quantity == "rtt_mean" else summed
    found = []
    for one in batch.runs:
        row = one.flow(f"tcp{flow}")
        value = {
            "throughput_mean": row.arrived_bytes * 8e-6 / batch.scenario.duration_s,
            "throughput_max": row.throughput_max_mbps,
            "rtt_mean": row.rtt_mean_ms,
            "rtt_max": row.rtt_max_ms,
            "sent": row.sent_bytes * 1e-6,
            "lost": row.lost_packets,
        }[quantity]
        found.append(math.nan if value is None else float(value))
    return found


def cells(evaluation: Evaluation, published: Published) -> list[Cell]:
    """Return a cell for each figure printed in the papers, in their order."""
    made = []
    for (arm, quantity, flow), (value, unit) in published.values.items():
        if arm == "change":
            estimate = change(evaluation, quantity)
        else:
            estimate = mean_ci(values(evaluation.arm(arm), quantity, flow))
        made.append(Cell.of(f"{arm}/{quantity}/{flow}", value, estimate, unit))
    return made


def change(evaluation: Evaluation, quantity: str) -> Estimate:
    """Change from `without` to `acns` in per cent, paired by seed; no interval goes below -100 %."""
    found = paired_difference(
        values(evaluation.without, quantity, "total"), values(evaluation.acns, quantity, "total")
    ).percent
    return replace(found, low=max(found.low, -100.0) if not math.isnan(found.low) else found.low)


def claims(evaluation: Evaluation) -> list[Claim]:
    """Evaluate the papers' claims about the evaluation, on means over the runs."""
    sent = {arm: [mean_ci(values(evaluation.arm(arm), "sent", flow)).mean for flow in FLOWS] for arm in ARMS}
    runs = len(evaluation.without.runs)

    def in_order(arm: str, order: Callable[[Sequence[float]], bool]) -> int:
        rows = zip(*(values(evaluation.arm(arm), "sent", flow) for flow in FLOWS), strict=True)
        return sum(order(row) for row in rows)

    def falling(row: Sequence[float]) -> bool:
        return row[0] > row[1] > row[2]

    def rising(row: Sequence[float]) -> bool:
        return row[0] < row[1] < row[2]

    data, rtt, lost = (change(evaluation, quantity) for quantity in ("sent", "rtt_mean", "lost"))
    said = " / ".join
    return [
        Claim(
            "Without ACNS the oldest flow sends the most: #1 > #2 > #3",
            falling(sent["without"]),
            f"{said(f'{v:.2f}' for v in sent['without'])} MB; so in {in_order('without', falling)} of {runs} runs",
            rule="means strictly in this order, by any amount",
        ),
        Claim(
            "With ACNS the order is turned round, by priority and youth: #3 > #2 > #1",
            rising(sent["acns"]),
            f"{said(f'{v:.2f}' for v in sent['acns'])} MB; so in {in_order('acns', rising)} of {runs} runs",
            rule="means strictly in this order, by any amount",
        ),
        Claim(
            "With ACNS the TCP flows send at least 30 % more data (published: 44.0 %)",
            data.mean >= 30,
            percent(data),
            rule="one-sided: mean change at least +30 %",
        ),
        Claim(
            "With ACNS the mean RTT falls (published: -7.1 %)",
            rtt.mean < 0,
            percent(rtt),
            rule="one-sided: mean change below zero, by any amount",
        ),
        Claim(
            "With ACNS losses fall by at least 90 % (published: 236 to 2)",
            lost.mean <= -90,
            percent(lost),
            rule="one-sided: mean change at most -90 %",
        ),
    ]


def percent(estimate: Estimate) -> str:
    """Format a change in per cent with its interval.

    >>> percent(Estimate(43.21, 40.0, 46.4, 20, 7.0))
    '+43.2 % [+40.0, +46.4]'
    """
    if math.isnan(estimate.mean):
        return "not defined"
    if estimate.n < RUNS_FOR_A_CLAIM:
        return f"{estimate.mean:+.1f} %"
    return f"{estimate.mean:+.1f} % [{estimate.low:+.1f}, {estimate.high:+.1f}]"
