"""Finished runs of a command, kept beside its output until that is written, so that the same command continues there.

Each run is a ZIP archive in ``NAME.runs`` (`narrows.store.pending`), named by its content address. It is written when
the run ends, by the thread that made it, so neither Ctrl-C nor a kill takes more than the runs in progress.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from narrows import ownership
from narrows.base import memory
from narrows.base.errors import NarrowsError
from narrows.outcome import parquet
from narrows.outcome.samples import Samples
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
            ``None`` if it is not there, or damaged; a damaged archive is removed.
        """
        key = self._address(index)
        folder = Path(tempfile.mkdtemp(prefix="narrows-", dir=memory.disk_directory()))
        try:
            if not self._store.extract(key, folder):
                shutil.rmtree(folder, ignore_errors=True)
                return None
            run = results.load(folder).runs[0]
        except (NarrowsError, OSError, ValueError):
            self._store.drop(key)
            shutil.rmtree(folder, ignore_errors=True)
            return None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        # Samples are read from the file when they are wanted, so that those of many runs need not fit in memory.
        samples = Samples(parquet.parts(folder / results.SAMPLES), run.samples.state)
        weakref.finalize(samples, shutil.rmtree, folder, ignore_errors=True)
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
