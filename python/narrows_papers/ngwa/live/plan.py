"""The live runs: the table of the paper's Linux section, and one flow that only NGWA limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.model.scenario import Scenario
from narrows_papers.ngwa import linux
from narrows_papers.ngwa.arms import WITHOUT, folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from narrows.model.scenario import Override

WINDOW = "64kB"
"""The window in the section, a key of `narrows_papers.ngwa.linux.WINDOWS`."""

OVERHEAD_S = 1.0
"""Time of a live run besides its scenario, for creating and removing hosts, s."""


@dataclass(frozen=True)
class Lengths:
    """Durations of runs, and of their warm-up.

    Attributes
    ----------
    table_s, table_warmup_s : float
        Duration of a run of the table, and of its warm-up, s.
    check_s, check_warmup_s : float
        Duration of a run of the check, and of its warm-up, s.
    """

    table_s: float
    table_warmup_s: float
    check_s: float
    check_warmup_s: float


FULL = Lengths(table_s=130, table_warmup_s=linux.WARMUP_S, check_s=20, check_warmup_s=2)
"""The paper's two minutes in steady state, after a warm-up."""

QUICK = Lengths(table_s=20, table_warmup_s=5, check_s=10, check_warmup_s=2)
"""A quick experiment: 15 s in steady state."""


@dataclass(frozen=True)
class Arm:
    """One variant of the check."""

    name: str
    title: str
    overrides: dict[str, Override]


CHECK: tuple[Arm, ...] = (
    Arm("mode1", "NGWA mode 1", {"ngwa.mode": 1}),
    Arm("mode2", "NGWA mode 2", {"ngwa.mode": 2}),
    Arm("plain", "CUBIC alone", dict(WITHOUT)),
)
"""Arms of the check: the modes with a congestion window that use the free bytes of the queue; and without NGWA."""


@dataclass(frozen=True)
class Job:
    """A run to execute, live and simulated.

    Attributes
    ----------
    name : str
        Key in cells: `SETTING/METHOD`, or `check/ARM`.
    title : str
        Name for readers.
    scenario : Scenario
        The scenario as run.
    warmup_s : float
        Time left out at the beginning when rates are computed, s.
    """

    name: str
    title: str
    scenario: Scenario
    warmup_s: float


def files() -> Path:
    """Directory of the scenarios."""
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
    """Return all runs in their order: the check first, because its first run needs every feature that any run needs."""
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
    """Total time of live runs, one after the other, s."""
    return sum(one.scenario.duration_s + OVERHEAD_S for one in some)
