"""The paper's claims about the transmission window (section 3.1), evaluated on our windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import Claim
from narrows_papers.ngwa.arms import BY_NAME, DIVIDED
from narrows_papers.ngwa.window import formula

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows_papers.ngwa.window import Window

STEADY_PERCENT = 1.0
"""A window is constant if its coefficient of variation is below this, per cent."""

OSCILLATING_PERCENT = 10.0
"""A window oscillates if its coefficient of variation is above this, per cent."""

NEAR_PERCENT = 5.0
"""Largest difference of a level from the formula that counts as agreement, per cent."""

RAPID_S = 10.0
"""The window adjusts rapidly if it stays near its new level from this time after the change on, s."""

FALL_S = (20.0, 40.0)
"""Range in which NewReno's window must leave its peak to agree with "about 30 s" after the beginning, s."""

BEGIN_S = 10.0
"""Duration of the beginning, s."""

WITH_CWND = ("mode5", "mode6")
WITHOUT_CWND = ("mode7", "mode8")


def claims(windows: Mapping[str, Window]) -> list[Claim]:
    """Evaluate all claims about the window."""
    return [
        _newreno_rises(windows["newreno"]),
        _beginning(windows),
        _level(windows, "two", "At about 15 s, with two flows, modes 5 to 8 come down to about 50,000 bytes"),
        _drops(windows),
        _second(windows),
        _last(windows),
        _rapid(windows),
        _level(windows, "four", "With four flows modes 5 to 8 sit where the formula has them"),
        _level(windows, "two-again", "With two flows again modes 5 to 8 sit where the formula has them"),
    ]


def _newreno_rises(window: Window) -> Claim:
    first = float(window.between(0.0, 1.0).mean())
    peak = float(window.between(0.0, 30.0).max())
    risen = window.first(peak / 2, above=True)
    fallen = None if risen is None else window.first(peak / 2, above=False, since=risen)
    earliest, latest = FALL_S
    return Claim(
        "NewReno starts low, rises to a peak, stays there until about 30 s, and then falls "
        f"(to half of it between {earliest:g} and {latest:g} s)",
        first <= peak / 2 and fallen is not None and earliest <= fallen <= latest,
        f"{style.count(round(first))} bytes in the first second, peak {style.count(round(peak))}, "
        + ("no fall" if fallen is None else f"below half of it from {fallen:.1f} s on"),
        rule="first second at most half of the peak; falls to half in the range",
    )


def _beginning(windows: Mapping[str, Window]) -> Claim:
    means = {arm: float(windows[arm].between(0.0, BEGIN_S).mean()) for arm in ("newreno", *DIVIDED)}
    alike = all(abs(means[arm] - means["newreno"]) <= 0.1 * means["newreno"] for arm in WITH_CWND)
    high = all(means[arm] >= 0.9 * formula(1) for arm in WITHOUT_CWND)
    return Claim(
        "Modes 5 and 6 begin as NewReno does, modes 7 and 8 with a high value",
        alike and high,
        "mean over the first 10 s: " + _listed({arm: style.count(round(means[arm])) for arm in means}) + " bytes",
        rule="modes 5 and 6 within 10 % of NewReno; modes 7 and 8 at least 90 % of the formula's window",
    )


def _level(windows: Mapping[str, Window], stage: str, text: str) -> Claim:
    from narrows_papers.ngwa.window import STAGES

    wanted = formula(STAGES[stage][0])
    levels = {arm: windows[arm].level(stage) for arm in DIVIDED}
    return Claim(
        f"{text} (within {NEAR_PERCENT:g} % of {style.count(wanted)})",
        all(abs(level - wanted) <= NEAR_PERCENT / 100 * wanted for level in levels.values()),
        _listed({arm: style.count(round(level)) for arm, level in levels.items()}) + " bytes",
        rule="two-sided: mean of the stage within the percentage, every mode",
    )


def _drops(windows: Mapping[str, Window]) -> Claim:
    stages = ("two", "three", "four")
    falling = {arm: [windows[arm].level(stage) for stage in stages] for arm in DIVIDED}
    steady = {arm: max(windows[arm].variation(stage) for stage in stages) for arm in DIVIDED}
    return Claim(
        "For each new flow the window of modes 5 to 8 drops, and is constant until the next",
        all(row[0] > row[1] > row[2] for row in falling.values()) and max(steady.values()) < STEADY_PERCENT,
        "levels with two, three and four flows: "
        + _listed({arm: " / ".join(style.count(round(level)) for level in row) for arm, row in falling.items()})
        + f" bytes; largest coefficient of variation {max(steady.values()):.1f} %",
        rule=f"levels strictly falling; coefficient of variation below {STEADY_PERCENT:g} % in every stage",
    )


def _oscillates(windows: Mapping[str, Window], stage: str, text: str) -> Claim:
    newreno = windows["newreno"].variation(stage)
    others = {arm: windows[arm].variation(stage) for arm in DIVIDED}
    return Claim(
        text,
        newreno > OSCILLATING_PERCENT and max(others.values()) < STEADY_PERCENT,
        f"coefficient of variation: NewReno {newreno:.1f} %, "
        + _listed({arm: f"{value:.1f}" for arm, value in others.items()})
        + " %",
        rule=f"coefficient of variation: NewReno's above {OSCILLATING_PERCENT:g} %, each mode's below "
        f"{STEADY_PERCENT:g} %",
    )


def _second(windows: Mapping[str, Window]) -> Claim:
    return _oscillates(
        windows, "four", "With four flows (60 to 120 s) NewReno oscillates while modes 5 to 8 are stable"
    )


def _last(windows: Mapping[str, Window]) -> Claim:
    text = "With two flows again NewReno varies much while modes 5 to 8 are stable until the end"
    return _oscillates(windows, "two-again", text)


def _rapid(windows: Mapping[str, Window]) -> Claim:
    times = {arm: windows[arm].settled(120.0, windows[arm].level("two-again")) for arm in DIVIDED}
    return Claim(
        f"When two flows end, modes 5 to 8 adjust the window rapidly (within {RAPID_S:g} s)",
        all(time is not None and time <= RAPID_S for time in times.values()),
        _listed({arm: "never" if time is None else f"{time:.1f}" for arm, time in times.items()})
        + f" s until within {NEAR_PERCENT:g} % of the level",
        rule="every mode within the time",
    )


def _listed(values: Mapping[str, str]) -> str:
    """Format values by arm.

    >>> _listed({"mode5": "1", "newreno": "2"})
    'mode 5: 1, NewReno: 2'
    """
    return ", ".join(f"{BY_NAME[arm].title.removeprefix('NGWA ')}: {value}" for arm, value in values.items())
