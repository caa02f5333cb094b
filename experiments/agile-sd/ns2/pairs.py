#!/usr/bin/env python3
"""Inter-fairness on ns-2.35 itself: pairs side by side, in both orders, with and without SACK, with and without phases.

Agile-SD is `agile_sd.c`, which is compiled and loaded into the packaged ns; CUBIC and Compound are ns-2's.

python experiments/agile-sd/ns2/pairs.py            # writes ../ns2-pairs.csv; needs ns (Debian ns2) and a C compiler
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
AGENTS: dict[str, dict[str, str]] = {
    "agile_sd": {"agent": "Linux", "module": "agile_sd"},
    "cubic": {"agent": "Linux", "module": "cubic"},
    "compound": {"agent": "Linux", "module": "compound"},
    "reno": {"agent": "Newreno"},
}
PAIRS = ("agile_sd reno", "compound reno", "cubic reno", "agile_sd cubic", "cubic compound", "agile_sd compound")
STARTS = ("0.061", "0.017")
"""When the two start, s: within the 100 ms of ours."""


@dataclass(frozen=True)
class Point:
    """A pair under one condition.

    Attributes
    ----------
    receiver : str
        Of TCP/Linux: ``with SACK`` or ``without SACK``. ns-2's own NewReno has no use for it.
    overhead_us : int
        Random time up to this before each packet is sent; 8 is the time that a packet takes on a link.
    buffer : int
        limit_ of all queues, packets.
    pair : str
    """

    receiver: str
    overhead_us: int
    buffer: int
    pair: str


POINTS: tuple[Point, ...] = (
    *(Point("without SACK", 0, buffer, pair) for buffer in (5, 20, 50, 100) for pair in PAIRS),
    *(Point("with SACK", overhead, 100, pair) for overhead in (0, 8) for pair in PAIRS),
)


def run(point: Point, names: list[str], library: Path) -> dict[str, Any]:
    """One run, with the flows in this order; what the script prints."""
    given = {
        "limit": point.buffer,
        "access": point.buffer,
        "overhead": f"{point.overhead_us}e-6",
        "library": library,
    }
    command = ["ns", str(HERE / "pairs.tcl"), *(f"{key}={value}" for key, value in given.items())]
    for place, (name, start) in enumerate(zip(names, STARTS, strict=True), 1):
        agent = AGENTS[name]
        sack = agent["agent"] == "Linux" and point.receiver == "with SACK"
        settings = agent | {"sink": "TCPSink/Sack1" if sack else "TCPSink", "start": start}
        command += [f"{key}{place}={value}" for key, value in settings.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
    return made


def row(point: Point, library: Path) -> dict[str, Any]:
    """Both orders of a point as a row of the table: indices, and what each flow did as means."""
    names = point.pair.split()
    made = run(point, names, library), run(point, names[::-1], library)
    flows = [(one["flows"][0], one["flows"][1]) for one in (made[0], {"flows": made[1]["flows"][::-1]})]
    indices = [_index([flow["acknowledged"] for flow in both]) for both in flows]
    found: dict[str, Any] = {
        "receiver": point.receiver,
        "overhead_us": point.overhead_us,
        "buffer": point.buffer,
        "pair": point.pair,
        "index": f"{sum(indices) / 2:.3f}",
        "in_order": f"{indices[0]:.3f}",
        "reversed": f"{indices[1]:.3f}",
    }
    for place, name in enumerate(("first", "second")):
        found[f"{name}_mbps"] = round(sum(both[place]["acknowledged"] for both in flows) / 2 * 960 * 8 / 100e6, 1)
        for what in ("timeouts", "retransmitted"):
            found[f"{name}_{what}"] = sum(both[place][what] for both in flows) / 2
    return found | {"dropped_shared": sum(one["dropped"][2] for one in made) / 2, "version": made[0]["version"]}


def _index(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def main() -> int:
    """Run all points and write `ns2-pairs.csv`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE.parent / "ns2-pairs.csv")
    options = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        library = Path(folder) / "agile_sd.so"
        compiler = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run([*compiler, str(HERE / "agile_sd.c")], check=True)
        for made in pool.map(lambda point: row(point, library), POINTS):
            rows.append(made)
            sys.stdout.write(",".join(map(str, made.values())) + "\n")
            sys.stdout.flush()
    with options.out.open("w", encoding="utf-8", newline="") as file:
        file.write(
            "# 100 s, packets of 1000 bytes, two flows in both orders; the index is the mean of both. Written by "
            "ns2/pairs.py.\n"
        )
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
