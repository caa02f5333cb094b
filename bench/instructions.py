"""Instructions per delivered packet, by source file: ``python -m bench.instructions W1 W2``.

Counts with callgrind, which executes the program on a simulated processor, so a figure is the same each time. A
workload runs for two lengths of simulated time. A figure is the difference in instructions divided by the difference
in delivered packets, so start-up and slow start are left out.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.systems import cargo_examples
from bench.workloads import BUILD, WORKLOADS, Workload

#: Simulated seconds of the two runs.
LENGTHS = {"W1": (4.0, 6.0), "W2": (2.0, 3.0), "W4": (1.0, 1.25)}

#: Files with less than this share of all instructions are shown together.
SMALLEST = 0.005


@dataclass(frozen=True)
class Counted:
    """Instructions by part, and delivered packets, of one run."""

    instructions: Counter[str]
    delivered: int


def part(file: str, within: str) -> str:
    """The part of the program that a source file belongs to: ``tcp/ack.rs``; ``within`` is the file of the function.

    Code of the standard library that the compiler inlined is counted for the function that uses it.
    """
    for candidate in (file, within):
        match = re.search(r"crates/([a-z]+)/(?:src|examples)/(.*)$", candidate)
        if match:
            return f"{match[1]}/{match[2]}"
    if re.search(r"malloc|free|calloc|realloc|morecore", file):
        return "C library: memory"
    return "standard and C library"


def read_callgrind(lines: Iterable[str]) -> Counter[str]:
    """Own instructions by part, from callgrind's output file (its manual, "Callgrind Format Specification")."""
    files: dict[str, str] = {}
    counted: Counter[str] = Counter()
    file = within = ""
    called = False
    for line in lines:
        match = re.match(r"(fl|fi|fe)=(\(\d+\))(?: (.*))?", line)
        if match:
            if match[3]:
                files[match[2]] = match[3].strip()
            file = files.get(match[2], "")
            if match[1] == "fl":
                within = file
        elif line.startswith(("cfi=", "cfl=")):
            named = re.match(r"cf[il]=(\(\d+\)) (.*)", line)
            if named:
                files[named[1]] = named[2].strip()
        elif line.startswith("calls="):
            called = True
        elif line[:1] in "0123456789+-*" and line.strip():
            # The line after calls= is the cost of the called function, which is counted for that function.
            if not called:
                counted[part(file, within)] += int(line.split()[1])
            called = False
    return counted


def count(program: Path, workload: Workload) -> Counted:
    """Run a workload under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            str(program),
            str(workload.scenario()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        with out.open() as lines:
            counted = read_callgrind(lines)
    return Counted(counted, json.loads(done.stdout)["delivered_packets"])


def shortened(workload: Workload, seconds: float) -> Workload:
    """The same workload with another simulated time."""
    return replace(workload, name=f"{workload.name}-{round(1000 * seconds)}ms", seconds=seconds)


def per_packet(program: Path, workload: Workload) -> tuple[dict[str, float], int]:
    """Instructions per delivered packet by part, and the number of packets in this mean."""
    short, long = (count(program, shortened(workload, seconds)) for seconds in LENGTHS[workload.name])
    packets = long.delivered - short.delivered
    difference = {name: n - short.instructions[name] for name, n in long.instructions.items()}
    return {name: n / packets for name, n in difference.items()}, packets


def markdown(workload: Workload, parts: dict[str, float], packets: int) -> str:
    """A table: crates with their sums, and below each crate its files."""
    total = sum(parts.values())
    crates: dict[str, dict[str, float]] = {}
    for name, n in parts.items():
        crate, _, file = name.partition("/")
        crates.setdefault(crate, {})[file] = n
    lines = [
        f"**{workload.name}**: {total:,.0f} instructions per delivered packet (mean over {packets:,} packets)",
        "",
        "| part | instructions | share |",
        "|---|--:|--:|",
    ]
    for crate, files in sorted(crates.items(), key=lambda item: -sum(item[1].values())):
        whole = sum(files.values())
        if whole < SMALLEST * total:
            continue
        lines.append(f"| **{crate}** | {whole:,.1f} | {whole / total:.1%} |")
        shown = {file: n for file, n in files.items() if file and n >= SMALLEST * total}
        for file, n in sorted(shown.items(), key=lambda item: -item[1]):
            lines.append(f"| {crate}/{file} | {n:,.1f} | {n / total:.1%} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Count from the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=["W1", "W2"], help=f"of {', '.join(LENGTHS)} (default: W1 W2)")
    parser.add_argument("--output", type=Path, help="a file for the tables, besides the screen")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.workloads if name not in LENGTHS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: allowed are {', '.join(LENGTHS)}")
    if shutil.which("valgrind") is None:
        print("bench.instructions: valgrind is not installed (Debian package valgrind)", file=sys.stderr)
        return 1
    BUILD.mkdir(parents=True, exist_ok=True)
    program = cargo_examples("speed")["speed"]
    texts = []
    for name in chosen.workloads:
        parts, packets = per_packet(program, WORKLOADS[name])
        texts.append(markdown(WORKLOADS[name], parts, packets))
        print(texts[-1])
    if chosen.output is not None:
        chosen.output.write_text("\n".join(texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
