"""Measures one run of a program from outside, and several runs of several programs in turns."""

import json
import math
import os
import resource
import signal
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


def is_ours(system: str) -> bool:
    """Whether a system of that name is a build of Narrows."""
    return system.startswith("Narrows")


@dataclass(frozen=True)
class System:
    """A simulator, and how it is started for a workload.

    ``command`` returns None if it cannot run the workload. ``note`` describes the differences of its TCP.
    """

    name: str
    version: str
    note: str
    command: Callable[..., list[str] | None]

    @property
    def ours(self) -> bool:
        """Whether it is a build of Narrows."""
        return is_ours(self.name)


@dataclass(frozen=True)
class Run:
    """Cost and output of a run: user and system time in seconds, peak memory in bytes, packets of data.

    ``delivered`` packets were acknowledged (each counted once). ``sent`` includes retransmissions; None if not known.
    """

    cpu_s: float
    peak_rss_bytes: int
    delivered: int
    sent: int | None


@dataclass(frozen=True)
class Row:
    """A row of a table: of ``runs`` runs the one with median CPU time.

    ``cpu_s``, packets and memory are None if the program ran past the limit.
    """

    workload: str
    system: str
    version: str
    runs: int
    cpu_s: float | None
    cpu_s_all: tuple[float, ...] = ()
    delivered_packets: int | None = None
    sent_packets: int | None = None
    peak_rss_bytes: int | None = None

    @property
    def rate(self) -> float | None:
        """Delivered packets per second of CPU time."""
        if self.cpu_s is None or self.delivered_packets is None:
            return None
        return self.delivered_packets / max(self.cpu_s, 1e-9)


class MeasurementError(RuntimeError):
    """A program failed; the message says which and how."""


def measure(command: Sequence[str], limit_s: float, cwd: Path | None = None) -> Run | None:
    """Run a program once; None if it used more CPU time than the limit and was ended.

    CPU time is that of the whole process, as the operating system accounts it, so start-up and reading the scenario
    count for every system. Peak memory is reported by the process itself: what ``wait`` reports may include memory of
    the parent. The program prints one JSON object, and nothing else in braces after it.
    """
    ended = _ended(command, limit_s, cwd)
    if ended is None:
        return None
    output, cpu_s = ended
    if "{" not in output:
        raise MeasurementError(f"{' '.join(command)} printed no result:\n{output[-2000:]}")
    result = json.loads(output[output.rindex("{") : output.rindex("}") + 1])
    sent = result.get("sent_packets")
    return Run(
        cpu_s=cpu_s,
        peak_rss_bytes=int(result["peak_rss_bytes"]),
        delivered=int(result["delivered_packets"]),
        sent=None if sent is None else int(sent),
    )


def cpu_seconds(command: Sequence[str], limit_s: float, cwd: Path | None = None) -> float | None:
    """User and system time of a program and its threads in seconds; None if it used more than the limit."""
    ended = _ended(command, limit_s, cwd)
    return None if ended is None else ended[1]


def _ended(command: Sequence[str], limit_s: float, cwd: Path | None) -> tuple[str, float] | None:
    """Output and CPU time of a program; None if it used more CPU time than the limit and was ended."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = math.ceil(limit_s)
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
    assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
    try:
        with process.stdout as pipe:
            output = pipe.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode == -signal.SIGXCPU:
        return None
    if process.returncode != 0:
        message = f"{' '.join(command)} ended with status {process.returncode}:\n{output[-2000:]}"
        raise MeasurementError(message)
    return output, usage.ru_utime + usage.ru_stime


def median_run(runs: Sequence[Run]) -> Run:
    """The run of median CPU time; of an even number, the slower of the two in the middle."""
    return sorted(runs, key=lambda run: run.cpu_s)[len(runs) // 2]


@dataclass(frozen=True)
class Effort:
    """How often to run: ``repeat`` times, or once if a run took longer than ``patience_s``.

    A run is ended after ``limit_s``, rounded up to whole seconds. Both are CPU time.
    """

    repeat: int
    patience_s: float
    limit_s: float


def interleaved(
    commands: dict[str, Sequence[str]], effort: Effort, tell: Callable[[str], None]
) -> dict[str, list[Run]]:
    """Run programs in turns, so that a slow minute of the machine hits them all; a run past the limit is left out."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    left = dict(commands)
    for turn in range(effort.repeat):
        for name, command in list(left.items()):
            tell(f"{name}, {turn + 1} of {effort.repeat}")
            run = measure(command, effort.limit_s)
            if run is not None:
                runs[name].append(run)
            if run is None or run.cpu_s > effort.patience_s:
                del left[name]
    return runs


def row(workload: str, system: System, runs: Sequence[Run]) -> Row:
    """The row of a table for these runs."""
    if not runs:
        return Row(workload, system.name, system.version, 0, None)
    middle = median_run(runs)
    return Row(
        workload,
        system.name,
        system.version,
        len(runs),
        middle.cpu_s,
        tuple(run.cpu_s for run in runs),
        middle.delivered,
        middle.sent,
        middle.peak_rss_bytes,
    )


def median_cpu_s(runs: Sequence[Run]) -> float:
    """Median CPU time in seconds."""
    return statistics.median(run.cpu_s for run in runs)
