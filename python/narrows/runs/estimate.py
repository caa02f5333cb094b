"""Estimates before runs of a scenario begin: rows of samples, memory, and disk space.

The constants are measured (``tests/python/test_estimate.py`` compares them with real runs): what the engine and this
package need per flow, node and link, and what a row of samples takes outside memory.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base import memory
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from narrows.model.scenario import Scenario

FLOW: Final = 11_000
"""Bytes per flow while a run is made and its metrics are computed.

Measured with 5,000 to 60,000 flows: 6.3 to 7.6 kB, and up to 10.3 kB where much is in flight or flows are of UDP.
"""

KEPT_FLOW: Final = 4_000
"""Bytes per flow of a finished run while other runs are made."""

NODE: Final = 3_500
"""Bytes per node (measured: 8.3 to 8.7 kB for a node and a link of a chain together)."""

LINK: Final = 10_000
"""Bytes per link, both directions together."""

THREAD_FLOW: Final = 3_000
"""Bytes per flow that each further thread of a run takes (measured: 2 kB)."""

THREAD_LINK: Final = 2_000
"""Bytes per link that each further thread of a run takes (measured: 1.2 to 1.8 kB, nodes included)."""

ROW: Final = 12
"""Bytes per row of samples on disk: packed 4 to 7 in the temporary file, and 1 to 5 in Parquet."""

FIXED: Final = 150_000_000
"""Bytes that a process needs for any scenario: row groups of Parquet, and the packages for tables."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated resources for runs of a scenario.

    Attributes
    ----------
    rows : int
        Rows of samples over all runs; 0 where every event is sampled, since their number is unknown.
    memory_bytes : int
        Peak memory, samples included.
    disk_bytes : int
        Disk space for samples: the temporary file and Parquet.
    cause : str
        The setting that needs the most memory.
    """

    rows: int
    memory_bytes: int
    disk_bytes: int
    cause: str


def of(scenario: Scenario, runs: int = 1, jobs: int = 1, threads: int | None = 1) -> Estimate:
    """Estimate the resources that runs of a scenario need.

    Parameters
    ----------
    scenario : Scenario
    runs, jobs : int
        Number of runs, and how many run at the same time.
    threads : int, optional
        How many threads each run has if its network can be divided; ``None`` is as many as pay, at most two.

    Returns
    -------
    Estimate
    """
    size = scenario.core.size()
    flow, link = _per_flow_and_link(threads)
    rows = runs * _rows(size)
    once = min(jobs, runs)
    parts = {
        f"{size['flows']:,} flows (flows, copies)": size["flows"] * (once * flow + (runs - once) * KEPT_FLOW),
        f"{size['nodes']:,} nodes": once * size["nodes"] * NODE,
        f"{size['links']:,} links": once * size["links"] * link,
        f"{rows:,} samples (sampling)": min(rows * ROW, memory.samples_bytes()),
    }
    cause = max(parts, key=lambda part: parts[part])
    if runs > 1:
        cause += f" in {runs:,} runs, {once} at a time (runs, jobs)"
    return Estimate(rows, FIXED + sum(parts.values()), rows * ROW, cause)


def _per_flow_and_link(threads: int | None) -> tuple[int, int]:
    """Bytes per flow, and per link, of a run in progress."""
    more = (2 if threads is None else threads) - 1
    return FLOW + more * THREAD_FLOW, LINK + more * THREAD_LINK


def check(
    scenario: Scenario, runs: int = 1, jobs: int = 1, directory: Path | None = None, threads: int | None = 1
) -> Estimate:
    """Refuse runs that need more memory or disk than is available, before they begin.

    Parameters
    ----------
    scenario : Scenario
    runs, jobs : int
        As for `of`.
    directory : pathlib.Path, optional
        Where samples that do not fit in memory are written; by default where `narrows.base.memory` puts them.
    threads : int, optional
        As for `of`.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        With the estimate, the bound, and the setting that causes it.
    """
    made = of(scenario, runs, jobs, threads)
    fewer = "a smaller scenario, fewer runs or --jobs" + (", or --threads 1" if threads != 1 else "")
    memory.check(made.memory_bytes, f"{scenario.path}: {made.cause}", fewer)
    room = free_bytes(directory or memory.spill_directory())
    if made.disk_bytes - memory.samples_bytes() > room:
        message = (
            f"{scenario.path}: {made.rows:,} samples (sampling) take about {memory.shown(made.disk_bytes)} on the "
            f"disk, and {memory.shown(room)} are free; allowed: a longer interval (sampling) or less time (duration)"
        )
        raise InputError(message)
    return made


def check_one(scenario: Scenario, threads: int | None = 1) -> None:
    """Refuse a run that needs more memory than is available, just before it begins.

    For series of scenarios whose largest is not known in advance (contest, sweep, paper), and for live runs.

    Parameters
    ----------
    scenario : Scenario
    threads : int, optional
        As for `of`.

    Raises
    ------
    InputError
        With the estimate, the bound, and the setting that causes it.
    """
    size = scenario.core.size()
    flow, link = _per_flow_and_link(threads)
    most = size["flows"] * flow + size["nodes"] * NODE + size["links"] * link + _rows(size) * ROW
    if memory.never_refused(most):
        return  # asking the system for its memory takes longer than a short run
    made = of(scenario, threads=threads)
    allowed = "a smaller scenario, or fewer runs at a time (jobs)"
    memory.check(made.memory_bytes - FIXED, f"{scenario.path}: {made.cause}", allowed)


def _rows(size: Mapping[str, int]) -> int:
    return size["flow_rows"] + size["queue_rows"] + size["router_rows"] + size["state_rows"]


def free_bytes(directory: str | PathLike[str]) -> int:
    """Free disk space at a directory, which need not exist yet.

    Parameters
    ----------
    directory : path

    Returns
    -------
    int
        Bytes.
    """
    path = Path(directory).absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free
