"""Packets per CPU second: Narrows beside ns-2 in one run, interleaved, as medians.

``make bench`` runs the workloads W1 and W3; ``python bench/run.py --help`` shows how to run the others.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

NS2_PROGRAMS = ("ns", "ns2")
NS2_SCHEDULERS = ("Calendar", "Splay")


@dataclass(frozen=True)
class Workload:
    """What all systems run: a scenario file for Narrows, the same as a script below ``ns2`` with its arguments."""

    name: str
    title: str
    scenario: Path
    ns2: tuple[str, ...]
    script: str = "speed.tcl"


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "W1",
            "1 flow, 1 Gb/s, 12 ms RTT, 100-packet drop-tail on every link, 20 s, SACK, CUBIC, an ACK per packet",
            ROOT / "scenarios" / "speed-w1.toml",
            ("flows=1", "rate=1000", "rtt_min=12", "rtt_max=12", "queue=100", "seconds=20"),
        ),
        Workload(
            "W2",
            "100 flows, 1 Gb/s, 20 to 120 ms RTT, drop-tail of one BDP, 20 s, SACK, CUBIC, an ACK per packet",
            HERE / "w2.toml",
            ("flows=100", "rate=1000", "rtt_min=20", "rtt_max=120", "queue=5833", "seconds=20", "spread=1"),
        ),
        Workload(
            "W3",
            "2 flows to stations of one 802.11 channel, 1 Mb/s, RTS/CTS, Reno and CUBIC, windows of 20, 120 s",
            ROOT / "scenarios" / "hybrid-contest.toml",
            ("first=Reno", "second=Linux/cubic", "window=20", "seconds=120"),
            "contest.tcl",
        ),
        Workload(
            "W4",
            "10,000 flows, 10 Gb/s, 20 to 120 ms RTT, drop-tail of one BDP, 2 s, SACK, CUBIC, an ACK per packet",
            HERE / "w4.toml",
            ("flows=10000", "rate=10000", "rtt_min=20", "rtt_max=120", "queue=58333", "seconds=2", "spread=1"),
        ),
    )
}


@dataclass(frozen=True)
class Measurement:
    """One row of ``results/latest.json``; times in seconds of user and system time, memory in bytes."""

    workload: str
    system: str
    version: str
    delivered_packets: int
    cpu_s: float
    packets_per_cpu_s: int
    peak_rss_bytes: int


@dataclass(frozen=True)
class System:
    """A simulator, and how it is started for a workload."""

    name: str
    command: Callable[[Workload], list[str]]


def build_ours() -> Path:
    """Build the release binary that runs a scenario and nothing else, and return its path."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "narrows-sim", "--example", "speed"]
    output = subprocess.run([*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    programs = [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "speed"]
    return Path(programs[-1])


def systems(ours: Path) -> list[System]:
    """Return all systems that are installed, Narrows first."""
    found = [System("narrows", lambda workload: [str(ours), str(workload.scenario)])]
    ns2 = next((path for path in map(shutil.which, NS2_PROGRAMS) if path), None)
    if ns2 is None:
        return found
    for scheduler in NS2_SCHEDULERS:

        def command(workload: Workload, scheduler: str = scheduler) -> list[str]:
            return [ns2, str(HERE / "ns2" / workload.script), f"scheduler={scheduler}", *workload.ns2]

        found.append(System(f"ns-2 ({scheduler.lower()} queue)", command))
    return found


def measure(system: System, workload: Workload) -> Measurement:
    """Run one system once.

    CPU time is the whole process's, as the operating system accounts it, so start-up and reading the scenario count for
    everybody. Peak memory is what the process says of itself: the parent's memory would blur what ``wait`` reports.
    """
    process = subprocess.Popen(system.command(workload), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
    output = process.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        message = f"{system.name} failed on {workload.name} with status {process.returncode}:\n{output[-2000:]}"
        raise RuntimeError(message)
    result = json.loads(output[output.rindex("{") : output.rindex("}") + 1])
    cpu = usage.ru_utime + usage.ru_stime
    delivered = int(result["delivered_packets"])
    version = str(result["version"])
    rss = int(result["peak_rss_bytes"])
    return Measurement(workload.name, system.name, version, delivered, cpu, round(delivered / cpu), rss)


def median(runs: list[Measurement]) -> Measurement:
    """Return the run of median CPU time; of an even number, the slower of the two in the middle."""
    return sorted(runs, key=lambda run: run.cpu_s)[len(runs) // 2]


def help_seconds(console: Console) -> None:
    """Print how long ``narrows --help`` takes, in seconds of wall-clock time."""
    narrows = Path(sys.executable).with_name("narrows")
    if not narrows.exists():
        console.print(f"`narrows --help`: not measured, for {narrows} does not exist (make setup)")
        return
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        subprocess.run([str(narrows), "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    console.print(f"`narrows --help`: {statistics.median(times):.2f} s of wall-clock time (median of {len(times)})")


def show(console: Console, workload: Workload, rows: list[Measurement], repeat: int) -> None:
    """Print a workload's rows as a table."""
    table = Table(title=f"{workload.name}: {workload.title}", caption=f"medians of {repeat}", title_justify="left")
    table.add_column("system")
    table.add_column("version")
    for name in ("delivered packets", "CPU s", "packets / CPU s", "peak memory MB"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.system,
            row.version,
            f"{row.delivered_packets:,}",
            f"{row.cpu_s:.3f}",
            f"{row.packets_per_cpu_s:,}",
            f"{row.peak_rss_bytes / 1e6:.1f}",
        )
    console.print(table)


def main() -> int:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description="Packets per CPU second: Narrows beside ns-2, where it is installed.")
    parser.add_argument(
        "--workloads", default="W1,W3", help=f"comma-separated, of {', '.join(WORKLOADS)} (default: W1,W3)"
    )
    parser.add_argument("--repeat", type=int, default=7, help="runs of each system, interleaved (default: 7)")
    parser.add_argument(
        "--output", type=Path, default=HERE / "results" / "latest.json", help="where the rows are written"
    )
    arguments = parser.parse_args()
    names = arguments.workloads.split(",")
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown or arguments.repeat < 1:
        parser.error(f"--repeat is at least 1, and workloads are of {', '.join(WORKLOADS)}; not {', '.join(unknown)}")

    console = Console()
    present = systems(build_ours())
    if len(present) == 1:
        console.print("ns-2 is not installed (Debian: ns2): Narrows is measured alone")
    rows = []
    for workload in (WORKLOADS[name] for name in names):
        runs: dict[str, list[Measurement]] = {system.name: [] for system in present}
        for _ in range(arguments.repeat):
            for system in present:
                runs[system.name].append(measure(system, workload))
        of_workload = [median(runs[system.name]) for system in present]
        show(console, workload, of_workload, arguments.repeat)
        rows += of_workload
    help_seconds(console)

    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    draft = arguments.output.with_suffix(".json.part")
    draft.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    draft.replace(arguments.output)
    console.print(f"written: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
