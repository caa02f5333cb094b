"""Directories of captured packets: an earlier run's captures are replaced, and a user's files never."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows import ownership
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from narrows.model.scenario import Scenario
    from narrows.outcome import Run

PART: Final = "pcap"
"""The step that writes captures; see `narrows.ownership`."""


class Staged(os.PathLike[str]):
    """A folder for captures in a directory that the caller stages.

    Parameters
    ----------
    folder : pathlib.Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __fspath__(self) -> str:
        """Return the folder."""
        return str(self.folder)


@contextmanager
def into(pcap: str | PathLike[str] | None, scenario: Scenario, runs: int) -> Iterator[Path | None]:
    """Collect the captures of runs in a hidden folder, and put them into their directory when the block ends.

    Parameters
    ----------
    pcap : path or None
        Directory for all runs, created if missing; ``None`` if nothing is captured.
    scenario : Scenario
        As run.
    runs : int
        Number of runs, or the most there may be.

    Yields
    ------
    pathlib.Path or None
        The folder to capture into.

    Raises
    ------
    InputError
        If the directory cannot be made, or a file in it that Narrows did not write has the name of a capture.
    """
    if pcap is None:
        yield None
        return
    if isinstance(pcap, Staged):
        yield _made(pcap.folder)
        return
    directory = _made(Path(pcap))
    _check(directory, scenario, runs)
    with ownership.adding(directory, PART) as folder:
        yield folder


def of_run(folder: Path | None, index: int, runs: int) -> Path | None:
    """Make the folder for a run's captures: one of its own if there are several runs.

    Parameters
    ----------
    folder : pathlib.Path or None
        Folder for all runs.
    index, runs : int
        Index of the run; number of runs, or the most there may be.

    Returns
    -------
    pathlib.Path or None

    Raises
    ------
    InputError
        If it cannot be made.
    """
    if folder is None:
        return None
    return _made(folder if runs == 1 else folder / f"run-{index}")


def located(made: Run, pcap: str | PathLike[str] | None, runs: int) -> Run:
    """Return a run that knows where its captures are.

    Parameters
    ----------
    made : Run
    pcap : path or None
        As for `into`, whose block has ended; captures in a directory that the caller stages will move.
    runs : int
        As for `of_run`.

    Returns
    -------
    Run
    """
    if pcap is None or isinstance(pcap, Staged):
        return made
    folder = Path(pcap).absolute()
    return replace(made, captures=folder if runs == 1 else folder / f"run-{made.index}")


def drop_unfinished(folder: Path | None, finished: Sequence[Run], runs: int) -> None:
    """Remove the captures of runs that have no result.

    Parameters
    ----------
    folder : pathlib.Path or None
        Folder for all runs.
    finished : sequence of Run
    runs : int
        As for `of_run`.
    """
    if folder is None:
        return
    kept = {f"run-{run.index}" for run in finished} if runs > 1 else {path.name for path in _files(folder, finished)}
    for path in folder.iterdir():
        if path.name in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _files(folder: Path, finished: Sequence[Run]) -> list[Path]:
    return list(folder.iterdir()) if finished else []


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{directory}: cannot be made: {error.strerror or error}"
        raise InputError(message) from None
    return directory


def _check(directory: Path, scenario: Scenario, runs: int) -> None:
    """Refuse a directory before anything runs if a capture would replace a file that Narrows did not write."""
    known = ownership.found(directory)
    folders = [""] if runs == 1 else [f"{path.name}/" for path in directory.glob("run-*")]
    for folder in folders:
        for name in sorted(_names(scenario)):
            file = f"{folder}{name}.pcapng"
            if os.path.lexists(directory / file) and not (known is not None and known.owns(directory, file)):
                message = (
                    f"{directory / file}: was not written by Narrows, or has been changed since, and has the name of a "
                    "capture; allowed: another directory, or move it away"
                )
                raise InputError(message)


def _names(scenario: Scenario) -> set[str]:
    """Return the names of the captures of a run, without their suffix."""
    links = {f"{link.a}-{link.b}" for link in scenario.resolved.links}
    links |= {f"{name}.drops" for name in links}
    return links | {channel.name for channel in scenario.channels}
