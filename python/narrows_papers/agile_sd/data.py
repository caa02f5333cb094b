"""The data sets of the sweeps for claims, cells and figures: a row per run, and windows over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from narrows.stats import mean_ci, paired_difference
from narrows_papers.agile_sd.arms import ARMS, BUFFERS, ONE, PERS, SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from narrows.stats import Estimate, PairedDifference
    from narrows.sweep import SweepResult

BOTTLENECK = "r1->r2"
"""The queue of the link that all flows share."""

LINK_MBPS = 1000.0
"""Rate of all links, Mb/s."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of the three scenarios under one reading of the paper's parameters.

    Attributes
    ----------
    frame : DataFrame
        A row per run: ``scenario``, ``buffer``, ``per``, ``arm``, ``seed``; ``utilisation`` of the shared link, per
        cent; ``loss_ratio`` of all flows, per cent; ``jain`` of the whole run and ``shared_jain``; ``reached_s``,
        ``peak_packets``, ``median_packets`` of the first flow's cwnd; ``timeouts`` and ``reductions`` (timeouts and
        fast retransmits) of all flows.
    """

    frame: pd.DataFrame

    def values(self, what: str, scenario: str, buffer: int, arm: str, per: float = 0.0) -> list[float]:
        """Values at a point, in the order of the seeds; NaN if a run has no value."""
        return self._points.get((scenario, buffer, arm, per), {}).get(what, [])

    @cached_property
    def _points(self) -> dict[tuple[str, int, str, float], dict[str, list[float]]]:
        """Values by quantity of each point, in the order of the seeds; cached, as pages read them very often."""
        quantities = [name for name in self.frame.columns if name not in ("scenario", "buffer", "arm", "per")]
        made = {}
        for key, rows in self.frame.sort_values("seed").groupby(["scenario", "buffer", "arm", "per"], sort=False):
            scenario, buffer, arm, per = map(str, key)
            values = {name: [float(value) for value in rows[name]] for name in quantities}
            made[scenario, int(float(buffer)), arm, float(per)] = values
        return made

    def estimate(self, what: str, scenario: str, buffer: int, arm: str, per: float = 0.0) -> Estimate:
        """Mean over the seeds with its interval; NaN if the point was not run."""
        return mean_ci(self.values(what, scenario, buffer, arm, per))

    def mean(self, what: str, scenario: str, buffer: int, arm: str, per: float = 0.0) -> float:
        """Mean over the seeds."""
        return self.estimate(what, scenario, buffer, arm, per).mean

    def gain(self, what: str, scenario: str, buffer: int, arms: tuple[str, str], per: float = 0.0) -> PairedDifference:
        """The second arm's value minus the first's, seed by seed (common random numbers)."""
        first, second = (
            dict(
                zip(
                    self.values("seed", scenario, buffer, arm, per),
                    self.values(what, scenario, buffer, arm, per),
                    strict=True,
                )
            )
            for arm in arms
        )
        both = [seed for seed in first if seed in second]  # a run may have failed
        return paired_difference([first[seed] for seed in both], [second[seed] for seed in both])

    def _there(self, column: str, known: tuple[str, ...] | tuple[int, ...] | tuple[float, ...]) -> list[object]:
        there = set(self.frame[column])
        return [value for value in known if value in there]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Scenarios that were run."""
        return tuple(str(one) for one in self._there("scenario", SCENARIOS))

    @property
    def buffers(self) -> tuple[int, ...]:
        """Buffers that were run."""
        return tuple(int(str(one)) for one in self._there("buffer", BUFFERS))

    @property
    def pers(self) -> tuple[float, ...]:
        """Packet error rates that were run."""
        return tuple(float(str(one)) for one in self._there("per", PERS))

    @property
    def arms(self) -> tuple[str, ...]:
        """Congestion controls that were run."""
        return tuple(str(one) for one in self._there("arm", tuple(arm.name for arm in ARMS)))

    @property
    def seeds(self) -> int:
        """Largest number of seeds at a point."""
        return int(self.frame["seed"].nunique())


@dataclass(frozen=True, eq=False)
class Data:
    """All results.

    Attributes
    ----------
    printed : Runs
        Runs with the parameters as printed in the paper: without SACK.
    sack : Runs or None
        Runs with SACK; ``None`` in a quick experiment.
    windows : mapping
        Times, s, and cwnd, packets, by (buffer, arm).
    pairs : DataFrame
        A row per run of two congestion controls: ``buffer``, ``pair``, ``seed``, ``jain``, ``first``, ``second``
        (Mb/s).
    round_trips : DataFrame or None
        A row per run of flows of four round-trip times: ``buffer``, ``arm``, ``seed``, ``jain``, ``flow1`` .. (Mb/s).
    quick : bool
        Whether it was a quick experiment.
    flows : int
        Number of flows in the second and third scenario.
    version : str
        Version of the engine that made the runs.
    runs : int
        Number of runs.
    cpu_s : float
        Processor time of all runs, s.
    failures : tuple of str
        Descriptions of failed runs.
    digests : mapping
        Digest of each sweep.
    """

    printed: Runs
    sack: Runs | None
    windows: Mapping[tuple[int, str], tuple[NDArray[np.float64], NDArray[np.float64]]]
    pairs: pd.DataFrame
    round_trips: pd.DataFrame | None
    quick: bool
    flows: int
    version: str
    runs: int
    cpu_s: float
    failures: tuple[str, ...]
    digests: Mapping[str, str]


