"""The ten arms of the simulations: standard TCP, NewReno and the eight modes, as overrides of one scenario file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from narrows.base import bundled
from narrows.model.scenario import Scenario
from narrows.report import style

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.model.scenario import Override

FLOWS = ("1", "2", "3", "4")
"""Numbers of the flows in the paper; the scenario calls them `flow1` to `flow4`."""

WITHOUT: dict[str, Override] = {"ngwa.enabled": False}
"""Disables NGWA in routers and end points."""


@dataclass(frozen=True)
class Arm:
    """One variant of the scenario.

    Attributes
    ----------
    name : str
        Key in cells and files: `rfc793`, `newreno`, `mode1` to `mode8`.
    title : str
        Name for readers.
    overrides : dict
        Differences from the scenario file.
    colour : str
        Colour of its lines.
    dash : int
        Dash style of its lines, as in `narrows.report.style.DASHES`.
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
    """Return the arm of an NGWA mode.

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
    """Directory of the experiment's files."""
    return bundled.directory("experiments/ngwa")


@cache
def scenario() -> Scenario:
    """The scenario of the simulations."""
    return Scenario.from_file(folder() / "scenario.toml")
