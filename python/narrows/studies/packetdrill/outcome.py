"""What scripts came to: per variant and world, and together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.studies.packetdrill.scripts import IpVersion, Script, Suite

World = Literal["simulated", "live"]

Ended = Literal["match", "mismatch", "refused", "invalid", "late"]
"""How a script ended.

``match``: every event as written. ``mismatch``: one was not. ``refused``: it asks for what this world cannot do.
``invalid``: it is no script, or its code cannot be evaluated. ``late``: this machine was too slow for it, each time.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """An event that was not as the script says.

    Attributes
    ----------
    line : int
        Line of the event, from 1.
    what : str
        What the event is: ``outbound packet``, ``result of write()``, ``assertion`` ..
    expected, actual : str
        Time and event, both in the language of scripts.
    fields : tuple of (str, str, str)
        Each field that differs, with the expected and the actual value.
    """

    line: int
    what: str
    expected: str
    actual: str
    fields: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """An event that was carried out.

    Attributes
    ----------
    time_ns : int
        When, in nanoseconds since the script's start.
    line : int
        Line in the script, from 1.
    text : str
        What happened, in the language of scripts.
    """

    time_ns: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """One variant of a script in one world.

    Attributes
    ----------
    world : {"simulated", "live"}
    version : str
        The variant: ``ipv4``, ``ipv6`` or ``ipv4-mapped-ipv6``.
    ended : str
        See `Ended`.
    why : str
        The reason in a sentence; empty for a match.
    line : int or None
        The line that the reason is about.
    difference : Difference or None
        For a mismatch of a packet or a value.
    steps : tuple of Step
        The events so far, the latest last.
    state : dict
        ``tcp_info`` of the connection at the mismatch, by name.
    printed : str
        What assertions printed.
    packets : tuple of (int, bool, bytes)
        Time in nanoseconds since the script's start, whether it leaves the host, and the bytes of an IP packet.
    """

    world: World
    version: IpVersion
    ended: Ended
    why: str = ""
    line: int | None = None
    difference: Difference | None = None
    steps: tuple[Step, ...] = ()
    state: dict[str, int] = field(default_factory=dict)
    printed: str = ""
    packets: tuple[tuple[int, bool, bytes], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON, without its packets."""
        made: dict[str, Any] = {"world": self.world, "version": self.version, "ended": self.ended}
        if self.ended != "match":
            made |= {"why": self.why, "line": self.line}
        if self.difference is not None:
            one = self.difference
            made["difference"] = {
                "line": one.line,
                "what": one.what,
                "expected": one.expected,
                "actual": one.actual,
                "fields": [dict(zip(("field", "expected", "actual"), field, strict=True)) for field in one.fields],
            }
            made["events"] = [
                {"time_s": step.time_ns / 1e9, "line": step.line, "text": step.text} for step in self.steps
            ]
            made["tcp_info"] = self.state
        if self.printed:
            made["printed"] = self.printed
        return made


@dataclass(frozen=True, slots=True)
class Outcome:
    """All results of a script.

    Attributes
    ----------
    script : Script
    results : tuple of Result
        Per world and variant.
    """

    script: Script
    results: tuple[Result, ...]

    def of(self, world: World) -> tuple[Result, ...]:
        """Return the results in a world."""
        return tuple(one for one in self.results if one.world == world)

    def ended(self, world: World) -> Ended | None:
        """Return how the script ended in a world: a match if each variant matches, else as the first that does not.

        ``None`` if it was not run there.
        """
        made = self.of(world)
        if not made:
            return None
        return next((one.ended for one in made if one.ended != "match"), "match")

    def first(self, world: World) -> Result | None:
        """Return the first result in a world that is no match."""
        return next((one for one in self.of(world) if one.ended != "match"), None)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of all scripts that were named.

    Attributes
    ----------
    suites : tuple of (Suite, tuple of Outcome)
    worlds : tuple of str
    stack : str
        The simulated end's stack.
    kernel : str or None
        Release of the kernel of live results.
    """

    suites: tuple[tuple[Suite, tuple[Outcome, ...]], ...]
    worlds: tuple[World, ...]
    stack: str
    kernel: str | None

    def __iter__(self) -> Iterator[Outcome]:
        """Iterate over the outcomes of all suites."""
        for _, outcomes in self.suites:
            yield from outcomes

    @property
    def passed(self) -> bool:
        """Whether every script matches in every world."""
        return all(outcome.ended(world) == "match" for outcome in self for world in self.worlds)

    @property
    def valid(self) -> bool:
        """Whether every script could be read and its code evaluated."""
        return all(result.ended != "invalid" for outcome in self for result in outcome.results)

    def counts(self, world: World) -> tuple[int, int]:
        """Return how many scripts match in a world, and how many were run."""
        ends = [outcome.ended(world) for outcome in self]
        return ends.count("match"), len(ends)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON: ``docs/json.md`` describes it."""
        return {
            "format": 1,
            "stack": self.stack,
            "kernel": self.kernel,
            "worlds": {
                world: dict(zip(("match", "scripts"), self.counts(world), strict=True)) for world in self.worlds
            },
            "suites": [
                {
                    "name": suite.name,
                    "commit": suite.commit,
                    "scripts": [
                        {"name": one.script.name, "results": [result.to_json() for result in one.results]}
                        for one in outcomes
                    ],
                }
                for suite, outcomes in self.suites
            ],
        }
