"""The cost of a short run in a sweep: CPU time of all of `narrows sweep`, its start excluded."""

import shutil
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.measure import MeasurementError, cpu_seconds

#: Runs of the two sweeps whose difference is measured. Each run is a point of its own, with a scenario of its own.
RUNS = (1_000, 11_000)

SCENARIO = """\
format = 1
duration = "1 ms"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "20 us", queue = { limit = "50 packets" } }
access = { rate = "100 Mb/s", delay = "10 us" }

[tcp]
cc = "cubic"

[[flows]]
from = "s1"
to = "d1"

[[flows]]
from = "s2"
to = "d2"
"""

SWEEP = """\
name = "short"
scenario = "short-scenario.toml"

[[axes]]
path = "topology.bottleneck.queue.limit"
range = {{ from = 1, to = {runs}, step = 1 }}
unit = "packets"
"""


@dataclass(frozen=True)
class Sweeps:
    """Median CPU times in seconds of two sweeps of a scenario of 1 ms, by their numbers of runs."""

    runs: tuple[int, int]
    cpu_s: tuple[float, float]

    @property
    def per_run_s(self) -> float:
        """CPU time of a run, s: user and system time of the process, its start and imports excluded."""
        return (self.cpu_s[1] - self.cpu_s[0]) / (self.runs[1] - self.runs[0])


def sweeps(repeat: int, limit_s: float) -> Sweeps | None:
    """Measure two sweeps in turns, into a temporary directory; None where `narrows` is not installed."""
    narrows = Path(sys.executable).with_name("narrows")
    if not narrows.exists():
        return None
    found: dict[int, list[float]] = {runs: [] for runs in RUNS}
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as name:
        folder = Path(name)
        (folder / "short-scenario.toml").write_text(SCENARIO)
        for _ in range(repeat):
            for runs in RUNS:
                (folder / "short.toml").write_text(SWEEP.format(runs=runs))
                command = [str(narrows), "sweep", "short.toml", "-o", "out", "--no-page", "--no-progress"]
                cpu_s = cpu_seconds(command, limit_s, folder)
                if cpu_s is None:
                    raise MeasurementError(f"a sweep of {runs:,} short runs took more than {limit_s:g} s of CPU time")
                found[runs].append(cpu_s)
                shutil.rmtree(folder / "out")
    few, many = (statistics.median(found[runs]) for runs in RUNS)
    return Sweeps(RUNS, (few, many))
