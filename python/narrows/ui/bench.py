"""The work behind the page's messages: runs, readings, digests and saving, each a call that a `Progress` can stop."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import ownership
from narrows.base.errors import InputError, RunError, ScenarioError
from narrows.model.scenario import Scenario
from narrows.runs.simulated import Task, engine_result, in_range, taken
from narrows.store import results
from narrows.ui import data, frames, opened

if TYPE_CHECKING:
    from narrows import _core
    from narrows.ui.listing import Listing

_KEPT: Final = 2
"""Finished runs that can be saved: one for each arm of the page."""

_MOST_NUMBER: Final = 2**31


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run.

    Attributes
    ----------
    task : Task
    result : narrows._core.Result
    took_ms : float
        Time that it took, ms.
    """

    task: Task
    result: _core.Result
    took_ms: float


class Bench:
    """The runs of one connection.

    Parameters
    ----------
    found : opened.Opened
        What was opened first: its files can be named by scenarios.
    listing : Listing
        Results that can be read.
    """

    def __init__(self, found: opened.Opened, listing: Listing) -> None:
        self._found = found
        self._listing = listing
        self._finished: OrderedDict[tuple[str, int], Finished] = OrderedDict()
        self._read: dict[str, str] = {}

    def run(self, asked: dict[str, Any], gauge: _core.Progress) -> bytes:
        """Run a scenario.

        Parameters
        ----------
        asked : dict
            A message of the kind ``run``.
        gauge : narrows._core.Progress

        Returns
        -------
        bytes
            A frame.

        Raises
        ------
        InputError, ScenarioError, RunError, narrows._core.Stopped
        """
        text, number = _text(asked, "toml"), _number(asked)
        if asked.get("own"):
            message = "own: a control written on the page runs in the browser; allowed: scenarios without one"
            raise InputError(message)
        finished = self._run(text, _text(asked, "path"), number, gauge)
        return _frame(asked, data.of_result(finished.result, finished.took_ms, gauge.check), {})

    def open(self, asked: dict[str, Any], gauge: _core.Progress) -> bytes:
        """Read a run of a directory of results.

        Parameters
        ----------
        asked : dict
            A message of the kind ``open``.
        gauge : narrows._core.Progress

        Returns
        -------
        bytes
            A frame, with what `opened.read` tells of the run.

        Raises
        ------
        InputError, ScenarioError, narrows._core.Stopped
        """
        arm = _number(asked, "arm", 1)
        found = self._listing.get(_text(asked, "name"))
        made, told = opened.read(found, arm, _number(asked), gauge.check)
        self._read[told["toml"]] = found.name
        return _frame(asked, made, told)

    def digest(self, _asked: dict[str, Any], _gauge: _core.Progress) -> str:
        """Compute the digest of the last run.

        Returns
        -------
        str
            Empty if there was none.
        """
        return next(reversed(self._finished.values())).result.digest if self._finished else ""

    def save(self, asked: dict[str, Any], gauge: _core.Progress) -> str:
        """Write the result of a run into a directory, as ``narrows run -o`` does.

        A run that the browser made is made again here: both engines give the same results.

        Parameters
        ----------
        asked : dict
            A message of the kind ``save``.
        gauge : narrows._core.Progress

        Returns
        -------
        str
            The directory.

        Raises
        ------
        InputError, RunError, narrows._core.Stopped
        """
        named = _directory(_text(asked, "directory").strip())
        text, number = _text(asked, "toml"), _number(asked)
        if text in self._read:
            message = f"{self._read[text]}: these results were read from there; allowed: the result of a changed text"
            raise InputError(message)
        inputs = [] if self._found.text is None else [self._found.name]
        held = ownership.claim(named, inputs=inputs)
        finished = self._finished.get((text, number)) or self._run(text, "scenario.toml", number, gauge)
        task = finished.task
        made = taken(task.scenario, task.seed, task.index, finished.result, gauge=gauge)
        try:
            with ownership.staged(held) as directory:
                results.fill(made, directory, gauge.check)
        except OSError as error:
            message = f"{named}: cannot be written: {error.strerror or error}"
            raise RunError(message) from error
        return str(Path(named))

    def _run(self, text: str, path: str, number: int, gauge: _core.Progress) -> Finished:
        scenario = self._scenario(text, path)
        gauge.check()
        task = Task(scenario, scenario.seed, number, threads=None)
        began = time.monotonic()
        result = engine_result(task, gauge)
        finished = Finished(task, result, 1e3 * (time.monotonic() - began))
        self._keep((text, number), finished)
        return finished

    def _scenario(self, text: str, path: str) -> Scenario:
        """Parse a text of the page, whose problems name the path that the page gave, or a file of the scenario."""
        # The page's path names the text, and no folder.
        where = str(self._found.files.directory(text) / (Path(path).name or "scenario.toml"))
        try:
            return Scenario.from_text(text, where)
        except ScenarioError as error:
            told = (replace(one, path=path) if one.path == where else one for one in error.problems)
            raise ScenarioError(told) from None

    def _keep(self, key: tuple[str, int], finished: Finished) -> None:
        self._finished.pop(key, None)
        self._finished[key] = finished
        while len(self._finished) > _KEPT:
            self._finished.popitem(last=False)


def _frame(asked: dict[str, Any], made: data.Data, told: dict[str, Any]) -> bytes:
    header = {"kind": "done", "id": asked.get("id"), "data": made.header() | ({"recorded": told} if told else {})}
    return frames.pack(header, made.columns())


def _text(asked: dict[str, Any], key: str) -> str:
    value = asked.get(key)
    if not isinstance(value, str):
        message = f"{key}: is {value!r}; allowed: a text"
        raise InputError(message)
    return value


def _directory(named: str) -> str:
    """Return the directory that the user means: on the page no shell replaces ``~``."""
    allowed = "allowed: a new directory, an empty one, or one with results of Narrows"
    if not named or "\0" in named:
        message = f"directory: is {named!r}; {allowed}"
        raise InputError(message)
    if not named.startswith("~"):
        return named
    try:
        return str(Path(named).expanduser())
    except RuntimeError:
        message = f"directory: is {named!r}, and this machine has no such user; {allowed}"
        raise InputError(message) from None


def _number(asked: dict[str, Any], key: str = "number", most: int = _MOST_NUMBER) -> int:
    value = asked.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        message = f"{key}: is {value!r}; allowed: 0 to {most}"
        raise InputError(message)
    return in_range(key, value, 0, most)
