"""The page of a check: a table of all runs, and for each failure its steps, expectations and plot."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.base import bundled
from narrows.report import render
from narrows.studies.check import figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.studies.check.outcome import Expectation, Outcome, Step, Value
    from narrows.studies.check.result import CaseResult, Check
    from narrows.studies.check.series import Series

TITLE: Final = "Test cases"
MOST_PLOTS: Final = 50
"""Most failures that are plotted; the table has all."""


def text(check: Check, series: Mapping[int, Series]) -> str:
    """Render the page.

    Parameters
    ----------
    check : Check
    series : mapping
        Variables of failed runs, by index of the run.

    Returns
    -------
    str
        HTML without external files.
    """
    return render.page(
        "check.html.j2",
        title="Test cases – Narrows",
        version=_core.version(),
        summary=check.summary,
        passed=check.passed,
        groups=[(one.name, one.cc, one.base or "", one.cells) for one in check.groups()] if _gridded(check) else [],
        rows=_rows(check),
        failures=[_failure(index, one, series.get(index)) for index, one in enumerate(check.cases) if one.failed],
        judged=[_details(one) for one in check.cases if one.outcome is not None and not one.failed],
        left=_left(check),
        open=list({one.name: one.item.about.open for one in check.cases if one.item.about.open}.items()),
        commands=commands(check),
    )


def table(check: Check) -> str:
    """Render the table of all runs for notebooks.

    Parameters
    ----------
    check : Check

    Returns
    -------
    str
        HTML.
    """
    return render.part("notebook-check.html.j2", summary=check.summary, rows=_rows(check))


def commands(check: Check) -> list[str]:
    """Return the command that repeats each failed run; empty for scenarios that are no files.

    Parameters
    ----------
    check : Check

    Returns
    -------
    list of str
    """
    made: dict[str, None] = {}
    for one in check.cases:
        item = one.item
        if not one.failed or item.name == "<text>":
            continue
        words = ["narrows", "check", _path(item.name, item.scenario.path)]
        words += ["--live"] if check.plan.live else []
        words += ["--cc", item.cc] if item.named else []
        words += ["--grid", item.cell.label] if item.gridded else []
        words += [] if check.plan.seed is None else ["--seed", str(check.plan.seed)]
        made[shlex.join(words)] = None
    return list(made)


def _path(name: str, path: str) -> str:
    """Return what names a case on a command line: the file, or the name of a bundled one."""
    root = bundled.cases()
    return name if root is not None and Path(path).is_relative_to(root) else path


def _gridded(check: Check) -> bool:
    return any(not one.item.cell.is_base for one in check.cases)


def _rows(check: Check) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "name": one.name,
            "cc": one.item.cc,
            "cell": one.cell,
            "verdict": one.shown,
            "kind": one.verdict.replace(" ", "-"),
            "ended": "" if one.outcome is None else f"{one.outcome.ended_s:.4g}",
            "reason": "; ".join([*([one.reason] if one.reason else []), *one.doubts]),
            "source": one.item.about.source or "",
        }
        for index, one in enumerate(check.cases)
    ]


def _failure(index: int, one: CaseResult, series: Series | None) -> dict[str, Any]:
    drawn = None
    if one.outcome is not None and series is not None and series.times_s and series.variables:
        drawn = base64.b64encode(figures.svg(one.outcome, one.first_failure(), series)).decode()
    return {"index": index, "figure": drawn, **_details(one)}


def _details(one: CaseResult) -> dict[str, Any]:
    outcome = one.outcome
    return {
        "id": one.item.id,
        "verdict": one.shown,
        "reason": "; ".join([*([one.reason] if one.reason else []), *one.doubts]),
        "source": one.item.about.source or "",
        "rows": [] if outcome is None else timeline(outcome),
        "toml": one.item.scenario.text,
    }


def timeline(outcome: Outcome) -> list[tuple[str, str, str, str, str]]:
    """Return steps and expectations as rows: what, line, time, outcome, and value with what was expected.

    Parameters
    ----------
    outcome : Outcome

    Returns
    -------
    list of tuple
        The steps first, then the expectations.
    """
    return [_step(one) for one in outcome.steps] + [_expectation(one) for one in outcome.expectations]


def _step(one: Step) -> tuple[str, str, str, str, str]:
    name, line = f"step {one.name.removeprefix('step ')}", "" if one.line is None else str(one.line)
    if one.happened_s is None:
        return name, line, "", "never came true", one.reason or one.what
    return name, line, f"{one.happened_s:.6g}", "happened", one.what + _values(one.values)


def _expectation(one: Expectation) -> tuple[str, str, str, str, str]:
    time, line = "" if one.decided_s is None else f"{one.decided_s:.6g}", "" if one.line is None else str(one.line)
    return one.name, line, time, one.verdict, one.reason or one.what + _values(one.values)


def _values(values: tuple[Value, ...]) -> str:
    return f" ({', '.join(f'{one.text} is {one.shown}' for one in values)})" if values else ""


def _left(check: Check) -> list[tuple[str, str]]:
    """Return the cells that were not run, by case."""
    by_case: dict[str, list[str]] = {}
    for one in check.plan.not_run:
        by_case.setdefault(one.name, []).append(one.cell.label)
    return [(name, ", ".join(dict.fromkeys(labels))) for name, labels in by_case.items()]
