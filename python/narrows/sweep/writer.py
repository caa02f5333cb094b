"""Finished runs on their way to disk: a thread of its own, so that no run waits for a disk."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.sweep.record import Record

GROUP_S: Final = 0.25
"""Least time between two commits: runs that end faster than that share one, s."""


class Writer:
    """A thread that commits finished runs as they come.

    A run that ends more than `GROUP_S` after the last commit is committed at once; others wait until that time is over
    and share a commit.

    Parameters
    ----------
    commit : callable
        Writes some records; when it returns they are safe.
    """

    def __init__(self, commit: Callable[[Sequence[Record]], None]) -> None:
        self._commit = commit
        self._queue: SimpleQueue[Record | None] = SimpleQueue()
        self._safe: SimpleQueue[Record] = SimpleQueue()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, name="sweep-writer", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Hand over a finished run.

        Parameters
        ----------
        record : Record
        """
        self._queue.put(record)

    def safe(self) -> list[Record]:
        """Return the runs that became safe since the last call.

        Returns
        -------
        list of Record

        Raises
        ------
        RunError
            If writing failed.
        """
        found = []
        with suppress(Empty):
            while True:
                found.append(self._safe.get_nowait())
        if self._error is not None and not found:
            raise self._error
        return found

    def close(self) -> None:
        """Commit what is there, and end; does not raise (see `safe`)."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        last = -GROUP_S
        while (batch := self._batch(last)) is not None:
            last = time.monotonic()
            if self._error is not None:
                continue
            try:
                self._commit(batch)
            except BaseException as error:  # noqa: BLE001 - `safe` raises it where somebody listens
                self._error = error
                continue
            for record in batch:
                self._safe.put(record)

    def _batch(self, last: float) -> list[Record] | None:
        """Wait for a run, then for the others that may share its commit; ``None`` at the end."""
        first = self._queue.get()
        if first is None:
            return None
        batch = [first]
        until = last + GROUP_S
        while True:
            try:
                more = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return batch
            if more is None:
                self._queue.put(None)  # for the next call
                return batch
            batch.append(more)
