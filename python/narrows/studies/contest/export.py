"""Contests for other programs: a JSON object, and a tidy table as CSV."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.base import indented
from narrows.studies.contest.plan import engine
from narrows.studies.contest.result import PLACES

if TYPE_CHECKING:
    from narrows.stats import Estimate
    from narrows.studies.contest.plan import Order
    from narrows.studies.contest.result import Contest

FORMAT: Final = 1
"""Version of the format of `to_json`; see ``docs/json.md``."""


def to_json(contest: Contest) -> dict[str, Any]:
    """Return the object that ``narrows contest --json`` prints: no NaN, no infinity.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    dict
    """
    plan = contest.plan
    return {
        "format": FORMAT,
        "scenario": plan.scenario.name,
        "seed": plan.seed,
        "runs": plan.runs,
        "version": _core.version(),
        "duration_s": plan.scenario.duration_s,
        "overrides": plan.scenario.overrides,
        "contestants": [
            {"label": one.label, "tcp": {key: str(value) for key, value in one.tcp.items()}} for one in plan.contestants
        ],
        "engine": engine(),
        "solo": plan.has_solo,
        "slots": [slot.name for slot in plan.slots],
        "window_s": [plan.window.start_s, plan.window.end_s],
        "pairs": [
            _pair(contest, first, second, order)
            for order in plan.orders
            for first in plan.labels
            for second in plan.labels
        ],
        "standings": [
            {
                "label": one.label,
                **{
                    name: _estimate(getattr(one, name))
                    for name in (
                        "share",
                        "harm_done",
                        "harm_suffered",
                        "jain",
                        "total_mbps",
                        "utilisation",
                        "rtt_inflation",
                        "loss_ratio",
                    )
                },
            }
            for one in contest.standings()
        ],
    }


def dumps(contest: Contest) -> str:
    """Serialise the object as text.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    str
        Ends with a newline.
    """
    return indented.dumps(to_json(contest)) + "\n"


def cells_csv(contest: Contest) -> str:
    """Format `Contest.table` as CSV; an empty field means "no value".

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    str
    """
    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    table = contest.table()
    rows.writerow(table.columns)
    for row in table.itertuples(index=False):
        rows.writerow([_plain(value) for value in row])
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    return ("" if math.isnan(value) else f"{value:.6g}") if isinstance(value, float) else value


def _pair(contest: Contest, first: str, second: str, order: Order) -> dict[str, Any]:
    measures: dict[str, Any] = {}
    for one in contest.measures():
        told = {slot: _estimate(contest.estimate(one.key, first, second, slot, order)) for slot in PLACES}
        measures[one.key] = told if one.of == "flow" else told["first"]
    return {
        "first": first,
        "second": second,
        "order": order,
        "behaviour": contest.behaviour(first, second, order),
        "measures": measures,
    }


def _estimate(estimate: Estimate) -> dict[str, float | int | None]:
    return {
        "mean": _finite(estimate.mean),
        "low": _finite(estimate.low),
        "high": _finite(estimate.high),
        "n": estimate.n,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
