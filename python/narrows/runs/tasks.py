"""Runs that travel to workers of a cluster, and come back whole: metrics, samples and all."""

from __future__ import annotations

import io
import shutil
import tempfile
import weakref
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows.base.errors import InputError, NarrowsError
from narrows.execution.job import Parcel
from narrows.model.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from narrows import _core
    from narrows.outcome import Run
    from narrows.runs.simulated import Task
    from narrows.store.archive import Archive


def of_task(task: Task, measured: Callable[[Run], Any] | None = None) -> Parcel:
    """Return a run as it travels to a worker.

    Parameters
    ----------
    task : Task
        Without captures.
    measured : callable, optional
        Takes the run when it has come back, and returns the job's result; by default the run itself.

    Returns
    -------
    Parcel
    """
    scenario = task.scenario
    what = (scenario.text, scenario.path, scenario.overrides, task.seed, task.index)

    def unpack(content: bytes) -> Any:
        run = unpacked(content)
        return run if measured is None else measured(run)

    return Parcel(remote, what, scenario.own_controls(), unpack)


def remote(text: str, path: str, overrides: Mapping[str, str], seed: int, index: int, gauge: _core.Progress) -> bytes:
    """Make a run on a worker.

    Parameters
    ----------
    text, path, overrides
        As for `Scenario.from_text`.
    seed, index : int
        Seed, and index of the run under it.
    gauge : narrows._core.Progress

    Returns
    -------
    bytes
        The result of `packed`.
    """
    from narrows.runs import simulated as runs

    return packed(runs.make(runs.Task(Scenario.from_text(text, path, overrides), seed, index), gauge))


def packed(run: Run) -> bytes:
    """Pack a run: the files of its result directory in a ZIP archive.

    Parameters
    ----------
    run : Run

    Returns
    -------
    bytes
    """
    from narrows.store import results

    sink = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="narrows-") as name, zipfile.ZipFile(sink, "w") as archive:
        folder = Path(name)
        results.fill(run, folder)
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return sink.getvalue()


def unpacked(content: bytes) -> Run:
    """Restore a run that was packed.

    Parameters
    ----------
    content : bytes
        The result of `packed`.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If it is damaged.
    """
    from narrows.store import results

    folder = Path(tempfile.mkdtemp(prefix="narrows-"))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                (folder / Path(name).name).write_bytes(archive.read(name))
        run = results.load(folder).runs[0]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # Many samples are read from the file when they are wanted, so it must last as long as they do.
    weakref.finalize(run.samples, shutil.rmtree, folder, ignore_errors=True)
    return run


def kept(store: Archive, wanted: Container[str]) -> dict[str, Run]:
    """Read the runs that a store keeps. A damaged one is removed, so that it is made again.

    Parameters
    ----------
    store : Archive
    wanted : container of str
        Keys.

    Returns
    -------
    dict
        Runs by key.

    Raises
    ------
    RunError
        If the store cannot be read.
    """
    found = {}
    for key, content in store.read(wanted).items():
        try:
            found[key] = unpacked(content)
        except (zipfile.BadZipFile, InputError, NarrowsError, OSError, ValueError):
            store.drop(key)
    return found