def collect(results: Mapping[str, SweepResult], version: str) -> Data:
    """Combine the results of the sweeps, given by name."""
    rows = _rows(results["buffers"])
    windows = _rows(results["windows"])
    quick = ONE not in set(rows["scenario"])
    if quick:  # the sweep of windows provides the runs of one flow
        rows = pd.concat([windows.assign(scenario=ONE, per=0.0), rows], ignore_index=True)
    sack = results.get("sack")
    round_trips = results.get("round-trips")
    return Data(
        printed=Runs(rows),
        sack=None if sack is None else Runs(_rows(sack)),
        windows=_windows(results["windows"].runs),
        pairs=_pairs(results["pairs"]),
        round_trips=None if round_trips is None else _by_flow(round_trips),
        quick=quick,
        flows=int(results["buffers"].flows["flow"].nunique()),
        version=version,
        runs=sum(len(one.runs) for one in results.values()),
        cpu_s=sum(one.cpu_s for one in results.values()),
        failures=tuple(f"{name}: {failure}" for name, one in results.items() for failure in one.failures),
        digests={name: one.digest for name, one in results.items()},
    )


def _rows(result: SweepResult) -> pd.DataFrame:
    """A row per successful run."""
    runs = result.runs
    runs = runs[runs["status"] == "ok"]
    there = [name for name in ("scenario", "buffer", "per", "arm") if name in runs.columns]
    wanted = ["jain", "shared_jain", "reached_s", "peak_packets", "median_packets"]
    made = runs[["address", "seed", *there, *(name for name in wanted if name in runs.columns)]].copy()
    for name in ("scenario", "arm"):
        if name in made.columns:
            made[name] = made[name].astype(str)
    for name in ("buffer", "per"):
        if name in made.columns:
            made[name] = pd.to_numeric(made[name])
    flows = result.flows.groupby("address")[["sent_packets", "lost_packets", "timeouts", "fast_retransmits"]].sum()
    queues = result.queues[result.queues["queue"].astype(str) == BOTTLENECK].set_index("address")["utilisation"]
    made["utilisation"] = 100 * made["address"].map(queues[~queues.index.duplicated()]).astype(float)
    made["loss_ratio"] = 100 * made["address"].map(flows["lost_packets"] / flows["sent_packets"]).astype(float)
    made["timeouts"] = made["address"].map(flows["timeouts"]).astype(float)
    made["reductions"] = made["timeouts"] + made["address"].map(flows["fast_retransmits"]).astype(float)
    return made.drop(columns="address").reset_index(drop=True)


def _windows(runs: pd.DataFrame) -> dict[tuple[int, str], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    columns = {name: float(name.removeprefix("cwnd_at_")) for name in runs.columns if name.startswith("cwnd_at_")}
    order = sorted(columns, key=lambda name: columns[name])
    times = np.array([columns[name] for name in order])
    first = runs[(runs["status"] == "ok") & (runs["seed"] == runs["seed"].min())]
    found = {}
    for row in first.to_dict("records"):
        values = np.array([row[name] for name in order], dtype=np.float64)
        there = np.isfinite(values)
        found[int(row["buffer"]), str(row["arm"])] = (times[there], values[there])
    return found


def _pairs(result: SweepResult) -> pd.DataFrame:
    rates = _by_flow(result, "pair")
    return rates.rename(columns={"flow1": "first", "flow2": "second"})


def _by_flow(result: SweepResult, axis: str = "arm") -> pd.DataFrame:
    """A row per run: the rate of each flow in Mb/s, and Jain's index over the rates."""
    runs = result.runs
    made = runs[runs["status"] == "ok"][["address", "seed", "buffer", axis, "jain"]].copy()
    made["buffer"] = pd.to_numeric(made["buffer"])
    made[axis] = made[axis].astype(str)
    rates = result.flows.drop_duplicates(["address", "flow"]).pivot_table(
        index="address", columns="flow", values="throughput_mbps", observed=True
    )
    for name in rates.columns:
        made[str(name)] = made["address"].map(rates[name]).astype(float)
    return made.drop(columns="address").reset_index(drop=True)
