"""A progress bar on stderr, for work that takes longer than a moment."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from narrows.base.format import clock
from narrows.cli.guard import hint

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""Time without a bar, s: shorter work needs none."""


LONG_S = 60.0
"""Shortest expected duration that is reported, s."""

_FIRST_S = 2.0
_AGAIN_S = 600.0
_CHANGED = 1.5


class Pace:
    """Reports on stderr how long something will take, if that is long: from its own pace, first after two seconds.

    The pace begins with the first progress: set-up, and work of an earlier command, are not part of it. The estimate is
    reported again when it has changed by half, and every ten minutes. It rests on progress alone: if the rest of a run
    is busier than its beginning, the estimate grows.

    Parameters
    ----------
    say : callable
        Prints a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._begin = time.monotonic()
        self._first: tuple[float, float] | None = None
        self._told = (0.0, 0.0)

    def __call__(self, fraction: float) -> None:
        """Record the completed share of the work.

        Parameters
        ----------
        fraction : float
            In [0, 1].
        """
        seconds = time.monotonic() - self._begin
        if not 0 < fraction < 1:
            return
        if self._first is None:
            self._first = fraction, seconds
        done, spent = fraction - self._first[0], seconds - self._first[1]
        if spent < _FIRST_S or done <= 0:
            return
        whole = seconds + (1 - fraction) * spent / done
        before, at = self._told
        changed = not before or not 1 / _CHANGED < whole / before < _CHANGED
        if whole < LONG_S or not (changed or seconds - at >= _AGAIN_S):
            return
        self._told = whole, seconds
        self._say(f"takes about {clock(whole)}; {clock(whole - seconds)} left ({_percent(fraction)} done)")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %" if fraction >= 0.01 else f"{100 * fraction:.1g} %"


class Bar:
    """A bar that appears late, only on a terminal, and disappears at the end.

    It is called with the completed share of the work, in [0, 1].

    Parameters
    ----------
    what : str
        Text before the bar.
    wanted : bool
        Whether to show a bar.
    quiet : bool
        Whether to also suppress the expected duration.
    """

    def __init__(self, what: str, wanted: bool = True, *, quiet: bool = False) -> None:
        self._what = what
        self._pace = None if quiet else Pace(self._say)
        self._wanted = wanted and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Start waiting for the first progress."""
        return self

    def __call__(self, fraction: float) -> None:
        """Show the completed share of the work.

        Parameters
        ----------
        fraction : float
            In [0, 1].
        """
        if self._pace is not None:
            self._pace(fraction)
        if not self._wanted:
            return
        if self._progress is None:
            if time.monotonic() - self._begin < PATIENCE_S:
                return
            self._progress = _make()
            self._task = self._progress.add_task(self._what, total=1.0)
            self._progress.start()
        if self._task is not None:
            self._progress.update(self._task, completed=fraction)

    def _say(self, line: str) -> None:
        if self._progress is not None:
            self._progress.console.print(f"{self._what}: {line}", style="dim", highlight=False)
        else:
            hint(f"{self._what}: {line}")

    def describe(self, what: str) -> None:
        """Change the text before the bar.

        Parameters
        ----------
        what : str
        """
        self._what = what
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=what)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()


def _make() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
