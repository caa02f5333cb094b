"""``python -m bench``: measure, print tables, keep the results. ``--help`` lists the options."""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from bench import plots
from bench.machine import machine
from bench.measure import Effort, MeasurementError, System
from bench.results import RESULTS, Results, notes
from bench.suite import grow, idle_flows, probes, table
from bench.sweeps import sweeps
from bench.systems import BuildError, Places, guided, others, ours
from bench.workloads import ROOT, WORKLOADS

#: Parts besides the workloads: growth with the number of flows, memory of idle flows, the cost of sampling, and of a
#: short run in a sweep.
PARTS = ("W5", "idle", "probes", "sweeps")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; an invalid option ends the program with a message."""
    usual = Places.from_environment()
    every = [*WORKLOADS, *PARTS]
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Delivered data packets per CPU second: Narrows beside the simulators that are here.",
    )
    parser.add_argument(
        "--only", default=",".join(every), help=f"comma-separated, of {', '.join(every)} (default: all)"
    )
    parser.add_argument("--repeat", type=int, default=5, help="runs of each system, interleaved (default: %(default)s)")
    parser.add_argument(
        "--patience",
        type=float,
        default=10,
        metavar="S",
        help="what takes more CPU time is not repeated (default: %(default)s s)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=240,
        metavar="S",
        help="what takes more CPU time is ended (default: %(default)s s)",
    )
    parser.add_argument("--alone", action="store_true", help="Narrows and the bare loops only")
    parser.add_argument(
        "--guided", action="store_true", help="also Narrows compiled as wheels are; needs rustup's llvm-tools"
    )
    parser.add_argument("--ns2", default=usual.ns2, metavar="PROGRAM", help="ns-2 (default: $NS2, or `ns` on the path)")
    parser.add_argument(
        "--ns3",
        default=usual.ns3,
        metavar="PREFIX",
        help="where ns-3 is installed (default: $NS3, Python's package, or /usr)",
    )
    parser.add_argument(
        "--htsim", default=usual.htsim, metavar="FOLDER", help="csg-htsim's folder with libhtsim.a (default: $HTSIM)"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="FOLDER",
        help="where results are kept (default: bench/results)",
    )
    chosen = parser.parse_args(arguments)
    chosen.only = [name.strip() for name in chosen.only.split(",")]
    unknown = [name for name in chosen.only if name not in every]
    if unknown:
        parser.error(f"--only {', '.join(unknown)}: allowed are {', '.join(every)}")
    if chosen.repeat < 1 or chosen.limit <= 0 or chosen.patience < 0:
        parser.error("--repeat is at least 1, --limit more than 0 s, and --patience at least 0 s")
    return chosen


def help_seconds() -> float | None:
    """Wall-clock time of ``narrows --help`` in seconds: the median of seven; None if it is not installed."""
    narrows = Path(sys.executable).with_name("narrows")
    if not narrows.exists():
        return None
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        subprocess.run([str(narrows), "--help"], check=True, capture_output=True, cwd=ROOT)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def run(chosen: argparse.Namespace, console: Console) -> Results:
    """Results of all selected workloads and parts."""
    here = machine()
    effort = Effort(chosen.repeat, chosen.patience, chosen.limit)
    own = ours()
    narrows = own[0]
    wheel = [guided(narrows.version)] if chosen.guided else []
    peers: list[System] = []
    if not chosen.alone:
        peers, missing = others(Places(chosen.ns2, chosen.ns3, chosen.htsim))
        for line in missing:
            console.print(line)
    with console.status("") as status:

        def tell(what: str) -> None:
            status.update(what)

        rows = [
            row
            for name in chosen.only
            if name in WORKLOADS
            for row in table(WORKLOADS[name], [narrows, *wheel, *peers, *own[1:]], effort, tell)
        ]
        # ns-3 would take an hour, and ns-2's other scheduler shows the same.
        growing = [narrows, *wheel, *[p for p in peers if p.name.startswith(("csg", "ns-2, splay"))]]
        brief = Effort(min(effort.repeat, 3), effort.patience_s, min(effort.limit_s, 60))
        grown = grow(growing, brief, tell) if "W5" in chosen.only else []
        still = idle_flows(narrows, effort, tell) if "idle" in chosen.only else None
        probed = probes(narrows, effort, tell) if "probes" in chosen.only else []
        status.update("narrows sweep")
        swept = sweeps(min(effort.repeat, 3), effort.limit_s) if "sweeps" in chosen.only else None
        status.update("narrows --help")
        return Results(
            here, notes([narrows, *wheel, *peers, *own[1:]]), rows, grown, still, probed, help_seconds(), swept
        )


def keep(results: Results, folder: Path) -> list[Path]:
    """Write a file for this run, and the latest results as JSON, tables and figures."""
    stamp = results.machine.date.replace(" UTC", "").replace(" ", "-").replace(":", "")
    one = folder / f"{stamp}-{results.machine.commit.rstrip('+')}.json"
    results.write(one)
    results.write(folder / "latest.json")
    (folder / "latest.md").write_text(results.markdown())
    written = [one, folder / "latest.json", folder / "latest.md"]
    if any(not WORKLOADS[row.workload].ours_only for row in results.rows):
        plots.speed(results, folder / "speed")
        written.append(folder / "speed.svg")
    if results.growth:
        plots.growth(results, folder / "growth")
        written.append(folder / "growth.svg")
    return written


def main() -> int:
    """Run the benchmark from the command line."""
    chosen = parse()
    console = Console()
    try:
        results = run(chosen, console)
    except (BuildError, MeasurementError) as error:
        console.print(f"bench: {error}", markup=False, highlight=False)
        return 1
    console.print(results.markdown(), markup=False, highlight=False, soft_wrap=True)
    for path in keep(results, chosen.results):
        console.print(f"written: {path}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
