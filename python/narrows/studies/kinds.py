"""Which command wrote a directory of results, by the files in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["run", "comparison", "contrast", "reproduction", "sweep", "aqm", "contest", "evaluation"]
"""What a directory holds. ``comparison`` is written by ``narrows run --both``, ``contrast`` by ``narrows compare``."""


def kind_of(directory: Path) -> Kind | None:
    """Recognise a directory of results.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    str or None
        ``None`` if it has no file that stands for results; ``contest`` also for an unfinished one.
    """
    from narrows.store import results
    from narrows.store.journal import RUNS
    from narrows.store.saved import has
    from narrows.studies.aqm.page import SUMMARY as AQM
    from narrows.studies.contest.page import SUMMARY as CONTEST
    from narrows.studies.contrast.directory import FILE as CONTRAST
    from narrows.studies.contrast.table import KIND
    from narrows.studies.evaluate.export import SUMMARY as EVALUATION
    from narrows.studies.sweep.directory import MARKER

    if (directory / results.COMPARISON).is_file():
        return "comparison"
    if (directory / results.SUMMARY).is_file():
        return "reproduction" if has(directory / results.SUMMARY, "paper") else "run"
    if has(directory / CONTRAST, "kind", KIND):
        return "contrast"
    named: tuple[tuple[str, Kind], ...] = (
        (MARKER, "sweep"),
        (AQM, "aqm"),
        (EVALUATION, "evaluation"),
        (CONTEST, "contest"),
        (RUNS, "contest"),
    )
    return next((kind for name, kind in named if (directory / name).is_file()), None)
