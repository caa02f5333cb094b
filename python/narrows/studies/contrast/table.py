"""A contrast as a table and as JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.stats import CONFIDENCE
from narrows.studies.comparison.comparison import estimate_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import pyarrow as pa

    from narrows.studies.comparison.comparison import Arm
    from narrows.studies.contrast.contrast import Contrast, Row
    from narrows.studies.contrast.differences import Difference

FORMAT: Final = 1
"""Version of the JSON format."""

KIND: Final = "contrast"
"""Distinguishes the JSON of a contrast from others."""

CORRECTION: Final = "benjamini-hochberg"
"""Name in JSON of the correction for the number of metrics."""

_NUMBERS: Final = (
    "baseline_mean",
    "baseline_low",
    "baseline_high",
    "result_mean",
    "result_low",
    "result_high",
    "difference",
    "difference_low",
    "difference_high",
    "percent",
    "percent_low",
    "percent_high",
    "p_value",
    "p_adjusted",
)

COLUMNS: Final = (
    "kind",
    "name",
    "metric",
    "baseline",
    "result",
    "baseline_runs",
    "result_runs",
    *_NUMBERS,
    "beyond",
    "survives",
    "method",
)
"""Columns of the table, a row for each metric of an object and each further result. Values have the unit in which the
name of the metric ends; ``percent`` is of the baseline's mean. ``beyond``: the 95 % interval leaves zero out;
``survives``: so does the correction for the number of metrics."""


def arrow(made: Contrast) -> pa.Table:
    """Return every difference as a row of an Arrow table.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    pyarrow.Table
        With `COLUMNS`; "no value" is null.
    """
    import pyarrow as pa

    rows = [_flat(made, row, index, one) for row in made.rows for index, one in enumerate(row.differences)]

    def typed(name: str) -> pa.DataType:
        if name in _NUMBERS:
            return pa.float64()
        if name in ("beyond", "survives"):
            return pa.bool_()
        return pa.int64() if name.endswith("_runs") else pa.string()

    return pa.table({name: pa.array([row[name] for row in rows], type=typed(name)) for name in COLUMNS})


def frame(made: Contrast) -> pd.DataFrame:
    """Return every difference as a row of a data frame.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`; NaN is "no value".
    """
    whole: pd.DataFrame = arrow(made).to_pandas()
    return whole


def _flat(made: Contrast, row: Row, index: int, one: Difference) -> dict[str, Any]:
    before, after = row.estimates[0], row.estimates[index + 1]
    numbers = (
        *(before.mean, before.low, before.high),
        *(after.mean, after.low, after.high),
        *(one.difference.mean, one.difference.low, one.difference.high),
        *(one.percent.mean, one.percent.low, one.percent.high),
        *(one.p_value, one.p_adjusted),
    )
    return {
        "kind": row.kind,
        "name": row.name,
        "metric": row.measure.key,
        "baseline": made.baseline.label,
        "result": made.arms[index + 1].label,
        "baseline_runs": before.n,
        "result_runs": after.n,
        **{name: value if math.isfinite(value) else None for name, value in zip(_NUMBERS, numbers, strict=True)},
        "beyond": one.beyond,
        "survives": one.survives,
        "method": made.against[index].method,
    }


def to_json(made: Contrast) -> dict[str, Any]:
    """Return the object of ``narrows compare --json``; see ``docs/json.md``.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    dict
        Ready for JSON.
    """
    from narrows.studies.contrast import words

    zero: list[Row] = []
    other: list[Row] = []
    for row in made.rows:
        (zero if row.never and all(one.n for one in row.estimates) else other).append(row)
    return {
        "format": FORMAT,
        "kind": KIND,
        "version": _core.version(),
        "confidence": CONFIDENCE,
        "correction": CORRECTION,
        "tests": made.tests,
        "marked": made.beyond,
        "results": [_result(arm) for arm in made.arms],
        "trusted": not made.doubts,
        "doubts": list(made.doubts),
        "against": [
            {
                "result": arm.label,
                "method": how.method,
                "reason": how.reason,
                "verdict": words.verdict(made, index),
                "changes": [{"path": one.path, "before": one.before, "after": one.after} for one in how.changes],
                "unmatched": [
                    {"only_in": label, "kind": kind, "name": name} for label, kind, name in made.unmatched(index)
                ],
            }
            for index, (how, arm) in enumerate(zip(made.against, made.arms[1:], strict=True))
        ],
        "zero": _zero(zero),
        "metrics": [_row(row) for row in other],
    }


def _result(arm: Arm) -> dict[str, Any]:
    outcome = arm.outcome
    first = outcome.runs[0]
    return {
        "label": arm.label,
        "scenario": outcome.scenario.name,
        "duration_s": outcome.scenario.duration_s,
        "world": world(arm),
        "kernel": kernel(arm),
        "version": outcome.version,
        "seed": first.seed,
        "runs": len(outcome.runs),
        "digest": outcome.digest,
        "trusted": outcome.trusted,
    }


def world(arm: Arm) -> str:
    """Say whether an arm is ``simulated`` or ``live``.

    Parameters
    ----------
    arm : Arm

    Returns
    -------
    str
    """
    return "simulated" if arm.outcome.runs[0].conditions is None else "live"


def kernel(arm: Arm) -> str | None:
    """Return the kernel of a live arm's first run.

    Parameters
    ----------
    arm : Arm

    Returns
    -------
    str or None
        ``None`` for simulated runs, and where no kernel is named.
    """
    conditions = arm.outcome.runs[0].conditions or {}
    told = conditions.get("kernel", conditions.get("kernel_release"))
    return None if told is None else str(told)


def _zero(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Name the objects of rows, by kind and metric: a fifth of all rows are counts of what never happened."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        found.setdefault((row.kind, row.measure.key), []).append(row.name)
    return [{"kind": kind, "metric": metric, "names": names} for (kind, metric), names in found.items()]


def _row(row: Row) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "name": row.name,
        "metric": row.measure.key,
        "values": [estimate_json(one) for one in row.estimates],
        "differences": [
            {
                "difference": estimate_json(one.difference),
                "percent": estimate_json(one.percent),
                "p_value": one.p_value if math.isfinite(one.p_value) else None,
                "p_adjusted": one.p_adjusted if math.isfinite(one.p_adjusted) else None,
                "survives": one.survives,
            }
            for one in row.differences
        ],
    }


def dumps(made: Contrast) -> str:
    """Serialise a contrast as JSON text.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    str
        Ends with a newline.
    """
    content = to_json(made)
    rows = content.pop("metrics")
    head = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # Nearly all of the text is metrics. A line for each takes half the space of indented ones, and a fifth of the time:
    # only without an indent does Python write JSON by compiled code.
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
    lines = ",\n".join(f"    {encoder.encode(row)}" for row in rows)
    return f'{head[:-2]},\n  "metrics": [\n{lines}\n  ]\n}}\n'


def settings(made: Contrast) -> pa.Table:
    """Return the settings in which each further result differs from the baseline.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    pyarrow.Table
        Columns ``baseline``, ``result``, ``path``, ``before``, ``after``.
    """
    import pyarrow as pa

    rows = [
        (made.baseline.label, arm.label, one.path, one.before, one.after)
        for how, arm in zip(made.against, made.arms[1:], strict=True)
        for one in how.changes
    ]
    names = ("baseline", "result", "path", "before", "after")
    return pa.table({name: pa.array([row[i] for row in rows], type=pa.string()) for i, name in enumerate(names)})
