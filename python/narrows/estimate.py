"""What runs of a scenario will take, known before they begin: rows of samples, memory, and room on the disk.

The figures are measured (``tests/python/test_estimate.py`` holds them to what runs take): what the engine and this
package hold per flow, node and link, and what a row of samples takes where memory does not hold it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows import memory
from narrows.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.scenario import Scenario

FLOW: Final = 14_000
"""Bytes that a flow takes while a run is made and its metrics are put together (measured: 11 to 12 kB)."""

KEPT_FLOW: Final = 4_000
"""Bytes that a flow of a finished run takes while other runs are made."""

NODE: Final = 4_000
"""Bytes that a node takes (measured: a node and a link of a chain together 14 kB)."""

LINK: Final = 12_000
"""Bytes that a link takes, both directions together."""

ROW: Final = 12
"""Bytes that a row of samples takes on the disk: packed 4 to 7 in the temporary file, and 1 to 5 in Parquet."""

FIXED: Final = 150_000_000
"""Bytes that a process takes whatever it runs: row groups of Parquet, and the packages for tables."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What runs of a scenario will take.

    Attributes
    ----------
    rows : int
        Samples, of all runs. Where every event is sampled nobody knows: 0.
    memory_bytes : int
        Most memory at a time, what samples may take included.
    disk_bytes : int
        Room for samples: the temporary file and Parquet.
    cause : str
        The setting that most of the memory is for.
    """

    rows: int
    memory_bytes: int
    disk_bytes: int
    cause: str


def of(scenario: Scenario, runs: int = 1, jobs: int = 1) -> Estimate:
    """Estimate what runs of a scenario take.

    Parameters
    ----------
    scenario : Scenario
    runs, jobs : int
        How many there are, and how many at the same time.

    Returns
    -------
    Estimate
    """
    size = scenario.core.size()
    rows = runs * (size["flow_rows"] + size["queue_rows"] + size["router_rows"])
    once = min(jobs, runs)
    parts = {
        f"{size['flows']:,} flows (flows, copies)": size["flows"] * (once * FLOW + (runs - once) * KEPT_FLOW),
        f"{size['nodes']:,} nodes": once * size["nodes"] * NODE,
        f"{size['links']:,} links": once * size["links"] * LINK,
        f"{rows:,} samples (sampling)": min(rows * ROW, memory.samples_bytes()),
    }
    cause = max(parts, key=lambda part: parts[part])
    if runs > 1:
        cause += f" in {runs:,} runs, {once} at a time (runs, jobs)"
    return Estimate(rows, FIXED + sum(parts.values()), rows * ROW, cause)


def check(scenario: Scenario, runs: int = 1, jobs: int = 1, directory: Path | None = None) -> Estimate:
    """Refuse runs that take more memory or disk than there is, before they begin.

    Parameters
    ----------
    scenario : Scenario
    runs, jobs : int
        As for `of`.
    directory : pathlib.Path, optional
        Where samples go that memory does not hold; by default where `narrows.memory` puts them.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        With the estimate, the bound, and the setting that causes it.
    """
    made = of(scenario, runs, jobs)
    memory.check(made.memory_bytes, f"{scenario.path}: {made.cause}", "a smaller scenario, fewer runs or --jobs")
    room = _room(directory or memory.spill_directory())
    if made.disk_bytes - memory.samples_bytes() > room:
        message = (
            f"{scenario.path}: {made.rows:,} samples (sampling) take about {memory.shown(made.disk_bytes)} on the "
            f"disk, and {memory.shown(room)} are free; allowed: a longer interval (sampling) or less time (duration)"
        )
        raise InputError(message)
    return made


def check_one(scenario: Scenario) -> None:
    """Refuse a run that takes more memory than there is now, just before it begins.

    For runs of many scenarios, whose largest is not known before: of a contest, a sweep or a paper, and live ones.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    InputError
        With the estimate, the bound, and the setting that causes it.
    """
    made = of(scenario)
    allowed = "a smaller scenario, or fewer runs at a time (jobs)"
    memory.check(made.memory_bytes - FIXED, f"{scenario.path}: {made.cause}", allowed)


def _room(directory: Path) -> int:
    """Room on the disk of a directory that need not exist yet."""
    path = directory.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free
