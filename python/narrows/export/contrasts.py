"""Tables and figures of ``narrows compare``: every difference from the baseline, and all results over each other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from narrows.export import drawings, tables
from narrows.export.printing import SPREAD
from narrows.export.values import Contents, Printed, Rows, Table
from narrows.report import stored
from narrows.store.saved import refusing_damage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from narrows.report.values import Figure
    from narrows.studies.contrast import Contrast

METRICS: Final = {
    "kind": "Kind of object: run, flow, queue or another.",
    "name": "Name of the object.",
    "metric": "The metric; its name ends in the unit of the numbers.",
    "baseline": "The first result.",
    "result": "The further result.",
    "baseline_runs": "Runs of the baseline.",
    "result_runs": "Runs of the further result.",
    "difference": "Mean difference, further result minus baseline.",
    "percent": "Mean difference in per cent of the baseline's mean.",
    "p_value": "Probability of such a difference by chance; empty without an interval.",
    "p_adjusted": "The same, corrected for the number of metrics (Benjamini and Hochberg).",
    "beyond": "Whether the 95 % interval of the difference leaves zero out.",
    "survives": "Whether the corrected probability is below 5 %.",
    "method": "How the difference was computed: paired, Welch's, or without an interval.",
}
"""Meaning of the columns of differences; those of means and of ends of intervals follow from their names."""

SETTINGS: Final = {
    "baseline": "The first result.",
    "result": "The further result.",
    "path": "The setting's path in the scenario.",
    "before": "Its value in the baseline; empty without one.",
    "after": "Its value in the further result; empty without one.",
}
"""Meaning of the columns of settings."""


def contents(made: Contrast) -> Contents:
    """Return what a contrast has to export.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    Contents
    """
    from narrows.studies.contrast import figures, table

    return _contents(table.arrow(made), table.settings(made), figures.of(made))


def load(directory: Path) -> Contents:
    """Return what a directory of ``narrows compare`` has to export.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    Contents

    Raises
    ------
    InputError
        If the directory is damaged.
    """
    import pyarrow as pa
    from pyarrow import csv

    from narrows import ownership
    from narrows.studies.contrast.directory import METRICS as METRICS_FILE
    from narrows.studies.contrast.directory import SETTINGS as SETTINGS_FILE

    ownership.found(directory)
    texts = pa.schema([(name, pa.string()) for name in ("kind", "name", "metric", "baseline", "result", "method")])
    options = csv.ConvertOptions(
        column_types={**{field.name: field.type for field in texts}, **{name: pa.string() for name in SETTINGS}},
        strings_can_be_null=True,
    )
    with refusing_damage(directory):
        metrics, settings = (
            csv.read_csv(directory / name, convert_options=options) for name in (METRICS_FILE, SETTINGS_FILE)
        )
        return _contents(metrics.select(metrics.column_names), settings, stored.read(directory))


def _contents(metrics: pa.Table, settings: pa.Table, figures: Sequence[Figure]) -> Contents:
    listed = [
        Table("metrics", "Differences from the baseline", partial(_metrics, metrics), partial(_printed, metrics)),
    ]
    if settings.num_rows:
        listed.append(
            Table("settings", "Settings that differ from the baseline", lambda: tables.of_arrow(settings, SETTINGS))
        )
    return Contents("contrast", "compare", tuple(listed), drawings.of_figures(figures))


def _metrics(metrics: pa.Table) -> Rows:
    ends = {
        "mean": "Mean over the runs",
        "low": "Lower end of the 95 % interval",
        "high": "Upper end of the 95 % interval",
    }
    docs = dict(METRICS)
    for what in ("baseline", "result", "difference", "percent"):
        docs |= {f"{what}_{end}": f"{words} ({what})." for end, words in ends.items()}
    return tables.of_arrow(metrics, docs)


def _printed(metrics: pa.Table) -> Printed:
    """Return the differences that leave zero out, or, without intervals, all that there are."""
    rows: list[dict[str, Any]] = metrics.to_pylist()
    told = [row for row in rows if row["beyond"]] or [row for row in rows if row["difference"]]
    made: list[tuple[str, ...]] = []
    heading = None
    for row in told:
        name = f"{row['result']} against {row['baseline']}: {row['kind']} {row['name']}".rstrip()
        if name != heading:
            made.append((name,))
            heading = name
        made.append(
            (row["metric"], *(_estimate(row, what) for what in ("baseline", "result", "difference", "percent")))
        )
    spread = any("±" in cell for row in made for cell in row[1:])
    heads = (("Metric", ""), ("Baseline", ""), ("Result", ""), ("Difference", ""), ("Difference", "%"))
    return Printed(heads, tuple(made), SPREAD if spread else "")


def _estimate(row: dict[str, Any], what: str) -> str:
    from narrows.report.style import number
    from narrows.report.tables import with_spread

    mean = row.get(f"{what}_mean", row.get(what))
    low, high = row[f"{what}_low"], row[f"{what}_high"]
    if mean is None or low is None or high is None or not high > low:
        return number(mean)
    return " ± ".join(with_spread(mean, (high - low) / 2))
