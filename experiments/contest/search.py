#!/usr/bin/env python3
"""What each value that the contest's paper leaves open does to the score and the claims: one changed for all variants.

python experiments/contest/search.py --runs 5            # writes search.csv
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.studies import contest
from narrows_papers.contest import evaluation, published
from narrows_papers.contest.claims import claims
from narrows_papers.contest.experiment import ORDERS, WINDOW_S, scenario
from narrows_papers.contest.measured import collect
from narrows_papers.contest.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.model.scenario import Override

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Choice:
    """One alternative: overrides of the scenario, and settings of every variant's `[tcp]` table."""

    name: str
    network: Mapping[str, Override] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    hybla_limited: bool = False


CHOICES = (
    Choice("as chosen"),
    Choice("no RTS and CTS", {"wifi.rts_threshold": "never"}),
    Choice("queue of 25 packets", {"queue.limit": "25 packets"}),
    Choice("queue of 100 packets", {"queue.limit": "100 packets"}),
    Choice("an ACK for every second segment", tcp={"delayed_ack": {"every": 2, "timeout": "100 ms"}}),
    Choice("timestamps", tcp={"timestamps": True}),
    Choice("unbounded first slow-start threshold", tcp={"initial_ssthresh": "unlimited"}),
    Choice("window limit binds Hybla, too", hybla_limited=True),
    Choice("initial window of 1 segment", tcp={"initial_window": 1}),
    Choice("initial window of 10 segments", tcp={"initial_window": 10}),
    Choice("starts within 100 ms", {"start_jitter": "100 ms"}),
    Choice("ACKs of 40 bytes on the air", {"wifi.station_overhead": "0 B"}),
    Choice("LLC and SNAP in every frame", {"wifi.overhead": "14 B"}),
)
"""What is varied; everything else is as in the reproduction."""


def main() -> int:
    """Run all choices and write `search.csv`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="seeds per pair and choice")
    parser.add_argument("--jobs", type=int, default=None, help="runs at the same time; all processors by default")
    parser.add_argument("--out", type=Path, default=HERE / "search.csv")
    options = parser.parse_args()
    printed = published.read()
    rows = []
    for choice in CHOICES:
        meetings = collect(_records(choice, options.runs, options.jobs))
        found, decided = evaluation.readings(meetings, printed), claims(meetings, meetings)
        rows.append(
            {
                "name": choice.name,
                "near": evaluation.share(found.read).near,
                "cells": len(found.read),
                "near_captions": evaluation.share(found.captioned).near,
                "cells_captions": len(found.captioned),
                "claims": sum(one.holds for one in decided),
                "of_claims": len(decided),
                "failing": "; ".join(one.text.split(" (")[0].split(":")[0] for one in decided if not one.holds),
            }
        )
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
    with options.out.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {options.runs} seeds, version {_core.version()}. Written by search.py.\n")
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return 0


def _records(choice: Choice, runs: int, jobs: int | None) -> tuple[contest.Record, ...]:
    """Make every pair in both starting orders, with the window limit."""
    contestants = []
    for one in VARIANTS:
        table = one.tcp(window_limit=True) | dict(choice.tcp)
        if choice.hybla_limited:
            table["max_cwnd"] = table["initial_ssthresh"]
        contestants.append(contest.Contestant(one.name, table))
    plan = contest.make(
        scenario().with_overrides(dict(choice.network)),
        contestants,
        runs=runs,
        window=WINDOW_S,
        orders=ORDERS,
        solo=False,
    )
    return contest.execute(plan, None, jobs=jobs).records


if __name__ == "__main__":
    sys.exit(main())
