#!/usr/bin/env python3
"""What each condition that the paper leaves open does to the six published inter-fairness indices.

Every condition changes `side-by-side.toml` for all pairs alike. An index is computed of each run under several
readings: of what the flows got over the whole run, of what they got while both were there, of their mean cwnd. `each
alone` is Jain's index over two separate runs of one flow.

    python experiments/agile-sd/pairs-search.py            # writes pairs-search.csv; prints each point when it is there
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from narrows import _core
from narrows.metrics import jains_index
from narrows.model.scenario import Scenario
from narrows.runs.simulated import Task, run_all
from narrows.stats import mean_ci
from narrows_papers.agile_sd import measures
from narrows_papers.agile_sd.arms import ONE, scenario
from narrows_papers.agile_sd.claims import CLOSE
from narrows_papers.agile_sd.published import published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from narrows.model.scenario import Override
    from narrows.outcome import Run

HERE = Path(__file__).resolve().parent
BUFFERS = (20, 100)
"""Buffers, packets, as ns-2 counts them."""

SACK = '{ sack = true, recovery = "sack", reduction = "prr" }'
TIMER = '{ sack = false, recovery = "rto_only" }'
PER = "topology.bottleneck.forward.per"
SECOND, FIRST = "flows[1].start", "flows[0].start"


@dataclass(frozen=True)
class Condition:
    """What differs from `side-by-side.toml`.

    Attributes
    ----------
    name : str
    changes : mapping
        For all flows.
    sack : tuple of str
        Congestion controls whose flows have SACK and TCP/Linux's recovery.
    timer : tuple of str
        Congestion controls whose flows find losses by the timer alone, as ns-2's TCP/Linux does without SACK.
    hosts : int or None
        Buffer of the hosts' links, packets, where it is not that of the shared link.
    params : mapping
        ``cc_params`` by congestion control; other pairs are not run.
    flows : int
        Flows of each of the two.
    buffers : tuple of int
    """

    name: str
    changes: Mapping[str, Override] = field(default_factory=dict)
    sack: tuple[str, ...] = ()
    timer: tuple[str, ...] = ()
    hosts: int | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    flows: int = 1
    buffers: tuple[int, ...] = BUFFERS


ALL = ("agile_sd", "cubic", "compound", "reno")
CONDITIONS: tuple[Condition, ...] = (
    Condition("side-by-side.toml"),
    Condition("SACK", sack=ALL),
    Condition("SACK, but not for NewReno", sack=ALL[:3]),
    Condition("losses by the timer alone, but not for NewReno", timer=ALL[:3], buffers=(5, 10, 20, 50, 100)),
    Condition("limit on the shared link alone", hosts=100_000),
    Condition("limit on the shared link alone, SACK", hosts=100_000, sack=ALL),
    Condition("hosts' links have ns-2's default of 50", hosts=50),
    Condition("second flow 1 s later", {SECOND: "1 s"}),
    Condition("second flow 10 s later", {SECOND: "10 s"}),
    Condition("second flow 50 s later", {SECOND: "50 s"}),
    Condition("first flow 10 s later", {FIRST: "10 s"}),
    Condition("first flow 50 s later", {FIRST: "50 s"}),
    Condition("one after another", {"flows[0].stop": "66.7 s", SECOND: "33.3 s"}),
    Condition("two flows of each", flows=2),
    Condition("packet errors 1e-6", {PER: 1e-6}),
    Condition("packet errors 1e-5", {PER: 1e-5}),
    Condition("packet errors 1e-4", {PER: 1e-4}),
    Condition("packet errors 1e-4, SACK", {PER: 1e-4}, sack=ALL),
    Condition("Agile-SD's module", params={"agile_sd": "{ profile = 'module' }"}),
    Condition("Linux's CUBIC", params={"cubic": "{ profile = 'linux' }"}),
    Condition("Linux's Compound", params={"compound": "{ profile = 'linux' }"}),
    Condition(
        "SACK, but not for NewReno; Linux's Compound, as ns-2 has it",
        sack=ALL[:3],
        params={"compound": "{ profile = 'linux' }"},
    ),
)


def prepared(condition: Condition, pair: str, buffer: int) -> Scenario:
    """The scenario of a pair under a condition."""
    base = scenario("side-by-side")
    names = pair.split()
    limit = f"{buffer - 1} packets"
    changes: dict[str, Override] = {"sampling": "100 ms", "queue.limit": limit}
    if condition.hosts is not None:
        changes["queue.limit"] = f"{condition.hosts - 1} packets"
        changes["topology.bottleneck.queue"] = f"{{ limit = '{limit}' }}"
    if condition.flows > 1:
        base = _with_more(base, condition.flows)
    for index, name in enumerate(name for name in names for _ in range(condition.flows)):
        changes[f"flows[{index}].cc"] = name
        if name in condition.sack:
            changes[f"flows[{index}].tcp"] = SACK
        if name in condition.timer:
            changes[f"flows[{index}].tcp"] = TIMER
        if name in condition.params:
            changes[f"flows[{index}].tcp.cc_params"] = condition.params[name]
    return base.with_overrides(changes | dict(condition.changes))


def _with_more(base: Scenario, each: int) -> Scenario:
    """So many pairs of hosts for each of the two, a flow on each."""
    head, _, _ = base.text.partition("[[flows]]")
    count = 2 * each
    flows = (f'[[flows]]\nname = "flow{n}"\nfrom = "s{n}"\nto = "d{n}"\n' for n in range(1, count + 1))
    return Scenario.from_text(head.replace("pairs = 2", f"pairs = {count}") + "\n".join(flows))


def readings(run: Run) -> dict[str, float | None]:
    """Jain's index of a run, under each reading."""
    made: dict[str, float | None] = {
        "whole run": jains_index([flow.arrived_bytes for flow in run.flows]),
        "while both are there": measures.shared_jain(run),
    }
    begin = max(flow.start_s for flow in run.flows)
    end = min(flow.start_s + flow.active_s for flow in run.flows)
    frame = run.samples.frame("flow")
    rows = frame[(frame["time_s"] >= begin) & (frame["time_s"] <= end)]
    windows = [float(np.nanmean(rows[rows["name"].astype(str) == flow.name]["cwnd_bytes"])) for flow in run.flows]
    made["mean cwnd while both are there"] = jains_index(windows)
    return made


