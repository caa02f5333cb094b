"""What a directory of results has to export, whatever command wrote it."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from narrows.export.values import Contents
    from narrows.outcome import Batch, Run
    from narrows.studies.aqm.result import Results
    from narrows.studies.comparison import Comparison
    from narrows.studies.contest import Contest
    from narrows.studies.contrast import Contrast
    from narrows.studies.sweep.result import SweepResult

    Result: TypeAlias = Run | Batch | Comparison | Contest | Contrast | SweepResult | Results


def contents(source: str | PathLike[str] | Result) -> Contents:
    """Return what a result has to export.

    Parameters
    ----------
    source : path, Run, Batch, Comparison, Contest, Contrast, SweepResult or Aqm
        A directory that ``narrows run``, ``live``, ``compare``, ``contest``, ``sweep``, ``aqm`` or ``reproduce`` wrote
        with ``-o``, or the value that it was written from.

    Returns
    -------
    Contents

    Raises
    ------
    InputError
        If there is nothing to export, or the directory cannot be read.
    """
    if isinstance(source, str | PathLike):
        directory = Path(source)
        return replace(_read(directory), source=directory.resolve().name)
    return _of_value(source)


def _of_value(made: Result) -> Contents:
    from narrows.export import aqms, comparisons, contests, contrasts, runs, sweeps
    from narrows.studies.aqm.result import Results
    from narrows.studies.comparison import Comparison
    from narrows.studies.contest import Contest
    from narrows.studies.contrast import Contrast
    from narrows.studies.sweep.result import SweepResult

    if isinstance(made, Contrast):
        return contrasts.contents(made)
    if isinstance(made, Comparison):
        return comparisons.contents(made)
    if isinstance(made, Contest):
        return contests.contents(made)
    if isinstance(made, Results):
        return aqms.contents(made)
    if isinstance(made, SweepResult):
        return sweeps.contents(made)
    return runs.contents(made)


def _read(directory: Path) -> Contents:
    """Return the contents of a directory by the files that it has."""
    from narrows.export import contrasts, reproductions
    from narrows.store import results
    from narrows.studies.aqm import saved as aqm
    from narrows.studies.comparison import directory as comparisons
    from narrows.studies.contest import saved as contests
    from narrows.studies.kinds import kind_of
    from narrows.studies.sweep import load

    found = kind_of(directory)
    if found is None:
        what = "holds no results" if directory.is_dir() else "does not exist"
        message = (
            f"{directory}: {what}; allowed: a directory that narrows run, live, compare, contest, sweep, aqm or "
            "reproduce wrote with -o"
        )
        raise InputError(message)
    if found == "evaluation":
        message = (
            f"{directory}: holds an evaluation, which has its tables and figures beside its page: rows.csv, figures/; "
            "allowed: a directory that narrows run, live, compare, contest, sweep, aqm or reproduce wrote with -o"
        )
        raise InputError(message)
    if found == "contrast":
        return contrasts.load(directory)
    if found == "reproduction":
        return reproductions.contents(directory)
    readers: dict[str, Callable[[Path], Result]] = {
        "run": results.load,
        "comparison": comparisons.load,
        "sweep": load,
        "aqm": aqm.load,
        "contest": contests.load,
    }
    return _of_value(readers[found](directory))
