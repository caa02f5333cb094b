"""The ten arms of the simulations: standard TCP, NewReno and the eight modes, each a set of overrides of one file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from narrows import bundled
from narrows.report import style
from narrows.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.scenario import Override

FLOWS = ("1", "2", "3", "4")
"""Numbers of the flows in the paper; the scenario calls them `flow1` to `flow4`."""

WITHOUT: dict[str, Override] = {"ngwa.enabled": False}
"""Takes NGWA out of routers and end points."""


@dataclass(frozen=True)
class Arm:
    """One way of running the scenario.

    Attributes
    ----------
    name : str
        Key in cells and files: `rfc793`, `newreno`, `mode1` to `mode8`.
    title : str
        Name for people.
    overrides : dict
        What differs from the scenario's file.
    colour : str
        Of its lines.
    dash : int
        Of its lines, as in `narrows.report.style.DASHES`.
    """

    name: str
    title: str
    overrides: dict[str, Override]
    colour: str
    dash: int = 0

    @property
    def options(self) -> str:
        """The overrides as options of `narrows run`."""
        return " ".join(f"--set {path}={_word(value)}" for path, value in self.overrides.items())


def _word(value: Override) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def mode(number: int) -> Arm:
    """The arm of an NGWA mode.

    Examples
    --------
    >>> mode(3).options
    '--set ngwa.mode=3'
    """
    return Arm(
        f"mode{number}",
        f"NGWA mode {number}",
        {"ngwa.mode": number},
        style.colour(number - 1 if number <= 4 else number - 4),
        0 if number <= 4 else 1,
    )


RFC793 = Arm("rfc793", "RFC 793", {**WITHOUT, "tcp.cc": "none", "tcp.recovery": "rto_only"}, style.PUBLISHED_COLOUR, 1)
NEWRENO = Arm("newreno", "NewReno", dict(WITHOUT), style.OKABE_ITO[0])
MODES: tuple[Arm, ...] = tuple(mode(number) for number in range(1, 9))
ARMS: tuple[Arm, ...] = (RFC793, NEWRENO, *MODES)
"""All arms, in the order of the paper's table 2."""

BY_NAME: dict[str, Arm] = {arm.name: arm for arm in ARMS}

DIVIDED: tuple[str, ...] = ("mode5", "mode6", "mode7", "mode8")
"""Modes that divide the queue among the flows."""


def folder() -> Path:
    """Where the experiment's files lie."""
    return bundled.directory("experiments/ngwa")


@cache
def scenario() -> Scenario:
    """The scenario of the simulations."""
    return Scenario.from_file(folder() / "scenario.toml")
