"""What a directory of results has to export, whatever command wrote it."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.export.contents import Contents
    from narrows.outcome import Batch, Run


def contents(source: str | PathLike[str] | Run | Batch) -> Contents:
    """Return what a result has to export.

    Parameters
    ----------
    source : path, Run or Batch
        A directory that ``narrows run``, ``live``, ``contest``, ``sweep``, ``aqm`` or ``reproduce`` wrote with ``-o``,
        or the value that it was written from.

    Returns
    -------
    Contents

    Raises
    ------
    InputError
        If there is nothing to export, or the directory cannot be read.
    """
    from narrows.export import runs
    from narrows.store import results

    if isinstance(source, str | PathLike):
        return replace(runs.contents(results.load(source)), source=Path(source).resolve().name)
    return runs.contents(source)
