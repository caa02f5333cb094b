"""The figures that the papers print, simulated and live, and additional counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from narrows.stats import mean_ci
from narrows.studies.reproduction.result import Cell
from narrows_papers.acns import evaluation
from narrows_papers.acns.evaluation import ARMS, FLOWS, Published
from narrows_papers.acns.live.claims import FLOW, WRITTEN, dropped, mean_of
from narrows_papers.acns.live.measured import WORLDS
from narrows_papers.acns.live.obeyed import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.outcome import Batch
    from narrows_papers.acns.live.measured import Measured

AMOUNTS: Final = ("sent", "lost")
"""Quantities that grow with the duration of the run; a quick run is too short to compare them with the paper."""

SHOWN: Final = (
    *(f"{arm}/{quantity}/total" for arm in ARMS for quantity in AMOUNTS),
    *(f"change/{quantity}/total" for quantity in ("throughput_mean", "rtt_mean", "sent")),
)
"""Cells that the terminal shows, simulated and live; `cells.csv` and the page have all."""


def cells(measured: Measured, published: Published | None = None) -> list[Cell]:
    """Return all cells, grouped by simulated and live, with names such as `live/acns/sent/1`.

    Parameters
    ----------
    measured : Measured
    published : Published, optional
        Figures of the papers; those of the experiment by default.

    Returns
    -------
    list of Cell
    """
    printed = Published.read() if published is None else published
    made: list[Cell] = []
    for name in WORLDS:
        world = measured.world(name)
        of_paper = evaluation.cells(world.evaluation, printed)
        made += [_in(name, _comparable(one, quick=measured.quick)) for one in of_paper]
        made += [_in(name, one) for one in _commands(world.evaluation.acns)]
        made += [
            _in(f"{name}/demonstration", one)
            for arm in ARMS
            for one in _demonstrated(arm, world.demonstration.arm(arm))
        ]
    return made


def shown(made: Sequence[Cell]) -> list[Cell]:
    """Select the cells that the terminal shows.

    Parameters
    ----------
    made : sequence of Cell

    Returns
    -------
    list of Cell
    """
    wanted = {f"{world}/{name}" for world in WORLDS for name in SHOWN}
    return [one for one in made if one.name in wanted]


def _in(where: str, cell: Cell) -> Cell:
    return replace(cell, name=f"{where}/{cell.name}")


def _comparable(cell: Cell, *, quick: bool) -> Cell:
    arm, quantity, _ = cell.name.split("/")
    return replace(cell, published=None) if quick and arm != "change" and quantity in AMOUNTS else cell


def _counted(name: str, values: Iterable[float | None], unit: str) -> Cell:
    return Cell.of(name, None, mean_ci(values), unit)


def _commands(batch: Batch) -> list[Cell]:
    """Commands that senders received, by flow, and commands that all routers wrote."""
    heard = [
        _counted(
            f"acns/commands_{kind}/{flow}",
            (getattr(run.flow(f"tcp{flow}"), f"commands_{kind}") for run in batch.runs),
            "",
        )
        for kind in KINDS
        for flow in FLOWS
    ]
    return heard + [
        _counted(f"acns/{key}/routers", (sum(getattr(r, key) for r in run.routers) for run in batch.runs), "packets")
        for key in WRITTEN
    ]


def _demonstrated(arm: str, batch: Batch) -> list[Cell]:
    made = [
        Cell(f"{arm}/throughput_mean", None, mean_of(batch, "throughput_mbps"), None, None, "Mb/s"),
        Cell(f"{arm}/rtt_mean", None, mean_of(batch, "rtt_mean_ms"), None, None, "ms"),
        Cell(f"{arm}/dropped", None, dropped(batch), None, None, "packets"),
    ]
    if arm == "acns":
        made += [
            _counted(f"{arm}/commands_{kind}", (getattr(run.flow(FLOW), f"commands_{kind}") for run in batch.runs), "")
            for kind in KINDS
        ]
    return made
