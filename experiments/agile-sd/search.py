#!/usr/bin/env python3
"""What each calibration value does to the three windows that the paper prints.

Published with buffers of 5 packets: Agile-SD reaches 1500 packets at about 17 s, CUBIC at about 60 s, Compound touches
110 packets. Every point changes one or two values of `one-flow.toml` for all arms alike; the distance is the sum over
the three of |ln(measured / published)|.

    python experiments/agile-sd/search.py            # writes search.csv, nearest first
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import _core
from narrows.runs.simulated import Task, run_all
from narrows.stats import mean_ci
from narrows_papers.agile_sd import measures
from narrows_papers.agile_sd.arms import scenario
from narrows_papers.agile_sd.published import published

if TYPE_CHECKING:
    from narrows.model.scenario import Override

HERE = Path(__file__).resolve().parent
SACK: dict[str, Override] = {"tcp.sack": True, "tcp.recovery": "sack", "tcp.reduction": "prr"}
LIMIT = "queue.limit"

VARIATIONS: dict[str, dict[str, Override]] = {
    "one-flow.toml": {},
    "limit of 5 packets, the one being sent not counted": {LIMIT: "5 packets"},
    "segments of 1000 bytes": {"tcp.mss": "1000 B"},
    "both of these": {LIMIT: "5 packets", "tcp.mss": "1000 B"},
    "SACK": SACK,
    "SACK, segments of 1000 bytes": {**SACK, "tcp.mss": "1000 B"},
    "timestamps": {"tcp.timestamps": True, "tcp.mss": "972 B"},
    "no limited transmit": {"tcp.limited_transmit": False},
    "initial window of 10": {"tcp.initial_window": 10},
    "delayed ACKs": {"tcp.delayed_ack": "{ every = 2, timeout = '200 ms' }"},
    "stack rfc": {"tcp.stack": "rfc", "tcp.delayed_ack": False, "tcp.timestamps": False, "tcp.initial_window": 2},
}
"""Points by name: what differs from `one-flow.toml` with buffers of 5 packets."""

PROFILES: dict[str, dict[str, dict[str, Override]]] = {
    "agile_sd": {"": {}, "profile module": {"tcp.cc_params": "{ profile = 'module' }"}},
    "cubic": {
        "": {},
        "profile linux": {"tcp.cc_params": "{ profile = 'linux' }"},
        "profile rfc9438": {"tcp.cc_params": "{ profile = 'rfc9438' }"},
    },
    "compound": {
        "": {},
        "profile linux": {"tcp.cc_params": "{ profile = 'linux' }"},
        "no gamma tuning": {"tcp.cc_params": "{ gamma_tuning = false }"},
    },
}
"""Profiles of each congestion control, with the rest as in `one-flow.toml`."""


def windows(seeds: int, jobs: int | None, out: Path) -> None:
    """Run the variations of one flow and write `search.csv`."""
    base = scenario().with_overrides({LIMIT: "4 packets"})
    points: list[tuple[str, dict[str, dict[str, Override]]]] = [
        (name, {arm: {"tcp.cc": arm, **changes} for arm in PROFILES}) for name, changes in VARIATIONS.items()
    ]
    points += [
        (f"{arm}, {name}", {arm: {"tcp.cc": arm, **changes}})
        for arm, profiles in PROFILES.items()
        for name, changes in profiles.items()
        if name
    ]
    tasks = [
        Task(base.with_overrides(changes), seed)
        for _, arms in points
        for changes in arms.values()
        for seed in range(1, seeds + 1)
    ]
    runs = iter(run_all(tasks, jobs))
    told = {
        "agile_sd": ("reached_s", published().the("reached", "agile_sd")),
        "cubic": ("reached_s", published().the("reached", "cubic")),
        "compound": ("peak_packets", published().the("peak", "compound")),
    }
    rows: list[dict[str, object]] = []
    for name, arms in points:
        row: dict[str, object] = {"name": name, "distance": ""}
        distance = 0.0
        for arm, (what, wanted) in told.items():
            if arm not in arms:
                row |= dict.fromkeys((f"{what}_{arm}", f"{what}_{arm}_half", f"utilisation_{arm}"), "")
                continue
            made = [next(runs) for _ in range(seeds)]
            found = mean_ci(measures.of_run(run)[what] for run in made)
            used = mean_ci(
                100 * (queue.utilisation or 0) for run in made for queue in run.queues if queue.name == "r1->r2"
            )
            row[f"{what}_{arm}"] = "" if math.isnan(found.mean) else round(found.mean, 1)
            row[f"{what}_{arm}_half"] = "" if math.isnan(found.half_width) else round(found.half_width, 1)
            row[f"utilisation_{arm}"] = round(used.mean, 1)
            distance += abs(math.log(found.mean / wanted)) if found.mean > 0 else math.inf
        row["distance"] = round(distance, 3) if len(arms) == len(told) and math.isfinite(distance) else ""
        rows.append(row)
    rows.sort(key=lambda row: float(str(row["distance"] or "inf")))
    _write(
        out / "search.csv", rows, f"{seeds} runs per arm and point, buffers of 5 packets, one flow, no packet errors"
    )


def _write(path: Path, rows: list[dict[str, object]], said: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {said}, seeds from 1, version {_core.version()}. Written by search.py.\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.stdout.write(path.read_text(encoding="utf-8"))


def main() -> int:
    """Run the variations and write `search.csv`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="seeds per arm and point")
    parser.add_argument("--jobs", type=int, default=None, help="runs at the same time; all processors by default")
    parser.add_argument("--out", type=Path, default=HERE / "search.csv")
    options = parser.parse_args()
    windows(options.runs, options.jobs, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
