"""Progress of many runs on stderr: how long they will take, and a bar with the time left."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

from narrows.base.format import clock

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from narrows.execution.forecast import Estimate
    from narrows.execution.work import Progress

_PATIENCE_S = 0.5
"""Time without a bar, s."""

_LINE_S = 60.0
"""Interval between lines where there is no terminal, for logs of batch systems, s."""

LONG_S = 60.0
"""Shortest estimated time that is reported, s."""


class RunsDisplay:
    """Display of runs in progress; called with their progress.

    Parameters
    ----------
    what : str
        What is run, in words.
    wanted : bool
        Whether to show progress; the estimate is printed in any case.
    least_s : float
        Shortest estimated time that is printed, s.
    """

    def __init__(self, what: str, *, wanted: bool = True, least_s: float = LONG_S) -> None:
        self._what = what
        self._wanted = wanted
        self._least_s = least_s
        self._console = Console(stderr=True, highlight=False)
        self._live: RichProgress | None = None
        self._task: TaskID | None = None
        self._begun = False
        self._estimated = False
        self._line = time.monotonic()

    def __enter__(self) -> Self:
        """Wait for the first progress."""
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
            if state.estimate.seconds >= self._least_s:
                self._console.print(Text.assemble(("time: ", "dim"), told(state.estimate)))
        if not self._wanted:
            return
        if sys.stderr.isatty():
            self._bar(state)
        elif state.left_s is not None and time.monotonic() - self._line >= _LINE_S:
            self._line = time.monotonic()
            self._console.print(f"{self._count(state)}, {clock(state.left_s)} left", soft_wrap=True)

    def _head(self, state: Progress) -> None:
        """Describe what is run."""

    def _count(self, state: Progress) -> str:
        """Describe how far it is, for the bar."""
        failed = f", {state.failed:,} failed" if state.failed else ""
        return f"{state.done:,} of {state.total:,} runs{failed}"

    def _bar(self, state: Progress) -> None:
        if self._live is None:
            if state.seconds < _PATIENCE_S:
                return
            self._live = _live(self._console)
            self._task = self._live.add_task(self._count(state), total=1.0, left="")
            self._live.start()
        if self._task is not None:
            left = "estimating" if state.left_s is None else f"{clock(state.left_s)} left"
            self._live.update(self._task, completed=state.fraction, description=self._count(state), left=left)


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
        return "no estimate: no run succeeded or got far enough in that time"
    by = f"by {estimate.probes:,} run{'' if estimate.probes == 1 else 's'}"
    low, high = clock(estimate.low), clock(estimate.high)
    return f"about {clock(estimate.seconds)}{'' if low == high else f' ({low} to {high})'}, {by}"


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
