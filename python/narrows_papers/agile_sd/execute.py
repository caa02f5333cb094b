"""Running the sweeps into a directory, resumably, and reading their data sets."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import _core
from narrows.base.engine import release_of
from narrows.base.errors import InputError
from narrows.ownership import AGILE_SD, SWEEP, claim
from narrows.sweep import execute, load
from narrows_papers.agile_sd.data import Data, collect
from narrows_papers.agile_sd.parts import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.ownership import Target
    from narrows.studies.reproduction.request import Request
    from narrows.sweep import Progress
    from narrows_papers.agile_sd.parts import Part

RUNS = "runs"
"""Directory of the data sets, one for each sweep."""


def run(out: Target, parts: Sequence[Part], asked: Request) -> Data:
    """Execute all missing runs, sweep by sweep.

    Parameters
    ----------
    out : path or Claim
        Directory; the data sets are in its ``runs/NAME``.
    parts : sequence of Part
    asked : Request
        How runs are made. `watch` shows each sweep; without it, `progress` is told the share of all runs.

    Returns
    -------
    Data

    Raises
    ------
    narrows.base.errors.InputError
        If an existing data set is of other runs or another version.
    narrows.sweep.SweepInterrupted
        On Ctrl-C; finished runs are kept.
    """
    home = claim(out, kind=AGILE_SD)
    home.make()
    total = sum(len(part.sweep.runs) for part in parts)
    before = 0
    results = {}
    for part in parts:

        def tell(state: Progress, before: int = before) -> None:
            if asked.progress is not None:
                asked.progress((before + state.done) / total)

        held = home.within(f"{RUNS}/{part.name}", SWEEP)
        with nullcontext(tell) if asked.watch is None else asked.watch(part.sweep, Path(held)) as hook:
            results[part.name] = execute(part.sweep, held, jobs=asked.jobs, dask=asked.dask, progress=hook)
        before += len(part.sweep.runs)
    return collect(results, _core.version())


def read(out: Path) -> Data:
    """Read the data sets in a directory, without running anything.

    Parameters
    ----------
    out : Path

    Returns
    -------
    Data

    Raises
    ------
    narrows.base.errors.InputError
        If there are none, or they are of several versions or builds of the engine.
    """
    from narrows.studies.sweep.directory import marker

    there = [name for name in NAMES if (out / RUNS / name).is_dir()]
    lacking = [name for name in ("buffers", "windows", "pairs") if name not in there]
    if lacking:
        message = f"{out}: lacks {', '.join(f'{RUNS}/{name}' for name in lacking)}; allowed: a directory that was run"
        raise InputError(message)
    markers = {name: marker(out / RUNS / name) for name in there}
    if len({(release_of(str(one.get("version"))), one.get("build")) for one in markers.values()}) > 1:
        told = ", ".join(f"{name} by {one.get('version')} (build {one.get('build')})" for name, one in markers.items())
        message = f"{out}: runs of two versions are never mixed; {told}; allowed: data sets of one"
        raise InputError(message)
    results = {name: load(out / RUNS / name) for name in there}
    empty = [name for name, one in results.items() if not (one.runs["status"] == "ok").any()]
    if empty:
        message = f"{out}: no run of {', '.join(f'{RUNS}/{name}' for name in empty)} has finished; allowed: run them"
        raise InputError(message)
    return collect(results, str(markers["buffers"].get("version", "unknown")))
