"""A progress bar on stderr, for what takes longer than a moment."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""How long nothing is shown: what is over by then needs no bar."""


class Bar:
    """A bar that shows up late, on a terminal only, and leaves no trace.

    It is called with the share of the work that is done, in [0, 1].

    Parameters
    ----------
    what : str
        Stands before the bar.
    wanted : bool
        Whether to show anything.
    """

    def __init__(self, what: str, wanted: bool = True) -> None:
        self._what = what
        self._wanted = wanted and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Start waiting for the first news."""
        return self

    def __call__(self, fraction: float) -> None:
        """Show how much is done.

        Parameters
        ----------
        fraction : float
            In [0, 1].
        """
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

    def describe(self, what: str) -> None:
        """Change what stands before the bar.

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
        """Take the bar away."""
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
