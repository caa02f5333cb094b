"""Published and measured figures, cell by cell."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from narrows.stats import mean_ci
from narrows.studies.reproduction.result import Cell
from narrows_papers.agile_sd import fairness
from narrows_papers.agile_sd.arms import ONE, SMALLEST, STAIRCASE
from narrows_papers.agile_sd.published import published

if TYPE_CHECKING:
    from narrows_papers.agile_sd.data import Data, Runs

UNITS: dict[str, str] = {
    "utilisation": "%",
    "loss_ratio": "%",
    "shared_jain": "",
    "reached_s": "s",
    "peak_packets": "packets",
    "reductions": "",
}
"""Quantities of cells, with their units."""


def cells(data: Data) -> list[Cell]:
    """Return all cells; those with a published figure come first."""
    runs, told = data.printed, published()
    made = [
        Cell.of(f"reached/{arm}", told.of("reached", arm), runs.estimate("reached_s", ONE, SMALLEST, arm), "s")
        for arm in ("agile_sd", "cubic")
    ]
    made += [
        Cell.of(f"peak/{arm}", told.of("peak", arm), runs.estimate("peak_packets", ONE, SMALLEST, arm), "packets")
        for arm in ("agile_sd", "compound")
    ]
    if STAIRCASE in runs.scenarios:
        small = runs.estimate("utilisation", STAIRCASE, SMALLEST, "agile_sd")
        large = runs.estimate("utilisation", STAIRCASE, runs.buffers[-1], "agile_sd")
        made += [
            Cell.of("utilisation-small/agile_sd", told.of("utilisation_small", "agile_sd"), small, "%"),
            Cell.of("utilisation-large/agile_sd", told.of("utilisation_large", "agile_sd"), large, "%"),
        ]
    at = fairness.nearest(data.pairs)
    made += [
        Cell.of(f"inter-fairness/{pair.replace(' ', '-')}", value, fairness.index(data.pairs, pair, at), "")
        for pair, value in told.pairs.items()
    ]
    return [*made, *_points(runs, "")] + ([] if data.sack is None else _points(data.sack, "sack/")) + _sides(data)


def _points(runs: Runs, begin: str) -> list[Cell]:
    """Return every quantity at every point, except where no run has a value."""
    made = []
    for what, scenario, buffer, per, arm in itertools.product(
        UNITS, runs.scenarios, runs.buffers, runs.pers, runs.arms
    ):
        estimate = runs.estimate(what, scenario, buffer, arm, per)
        if estimate.n:
            name = f"{begin}{what.removesuffix('_s').replace('_', '-')}/{scenario}/{buffer}/{per:g}/{arm}"
            made.append(Cell.of(name, None, estimate, UNITS[what]))
    return made


def _sides(data: Data) -> list[Cell]:
    """Return the cells of the side experiments: all pairs and round-trip times at all buffers."""
    made = []
    for buffer, pair in itertools.product(fairness.buffers(data.pairs), dict.fromkeys(data.pairs["pair"])):
        name = f"pair/{pair.replace(' ', '-')}/{buffer}"
        made.append(Cell.of(name, None, fairness.index(data.pairs, pair, buffer), ""))
    if data.round_trips is not None:
        for (at, arm), rows in data.round_trips.groupby(["buffer", "arm"], sort=True):
            made.append(Cell.of(f"rtt-fairness/{at}/{arm}", None, mean_ci(rows["jain"]), ""))
    return made
