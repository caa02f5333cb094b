"""The directory of a contrast: page, figures, ``compare.json`` and tables as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows import ownership
from narrows.outcome import text
from narrows.report import stored
from narrows.studies.contrast import figures, page, table

if TYPE_CHECKING:
    from os import PathLike

    from narrows.studies.contrast.contrast import Contrast

FILE: Final = "compare.json"
METRICS: Final = "metrics.csv"
SETTINGS: Final = "settings.csv"


def write(made: Contrast, directory: str | PathLike[str] | ownership.Claim) -> Path:
    """Write the directory, whole or not at all.

    Parameters
    ----------
    made : Contrast
    directory : path or Claim
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
    with ownership.staged(directory) as folder:
        drawn = figures.of(made)
        page.write(made, drawn, folder)
        (folder / stored.FILE).write_text(stored.dumps(drawn), encoding="utf-8")
        (folder / FILE).write_text(table.dumps(made), encoding="utf-8")
        for name, rows in ((METRICS, table.arrow(made)), (SETTINGS, table.settings(made))):
            text.write_csv(folder / name, rows.schema, [rows])
    named = directory.named if isinstance(directory, ownership.Claim) else directory
    return Path(named) / "report.html"
