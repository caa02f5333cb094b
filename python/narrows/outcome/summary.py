"""The object of ``narrows run --json`` and of ``summary.json``; scripts may rely on it (``docs/json.md``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from narrows.base import indented
from narrows.outcome.batch import Batch
from narrows.outcome.rows import WORDS
from narrows.stats import mean_ci

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.outcome.outcome import Outcome
    from narrows.outcome.rows import AnyRow
    from narrows.outcome.run import Run

FORMAT: Final = 1
"""Version of the format. It increases when a key changes its meaning or is removed; adding keys does not change it."""


def of(result: Outcome) -> dict[str, Any]:
    """Return the summary of a run, or of a batch: means over the runs, intervals, and the results of every run.

    Parameters
    ----------
    result : Run or Batch

    Returns
    -------
    dict
        Ready for JSON: no NaN, no infinity; ``None`` is "no value".
    """
    runs = result.runs
    several = isinstance(result, Batch)
    summary: dict[str, Any] = {
        "format": FORMAT,
        "digest": result.digest,
        "scenario": result.scenario.name,
        "seed": result.seed,
        "runs": len(runs),
        "version": result.version,
        "duration_s": result.scenario.duration_s,
        "overrides": result.scenario.overrides,
        "events": result.events,
        "packets": result.packets,
        "flows": _rows(result.flows if runs else (), [run.flows for run in runs] if several else []),
        "queues": _rows(result.queues if runs else (), [run.queues for run in runs] if several else []),
        "routers": _rows(result.routers if runs else (), [run.routers for run in runs] if several else []),
        "stations": _rows(result.stations if runs else (), [run.stations for run in runs] if several else []),
        "channels": _rows(result.channels if runs else (), [run.channels for run in runs] if several else []),
        "jain": result.jain,
        **_subqueues(result),
        **_transfers(result),
        **_conditions(result),
        **_warnings(result),
    }
    if isinstance(result, Batch):
        if result.until is not None:
            summary["until"] = result.until.to_dict()
        summary["ci95"] = {"jain": _interval([run.jain for run in runs])}
        summary["runs_detail"] = [_detail(run) for run in runs]
    elif runs[0].index:
        summary["run"] = runs[0].index
    plain: dict[str, Any] = _plain(summary)
    return plain


def dumps(summary: dict[str, Any]) -> str:
    """Write a summary as JSON text, identical for identical summaries.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    str
        With a newline at its end.
    """
    return indented.dumps(summary) + "\n"


def _detail(run: Run) -> dict[str, Any]:
    return {
        "run": run.index,
        "digest": run.digest,
        "events": run.events,
        "packets": run.packets,
        "flows": _rows(run.flows, []),
        "queues": _rows(run.queues, []),
        "routers": _rows(run.routers, []),
        "stations": _rows(run.stations, []),
        "channels": _rows(run.channels, []),
        "jain": run.jain,
        **_subqueues(run),
        **_transfers(run),
        **_conditions(run),
    }


def _subqueues(result: Outcome) -> dict[str, Any]:
    """Return the sub-queues; empty where no discipline has any."""
    rows = [row.to_dict() for row in result.subqueues] if result.runs else []
    return {"subqueues": rows} if rows else {}


def _transfers(result: Outcome) -> dict[str, Any]:
    """Return completion times by size class, what players, datagrams and impaired links did; empty without any."""
    if not result.runs:
        return {}
    classes = [row.to_dict() for row in result.transfer_classes]
    playbacks = [row.to_dict() for row in result.playbacks]
    datagrams = [row.to_dict() for row in result.datagrams]
    impairments = [row.to_dict() for row in result.impairments]
    told = {"transfers": classes, "playbacks": playbacks, "datagrams": datagrams, "impairments": impairments}
    return {key: rows for key, rows in told.items() if rows}


def _warnings(result: Outcome) -> dict[str, Any]:
    """Return what is odd in the scenario; empty without warnings."""
    rows = [{"field": one.field, "message": one.message} for one in result.scenario.warnings]
    return {"warnings": rows} if rows else {}


def _conditions(result: Outcome) -> dict[str, Any]:
    """Return trust, doubts and, for a single run, its conditions; empty for simulated runs."""
    known = [run.conditions for run in result.runs if run.conditions is not None]
    if not known:
        return {}
    told: dict[str, Any] = {"trusted": result.trusted, "doubts": list(result.doubts)}
    return told if isinstance(result, Batch) else {"conditions": known[0], **told}


def _rows(means: Sequence[AnyRow], by_run: Sequence[Sequence[AnyRow]]) -> list[dict[str, Any]]:
    rows = []
    for index, mean in enumerate(means):
        row = mean.to_dict()
        if by_run:
            row["ci95"] = {
                metric: _interval([getattr(run[index], metric) for run in by_run])
                for metric in row
                if metric not in WORDS
            }
        rows.append(row)
    return rows


def _interval(values: Sequence[float | None]) -> list[float] | None:
    estimate = mean_ci(values)
    return [estimate.low, estimate.high] if estimate.n > 1 else None


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
