"""The pages: published and measured matrices, the second set, behaviours, pairs; and the page of one pair."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.outcome import joint_digest
from narrows.studies.reproduction.result import few, tally
from narrows_papers.contest import evaluation, evidence, heat, pair, rests, text
from narrows_papers.contest.evaluation import GROUPS, NEAR_PERCENT, VEGAS_PERCENT
from narrows_papers.contest.experiment import SET_TITLES
from narrows_papers.contest.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.contest.evaluation import Compared, Readings
    from narrows_papers.contest.experiment import Made
    from narrows_papers.contest.heat import Heat
    from narrows_papers.contest.measured import Meeting
    from narrows_papers.contest.pair import Duel
    from narrows_papers.contest.published import Printed

    Meetings = Mapping[tuple[str, str], Meeting]


@dataclass(frozen=True)
class Maps:
    """Heat maps that are shown side by side, with a file name.

    Attributes
    ----------
    name, title : str
        File name, and title above the maps.
    heats : tuple of Heat
        The maps.
    legends : tuple of str
        Legends of the maps.
    """

    name: str
    title: str
    heats: tuple[Heat, ...]
    legends: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """What the page is made of."""

    claims: Sequence[Claim]
    made: Made
    readings: Readings
    maps: Sequence[Maps]
    duels: Sequence[Duel]
    names: tuple[str, ...]


def maps(
    printed: Sequence[Printed],
    compared: Sequence[Compared],
    limited: Meetings,
    unlimited: Meetings,
    names: tuple[str, ...],
) -> tuple[Maps, ...]:
    """Return all heat maps, in the order of the page."""
    made = []
    for table, whose in ((2, "the flow that starts first (row)"), (3, "the flow that starts second")):
        four = (
            heat.published_map(printed, table, names),
            heat.measured_map(compared, table, names),
            heat.difference_map(compared, table, names),
            heat.ns2_map(printed, table, names),
        )
        made.append(Maps(f"table-{table}", f"Table {table}: TPP of {whose}", four, ("ranges", "differences")))
    without = (
        heat.set_map("TPP of the row, which starts first", unlimited, "first", names),
        heat.set_map("TPP of the column, which starts second", unlimited, "second", names),
        heat.ns2_tpp_map("ns-2.35: TPP of the row", "first", names),
        heat.ns2_tpp_map("ns-2.35: TPP of the column", "second", names),
    )
    made.append(Maps("unlimited", "Without a window limit", without, ("ranges",)))
    both = tuple(
        heat.behaviour_map(SET_TITLES[of], meetings, names)
        for of, meetings in (("limited", limited), ("unlimited", unlimited))
    )
    made.append(Maps("behaviours", "Behaviours and time to equilibrium", both, ("behaviours",)))
    return tuple(made)


@dataclass(frozen=True)
class Nearness:
    """One row of the table of distances: the cells of a group, and how many are close."""

    title: str
    cells: int
    within: str
    within_30: str
    median: str
    worst: str
    ns2: str
    ns2_30: str


def nearness(readings: Readings) -> list[Nearness]:
    """Count the close cells: of all, by each reading, by table, and by group of variants."""
    compared = readings.read
    groups: list[tuple[str, list[Compared]]] = [("All cells, as we read them", list(compared))]
    groups.append(("By the captions as printed", list(readings.captioned)))
    groups.append(("The same with table 3 by row", list(readings.by_row)))
    groups += [(f"Table {table}", [one for one in compared if one.printed.table == table]) for table in (2, 3)]
    groups += [(title, [one for one in compared if one.group == key]) for key, title in GROUPS.items()]
    rows = []
    others = evidence.ns2()
    for title, cells in groups:
        if cells:
            printed = [one.printed for one in cells]
            sizes = [abs(one.percent) for one in cells]
            worst = max(cells, key=lambda one: abs(one.percent))
            rows.append(
                Nearness(
                    title,
                    len(cells),
                    str(evaluation.share(cells)),
                    str(evaluation.share(cells, VEGAS_PERCENT)),
                    f"{median(sizes):.1f} %",
                    f"{worst.percent:+.0f} % ({worst.printed.row} / {worst.printed.column}, table "
                    f"{worst.printed.table})".replace("-", "−"),
                    str(evaluation.Share(*evidence.near(others, printed, NEAR_PERCENT))),
                    str(evaluation.Share(*evidence.near(others, printed, VEGAS_PERCENT))),
                )
            )
    return rows


def beyond(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """Cells beyond 6 %, grouped by reason, most frequent reason first."""
    by_reason: dict[str, list[Compared]] = {}
    others = evidence.ns2()
    for one in evaluation.beyond(compared):
        by_reason.setdefault(text.reason(one) or "", []).append(one)
    made = []
    for reason, cells in sorted(by_reason.items(), key=lambda entry: -len(entry[1])):
        rows = [
            {
                "table": one.printed.table,
                "row": one.printed.row,
                "column": one.printed.column,
                "run": f"{one.printed.first}, then {one.printed.second}",
                "of": one.printed.first if one.printed.of == "first" else one.printed.second,
                "published": f"{one.printed.tpp:.3f}",
                "measured": f"{one.cell.measured:.3f}",
                "interval": "–"
                if one.cell.low is None or one.cell.high is None
                else f"{one.cell.low:.3f} to {one.cell.high:.3f}",
                "ns2": _ns2(evidence.of_cell(others, one.printed)),
                "percent": f"{one.percent:+.1f} %".replace("-", "−"),
            }
            for one in cells
        ]
        made.append({"reason": reason, "cells": rows})
    return made


def _distance(of: str, meetings: Meetings) -> str:
    middle, near, total = evidence.distance(evidence.ns2(of), meetings, NEAR_PERCENT)
    return f"{middle:.1f} % in the median, and {near} of {total} by at most {NEAR_PERCENT:g} %"


def _ns2(other: evidence.Other | None) -> str:
    return "" if other is None else f"{other.mean:.3f} ({other.low:.3f} to {other.high:.3f})"


def context(shown: Shown) -> dict[str, Any]:
    """Return what the page of the contest shows besides what all pages do."""
    legends = {kind: heat.legend(kind) for kind in ("ranges", "differences", "behaviours")}
    scenario = shown.made.plans["limited"].scenario
    return {
        "cards": _cards(shown),
        "maps": {one.name: one for one in shown.maps},
        "legends": legends,
        "nearness": nearness(shown.readings),
        "readings": text.explained(shown.readings),
        "search": evidence.search(),
        "rests_on": rests.rests_on(),
        "fair": rests.fair(shown.claims, shown.readings),
        "beyond": beyond(shown.readings.read),
        "near": f"{NEAR_PERCENT:g}",
        "distances": {of: _distance(of, shown.made.meetings(of)) for of in shown.made.records},
        "runs": shown.made.runs,
        "quick": len(shown.names) < len(VARIANTS),
        "pairs": _pairs(shown.duels),
        "variants": [(one.name, one.cc, one.agent, _settings(one.settings)) for one in VARIANTS],
        "slips": text.SLIPS,
        "decisions": text.DECISIONS,
        "limits": text.LIMITS,
        "sources": text.SOURCES,
        "scenario_toml": scenario.to_toml(),
        "identity": [
            ("Seed", str(shown.made.plans["limited"].seed)),
            (
                "Runs",
                f"{shown.made.total} of {scenario.duration_s:g} s, {shown.made.runs} for each pair, order and set",
            ),
            ("Version", version()),
            *(
                (f"Digest, {SET_TITLES[of].lower()}", joint_digest(one.digest for one in records))
                for of, records in shown.made.records.items()
            ),
        ],
    }


def pair_context(duels: Sequence[Duel]) -> dict[str, Any]:
    """Return what the page of one pair shows besides what all pages do."""
    first, second = duels[0].names
    return {
        "first": first,
        "second": second,
        "pairs": _pairs(duels),
        "runs": len(duels[0].runs),
    }


def version() -> str:
    """Version of the engine."""
    return str(_core.version())


def _settings(settings: Mapping[str, Any]) -> str:
    words = {"sack": "no SACK", "mss": "1000 bytes on the wire", "cc_params": "rho = 1, no window limit"}
    return ", ".join(words[key] for key in settings)


def _pairs(duels: Sequence[Duel]) -> list[dict[str, Any]]:
    """Pairs over time, grouped by pair: names of its charts, one for each set."""
    made: dict[tuple[str, str], dict[str, Any]] = {}
    for duel in duels:
        entry = made.setdefault(duel.names, {"title": " against ".join(duel.names), "charts": []})
        entry["charts"].append(pair.figure_name(duel))
    return list(made.values())


def _cards(shown: Shown) -> list[dict[str, str]]:
    shares = evaluation.shares(shown.readings.read)
    others = evaluation.share([one for one in shown.readings.read if one.group != "vegas"])
    vegas = evaluation.share([one for one in shown.readings.read if one.group == "vegas"], VEGAS_PERCENT)

    score = rests.score(shown.readings, evidence.search())

    def card(what: str, one: evaluation.Share, note: str) -> dict[str, str]:
        value = f"{100 * one.of_1:.0f} %" if one.total else "–"
        return {"what": what, "value": value, "note": f"{one.near} of {one.total} cells {note}"}

    told = few(shown.made.runs)
    return [
        card(f"Cells within {NEAR_PERCENT:g} %", shares["all"], f"as read{f', {told}' if told else ''}; {score}"),
        card("The same without Vegas", others, "without Vegas"),
        card(f"Vegas within {VEGAS_PERCENT:g} %", vegas, "with Vegas"),
        {"what": "Claims that hold", "value": tally(shown.claims), "note": "each listed below"},
    ]
