"""Writing finished runs to disk on a thread of its own, so that no run waits for the disk."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

R = TypeVar("R")

GROUP_S: Final = 0.25
"""Minimum time between two commits; runs that end within it share a commit, s."""


class Writer(Generic[R]):
    """A thread that commits finished runs as they arrive.

    A run that ends more than `GROUP_S` after the last commit is committed at once. Others wait until `GROUP_S` has
    passed, and share a commit.

    Parameters
    ----------
    commit : callable
        Writes records; when it returns they are stored safely.
    """

    def __init__(self, commit: Callable[[Sequence[R]], None]) -> None:
        self._commit = commit
        self._queue: SimpleQueue[Sequence[R] | None] = SimpleQueue()
        self._safe: SimpleQueue[Sequence[R]] = SimpleQueue()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, name="narrows-writer", daemon=True)
        self._thread.start()

    def put(self, records: Sequence[R]) -> None:
        """Hand over finished runs.

        Parameters
        ----------
        records : sequence of R
        """
        self._queue.put(records)

    def safe(self) -> list[R]:
        """Return the runs that were committed since the last call.

        Returns
        -------
        list of R

        Raises
        ------
        RunError
            If writing failed.
        """
        found: list[R] = []
        with suppress(Empty):
            while True:
                found += self._safe.get_nowait()
        if self._error is not None and not found:
            raise self._error
        return found

    def close(self) -> None:
        """Commit the remaining runs and end the thread; does not raise (see `safe`)."""
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
            except BaseException as error:  # noqa: BLE001 - `safe` raises it in the thread of the caller
                self._error = error
                continue
            self._safe.put(batch)

    def _batch(self, last: float) -> list[R] | None:
        """Wait for a run, then for others that can share its commit; ``None`` at the end."""
        first = self._queue.get()
        if first is None:
            return None
        batch = list(first)
        until = last + GROUP_S
        while True:
            try:
                more = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return batch
            if more is None:
                self._queue.put(None)  # for the next call
                return batch
            batch += more
