"""Bundled scenarios run on this machine, and their digests compared with those listed for a version.

``scenarios/digests/VERSION.txt`` lists the digests of a version, a scenario a line. A test of the engine writes the
list and holds the engine to it (``crates/sim/tests/digests.rs``).
"""

from __future__ import annotations

import difflib
import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.base import bundled
from narrows.base.engine import engine
from narrows.base.errors import InputError, Interrupted, NarrowsError
from narrows.execution.backend import jobs_of
from narrows.execution.job import Job
from narrows.execution.loop import drive
from narrows.execution.threads import Threads
from narrows.model.scenario import Scenario
from narrows.outcome import Batch
from narrows.runs.simulated import Task, make

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from narrows import _core
    from narrows.base.engine import Engine
    from narrows.execution.job import Done, ProgressHook

_LINE: Final = re.compile(r"(?P<name>[\w.-]+) (?P<digest>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Verified:
    """A scenario that was run, and how its digest compares.

    Attributes
    ----------
    name : str
        Name of the scenario.
    expected : str
        Digest in the list.
    found : str or None
        Digest on this machine; ``None`` if the run failed.
    error : str or None
        Why the run failed.
    seconds : float
        Wall-clock time of the run, s.
    """

    name: str
    expected: str
    found: str | None
    error: str | None
    seconds: float

    @property
    def status(self) -> str:
        """``same``, ``different`` or ``failed``."""
        if self.found is None:
            return "failed"
        return "same" if self.found == self.expected else "different"


@dataclass(frozen=True, slots=True)
class Verification:
    """The scenarios that were run, and what they were run on.

    Attributes
    ----------
    against : str
        Version whose list they were compared with.
    engine : Engine
        Engine that ran them.
    scenarios : tuple of Verified
        In the order of the list.
    """

    against: str
    engine: Engine
    scenarios: tuple[Verified, ...]

    @property
    def passed(self) -> bool:
        """Whether all digests are the same."""
        return all(one.status == "same" for one in self.scenarios)

    def count(self, status: str) -> int:
        """Return how many scenarios have a status."""
        return sum(one.status == status for one in self.scenarios)

    def to_json(self) -> dict[str, Any]:
        """Return the verification for JSON; the keys are in ``docs/json.md``.

        Returns
        -------
        dict
        """
        return {
            "format": 1,
            "same": self.passed,
            "against": self.against,
            "version": self.engine.version,
            "build": self.engine.build,
            "platform": platform_of(),
            "scenarios": [
                {
                    "name": one.name,
                    "status": one.status,
                    "expected": one.expected,
                    "found": one.found,
                    "error": one.error,
                    "seconds": round(one.seconds, 3),
                }
                for one in self.scenarios
            ],
        }


def platform_of() -> dict[str, str]:
    """Describe this machine by the properties that a report of a difference needs.

    Returns
    -------
    dict
        ``system``, ``release``, ``machine``, ``libc`` and ``python``.
    """
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "libc": " ".join(part for part in platform.libc_ver() if part),
        "python": platform.python_version(),
    }


def versions() -> dict[str, Path]:
    """Return the lists of digests by version, sorted by name.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If this installation has none.

    Examples
    --------
    >>> "0.1.0" in versions()
    True
    """
    return {path.stem: path for path in sorted(bundled.directory("scenarios/digests").glob("*.txt"))}


def digests(version: str) -> dict[str, str]:
    """Return the digests of a version.

    Parameters
    ----------
    version : str
        Version without its commit.

    Returns
    -------
    dict
        Digests by name of the scenario.

    Raises
    ------
    InputError
        If there is no list of that version, or a line of it is not a name and a digest.
    """
    lists = versions()
    if version not in lists:
        message = f"there is no list of digests of version {version}; allowed: {', '.join(lists) or 'none'}"
        raise InputError(message)
    read: dict[str, str] = {}
    for number, line in enumerate(lists[version].read_text(encoding="utf-8").splitlines(), start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            message = f"{lists[version]}:{number}: {line!r} is not a scenario's name and 64 hexadecimal digits"
            raise InputError(message)
        read[found["name"]] = found["digest"]
    return read


@dataclass(frozen=True, slots=True)
class _VerifyJob(Job[Verified]):
    """A scenario of the list as a job; a failed run is a result."""

    scenario: Scenario
    name: str
    expected: str

    @property
    def key(self) -> str:
        """Its name."""
        return self.name

    def make(self, gauge: _core.Progress) -> Verified:
        """Run it, and keep the digest alone."""
        try:
            made = make(Task(self.scenario, self.scenario.seed), gauge)
        except NarrowsError as error:
            return Verified(self.name, self.expected, None, str(error), 0.0)
        return Verified(self.name, self.expected, made.digest, None, 0.0)


def verify(
    names: Iterable[str] = (),
    *,
    against: str | None = None,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
) -> Verification:
    """Run bundled scenarios, and compare their digests with those listed for a version.

    Parameters
    ----------
    names : iterable of str
        Names of scenarios; all of the list by default.
    against : str, optional
        Version of the list; by default this one's.
    jobs : int, optional
        Number of concurrent runs; by default the number of processors.
    progress : callable, optional
        Called about ten times a second with the completed share of the work, in [0, 1].

    Returns
    -------
    Verification

    Raises
    ------
    InputError
        If a name or the version has no digest, or ``jobs`` is out of range.
    Interrupted
        On Ctrl-C; the message has the number of scenarios that had finished.

    Examples
    --------
    >>> verify(["dctcp-marking"]).passed
    True
    """
    mine = engine()
    version = against or mine.release
    todo = _jobs(digests(version), list(names), version)
    backend = Threads(min(jobs_of(jobs), max(1, len(todo))))
    waiting = iter(todo)
    made: dict[str, Verified] = {}

    def took(done: Done[Verified]) -> None:
        one = done.value()
        made[one.name] = Verified(one.name, one.expected, one.found, one.error, done.seconds)

    def report() -> None:
        if progress is not None:
            under_way = sum(fraction for fraction, _ in backend.running().values())
            progress(min(1.0, (len(made) + under_way) / len(todo)))

    try:
        drive(backend, lambda: next(waiting, None), took, report=report)
    except KeyboardInterrupt:
        raise _interrupted(todo, made) from None
    finally:
        backend.stop()
    return Verification(version, mine, tuple(made[job.name] for job in todo))


def _jobs(listed: Mapping[str, str], names: list[str], version: str) -> list[_VerifyJob]:
    """Return the jobs of the wanted scenarios, in the order of the list."""
    # An earlier version's list may have scenarios that this version no longer has.
    here = {name: path for name, path in bundled.scenarios().items() if name in listed}
    for name in names:
        if name.removesuffix(".toml") not in here:
            close = difflib.get_close_matches(name, here, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else "see `narrows list scenarios`"
            message = f"{name}: is not a bundled scenario with a digest of version {version}; {hint}"
            raise InputError(message)
    wanted = {name.removesuffix(".toml") for name in names} or set(here)
    return [_VerifyJob(Scenario.from_file(path), name, listed[name]) for name, path in here.items() if name in wanted]


def _interrupted(todo: list[_VerifyJob], made: Mapping[str, Verified]) -> Interrupted:
    different = [one.name for one in made.values() if one.status != "same"]
    told = f"not the same: {', '.join(different)}" if different else "all of them the same"
    message = f"interrupted: {len(made)} of {len(todo)} scenarios had finished" + (f", {told}" if made else "")
    first = todo[0].scenario
    return Interrupted(Batch(scenario=first, seed=first.seed, runs=()), len(todo), message)
