"""An evaluation as JSON and CSV."""

from __future__ import annotations

import json
import math
import shlex
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.model import own
from narrows.studies.evaluate.criteria import catalogue
from narrows.studies.evaluate.measures import MEASURES
from narrows.studies.evaluate.result import by_class

if TYPE_CHECKING:
    from narrows.stats import Estimate
    from narrows.studies.evaluate.plan import Plan
    from narrows.studies.evaluate.result import Evaluation, Judged

FORMAT: Final = 1
"""Version of the format of `to_json`."""

SUMMARY: Final = "evaluate.json"
KIND: Final = "evaluation"

SIMULATED: Final = "simulated"
"""The world of simulated runs; that of live ones names the kernel."""


def to_json(made: Evaluation) -> dict[str, Any]:
    """Return the object that ``narrows evaluate --json`` prints: no NaN, no infinity.

    Parameters
    ----------
    made : Evaluation

    Returns
    -------
    dict
    """
    rows = [_row(made, one) for one in made.judged]
    return {
        "format": FORMAT,
        "kind": KIND,
        "control": made.plan.control,
        "world": made.plan.world or SIMULATED,
        "quick": made.plan.quick,
        "seed": made.plan.seed,
        "looks": list(made.plan.looks),
        "version": _core.version(),
        "build": made.build,
        "digest": made.digest,
        "note": made.note,
        "runs": made.runs,
        "verdicts": made.counts,
        "rows": rows,
        "classes": [
            {
                "class": one.path_class,
                "met": one.met,
                "judged": one.judged,
                "use": one.use,
                "delay": one.delay,
                "harm": one.harm,
            }
            for one in by_class(rows)
        ],
        "not_evaluated": [
            {"section": one.section, "what": one.what, "reason": one.reason} for one in catalogue().not_evaluated
        ],
    }


def dumps(made: Evaluation) -> str:
    """Serialise the object as text.

    Parameters
    ----------
    made : Evaluation

    Returns
    -------
    str
        Ends with a newline.
    """
    return json.dumps(to_json(made), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def command(plan: Plan, row: str | None = None) -> str:
    """Return the command that repeats an evaluation, or a row of it.

    Parameters
    ----------
    plan : Plan
    row : str, optional
        Name of the row.

    Returns
    -------
    str
    """
    loaded = own.file_of(plan.control.partition(":")[0])
    only = plan.only if row is None else (row,)
    parts = ["narrows", "evaluate", plan.control]
    parts += [] if loaded is None else ["--load", loaded]
    parts += [*(["--live"] if plan.world else ()), *(["--quick"] if plan.quick else ())]
    parts += ["--only", ",".join(only)] if only else []
    return shlex.join([*parts, "--seed", str(plan.seed), "--runs", str(plan.looks[-1])])


def csv(made: Evaluation) -> str:
    """Return the rows as CSV, in the units of the page.

    Parameters
    ----------
    made : Evaluation

    Returns
    -------
    str
    """
    import pandas as pd

    rows = []
    for one in made.judged:
        measure, decision = MEASURES[one.row.criterion.measure], one.decision
        rows.append(
            {
                "section": one.row.criterion.section,
                "row": one.row.name,
                "network": one.row.network.name,
                "verdict": decision.verdict,
                "measure": one.row.criterion.measure,
                "unit": measure.unit,
                "value": decision.value.mean * measure.factor,
                "side": one.row.criterion.threshold.side,
                "threshold": decision.threshold.mean * measure.factor,
                "difference_low": decision.difference.low * measure.factor,
                "difference_high": decision.difference.high * measure.factor,
                "seeds": len(decision.seeds),
                "without_value": decision.without,
                "doubtful": len(decision.doubtful),
                "failing_seed": decision.failing_seed,
            }
        )
    return pd.DataFrame(rows).to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _row(made: Evaluation, one: Judged) -> dict[str, Any]:
    criterion, decision, threshold = one.row.criterion, one.decision, one.row.criterion.threshold
    cubic = None
    if threshold.cubic and decision.threshold.n:
        cubic = (decision.threshold.mean - threshold.plus) / threshold.cubic
    return {
        "row": one.row.name,
        "criterion": criterion.name,
        "section": criterion.section,
        "asks": criterion.asks,
        "network": one.row.network.name,
        "title": one.row.network.title,
        "class": one.row.network.path_class,
        "cast": dict(criterion.cast),
        "definition": one.row.definition,
        "measure": criterion.measure,
        "unit": _unit(criterion.measure),
        "side": threshold.side,
        "source": criterion.source,
        "verdict": decision.verdict,
        "reason": decision.reason,
        "value": _plain(decision.value),
        "cubic": cubic,
        "threshold": _plain(decision.threshold),
        "difference": _plain(decision.difference),
        "seeds": list(decision.seeds),
        "values": list(decision.values),
        "failing_seed": decision.failing_seed,
        "without_value": decision.without,
        "doubtful": list(decision.doubtful),
        "doubts": list(decision.doubts),
        "command": command(made.plan, one.row.name),
    }


def _unit(measure: str) -> str:
    """The unit of the value in JSON, where shares are of 1."""
    known = MEASURES[measure]
    return "" if known.factor != 1 else known.unit


def _plain(estimate: Estimate) -> dict[str, float | int | None]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {"mean": finite(estimate.mean), "low": finite(estimate.low), "high": finite(estimate.high), "n": estimate.n}
