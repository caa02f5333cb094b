"""The directory of a check: ``report.html``, ``junit.xml`` and ``check.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows import ownership
from narrows.base import indented
from narrows.report import render
from narrows.studies.check import figures, junit, page

if TYPE_CHECKING:
    from narrows.execution.means import Means
    from narrows.ownership import Target
    from narrows.studies.check.result import Check

KIND: Final = "report on test cases"
"""Kind of the directory, for `narrows.ownership`."""

PAGE: Final = "report.html"
SUMMARY: Final = "check.json"
JUNIT: Final = "junit.xml"


def write(check: Check, directory: Target, means: Means | None = None) -> None:
    """Write page, JUnit XML and JSON, all or nothing; they replace those of an earlier check.

    Failed cases are run again with their variables recorded, for the plots.

    Parameters
    ----------
    check : Check
    directory : path or Claim
        Created if missing.
    means : Means, optional
        How cases are run again.

    Raises
    ------
    InputError
        If the directory cannot be made, or holds something else.
    RunError
        If writing failed.
    """
    from narrows.studies.check.execute import traced

    held = ownership.claim(directory, kind=KIND)
    series = traced(check, _windows(check), means)
    with ownership.staged(held) as folder:
        render.write_text(folder / PAGE, page.text(check, series))
        render.write_text(folder / JUNIT, junit.text(check))
        render.write_text(folder / SUMMARY, dumps(check))


def _windows(check: Check) -> dict[int, tuple[float, float]]:
    """Return the part of each failed run that its plot shows."""
    made: dict[int, tuple[float, float]] = {}
    for index, one in enumerate(check.cases):
        if one.failed and one.outcome is not None and len(made) < page.MOST_PLOTS:
            around = figures.Around.of(one.outcome, one.first_failure())
            made[index] = around.begin_s, around.end_s
    return made


def dumps(check: Check) -> str:
    """Serialise the result.

    Parameters
    ----------
    check : Check

    Returns
    -------
    str
        JSON that ends with a newline.
    """
    return indented.dumps(check.to_json()) + "\n"
