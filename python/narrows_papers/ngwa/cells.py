"""Published and measured figures, cell by cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Cell
from narrows_papers.ngwa.arms import FLOWS
from narrows_papers.ngwa.window import STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows_papers.frame.tables import Published
    from narrows_papers.ngwa.linux import Transfers
    from narrows_papers.ngwa.rounds import Rounds
    from narrows_papers.ngwa.window import Window


def of_windows(windows: Mapping[str, Window], published: Published) -> list[Cell]:
    """Levels of the window: `window/ARM/STAGE`. The paper prints only the level with two flows in modes 5 to 8."""
    return [
        Cell(
            f"window/{arm}/{stage}",
            published.of("window_two", arm) if stage == "two" else None,
            window.level(stage),
            None,
            None,
            "bytes",
        )
        for arm, window in windows.items()
        for stage in STAGES
    ]


def _counted(cell: Cell) -> Cell:
    """Limit the interval of a count at zero."""
    return replace(cell, low=None if cell.low is None else max(0.0, cell.low))


def of_rounds(arms: Mapping[str, Rounds], published: Published) -> list[Cell]:
    """Rates of the first round with intervals by batch means; fairness and counts as means over the rounds."""
    made = [
        Cell.of(f"rate/{arm}/{flow}", None, rounds.rates[flow].estimate, "B/s")
        for arm, rounds in arms.items()
        for flow in (*FLOWS, "total")
    ]
    made += [Cell.of(f"jain/{arm}", None, rounds.estimate("jain"), "") for arm, rounds in arms.items()]
    for quantity, unit in (("triples", ""), ("series", ""), ("lost", "packets")):
        made += [
            _counted(Cell.of(f"{quantity}/{arm}", published.of(quantity, arm), rounds.estimate(quantity), unit))
            for arm, rounds in arms.items()
        ]
    return made


def of_linux(transfers: Transfers) -> list[Cell]:
    """Rates of the Linux section: `linux/WINDOW/SETTING/METHOD/FLOW`. The published ones are lost."""
    return [
        Cell.of(f"linux/{window}/{setting}/{method}/{number}", None, rate.estimate, "B/s")
        for (window, setting, method), one in transfers.items()
        for number, rate in enumerate(one.rates, start=1)
    ]
