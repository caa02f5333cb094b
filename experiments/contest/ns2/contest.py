#!/usr/bin/env python3
"""Runs the contest's pairs on ns-2.35 (`contest.tcl`) and writes the throughput-delivery products to `../ns2.csv`.

python experiments/contest/ns2/contest.py                                  # all 225 ordered pairs, some minutes
python experiments/contest/ns2/contest.py --pairs "Westwood Hybla" --seeds 20 --output -
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# The paper's names, in its order, and ns-2's agents below Agent/TCP.
VARIANTS = {
    "Bic": "Linux/bic",
    "Compound": "Linux/compound",
    "Cubic": "Linux/cubic",
    "Fack": "Fack",
    "Highspeed": "Linux/highspeed",
    "HTCP": "Linux/htcp",
    "Hybla": "Linux/hybla",
    "Illinois": "Linux/illinois",
    "LowPriority": "Linux/lp",
    "NewReno": "Newreno",
    "Reno": "Reno",
    "Sack": "Sack1",
    "Vegas": "Vegas",
    "Veno": "Linux/veno",
    "Westwood": "Linux/westwood",
}
COLUMNS = ["first", "second", "window", "seed", "tpp_first", "tpp_second"]
COUNTS = ["sent_packets", "retransmitted", "timeouts"]
MEASURED_S = 60.0
MEBIT = 2.0**20  # what the paper's "Mb" turned out to be


def ns2() -> str:
    """Return ns-2's path, or leave with what is missing."""
    path = shutil.which("ns") or shutil.which("ns2")
    if path is None:
        sys.exit("ns-2 is not installed (Debian package ns2)")
    return path


def run(first: str, second: str, window: int, seed: int) -> list[dict[str, Any]]:
    """Run a pair once; ns-2's report of both flows."""
    command = [ns2(), str(HERE / "contest.tcl"), f"first={VARIANTS[first]}", f"second={VARIANTS[second]}"]
    command += [f"window={window}", f"seed={seed}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    begin = done.stderr.rfind('{"version"')
    if done.returncode or begin < 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    flows: list[dict[str, Any]] = json.loads(done.stderr[begin:])["flows"]
    return flows


def row(task: tuple[str, str, int, int]) -> list[Any]:
    """Run a pair once and make it a row of the table."""
    flows = run(*task)
    # Throughput times delivery ratio is sent / time x received / sent: what came through per second.
    tpp = [flow["received_bytes"] * 8 / MEASURED_S / MEBIT for flow in flows]
    return [*task, *(f"{value:.4f}" for value in tpp), *(flow[name] for name in COUNTS for flow in flows)]


def main() -> None:
    """Run the contest from the command line."""
    parser = argparse.ArgumentParser(description="The contest's pairs on ns-2.35.")
    parser.add_argument("--pairs", help="'First Second', several separated by commas (default: all 225)")
    parser.add_argument(
        "--seeds", type=int, default=5, help="ns-2's own default seed, 0, and so many less one (default: 5)"
    )
    parser.add_argument("--window", type=int, default=20, help="window_ in packets (default: 20, as ns-2's)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--output", default=str(HERE.parent / "ns2.csv"), help="a file, or - (default: ../ns2.csv)")
    arguments = parser.parse_args()
    if arguments.pairs is None:
        pairs = [(first, second) for first in VARIANTS for second in VARIANTS]
    else:
        pairs = [(names[0], names[-1]) for names in (pair.split() for pair in arguments.pairs.split(","))]
    unknown = sorted({name for pair in pairs for name in pair} - set(VARIANTS))
    if unknown:
        parser.error(f"no variant {', '.join(unknown)}: they are {', '.join(VARIANTS)}")
    tasks = [(*pair, arguments.window, seed) for pair in pairs for seed in range(arguments.seeds)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(row, tasks))
    header = [*COLUMNS, *(f"{name}_{which}" for name in COUNTS for which in ("first", "second"))]
    out = sys.stdout if arguments.output == "-" else Path(arguments.output).open("w", encoding="utf-8", newline="")  # noqa: SIM115
    with out:
        out.write(
            "# ns-2.35, contest.tcl: TPP in Mb/s of 2^20 bits, counts of 40 to 100 s. Written by ns2/contest.py.\n"
        )
        table = csv.writer(out, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


if __name__ == "__main__":
    main()
