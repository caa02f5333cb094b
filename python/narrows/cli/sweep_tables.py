"""A sweep in the terminal: its points and its results."""

from __future__ import annotations

import json as codec
import math
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from narrows.base.format import MISSING, clock, number
from narrows.cli.guard import hint, note
from narrows.cli.plain import new_table
from narrows.studies.sweep import address, columns
from narrows.studies.sweep.bounds import nbytes
from narrows.studies.sweep.directory import RUNS, size
from narrows.studies.sweep.quantity import headed, in_order
from narrows.studies.sweep.quantity import shown as shown_label

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from narrows.studies.sweep import Failure, Point, Sweep, SweepResult

FORMAT: Final = 1
_FIRST, _LAST = 12, 4
_LISTED = 20
_LEVELS = 12
_TOLD: Final = ("throughput_mbps", "loss_ratio", "rtt_mean_ms", "jain")
"""Metrics of the closing table, if the sweep keeps them; if it keeps fewer than three, other metrics are added."""


def print_plan(sweep: Sweep, *, json: bool) -> None:
    """Print the points of a sweep: only some from both ends if there are many; as JSON, all of them.

    Parameters
    ----------
    sweep : Sweep
    json : bool
    """
    if json:
        _print_plan_json(sweep)
        return
    out = Console(highlight=False)
    total = len(sweep.points)
    table = new_table()
    table.add_column("#", justify="right", no_wrap=True)
    for column in sweep.columns:
        table.add_column(headed(column, sweep.units.get(column)), overflow="fold")
    table.add_column("")
    many = total > _FIRST + _LAST + 1
    shown = [*range(_FIRST), *range(total - _LAST, total)] if many else range(total)
    for index in shown:
        if many and index == total - _LAST:
            left_out = f".. {total - _FIRST - _LAST:,} more"
            table.add_row("", left_out if sweep.columns else "", *[""] * (len(sweep.columns) - 1), "", style="dim")
        point = sweep.points[index]
        refused = Text("refused", style="red") if point.refusal is not None else Text("")
        table.add_row(f"{index + 1:,}", *(shown_label(label) for label in point.labels.values()), refused)
    out.print(Text.assemble((sweep.name, "bold"), f"  {sweep.scenario or 'several scenarios'}"))
    out.print(table)
    seeds = len(sweep.seeds)
    out.print(
        f"{total:,} point{_s(total)} under {seeds:,} seed{_s(seeds)}: {len(sweep.runs):,} run{_s(len(sweep.runs))}"
    )
    out.file.flush()


def _print_plan_json(sweep: Sweep) -> None:
    """Print point by point, so that a million of them are never in memory at once."""
    head = {
        "format": FORMAT,
        "name": sweep.name,
        "seeds": list(sweep.seeds),
        "runs": len(sweep.runs),
        "columns": list(sweep.columns),
    }
    typer.echo(codec.dumps(head, ensure_ascii=False)[:-1] + ', "points": [')
    last = len(sweep.points) - 1
    for point in sweep.points:
        typer.echo(codec.dumps(_point(point), ensure_ascii=False) + ("," if point.index < last else ""))
    typer.echo("]}")


def _point(point: Point) -> dict[str, Any]:
    return {
        "index": point.index,
        "scenario": point.base.name,
        "labels": dict(point.labels),
        "set": dict(point.overrides),
        "error": None if point.refusal is None else str(point.refusal),
    }


def to_json(sweep: Sweep, made: SweepResult, directory: Path, page: Path | None) -> dict[str, Any]:
    """Return the object of ``narrows sweep --json``; see ``docs/json.md``.

    Parameters
    ----------
    sweep : Sweep
    made : SweepResult
    directory : Path
    page : Path or None
        The page, if it was written.

    Returns
    -------
    dict
    """
    engine = address.engine()
    axes = [
        {
            "name": axis.name,
            "paths": list(axis.paths),
            "unit": _label({column: axis.units.get(column) for column in axis.columns}),
            "values": [_label(dict(v.labels)) for v in axis.values],
        }
        for axis in sweep.axes
    ]
    return {
        "format": FORMAT,
        "name": sweep.name,
        "version": engine.version,
        "build": engine.build,
        "directory": str(directory),
        "data_set": str(directory / RUNS),
        "page": None if page is None else str(page),
        "axes": axes,
        "seeds": list(sweep.seeds),
        "points": len(sweep.points),
        "runs": made.asked,
        "kept": made.kept,
        "made": made.made,
        "failed": len(made.failures),
        "seconds": made.seconds,
        "cpu_s": made.cpu_s,
        "digest": made.digest,
        "failures": [{"labels": f.labels, "seed": f.seed, "error": f.error} for f in made.failures],
    }


