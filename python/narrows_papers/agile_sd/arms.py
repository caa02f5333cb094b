"""The congestion controls that are compared, and the scenarios, buffers and packet error rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from narrows.base import bundled
from narrows.model.scenario import Scenario
from narrows.report import style

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Arm:
    """A congestion control.

    Attributes
    ----------
    name : str
        Name in the sweep files.
    title : str
        Name for readers.
    colour : str
        Colour of its lines.
    published : bool
        Whether it appears in the paper's figures; the others are references.
    """

    name: str
    title: str
    colour: str
    published: bool

    @property
    def dash(self) -> int:
        """Dash style of its lines, as in `narrows.report.style.DASHES`: solid if the paper has it."""
        return 0 if self.published else 1


AGILE_SD = Arm("agile_sd", "Agile-SD", style.OKABE_ITO[1], published=True)
CUBIC = Arm("cubic", "CUBIC", style.OKABE_ITO[0], published=True)
COMPOUND = Arm("compound", "Compound", style.OKABE_ITO[2], published=True)
RENO = Arm("reno", "NewReno", style.OKABE_ITO[3], published=False)
BBR = Arm("bbr3", "BBR v3", style.OKABE_ITO[4], published=False)

ARMS: tuple[Arm, ...] = (AGILE_SD, CUBIC, COMPOUND, RENO, BBR)
"""All arms, in the order of tables and figures."""

PUBLISHED: tuple[Arm, ...] = tuple(arm for arm in ARMS if arm.published)
"""Arms in the paper's figures."""

BY_NAME: dict[str, Arm] = {arm.name: arm for arm in ARMS}

ONE, STAIRCASE, TOGETHER = SCENARIOS = ("one-flow", "staircase", "together")
"""The paper's three scenarios, by the names of their files."""

SCENARIO_TITLES: dict[str, str] = {
    ONE: "one flow",
    STAIRCASE: "flows one after another",
    TOGETHER: "flows together",
}
"""Titles of the scenarios on the page."""

BUFFERS: tuple[int, ...] = (5, 10, 20, 50, 100, 200, 350, 500)
"""Buffers, packets; includes those of the side experiments."""

SMALLEST = BUFFERS[0]
"""The buffer that most of the paper's claims are about, packets."""

PERS: tuple[float, ...] = (0.0, 1e-6, 1e-5, 1e-4)
"""Packet error rates."""


def folder() -> Path:
    """Directory of the experiment's files."""
    return bundled.directory("experiments/agile-sd")


@cache
def scenario(name: str = ONE) -> Scenario:
    """A scenario of the experiment, as its file has it."""
    return Scenario.from_file(folder() / f"{name}.toml")


def per_in_words(per: float) -> str:
    """Format a packet error rate.

    Examples
    --------
    >>> per_in_words(0.0), per_in_words(1e-6)
    ('0', '1e-6')
    """
    return "0" if per == 0 else f"{per:.0e}".replace("e-0", "e-")
