"""Progress of a sweep on stderr: its size, how long it will take, and a bar with the time left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.text import Text

from narrows.cli.runs_progress import RunsDisplay, told
from narrows.studies.sweep import quantity
from narrows.studies.sweep.bounds import free_bytes, nbytes, room

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.sweep import Progress, Sweep
    from narrows.studies.sweep.axis import Axis

__all__ = ["Display", "shown", "told"]


class Display(RunsDisplay):
    """Display of a running sweep; called with its progress.

    Parameters
    ----------
    sweep : Sweep
    directory : Path
    wanted : bool
        Whether to show progress; size and estimate are printed in any case.
    """

    def __init__(self, sweep: Sweep, directory: Path, *, wanted: bool = True) -> None:
        super().__init__(sweep.name, wanted=wanted, least_s=0.0)
        self._sweep = sweep
        self._directory = directory

    def __enter__(self) -> Self:
        """Say what is read, if reading takes a moment."""
        if len(self._sweep.points) > 10_000:
            self._console.print(f"checking {len(self._sweep.points):,} points ..", style="dim")
        return self

    def _head(self, state: Progress) -> None:
        sweep, out = self._sweep, self._console
        scenario = sweep.scenario or "several scenarios"
        out.print(Text.assemble((sweep.name, "bold"), f"  {scenario}"))
        width = max([len(axis.name) for axis in sweep.axes] + [5])
        for axis in sweep.axes:
            out.print(Text.assemble(f"  {axis.name:<{width}}  ", shown(axis), (f"  ({len(axis)})", "dim")))
        seeds = _some([str(seed) for seed in sweep.seeds])
        out.print(Text.assemble(f"  {'seeds':<{width}}  ", seeds, (f"  ({len(sweep.seeds)})", "dim")))
        todo = state.total - state.done
        there = f", {state.kept:,} of them there already" if state.kept else ""
        points = f"{len(sweep.points):,} point{'' if len(sweep.points) == 1 else 's'}"
        out.print(f"{points}, {state.total:,} run{'' if state.total == 1 else 's'}{there}", soft_wrap=True)
        if todo:
            need, free = nbytes(room(sweep, todo)), nbytes(free_bytes(self._directory))
            out.print(
                Text.assemble(("disk: ", "dim"), f"at most {need} of {free} free, into {self._directory}"),
                soft_wrap=True,
            )
        refused = sum(point.refusal is not None for point in sweep.points)
        if refused:
            what = "point is" if refused == 1 else "points are"
            out.print(f"{refused:,} {what} refused; the runs will be listed as failed", style="yellow")


def shown(axis: Axis) -> str:
    """List the values of an axis on one line, leaving out the middle if there are many.

    Parameters
    ----------
    axis : Axis

    Returns
    -------
    str
    """
    unit = axis.units.get(axis.columns[0]) if len(axis.columns) == 1 else None
    if unit is not None:
        return f"{_some([quantity.shown(next(iter(value.labels.values()))) for value in axis.values])} {unit}"
    return _some(
        [
            " ".join(quantity.shown(label, axis.units.get(column)) for column, label in value.labels.items())
            for value in axis.values
        ]
    )


def _some(words: list[str]) -> str:
    if len(words) <= 3:
        return ", ".join(words)
    line = words[0]
    for i, word in enumerate(words[1:], 1):
        if len(line) + len(word) > 50 and i < len(words) - 1:
            return f"{line}, .. {words[-1]}"
        line = f"{line}, {word}"
    return line
