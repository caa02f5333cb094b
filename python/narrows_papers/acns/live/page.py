"""The page: published, simulated and live figures in one table, commands, the demonstration, and the conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.outcome.conditions import table as conditions_table
from narrows.report import network as networks
from narrows.report import style, tables
from narrows_papers.acns.evaluation import ARMS, FLOWS
from narrows_papers.acns.figures import TITLES
from narrows_papers.acns.live import text
from narrows_papers.acns.live.claims import WRITTEN
from narrows_papers.acns.live.measured import WORLDS
from narrows_papers.acns.live.obeyed import KINDS
from narrows_papers.acns.page import QUANTITIES
from narrows_papers.acns.text import SOURCES
from narrows_papers.frame import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.studies.reproduction.result import Cell, Claim, Reproduction
    from narrows_papers.acns.live.measured import Measured


@dataclass(frozen=True)
class Value:
    """A number with half the width of its interval, if it has one."""

    text: str
    spread: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table: label and values; `None` for an empty cell."""

    label: str
    values: tuple[Value | None, ...]


@dataclass(frozen=True)
class Group:
    """Rows of one quantity."""

    title: str
    unit: str
    rows: tuple[Row, ...]


def context(
    result: Reproduction, measured: Measured, claims: tuple[Sequence[Claim], Sequence[Claim]]
) -> dict[str, Any]:
    """Return what the page shows besides what all pages do.

    Parameters
    ----------
    result : Reproduction
    measured : Measured
    claims : (sequence of Claim, sequence of Claim)
        Claims about the evaluation and about the demonstration.

    Returns
    -------
    dict
    """
    by_name = {cell.name: cell for cell in result.cells}
    scenario = measured.live.evaluation.acns.scenario
    return {
        "cards": _cards(by_name, result.claims),
        "evaluation_claims": claims[0],
        "demonstration_claims": claims[1],
        "arms": [TITLES[arm] for arm in ARMS],
        "flows": FLOWS,
        "flow_colours": {flow: style.colour(int(flow) - 1) for flow in FLOWS},
        "groups": groups(by_name),
        "changes": changes(by_name),
        "commands": commands(by_name),
        "demonstration": demonstration(by_name),
        "runs": {name: len(measured.world(name).evaluation.acns.runs) for name in WORLDS},
        "duration": f"{scenario.duration_s:g}",
        "flow_rows": networks.flow_rows(scenario.resolved),
        "conditions": _conditions(measured),
        "differences": text.DIFFERENCES,
        "limits": text.LIMITS,
        "definitions": tables.DEFINITIONS,
        "identity": _identity(measured),
        "scenario_toml": scenario.to_toml(),
        "sources": SOURCES,
    }


def value(cell: Cell | None) -> Value | None:
    """Return the value that a table shows for a cell.

    Parameters
    ----------
    cell : Cell or None

    Returns
    -------
    Value or None
    """
    if cell is None:
        return None
    if not math.isfinite(cell.measured):
        return Value("–")
    if cell.low is not None and cell.high is not None and cell.high > cell.low:
        return Value(*tables.with_spread(cell.measured, (cell.high - cell.low) / 2))
    write = style.count if cell.unit in ("packets", "") else style.number
    return Value(write(cell.measured))


def against(live: Cell | None, simulated: Cell | None) -> Value | None:
    """Difference of live from simulated, in per cent of simulated.

    Parameters
    ----------
    live, simulated : Cell or None

    Returns
    -------
    Value or None
    """
    if live is None or simulated is None:
        return None
    if not simulated.measured or not math.isfinite(live.measured / simulated.measured):
        return Value("–")
    percent = round(100 * (live.measured / simulated.measured - 1))
    return Value(f"{percent:+d} %".replace("-", "−") if percent else "0 %")


def groups(by_name: Mapping[str, Cell]) -> list[Group]:
    """The papers' tables merged into one: published, simulated, live, and difference of live from simulated.

    Parameters
    ----------
    by_name : mapping
        Cells by name.

    Returns
    -------
    list of Group
    """
    made = []
    for key, title, unit, has_total in QUANTITIES:
        places = [
            f"{arm}/{key}/{flow}" if flow != "total" or has_total else "" for arm in ARMS for flow in (*FLOWS, "total")
        ]
        simulated, live = ([by_name.get(f"{world}/{place}") for place in places] for world in WORLDS)
        rows = (
            Row("published", tuple(None if one is None else _published(one) for one in live)),
            Row("simulated", tuple(map(value, simulated))),
            Row("live", tuple(map(value, live))),
            Row("live against simulated", tuple(map(against, live, simulated))),
        )
        made.append(Group(title.replace("over 118 s", "over the whole run"), unit, rows))
    return made


