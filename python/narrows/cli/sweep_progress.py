"""Progress of a sweep on stderr: its size, how long it will take, and a bar with the time left."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

from narrows.format import clock
from narrows.sweep.bounds import free_bytes, nbytes, room

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from narrows.sweep import Estimate, Progress, Sweep
    from narrows.sweep.axis import Axis

_PATIENCE_S = 0.5
"""Time without a bar, s."""

_LINE_S = 60.0
"""Interval between lines where there is no terminal, for logs of batch systems, s."""


class Display:
    """Display of a running sweep; called with its progress.

    Parameters
    ----------
    sweep : Sweep
    directory : Path
    wanted : bool
        Whether to show progress; size and estimate are printed in any case.
    """

    def __init__(self, sweep: Sweep, directory: Path, *, wanted: bool = True) -> None:
        self._sweep = sweep
        self._directory = directory
        self._wanted = wanted
        self._console = Console(stderr=True, highlight=False)
        self._live: RichProgress | None = None
        self._task: TaskID | None = None
        self._begun = False
        self._estimated = False
        self._line = time.monotonic()

    def __enter__(self) -> Self:
        """Say what is read, if reading takes a moment."""
        if len(self._sweep.points) > 10_000:
            self._console.print(f"checking {len(self._sweep.points):,} points ..", style="dim")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self._live is not None:
            self._live.stop()

    def __call__(self, state: Progress) -> None:
        """Show the progress.

        Parameters
        ----------
        state : Progress
        """
        if not self._begun:
            self._begun = True
            self._head(state)
        if state.estimate is not None and not self._estimated:
            self._estimated = True
            self._console.print(Text.assemble(("time: ", "dim"), told(state.estimate)))
        if not self._wanted:
            return
        if sys.stderr.isatty():
            self._bar(state)
        elif state.left_s is not None and time.monotonic() - self._line >= _LINE_S:
            self._line = time.monotonic()
            self._console.print(f"{_count(state)}, {clock(state.left_s)} left", soft_wrap=True)

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

    def _bar(self, state: Progress) -> None:
        if self._live is None:
            if state.seconds < _PATIENCE_S:
                return
            self._live = _live(self._console)
            self._task = self._live.add_task(_count(state), total=1.0, left="")
            self._live.start()
        if self._task is not None:
            left = "estimating" if state.left_s is None else f"{clock(state.left_s)} left"
            self._live.update(self._task, completed=state.fraction, description=_count(state), left=left)


def told(estimate: Estimate) -> str:
    """Describe an estimate in words.

    Parameters
    ----------
    estimate : Estimate

    Returns
    -------
    str
    """
    if not estimate.probes:
        return "nothing to go by: no run ended well or got far in that time"
    by = f"by {estimate.probes:,} run{'' if estimate.probes == 1 else 's'}"
    low, high = clock(estimate.low), clock(estimate.high)
    return f"about {clock(estimate.seconds)}{'' if low == high else f' ({low} to {high})'}, {by}"


def shown(axis: Axis) -> str:
    """List the values of an axis on one line, leaving out the middle if there are many.

    Parameters
    ----------
    axis : Axis

    Returns
    -------
    str
    """
    return _some([" ".join(str(label) for label in value.labels.values()) for value in axis.values])


def _some(words: list[str]) -> str:
    if len(words) <= 3:
        return ", ".join(words)
    line = words[0]
    for i, word in enumerate(words[1:], 1):
        if len(line) + len(word) > 50 and i < len(words) - 1:
            return f"{line}, .. {words[-1]}"
        line = f"{line}, {word}"
    return line


def _count(state: Progress) -> str:
    failed = f", {state.failed:,} failed" if state.failed else ""
    return f"{state.done:,} of {state.total:,} runs{failed}"


def _live(console: Console) -> RichProgress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        transient=True,
    )