def _label(labels: dict[str, Any]) -> Any:
    return next(iter(labels.values())) if len(labels) == 1 else labels


def print_result(sweep: Sweep, made: SweepResult, directory: Path, page: Path | None) -> None:
    """Print the results of a sweep: means along each axis, and where the data set and the page are.

    Parameters
    ----------
    sweep : Sweep
    made : SweepResult
    directory : Path
    page : Path or None
        The page, if it was written.
    """
    out = Console(highlight=False)
    metrics = _metrics(made)
    if metrics and len(made.runs):
        table = new_table()
        table.add_column("mean over all else", overflow="fold", min_width=18)
        for metric in metrics:
            table.add_column(metric, justify="right", no_wrap=True)
        table.add_column("runs", justify="right", no_wrap=True)
        if not sweep.axes:
            table.add_row("the only point", *(_mean(made, metric) for metric in metrics), f"{len(made.runs):,}")
        for axis in sweep.axes:
            for column in axis.columns:
                _add_axis(table, made, column, metrics)
        out.print(table)
        out.print()
    runs = f"{made.asked:,} run{_s(made.asked)}"
    kept = f", {made.kept:,} of them there before" if made.kept else ""
    took = f"; {made.made:,} made in {clock(made.seconds)}" if made.made else ""
    out.print(f"{runs}{kept}{took}; {clock(made.cpu_s)} of processor time in all", style="dim", soft_wrap=True)
    out.print(
        f"data set: {directory / RUNS} ({nbytes(size(directory))}), for narrows.sweep.load or pandas.read_parquet",
        style="dim",
        soft_wrap=True,
    )
    if page is not None:
        out.print(f"page: {page}", soft_wrap=True)
    out.file.flush()


def _metrics(made: SweepResult) -> list[str]:
    there = set(made.rows.schema.names)
    chosen = [metric for metric in _TOLD if metric in there]
    if len(chosen) < 3:
        others = [m for m in (*columns.metrics_of("flow"), *columns.metrics_of("queue")) if m in there]
        chosen += [metric for metric in others if metric not in chosen]
    return chosen[:4]


def _add_axis(table: Table, made: SweepResult, column: str, metrics: list[str]) -> None:
    table.add_row(Text(headed(column, made.units.get(column)), style="bold"))
    runs = made.runs
    levels = in_order(runs[column].tolist())
    skipped = len(levels) - _LEVELS if len(levels) > _LEVELS + 1 else 0
    for level in levels if not skipped else [*levels[: _LEVELS - 2], *levels[-2:]]:
        if skipped and level == levels[-2]:
            table.add_row(Text(f"  .. {skipped:,} more", style="dim"))
        cells = [_mean(made, metric, column, level) for metric in metrics]
        fine = runs[(runs[column] == level) & (runs["status"] == "ok")]
        table.add_row(Text(f"  {shown_label(level)}"), *cells, f"{len(fine):,}")


def _mean(made: SweepResult, metric: str, column: str = "", level: object = None) -> str:
    for kind in ("flow", "run", "queue"):  # a frame is made when it is asked for: that of queues takes the most room
        if metric in made.metrics(kind):
            frame = made.frame(kind)
            values = frame.loc[frame[column] == level, metric] if column else frame[metric]
            value = float(values.mean())
            return MISSING if math.isnan(value) else number(value) if not 0 < abs(value) < 0.001 else f"{value:.1e}"
    return MISSING


def print_failures(made: SweepResult) -> None:
    """List failed runs on stderr, grouped by failure.

    Parameters
    ----------
    made : SweepResult
    """
    failures = made.failures
    if not failures:
        return
    note(f"{len(failures):,} of {made.asked:,} runs failed; the same command tries them again")
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.error, []).append(failure)
    for error, alike in list(groups.items())[:_LISTED]:
        more = f" and {len(alike) - 1:,} more run{_s(len(alike) - 1)}" if len(alike) > 1 else ""
        typer.echo(f"  {typer.style(alike[0].where, bold=True)}{more}", err=True)
        for line in error.splitlines():
            typer.echo(f"    {line}", err=True)
    if len(groups) > _LISTED:
        hint(f'  and {len(groups) - _LISTED:,} other errors; the data set has all, with status "failed"')


def _s(count: int) -> str:
    return "" if count == 1 else "s"
