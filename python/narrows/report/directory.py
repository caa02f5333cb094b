"""Result directories with a report in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from narrows import ownership
from narrows.report.write import write_report
from narrows.store.results import REPORT, fill

if TYPE_CHECKING:
    from narrows.outcome import Batch, Outcome, Run


def write(result: Outcome, directory: ownership.Target) -> Path:
    """Write a result directory with a report in it, whole or not at all.

    Parameters
    ----------
    result : Run or Batch
    directory : path
        As for `narrows.ownership.staged`.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError, RunError
        As `narrows.ownership.staged` does.
    """
    with ownership.staged(directory) as temporary:
        fill(result, temporary)
        write_report(cast("Run | Batch", result), temporary / REPORT)
    return Path(directory) / REPORT
