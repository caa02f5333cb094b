"""The page of the reproduction: claims, figures, fairness, both readings of SACK, parameters, calibration."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from narrows.studies.reproduction.result import few, tally
from narrows_papers.agile_sd import evidence, fairness, parts, rests, text
from narrows_papers.agile_sd.arms import BY_NAME, ONE, SCENARIO_TITLES, SMALLEST, folder, per_in_words
from narrows_papers.agile_sd.claims import CLOSE
from narrows_papers.agile_sd.published import published
from narrows_papers.frame.numbers import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows_papers.agile_sd.claimed import Found
    from narrows_papers.agile_sd.data import Data, Runs

SCENARIO_FILES: tuple[str, ...] = ("one-flow", "staircase", "together", "side-by-side", "round-trips")
"""Scenarios that are written next to the page."""


def context(data: Data, found: Found) -> dict[str, Any]:
    """Return what the page shows besides what all pages do."""
    runs = data.printed
    return {
        "cards": _cards(data, found),
        "left_out": text.left_out(data),
        "printed": found.printed,
        "inter": found.inter,
        "round_trips": found.round_trips,
        "both": _both(found),
        "scenarios": [(name, SCENARIO_TITLES[name]) for name in runs.scenarios],
        "pers": [per_in_words(per) for per in runs.pers],
        "arms": [BY_NAME[name].title for name in runs.arms],
        "throughput": {name: _throughput(runs, name) for name in runs.scenarios},
        "pairs": _pairs(data),
        "pair_buffers": fairness.buffers(data.pairs),
        "nearest": fairness.nearest(data.pairs),
        "inter_fairness": text.INTER_FAIRNESS,
        "pairs_on_ns2": _pairs_on_ns2(data),
        "ns2_pairs": evidence.ns2_pairs(),
        "pairs_search": evidence.pairs_search(),
        "pair_names": list(published().pairs),
        "parameters": text.parameters(data),
        "told": {name: f"{value:.0f}" for name, value in _windows_told().items()},
        "search": evidence.search(),
        "rests_on": rests.rests_on(),
        "fair": rests.fair(found),
        "ns2": evidence.ns2(),
        "decisions": text.DECISIONS,
        "limits": text.LIMITS,
        "sources": text.SOURCES,
        "failures": data.failures,
        "sweeps": [(name, parts.TITLES[name], data.digests[name]) for name in parts.NAMES if name in data.digests],
        "identity": [
            ("Runs", f"{data.runs:,}"),
            ("Processor time", f"{data.cpu_s / 3600:.1f} h" if data.cpu_s > 5400 else f"{data.cpu_s / 60:.1f} min"),
            ("Seeds", f"{runs.seeds}, the same at every point"),
            ("Version", data.version),
        ],
        "scenario_toml": (folder() / "one-flow.toml").read_text(encoding="utf-8"),
    }


def _windows_told() -> dict[str, float]:
    """Figures printed in the paper about the three windows with the smallest buffer: s, s and packets."""
    told = published()
    return {
        "agile_sd": told.the("reached", "agile_sd"),
        "cubic": told.the("reached", "cubic"),
        "compound": told.the("peak", "compound"),
    }


def _both(found: Found) -> list[dict[str, Any]]:
    """Claims that were evaluated under both readings, side by side."""
    printed = {claim.text: claim for claim in found.printed}
    return [
        {"text": claim.text, "printed": printed[claim.text], "sack": claim}
        for claim in found.sack
        if claim.text in printed
    ]


def _throughput(runs: Runs, scenario: str) -> list[dict[str, Any]]:
    """Table rows by buffer: utilisation for each packet error rate and congestion control."""
    made = []
    for buffer in runs.buffers:
        values = [
            [spread(runs.estimate("utilisation", scenario, buffer, arm, per), 3) for arm in runs.arms]
            for per in runs.pers
        ]
        best = [_best([runs.mean("utilisation", scenario, buffer, arm, per) for arm in runs.arms]) for per in runs.pers]
        made.append({"buffer": buffer, "values": list(zip(values, best, strict=True))})
    return made


def _best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda index: values[index])


def _pairs(data: Data) -> list[dict[str, Any]]:
    """Table rows by pair: the published index, and ours at each buffer with both rates."""
    told = published().pairs
    names = [*told, *(name for name in dict.fromkeys(data.pairs["pair"]) if name not in told)]
    made = []
    for name, buffers in itertools.product(names, [fairness.buffers(data.pairs)]):
        cells = []
        for buffer in buffers:
            first, second = (fairness.index(data.pairs, name, buffer, column).mean for column in ("first", "second"))
            cells.append(
                {
                    "index": f"{fairness.index(data.pairs, name, buffer).mean:.2f}",
                    "rates": f"{first:.0f} and {second:.0f}",
                }
            )
        value = told.get(name)
        made.append(
            {"name": fairness.pair_title(name), "published": "–" if value is None else f"{value:.2f}", "cells": cells}
        )
    return made


def _pairs_on_ns2(data: Data) -> dict[str, Any]:
    """A table of ns-2.35's results: a row per published pair, a column per condition and buffer; and how many hold."""
    told, at = published().pairs, fairness.nearest(data.pairs)
    columns = [("ours", at, {pair: fairness.index(data.pairs, pair, at).mean for pair in told})]
    columns += [(how, buffer, found) for how, by in evidence.ns2_indices().items() for buffer, found in by.items()]
    return {
        "heads": [(how, buffer) for how, buffer, _ in columns],
        "rows": [
            (fairness.pair_title(pair), f"{value:.2f}", [_cell(found.get(pair), value) for *_, found in columns])
            for pair, value in told.items()
        ],
        "within": [f"{fairness.within(found)} of {len(set(found) & set(told))}" for *_, found in columns],
    }


def _cell(value: float | None, wanted: float) -> tuple[str, bool]:
    return ("–", False) if value is None else (f"{value:.2f}", abs(value - wanted) <= CLOSE)


def _cards(data: Data, found: Found) -> list[dict[str, str]]:
    runs, told = data.printed, published()

    def mean(what: str, arm: str) -> float:
        return runs.mean(what, ONE, SMALLEST, arm)

    def holding(claims: Sequence[Any]) -> str:
        return tally(claims)

    seeds = few(runs.seeds)
    runs_told = f"; {seeds}" if seeds else ""
    note = f"of the paper's; with SACK {holding(found.sack)}" if found.sack else "of the paper's"
    return [
        {
            "what": f"Agile-SD at 1500 packets, buffers of {SMALLEST}",
            "value": text.seconds(mean("reached_s", "agile_sd"), 1),
            "note": f"published about {told.the('reached', 'agile_sd'):.0f} s{runs_told}",
        },
        {
            "what": "CUBIC there",
            "value": text.seconds(mean("reached_s", "cubic"), 1),
            "note": f"ns-2's, Linux's {rests.linux_cubic()}; published about {told.the('reached', 'cubic'):.0f} s"
            f"{runs_told}",
        },
        {
            "what": "Link used by one flow",
            "value": f"{mean('utilisation', 'agile_sd'):.0f} %",
            "note": (
                f"Agile-SD; CUBIC {mean('utilisation', 'cubic'):.0f} %, Compound "
                f"{mean('utilisation', 'compound'):.0f} %"
            ),
        },
        {"what": "Claims that hold", "value": holding(found.all), "note": note},
    ]