def _published(cell: Cell) -> Value:
    return Value("–" if cell.published is None else f"{cell.published:g}")


def changes(by_name: Mapping[str, Cell]) -> list[Row]:
    """Changes due to ACNS in per cent: published, simulated and live.

    Parameters
    ----------
    by_name : mapping

    Returns
    -------
    list of Row
    """
    named = {
        "throughput_mean": "Throughput, sum of the TCP flows",
        "rtt_mean": "Mean RTT of the TCP flows",
        "sent": "Data sent by the TCP flows",
    }
    return [
        Row(
            title,
            (
                Value(numbers.change(by_name[f"live/change/{key}/total"].published)),
                *(_change(by_name[f"{world}/change/{key}/total"]) for world in WORLDS),
            ),
        )
        for key, title in named.items()
    ]


def _change(cell: Cell) -> Value:
    if cell.low is None or cell.high is None:
        return Value(numbers.change(cell.measured))
    return Value(numbers.change(cell.measured), f"{(cell.high - cell.low) / 2:.1f}")


def commands(by_name: Mapping[str, Cell]) -> list[Group]:
    """Commands that routers wrote and commands that senders received, simulated and live.

    Parameters
    ----------
    by_name : mapping

    Returns
    -------
    list of Group
    """
    heard = [
        Group(
            f"Heard: {kind}",
            "",
            tuple(
                Row(world, tuple(value(by_name.get(f"{world}/acns/commands_{kind}/{flow}")) for flow in FLOWS))
                for world in WORLDS
            ),
        )
        for kind in KINDS
    ]
    written = [
        Group(
            f"Written by routers: {key.removeprefix('wrote_')}",
            "",
            tuple(Row(world, (None, None, value(by_name.get(f"{world}/acns/{key}/routers")))) for world in WORLDS),
        )
        for key in WRITTEN
    ]
    return heard + written


def demonstration(by_name: Mapping[str, Cell]) -> list[Row]:
    """The table of the demonstration: simulated and live, without and with ACNS.

    Parameters
    ----------
    by_name : mapping

    Returns
    -------
    list of Row
    """
    named = {
        "throughput_mean": "Throughput, Mb/s",
        "rtt_mean": "RTT, mean, ms",
        "dropped": "Dropped, packets",
        **{f"commands_{kind}": f"Commands heard: {kind}" for kind in KINDS},
    }
    return [
        Row(
            title,
            tuple(value(by_name.get(f"{world}/demonstration/{arm}/{key}")) for world in WORLDS for arm in ARMS),
        )
        for key, title in named.items()
    ]


def _cards(by_name: Mapping[str, Cell], claims: Sequence[Claim]) -> list[dict[str, str]]:
    lost = [by_name[f"live/{arm}/lost/total"] for arm in ARMS]
    drops = [by_name[f"live/demonstration/{arm}/dropped"] for arm in ARMS]
    trip = by_name["live/change/rtt_mean/total"]
    ours = by_name["simulated/change/rtt_mean/total"]
    holding = sum(claim.holds for claim in claims)

    def two(pair: Sequence[Cell]) -> str:
        return " → ".join(text.card_number(one, ".0f") for one in pair)

    lost_ours = two([by_name[f"simulated/{arm}/lost/total"] for arm in ARMS])
    return [
        {
            "what": "Mean RTT, live",
            "value": numbers.change(trip.measured),
            "note": f"simulated {numbers.change(ours.measured)}, published {numbers.change(trip.published)}",
        },
        {"what": "Lost packets, live", "value": two(lost), "note": f"simulated {lost_ours}; without → with ACNS"},
        {"what": "Dropped in the demonstration", "value": two(drops), "note": "without → with ACNS, live"},
        {
            "what": "Claims that hold live",
            "value": f"{holding} of {len(claims)}",
            "note": "each listed below with its figures",
        },
    ]


def _conditions(measured: Measured) -> list[tuple[str, list[tuple[str, str]]]]:
    rows = [(name, conditions_table(run.conditions for run in batch.runs)) for name, batch in measured.live.parts]
    return [(name, listed) for name, listed in rows if listed]


def _identity(measured: Measured) -> list[tuple[str, str]]:
    made = [("Seed", str(measured.live.evaluation.acns.seed))]
    for name in WORLDS:
        made += [(f"Digest, {name}, {part}", batch.digest) for part, batch in measured.world(name).parts]
    return [*made, ("Version", measured.live.evaluation.acns.version)]
