"""The page of the reproduction: published and measured figures, batch means, Linux, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.report import style
from narrows.studies.reproduction.result import few, tally
from narrows_papers.frame.numbers import spread
from narrows_papers.ngwa import evidence, linux, rests, text
from narrows_papers.ngwa.arms import ARMS, BY_NAME, FLOWS
from narrows_papers.ngwa.window import STAGES, formula

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.scenario import Scenario
    from narrows.stats import BatchMeans
    from narrows.studies.reproduction.result import Cell, Claim
    from narrows_papers.frame.tables import Published
    from narrows_papers.ngwa.linux import Transfers
    from narrows_papers.ngwa.rounds import Rounds
    from narrows_papers.ngwa.window import Window

DIGITS = 5
"""Digits of rates without an interval."""

STAGE_TITLES = {
    "one": "one flow, 5 to 15 s",
    "two": "two, 20 to 30 s",
    "three": "three, 35 to 45 s",
    "four": "four, 60 to 120 s",
    "two-again": "two again, 140 to 180 s",
}


@dataclass(frozen=True)
class Shown:
    """What the page is made of."""

    cells: Sequence[Cell]
    windows: Mapping[str, Window]
    arms: Mapping[str, Rounds]
    published: Published
    transfers: Transfers
    simulated: Sequence[Claim]
    of_linux: Sequence[Claim]
    variation: Sequence[Claim]
    scenario: Scenario
    version: str
    quick: bool
    window_runs: int


def context(shown: Shown) -> dict[str, Any]:
    """Return what the page shows besides what all pages do."""
    rounds = len(shown.arms["newreno"].rounds)
    return {
        "cards": _cards(shown),
        "simulated": shown.simulated,
        "of_linux": shown.of_linux,
        "variation": shown.variation,
        "rounds": rounds,
        "quick": shown.quick,
        "levels": _levels(shown.windows, {cell.name: cell for cell in shown.cells}),
        "stages": [(STAGE_TITLES[stage], style.count(round(formula(STAGES[stage][0])))) for stage in STAGES],
        "rates": [_rate_row(arm.name, shown.arms[arm.name]) for arm in ARMS],
        "flows": FLOWS,
        "counts": _counts(shown.cells, shown.arms),
        "batches": _batches(shown.arms),
        "linux_one": _linux(shown.transfers, linux.ONE),
        "linux_two": _linux(shown.transfers, linux.TWO),
        "linux_methods": [method.title for method in linux.METHODS],
        "linux_text": text.linux_text(shown.transfers),
        "linux_choices": text.LINUX_CHOICES,
        "linux_warnings": _linux_warnings(shown.transfers),
        "search": _search(),
        "rests_on": rests.rests_on(),
        "fair": rests.fair(shown.simulated, shown.of_linux),
        "arm_names": [arm.title.replace("NGWA ", "") for arm in ARMS],
        "slips": text.slips(shown.published),
        "decisions": text.DECISIONS,
        "limits": text.LIMITS,
        "sources": text.SOURCES,
        "cells": [_cell(cell) for cell in shown.cells],
        "by_hand": [(arm.title, f"narrows run experiments/ngwa/scenario.toml {arm.options}") for arm in ARMS],
        "identity": [
            ("Seed", str(shown.scenario.seed)),
            ("Rounds", f"{rounds} per arm, the same seeds in all arms"),
            ("Version", shown.version),
        ],
        "scenario_toml": shown.scenario.to_toml(),
    }


def signed(value: float | None, unit: str = "") -> str:
    """Format a signed difference.

    >>> signed(-7.08, " %"), signed(None), signed(0.0)
    ('−7.1 %', '–', '0')
    """
    if value is None:
        return "–"
    if round(value, 1) == 0:
        return f"0{unit}"
    return f"{value:+,.1f}{unit}".replace("-", "−")


def _levels(windows: Mapping[str, Window], cells: Mapping[str, Cell]) -> list[dict[str, Any]]:
    made = []
    for arm, window in windows.items():
        row = []
        for stage, (number, _, _) in STAGES.items():
            level, wanted = window.level(stage), formula(number)
            row.append(
                {
                    "level": style.count(round(level)),
                    "published": cells[f"window/{arm}/{stage}"].published,
                    "difference": "" if arm == "newreno" else signed(100 * (level / wanted - 1), " %"),
                    "near": arm != "newreno" and abs(level / wanted - 1) <= 0.05,
                    "variation": f"{window.variation(stage):.1f} %",
                }
            )
        made.append({"name": BY_NAME[arm].title, "stages": row, "lost": style.count(window.lost)})
    return made


def _rate_row(name: str, made: Rounds) -> dict[str, Any]:
    flagged = [flow for flow in (*FLOWS, "total") if not made.rates[flow].independent]
    unsettled = [flow for flow in (*FLOWS, "total") if not made.rates[flow].settled]
    jain = made.estimate("jain")
    return {
        "name": BY_NAME[name].title,
        "flows": [spread(made.rates[flow].estimate, DIGITS) for flow in FLOWS],
        "total": spread(made.rates["total"].estimate, DIGITS),
        "payload": style.count(round(made.estimate("delivered").mean)),
        "jain": f"{made.rounds[0].jain:.4f}",
        "jain_rounds": f"{jain.mean:.4f}",
        "jain_worst": f"{min(made.values('jain')):.4f}",
        "flagged": ", ".join(flagged),
        "unsettled": ", ".join(unsettled),
    }


def _counts(cells: Sequence[Cell], arms: Mapping[str, Rounds]) -> list[dict[str, Any]]:
    by_name = {cell.name: cell for cell in cells}
    return [
        {
            "name": arm.title,
            "range": {quantity: _range(arms[arm.name].values(quantity)) for quantity in ("triples", "lost")},
            **{quantity: _cell(by_name[f"{quantity}/{arm.name}"]) for quantity in ("triples", "series", "lost")},
        }
        for arm in ARMS
    ]


def _range(values: Sequence[float]) -> str:
    """Format the smallest and the largest value of the rounds.

    >>> _range([3.0, 1200.0]), _range([0.0, 0.0])
    ('3 to 1,200', '0')
    """
    low, high = style.count(min(values)), style.count(max(values))
    return low if low == high else f"{low} to {high}"


def _cell(cell: Cell) -> dict[str, str]:
    """Format a cell: published, measured with its interval, difference."""
    is_count = cell.name.startswith(("triples/", "series/", "lost/"))
    interval = ""
    if cell.low is not None and cell.high is not None:
        low, high = (style.count(round(end, 1)) if is_count else style.number(end, 5) for end in (cell.low, cell.high))
        interval = f"{low} to {high}"
    percent = f"{cell.percent:+,.0f} %".replace("-", "−") if cell.percent is not None else ""
    return {
        "name": cell.name,
        "published": "–" if cell.published is None else f"{cell.published:,g}",
        "measured": style.count(round(cell.measured, 1)) if is_count else style.number(cell.measured, 5),
        "interval": interval,
        "difference": signed(cell.difference),
        "percent": percent,
        "unit": cell.unit,
    }


def _batches(arms: Mapping[str, Rounds]) -> list[dict[str, str]]:
    return [
        _batch(BY_NAME[arm].title, "all" if flow == "total" else flow, made.rates[flow])
        for arm, made in arms.items()
        for flow in (*FLOWS, "total")
    ]


def _batch(arm: str, flow: str, made: BatchMeans) -> dict[str, str]:
    mean, half = spread(made.estimate, DIGITS)
    return {
        "arm": arm,
        "flow": flow,
        "mean": mean,
        "half": half,
        "warmup": f"{made.warmup + made.remainder}",
        "size": str(made.batch_size),
        "lag": f"{made.autocorrelation:+.2f}".replace("-", "−"),
        "p": f"{made.p_value:.3f}",
        "independent": "yes" if made.independent else "no",
        "warnings": "; ".join(made.warnings),
    }


def _linux(transfers: Transfers, settings: Sequence[linux.Setting]) -> list[dict[str, Any]]:
    """Rows of a table: window and setting, and in each method's column the rates, Jain's index and losses."""
    made = []
    for window, title in linux.WINDOW_TITLES.items():
        for setting in settings:
            cells = [
                {
                    "rates": [spread(rate.estimate, DIGITS, 1e-6) for rate in one.rates],
                    "jain": f"{one.jain:.4f}",
                    "lost": style.count(one.lost),
                }
                for one in linux.of(transfers, window, setting).values()
            ]
            made.append({"window": title, "setting": setting.title, "cells": cells})
    return made


def _search() -> dict[str, Any]:
    """The variations of the calibration, which were measured once."""
    made = evidence.search()
    rows = [
        {
            "name": point.name,
            "lost": [style.count(round(point.lost[arm.name], 1)) for arm in ARMS],
            "distance": f"{point.distance:.1f}",
        }
        for point in made.points
    ]
    return {"runs": made.runs, "rows": rows}


def _linux_warnings(transfers: Transfers) -> str:
    flagged = sum(not rate.independent for one in transfers.values() for rate in one.rates)
    total = sum(len(one.rates) for one in transfers.values())
    return f"{flagged} of {total}"


def _cards(shown: Shown) -> list[dict[str, str]]:
    def holding(claims: Sequence[Claim]) -> str:
        return tally(claims)

    level = shown.windows["mode5"].level("two")
    lost = {name: shown.arms[name].estimate("lost").mean for name in ("mode5", "mode6", "mode7", "mode8", "newreno")}
    jain = min(shown.arms[name].estimate("jain").mean for name in ("mode5", "mode6", "mode7", "mode8"))
    rounds, windows = (
        f"; {told}" if (told := few(runs)) else "" for runs in (len(shown.arms["newreno"].rounds), shown.window_runs)
    )
    return [
        {
            "what": "Window with two flows, mode 5",
            "value": f"{style.count(round(level))} B",
            "note": f"published about {style.count(shown.published.of('window_two', 'mode5'))}; "
            f"formula {style.count(formula(2))}{windows}",
        },
        {
            "what": "Packets lost, modes 5 to 8",
            "value": style.number(max(value for name, value in lost.items() if name != "newreno")),
            "note": f"most of the four (published {style.count(shown.published.of('lost', 'mode5'))}); "
            f"NewReno {style.number(lost['newreno'])} ({style.count(shown.published.of('lost', 'newreno'))}){rounds}",
        },
        {"what": "Jain's index, modes 5 to 8", "value": f"{jain:.4f}", "note": f"the least of the four means{rounds}"},
        {
            "what": "Claims that hold",
            "value": holding(shown.simulated),
            "note": f"of the simulations; of the Linux section {holding(shown.of_linux)}",
        },
    ]
