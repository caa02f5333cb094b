"""Exceptions of Narrows; the text of each is one clear message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.base import interruption

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narrows import _core
    from narrows.outcome import Batch


class NarrowsError(Exception):
    """Base of all errors that Narrows raises on purpose.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line: 2 for bad input, 1 for a failed run, 3 for what this machine cannot do.
    """

    exit_code = 1


class InputError(NarrowsError):
    """An argument, file or directory that cannot be used as it is."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a scenario.

    Attributes
    ----------
    path : str
        The file as it was named, ``--set`` for an override, or ``<text>``.
    line : int or None
        Line in the file, from 1; ``None`` if the problem has no place in it.
    field : str
        Field, as a dotted path: ``flows[2].start``.
    value : str or None
        The value found, as written.
    allowed : str or None
        What would be allowed.
    message : str
        The whole problem as a sentence: field, value, what is wrong with it, what is allowed.
    kind : str
        ``not_of_control`` if a condition of a test case names a variable that the flow's congestion control lacks, else
        ``value``.
    """

    path: str
    line: int | None
    field: str
    value: str | None
    allowed: str | None
    message: str
    kind: str = "value"

    @classmethod
    def from_core(cls, problem: Mapping[str, Any]) -> Problem:
        """Convert a problem reported by the extension.

        Parameters
        ----------
        problem : mapping
            Keys ``path line field value allowed message kind``; any but the message may be missing or ``None``.

        Returns
        -------
        Problem

        Examples
        --------
        >>> Problem.from_core({"path": "a.toml", "line": 3, "field": "rate", "message": "rate: 3 is no rate"}).place
        'a.toml:3'
        """

        def text(key: str) -> str | None:
            value = problem.get(key)
            return None if value is None or value == "" else str(value)

        line = problem.get("line")
        return cls(
            path=text("path") or "",
            line=int(line) if line else None,
            field=text("field") or "",
            value=text("value"),
            allowed=text("allowed"),
            message=text("message") or "is not valid",
            kind=text("kind") or "value",
        )

    @property
    def place(self) -> str:
        """File and line, as compilers write them."""
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        """Return the problem as one line, as compilers do.

        Examples
        --------
        >>> print(Problem("a.toml", 3, "links[0].rate", "10 kg", "a rate", "links[0].rate: 10 kg is not a rate"))
        a.toml:3: links[0].rate: 10 kg is not a rate
        """
        return f"{self.place}: {self.message}"


class ScenarioError(InputError):
    """A refused scenario, with every problem found.

    Parameters
    ----------
    problems : iterable of Problem
        All of them; at least one.

    Examples
    --------
    >>> error = ScenarioError([Problem("a.toml", 1, "name", None, None, "name: is missing")])
    >>> str(error)
    'a.toml:1: name: is missing'
    """

    what = "scenario"
    """What was refused, in one word."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class SweepError(ScenarioError):
    """A refused sweep file, with every problem found."""

    what = "sweep"


class RunError(NarrowsError):
    """A failed run, or a failure to write its results."""


class UnavailableError(NarrowsError):
    """Something that this installation or machine lacks, with what would add it."""

    exit_code = 3


class LiveError(NarrowsError):
    """A failed operation on a real kernel: a live run, or attaching to this host.

    Parameters
    ----------
    message : str
        The whole problem as a sentence, with what would fix it.
    kind : {"unavailable", "unsupported", "failed", "stopped"}
        Whether this machine cannot do it, the request has no live form, a step failed, or it was stopped.
    remedy : str, optional
        What would fix it, if it is unavailable.

    Examples
    --------
    >>> LiveError("live runs are not available here: no rights; run it as root", "unavailable").exit_code
    3
    """

    def __init__(self, message: str, kind: str = "failed", remedy: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.remedy = remedy
        self.exit_code = {"unavailable": 3, "unsupported": 2}.get(kind, 1)

    @classmethod
    def from_core(cls, error: _core.LiveError) -> LiveError:
        """Convert an error of the extension.

        Parameters
        ----------
        error : narrows._core.LiveError

        Returns
        -------
        LiveError
        """
        return cls(str(error), error.kind, error.remedy)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during runs: running ones were stopped, finished ones are kept.

    It is a `KeyboardInterrupt`, so that code unaware of this class still stops.

    Parameters
    ----------
    finished : Batch
        The runs that had finished; may be empty.
    asked : int
        Number of runs requested, or the most that could have been made.
    message : str, optional
        Message instead of the number of finished runs.
    """

    def __init__(self, finished: Batch, asked: int, message: str | None = None) -> None:
        interruption.taken()
        self.finished = finished
        self.asked = asked
        super().__init__(message or f"interrupted: {len(finished.runs)} of {asked} runs had finished")
