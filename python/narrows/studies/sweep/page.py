"""The page of a sweep: its metrics over each axis, failed runs, and how to continue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.report import charts, render, style
from narrows.stats import mean_ci
from narrows.studies.sweep import columns
from narrows.studies.sweep.directory import SWEEP, marker
from narrows.studies.sweep.result import load

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from narrows.studies.sweep.result import SweepResult

METRICS: Final = ("throughput_mbps", "loss_ratio", "rtt_mean_ms", "jain")
"""Metrics that are shown if they are kept; others are shown if fewer than three of these are."""

MOST_LINES: Final = 8
"""Largest number of values of a second axis that are drawn as separate lines."""

MOST_LEVELS: Final = 200
"""Largest number of values of an axis that are drawn and listed."""

_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A value of an axis: means over all other axes and seeds, half of each 95 % interval, and number of runs."""

    level: str
    cells: tuple[tuple[str, str], ...]
    runs: int


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis and its values."""

    name: str
    rows: tuple[Row, ...]
    left_out: int


def write(directory: str | PathLike[str], page: Path) -> Path:
    """Write the page of a sweep's directory, and ``figures/`` beside it as PNG and SVG.

    Parameters
    ----------
    directory : path
        Directory of the sweep.
    page : pathlib.Path
        Path of the page.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If the directory is not that of a sweep, or cannot be read.
    OSError
        If the page or the figures cannot be written.
    """
    about, made = marker(directory), load(directory)
    metrics = chosen(made)
    drawn = charts.draw([figure(made, axis, metrics) for axis in made.axes], page.parent / "figures") if metrics else []
    name = str(about.get("name"))
    text = render.page(
        "sweep.html.j2",
        title=f"{name}: a sweep – Narrows",
        version=str(about.get("version")),
        name=name,
        lead=lead(made),
        metrics=metrics,
        axes=[table(made, axis, metrics) for axis in made.axes],
        charts=drawn,
        failures=[str(one) for one in made.failures[:_LISTED]],
        more_failures=max(0, len(made.failures) - _LISTED),
        identity=_identity(about, made),
        command=f"narrows sweep {SWEEP} -o .",
        sweep_toml=(Path(directory) / SWEEP).read_text(encoding="utf-8"),
    )
    return render.write_text(page, text)


def chosen(made: SweepResult) -> list[str]:
    """Return the names of the metrics that are shown.

    Parameters
    ----------
    made : SweepResult

    Returns
    -------
    list of str
        At most four.
    """
    there = set(made.table.schema.names)
    some = [metric for metric in METRICS if metric in there]
    if len(some) < 3:
        others = [one for one in (*columns.metrics_of("flow"), *columns.metrics_of("queue")) if one in there]
        some += [metric for metric in others if metric not in some]
    return some[: len(METRICS)]


def lead(made: SweepResult) -> str:
    """Summarise the sweep in a sentence.

    Parameters
    ----------
    made : SweepResult

    Returns
    -------
    str
    """
    runs, failed = len(made.runs), len(made.failures)
    over = f" over {', '.join(made.axes)}" if made.axes else ""
    rest = f"; {failed:,} failed and {'is' if failed == 1 else 'are'} missing from these results" if failed else ""
    return f"{runs:,} run{'' if runs == 1 else 's'}{over}{rest}."


def per_run(made: SweepResult, metric: str) -> pd.DataFrame:
    """Values of a metric: a row per run, the mean over its flows or queues, with the columns of the axes.

    Parameters
    ----------
    made : SweepResult
    metric : str

    Returns
    -------
    pandas.DataFrame
        Columns of the axes, and ``value``.
    """
    for frame in (made.runs, made.flows, made.queues):
        if metric in frame.columns:
            keys = [*made.axes, "seed", "address"]
            means = frame.groupby(keys, dropna=False, sort=False, observed=True)[metric].mean()
            return means.rename("value").reset_index()
    message = f"no rows have {metric}"
    raise LookupError(message)


def table(made: SweepResult, axis: str, metrics: list[str]) -> Axis:
    """Means over all other axes and seeds, for each value of an axis.

    Parameters
    ----------
    made : SweepResult
    axis : str
    metrics : list of str

    Returns
    -------
    Axis
    """
    frames = {metric: per_run(made, metric) for metric in metrics}
    fine = made.runs[made.runs["status"] == "ok"]
    levels = list(dict.fromkeys(made.runs[axis].tolist()))
    rows = []
    for level in levels[:MOST_LEVELS]:
        cells = []
        for frame in frames.values():
            one = mean_ci(_numbers(frame.loc[frame[axis] == level, "value"]))
            spread = style.number(one.half_width) if one.n > 1 and one.half_width > 0 else ""
            cells.append((style.number(one.mean if one.n else None), spread))
        rows.append(Row(str(level), tuple(cells), int((fine[axis] == level).sum())))
    return Axis(axis, tuple(rows), max(0, len(levels) - MOST_LEVELS))


def figure(made: SweepResult, axis: str, metrics: list[str]) -> charts.Figure:
    """Draw metrics over an axis, with a line for each value of another axis if that axis has few values.

    Parameters
    ----------
    made : SweepResult
    axis : str
    metrics : list of str

    Returns
    -------
    narrows.report.charts.Figure
    """
    levels = list(dict.fromkeys(made.runs[axis].tolist()))[:MOST_LEVELS]
    numeric = all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels)
    levels = sorted(levels) if numeric else levels
    others = [one for one in made.axes if one != axis and 1 < made.runs[one].nunique() <= MOST_LINES]
    by = others[0] if others else None
    groups: list[Any] = [None] if by is None else list(dict.fromkeys(made.runs[by].tolist()))
    places = np.array(levels if numeric else range(len(levels)), dtype=float)
    panels = []
    for metric in metrics:
        frame = per_run(made, metric)
        lines = []
        for index, group in enumerate(groups):
            some = frame if by is None else frame[frame[by] == group]
            found = [mean_ci(_numbers(some.loc[some[axis] == level, "value"])) for level in levels]
            bounds = [(one.low, one.high) if one.n > 1 else (one.mean, one.mean) for one in found]
            lines.append(
                charts.Line(
                    "mean" if by is None else f"{by} = {group}",
                    places,
                    np.array([one.mean if one.n else np.nan for one in found], dtype=float),
                    style.colour(index),
                    low=np.array([low for low, _ in bounds], dtype=float),
                    high=np.array([high for _, high in bounds], dtype=float),
                    markers=not numeric,
                )
            )
        panels.append(charts.Panel(metric, tuple(lines)))
    told = f", a colour for each {by}" if by is not None else ""
    return charts.Figure(
        f"over-{''.join(letter if letter.isalnum() else '-' for letter in axis)}",
        f"Over {axis}",
        f"Means over all else{told}; bands and bars are 95 % intervals over the runs.",
        axis,
        tuple(panels),
        ticks=() if numeric else tuple(str(level) for level in levels),
    )


def _numbers(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values.to_numpy(dtype=float)]


def _identity(about: dict[str, Any], made: SweepResult) -> list[tuple[str, str]]:
    return [
        ("Sweep", str(about.get("name"))),
        ("Axes", ", ".join(made.axes) or "none"),
        ("Runs", f"{len(made.runs):,}, {len(made.failures):,} failed"),
        ("Seeds", str(made.runs["seed"].nunique())),
        ("Version", str(about.get("version"))),
        ("Build", str(about.get("build"))),
        ("Digest", made.digest),
    ]