def alone(buffer: int, seeds: int, jobs: int | None) -> dict[str, float]:
    """Index of each pair, over runs of one flow."""
    tasks = [
        Task(scenario(ONE).with_overrides({"tcp.cc": name, "queue.limit": f"{buffer - 1} packets"}), seed)
        for name in ALL
        for seed in range(1, seeds + 1)
    ]
    runs = iter(run_all(tasks, jobs))
    rates = {name: mean_ci(next(runs).flows[0].throughput_mbps for _ in range(seeds)).mean for name in ALL}
    return {pair: jains_index([rates[name] for name in pair.split()]) or 0.0 for pair in published().pairs}


def rows_of(name: str, buffer: int | str, found: Mapping[str, Mapping[str, float]]) -> Iterator[dict[str, object]]:
    """A row for each reading: indices, how many are as published, and how far they are in the mean."""
    told = published().pairs
    for reading, indices in found.items():
        far = [abs(value - told[pair]) for pair, value in indices.items()]
        yield {
            "condition": name,
            "buffer": buffer,
            "reading": reading,
            **{pair: f"{indices[pair]:.3f}" if pair in indices else "" for pair in told},
            "within": sum(one <= CLOSE for one in far),
            "of": len(far),
            "distance": f"{sum(far) / len(far):.3f}",
        }


def point(condition: Condition, buffer: int, seeds: int, jobs: int | None) -> dict[str, dict[str, float]]:
    """Mean over seeds of each reading's index, by reading and pair."""
    pairs = [pair for pair in published().pairs if not condition.params or set(pair.split()) & set(condition.params)]
    tasks = [Task(prepared(condition, pair, buffer), seed) for pair in pairs for seed in range(1, seeds + 1)]
    runs = iter(run_all(tasks, jobs))
    found: dict[str, dict[str, float]] = {}
    for pair in pairs:
        made = [readings(next(runs)) for _ in range(seeds)]
        for reading in made[0]:
            found.setdefault(reading, {})[pair] = mean_ci(one[reading] for one in made).mean
    return found


def search(seeds: int, jobs: int | None, wanted: str) -> Iterator[dict[str, object]]:
    """All rows: condition by condition at each buffer, and the mean over the buffers."""
    for condition in (one for one in CONDITIONS if wanted in one.name):
        made = [point(condition, buffer, seeds, jobs) for buffer in condition.buffers]
        for buffer, found in zip(condition.buffers, made, strict=True):
            yield from rows_of(condition.name, buffer, found)
        yield from rows_of(condition.name, "mean", _mean(made))
    if not wanted:
        solo = [{"each alone": alone(buffer, seeds, jobs)} for buffer in BUFFERS]
        for buffer, found in zip(BUFFERS, solo, strict=True):
            yield from rows_of("one-flow.toml", buffer, found)
        yield from rows_of("one-flow.toml", "mean", _mean(solo))


def _mean(made: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        reading: {pair: sum(found[reading][pair] for found in made) / len(made) for pair in indices}
        for reading, indices in made[0].items()
    }


def main() -> int:
    """Run the conditions and write `pairs-search.csv`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, help="seeds per pair and point")
    parser.add_argument("--jobs", type=int, default=None, help="runs at the same time; all processors by default")
    parser.add_argument("--only", default="", help="only conditions whose name has this")
    parser.add_argument("--out", type=Path, default=HERE / "pairs-search.csv")
    options = parser.parse_args()
    rows = []
    for row in search(options.runs, options.jobs, options.only):
        rows.append(row)
        sys.stdout.write(",".join(str(value) for value in row.values()) + "\n")
        sys.stdout.flush()
    rows.sort(key=lambda row: (-int(str(row["of"])), float(str(row["distance"]))))
    with options.out.open("w", encoding="utf-8", newline="") as file:
        seeds = "one seed" if options.runs == 1 else f"{options.runs} seeds"
        file.write(
            f"# {seeds} of each pair and point, 100 s, version {_core.version()}; those with fewer than six pairs "
            "last. Written by pairs-search.py.\n"
        )
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
