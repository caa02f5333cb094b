#!/usr/bin/env python3
"""Runs `two-sites.tcl` with many start jitters on ns-2.35 and writes means and standard deviations to `two-sites.csv`.

python experiments/acns/ns2/two_sites.py
"""

import csv
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, stdev

HERE = Path(__file__).resolve().parent
SEEDS = range(1, 21)
SINKS = {"plain": "sack=0", "plain, delayed ACKs": "delack=1", "SACK": "sack=1"}
COLUMNS = {
    "sent_mb": ("sent_bytes", 1e-6),
    "lost_packets": ("lost_packets", 1.0),
    "timeouts": ("timeouts", 1.0),
    "srtt_mean_ms": ("srtt_mean_ms", 1.0),
    "srtt_max_ms": ("srtt_max_ms", 1.0),
}


def run(arguments: tuple[str, int]) -> list[dict[str, float]]:
    """Run ns-2 once; the flows of its report."""
    sink, seed = arguments
    ns = shutil.which("ns") or shutil.which("ns2")
    if ns is None:
        sys.exit("ns-2 is not installed (Debian package ns2)")
    command = [ns, str(HERE / "two-sites.tcl"), f"seed={seed}", sink]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    flows: list[dict[str, float]] = json.loads(done.stderr[done.stderr.rindex('{"version"') :])["flows"]
    return flows


def main() -> None:
    """Run everything and write the table."""
    with (HERE / "two-sites.csv").open("w", encoding="utf-8", newline="") as file, ThreadPoolExecutor() as pool:
        file.write(f"# ns-2.35, two-sites.tcl, seeds {SEEDS[0]} to {SEEDS[-1]}. Written by two_sites.py.\n")
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["sink", "flow", *(f"{name}{end}" for name in COLUMNS for end in ("", "_sd"))])
        for name, sink in SINKS.items():
            reports = list(pool.map(run, [(sink, seed) for seed in SEEDS]))
            for i in range(3):
                cells = []
                for key, scale in COLUMNS.values():
                    values = [report[i][key] * scale for report in reports]
                    cells += [f"{fmean(values):.2f}", f"{stdev(values):.2f}"]
                rows.writerow([name, i + 1, *cells])


if __name__ == "__main__":
    main()
