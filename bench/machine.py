"""Where and when a figure was measured: date, commit, machine."""

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.workloads import ROOT


@dataclass(frozen=True)
class Machine:
    """Date, commit and machine; ``commit`` ends in ``+`` if the working tree differed from it."""

    date: str
    commit: str
    cpu: str
    cores: int
    memory_gib: float
    kernel: str
    load_before: float

    def line(self) -> str:
        """All of it in one line, for titles and captions."""
        return (
            f"{self.date}, commit {self.commit}, {self.cpu}, {self.cores} cores, {self.memory_gib:.0f} GiB, "
            f"Linux {self.kernel}, load {self.load_before:.1f} at the start"
        )


def _field(path: str, key: str) -> str:
    """The text after ``key:`` in a file of ``/proc``; empty if there is none."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key) and ":" in line), "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def machine() -> Machine:
    """Return this machine and this commit, as they are now."""
    commit = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "crates", "bench/*.py", "Cargo.lock")
    kib = _field("/proc/meminfo", "MemTotal").split()[:1] or ["0"]
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        commit=commit + ("+" if changed else ""),
        cpu=_field("/proc/cpuinfo", "model name") or platform.processor() or "unknown CPU",
        cores=len(os.sched_getaffinity(0)),
        memory_gib=int(kib[0]) / 1024**2,
        kernel=platform.release(),
        load_before=os.getloadavg()[0],
    )
