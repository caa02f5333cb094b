#!/usr/bin/env python3
"""The paper's first scenario on ns-2.35 itself, with a receiver that sends SACK blocks and with one that does not.

python experiments/agile-sd/ns2/one_flow.py            # writes ../ns2.csv; needs ns (Debian ns2)
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REACHED = 1500
SAMPLE_S = 0.1

AGENTS: tuple[tuple[str, str, str, str], ...] = (
    ("TCP/Linux, cubic", "Linux", "cubic", "TCPSink/Sack1"),
    ("TCP/Linux, compound", "Linux", "compound", "TCPSink/Sack1"),
    ("TCP/Linux, cubic", "Linux", "cubic", "TCPSink"),
    ("TCP/Linux, compound", "Linux", "compound", "TCPSink"),
    ("TCP/Newreno", "Newreno", "", "TCPSink"),
)
"""What is run: name, class, module, receiver."""

LIMITS = (5, 100)


def run(name: str, agent: str, module: str, sink: str, limit: int) -> dict[str, Any]:
    """One run as a row of the table."""
    given = {"agent": agent, "sink": sink, "limit": limit, "size": 960} | ({"module": module} if module else {})
    command = ["ns", str(HERE / "one-flow.tcl"), *(f"{key}={value}" for key, value in given.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made = json.loads(done.stderr.strip().splitlines()[-1])
    cwnd = made["cwnd"]
    return {
        "agent": name,
        "receiver": "with SACK" if sink.endswith("Sack1") else "without SACK",
        "buffer": limit,
        "reached_s": next((f"{SAMPLE_S * i:.1f}" for i, value in enumerate(cwnd) if value >= REACHED), ""),
        "peak_packets": round(max(cwnd)),
        "goodput_mbps": round(made["delivered_bytes"] / 1000 * 960 * 8 / 100e6, 1),
        "dropped": made["dropped_packets"],
        "timeouts": made["timeouts"],
        "version": made["version"],
    }


def main() -> int:
    """Run all agents at all buffers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=HERE.parent / "ns2.csv")
    options = parser.parse_args()
    points = [(*agent, limit) for agent in AGENTS for limit in LIMITS]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda point: run(*point), points))
    with options.out.open("w", encoding="utf-8", newline="") as file:
        file.write("# 100 s, packets of 1000 bytes, one run each (nothing is random). Written by ns2/one_flow.py.\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.stdout.write(options.out.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
