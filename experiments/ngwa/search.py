#!/usr/bin/env python3
"""What each calibration value of the NGWA simulations does: losses of all arms with one value changed, beside table 2.

The figure with the rates and delays is lost, and the details of ns-3's TCP stand nowhere in the paper. Every point
changes one or two values of `scenario.toml` for all arms alike; no arm is tuned alone. The distance is the sum over
the arms with a published count of |ln((1 + measured) / (1 + published))|.

    python experiments/ngwa/search.py --runs 15            # writes search.csv, best first
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import _core
from narrows.runs.simulated import Task, run_all
from narrows.stats import mean_ci
from narrows_papers.ngwa.arms import ARMS, scenario
from narrows_papers.ngwa.published import published

if TYPE_CHECKING:
    from narrows.model.scenario import Override

HERE = Path(__file__).resolve().parent
RATE, DELAY = "topology.bottleneck.rate", "topology.bottleneck.delay"
ACCESS, ACCESS_RATE = "topology.access.delay", "topology.access.rate"

RATES, DELAYS = ("1 Mb/s", "1.2 Mb/s", "1.5 Mb/s", "1.8 Mb/s"), ("10 ms", "20 ms", "30 ms")

VARIATIONS: dict[str, dict[str, Override]] = {
    "scenario.toml": {},
    "right edge never moves left": {"ngwa.shrink": False},
    "value written at arrival": {"ngwa.stamp": "arrival"},
    "value written into data alone": {"ngwa.marks": "data"},
    "delayed ACKs": {"tcp.delayed_ack": "{ every = 2, timeout = '200 ms' }"},
    "initial window of RFC 6928": {"tcp.initial_window": "rfc6928"},
    "no unused growth": {"tcp.rate_limited": "cwnd_limited"},
    "rto.min 200 ms": {"tcp.rto.min": "200 ms"},
    "window of 65,535 bytes": {"tcp.recv_buffer": "65535 B"},
    "writes of 500 bytes": {f"flows[{flow}].write": "500 B" for flow in range(4)},
    "Nagle": {"tcp.nagle": True},
    "SACK": {"tcp.sack": True, "tcp.recovery": "sack"},
    "starts within 1 s": {"start_jitter": "1 s"},
    "starts at once": {"start_jitter": "0 s"},
    "access delay 1 ms": {ACCESS: "1 ms"},
    "access delay 5 ms": {ACCESS: "5 ms"},
    **{
        f"{rate}, {delay}": {RATE: rate, DELAY: delay}
        for rate, delay in itertools.product(RATES, DELAYS)
        if (rate, delay) != ("1.5 Mb/s", "20 ms")
    },
    # Phases: no other networks, but no longer do 3 packets of the middle link take as long as 20 of the access links.
    "middle link 1 b/s faster": {RATE: "1500001 b/s"},
    "access links 1 b/s faster": {ACCESS_RATE: "10000001 b/s"},
}
"""Points by name: what differs from `scenario.toml`."""


def main() -> int:
    """Run all points and write `search.csv`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="seeds per arm and point")
    parser.add_argument("--jobs", type=int, default=None, help="runs at the same time; all processors by default")
    parser.add_argument("--out", type=Path, default=HERE / "search.csv")
    options = parser.parse_args()
    base, printed = scenario(), published()
    points = {name: dict(overrides) for name, overrides in VARIATIONS.items()}
    tasks = [
        Task(base.with_overrides({"sampling": "off", **point, **arm.overrides}), seed)
        for point in points.values()
        for arm in ARMS
        for seed in range(1, options.runs + 1)
    ]
    runs = iter(run_all(tasks, options.jobs))
    rows: list[dict[str, object]] = []
    for name in points:
        row: dict[str, object] = {"name": name, "distance": 0.0}
        distance = 0.0
        for arm in ARMS:
            made = [next(runs) for _ in range(options.runs)]
            lost = mean_ci(sum(flow.lost_packets for flow in run.flows) for run in made)
            triples = mean_ci(sum(flow.later_duplicate_acks or 0 for flow in run.flows) for run in made)
            row[f"lost_{arm.name}"], row[f"lost_{arm.name}_half"] = round(lost.mean, 1), round(lost.half_width, 1)
            row[f"triples_{arm.name}"] = round(triples.mean, 1)
            told = printed.of("lost", arm.name)
            distance += 0.0 if told is None else abs(math.log((1 + lost.mean) / (1 + told)))
        row["distance"] = round(distance, 2)
        rows.append(row)
    rows.sort(key=lambda row: float(str(row["distance"])))
    with options.out.open("w", encoding="utf-8", newline="") as file:
        said = f"{options.runs} runs per arm and point, seeds from 1, version {_core.version()}"
        file.write(f"# {said}. Written by search.py.\n")
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        shown = "  ".join(f"{arm.name} {row[f'lost_{arm.name}']}" for arm in ARMS)
        sys.stdout.write(f"{row['distance']:>6}  {row['name']:<28}  {shown}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
