"""What is run live: the table of the paper's Linux section, and one flow that nothing but NGWA limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.papers.ngwa import linux
from narrows.papers.ngwa.arms import WITHOUT, folder
from narrows.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from narrows.scenario import Override

WINDOW = "64kB"
"""The window of the section, a key of `narrows.papers.ngwa.linux.WINDOWS`."""

OVERHEAD_S = 1.0
"""What a live run takes besides its scenario: making hosts and taking them away, s."""


@dataclass(frozen=True)
class Lengths:
    """How long runs are, and what of them is left out.

    Attributes
    ----------
    table_s, table_warmup_s : float
        A run of the table, and what is left out at its beginning, s.
    check_s, check_warmup_s : float
        A run of the check, and what is left out, s.
    """

    table_s: float
    table_warmup_s: float
    check_s: float
    check_warmup_s: float


FULL = Lengths(table_s=130, table_warmup_s=linux.WARMUP_S, check_s=20, check_warmup_s=2)
"""The paper's two minutes in steady state."""

QUICK = Lengths(table_s=20, table_warmup_s=5, check_s=10, check_warmup_s=2)
"""A first look: 15 s in steady state."""


@dataclass(frozen=True)
class Arm:
    """One way of running the check."""

    name: str
    title: str
    overrides: dict[str, Override]


CHECK: tuple[Arm, ...] = (
    Arm("mode1", "NGWA mode 1", {"ngwa.mode": 1}),
    Arm("mode2", "NGWA mode 2", {"ngwa.mode": 2}),
    Arm("plain", "CUBIC alone", dict(WITHOUT)),
)
"""Arms of the check: the modes with a congestion window that go by the free bytes of the queue; and without NGWA."""


@dataclass(frozen=True)
class Job:
    """A run to be made, live and simulated.

    Attributes
    ----------
    name : str
        Key in cells: `SETTING/METHOD`, or `check/ARM`.
    title : str
        Name for people.
    scenario : Scenario
        As run.
    warmup_s : float
        Left out at its beginning when rates are taken, s.
    """

    name: str
    title: str
    scenario: Scenario
    warmup_s: float


def files() -> Path:
    """Where the scenarios lie."""
    return folder() / "live"


def name(setting: linux.Setting, method: linux.Method) -> str:
    """Key of a run of the table.

    >>> name(linux.SETTINGS[0], linux.METHODS[0])
    '1-flow-10Mbps-100p/mode1'
    """
    return f"{setting.name}/{method.name}"


def check_name(arm: Arm) -> str:
    """Key of a run of the check.

    >>> check_name(CHECK[0])
    'check/mode1'
    """
    return f"check/{arm.name}"


def jobs(lengths: Lengths) -> list[Job]:
    """All runs, in their order: the check first, whose first run needs all that any run needs."""
    table, check = (Scenario.from_file(files() / file) for file in ("linux.toml", "check.toml"))
    made = [
        Job(
            check_name(arm),
            f"check, {arm.title}",
            check.with_overrides(arm.overrides | {"duration": f"{lengths.check_s:g} s"}),
            lengths.check_warmup_s,
        )
        for arm in CHECK
    ]
    made += [
        Job(
            name(setting, method),
            f"{setting.flows} flow{'s' if setting.flows > 1 else ''}, {setting.title}, {method.title}",
            table.with_overrides(linux.overrides(setting, method) | {"duration": f"{lengths.table_s:g} s"}),
            lengths.table_warmup_s,
        )
        for setting in linux.SETTINGS
        for method in linux.METHODS
    ]
    return made


def seconds(some: Iterable[Job]) -> float:
    """How long these take live, one after the other, s."""
    return sum(one.scenario.duration_s + OVERHEAD_S for one in some)
