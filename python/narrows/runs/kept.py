"""Finished runs of a command, kept beside its output until that is written, so that the same command continues there.

Each run is a ZIP archive in ``NAME.runs`` (`narrows.store.pending`), named by its content address. It is written when
the run ends, by the thread that made it, so neither Ctrl-C nor a kill takes more than the runs in progress.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import ownership
from narrows.base import memory
from narrows.base.errors import NarrowsError
from narrows.base.nameless import Nameless
from narrows.outcome import parquet
from narrows.outcome.samples import Samples
from narrows.outcome.states import States
from narrows.store import pending, results
from narrows.store.archive import Archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from narrows.model.scenario import Scenario
    from narrows.outcome import Run

    Address = Callable[[int], str]
    """Returns the content address of the run of an index."""

_POLL_S = 0.1


class Kept:
    """The kept runs of one scenario under one seed.

    Parameters
    ----------
    store : Archive
    address : callable
        Content address of a run by its index.
    """

    def __init__(self, store: Archive, address: Address) -> None:
        self._store = store
        self._address = address
        self._copies = Nameless()

    def count(self, runs: int) -> int:
        """Count the runs that are there already.

        Parameters
        ----------
        runs : int
            Number of runs wanted; indices begin at 0.

        Returns
        -------
        int
        """
        there = self._store.keys()
        return sum(self._address(index) in there for index in range(runs)) if there else 0

    def get(self, scenario: Scenario, index: int) -> Run | None:
        """Read a run.

        Parameters
        ----------
        scenario : Scenario
            As run.
        index : int

        Returns
        -------
        Run or None
            ``None`` if it is not there, cannot be read, or is damaged; a damaged archive is removed.
        """
        key = self._address(index)
        try:
            with tempfile.TemporaryDirectory(prefix="narrows-", dir=memory.disk_directory()) as name:
                folder = Path(name)
                if not self._store.extract(key, folder):
                    return None
                run = results.load(folder).runs[0]
                # Samples are read from a copy when they are wanted, so that those of many runs need not fit in memory.
                state = (
                    States.from_parquet(self._copies.add(path)) if (path := folder / results.STATE).exists() else None
                )
                samples = Samples(parquet.parts(self._copies.add(folder / results.SAMPLES)), state)
        except OSError:
            return None
        except (NarrowsError, ValueError):
            self._store.drop(key)
            return None
        return replace(run, scenario=scenario, samples=samples)

    def put(self, run: Run, check: Callable[[], None] = lambda: None) -> None:
        """Keep a run that has ended.

        Parameters
        ----------
        run : Run
        check : callable
            Called between parts of the samples; may raise to stop.

        Raises
        ------
        RunError
            If it cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="narrows-", dir=memory.disk_directory()) as name:
            results.fill(run, Path(name), check)
            check()
            self._store.add(self._address(run.index), Path(name))

    def put_whole(self, run: Run) -> None:
        """Keep a run that took real time: a signal meanwhile takes effect afterwards.

        Parameters
        ----------
        run : Run

        Raises
        ------
        RunError
            If it cannot be written.
        KeyboardInterrupt
            If a signal came.
        """
        failures: list[BaseException] = []

        def work() -> None:
            try:
                self.put(run)
            except BaseException as error:  # noqa: BLE001 - it is raised again, on the thread that waits
                failures.append(error)

        thread = threading.Thread(target=work, name="narrows-kept")
        thread.start()
        interrupted: KeyboardInterrupt | None = None
        while thread.is_alive():
            try:
                thread.join(_POLL_S)
            except KeyboardInterrupt as caught:
                interrupted = caught
        for failure in failures:
            raise failure
        if interrupted is not None:
            raise interrupted


@contextmanager
def beside(out: str | PathLike[str]) -> Iterator[Archive]:
    """Open the kept runs of an output, and remove them if the block succeeds.

    Parameters
    ----------
    out : path
        Directory of the output.

    Yields
    ------
    Archive
        For `Kept`.

    Raises
    ------
    InputError
        If ``NAME.runs`` holds something else, or another process writes there.
    """
    with pending.kept(out) as held, Archive(held, ownership.UNFINISHED) as store:
        yield store
