"""The page of the reproduction: published and measured figures, calibration, errors in the papers, and decisions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.report import network as networks
from narrows.report import style, tables
from narrows.studies.reproduction.result import Cell, few, tally
from narrows_papers.acns import evidence, rests, text, verification
from narrows_papers.acns.evaluation import ARMS, FLOWS, Evaluation, change
from narrows_papers.acns.figures import TITLES
from narrows_papers.frame import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Reproduction

QUANTITIES: tuple[tuple[str, str, str, bool], ...] = (
    ("sent", "Data sent", "MB", True),
    ("throughput_mean", "Throughput, mean over 118 s", "Mb/s", False),
    ("throughput_max", "Throughput, maximum", "Mb/s", False),
    ("rtt_mean", "RTT, mean", "ms", False),
    ("rtt_max", "RTT, maximum", "ms", False),
    ("lost", "Lost packets", "packets", True),
)
"""Quantities of the papers' tables: key, title, unit, and whether there is a total."""


@dataclass(frozen=True)
class Entry:
    """One cell of the table: published, measured with ±, difference."""

    published: str
    measured: str
    spread: str
    difference: str
    close: bool
    is_total: bool


@dataclass(frozen=True)
class Group:
    """Rows of one quantity."""

    title: str
    unit: str
    entries: tuple[Entry | None, ...]


def entry(cell: Cell, *, is_total: bool) -> Entry:
    """Return the table entry of a cell."""
    spread = ""
    write = style.count if cell.unit == "packets" else style.number
    measured = write(cell.measured)
    if cell.low is not None and cell.high is not None and cell.high - cell.low > 0:
        measured, spread = tables.with_spread(cell.measured, (cell.high - cell.low) / 2)
    if cell.percent is not None:
        difference = f"{cell.percent:+.0f} %".replace("-", "−")
    elif cell.difference is not None:
        difference = f"{cell.difference:+.1f}".replace("-", "−")
    else:
        difference = ""
    published = "–" if cell.published is None else f"{cell.published:g}"
    return Entry(published, measured, spread, difference, text.close(cell), is_total)


def groups(cells: Sequence[Cell]) -> list[Group]:
    """The papers' tables merged into one: a group of rows per quantity, columns by arm and flow."""
    by_name = {cell.name: cell for cell in cells}
    made = []
    for key, title, unit, has_total in QUANTITIES:
        entries: list[Entry | None] = []
        for arm in ARMS:
            entries += [entry(by_name[f"{arm}/{key}/{flow}"], is_total=False) for flow in FLOWS]
            entries.append(entry(by_name[f"{arm}/{key}/total"], is_total=True) if has_total else None)
        made.append(Group(title, unit, tuple(entries)))
    return made


@dataclass(frozen=True)
class Change:
    """One row of the table of improvements."""

    title: str
    published: str
    measured: str
    interval: str


def changes(cells: Sequence[Cell], losses: Cell) -> list[Change]:
    """Changes due to ACNS, paired by seed; includes losses, which the papers give only as counts."""
    by_name = {cell.name: cell for cell in cells}
    rows = [
        ("Throughput, sum of the TCP flows", by_name["change/throughput_mean/total"]),
        ("Mean RTT of the TCP flows", by_name["change/rtt_mean/total"]),
        ("Data sent by the TCP flows", by_name["change/sent/total"]),
        ("Packets lost by the TCP flows", losses),
    ]
    return [
        Change(title, numbers.change(c.published), numbers.change(c.measured), between(c.low, c.high))
        for title, c in rows
    ]


def between(low: float | None, high: float | None) -> str:
    """Format an interval in per cent."""
    if low is None or high is None or math.isnan(low):
        return "–"
    return f"{low:+.1f} to {high:+.1f} %".replace("-", "−")


def context(result: Reproduction, evaluated: Evaluation, verified: verification.Verification) -> dict[str, Any]:
    """Return what the page shows besides what all pages do."""
    runs = len(evaluated.acns.runs)
    lost = _lost_change(evaluated)
    shown = changes(result.cells, lost)
    order = {flow: style.colour(int(flow) - 1) for flow in FLOWS}
    return {
        "headline": result.text.replace(" MB)", "\u00a0MB)"),
        "cards": _cards(result, shown, runs),
        "evaluation_claims": result.claims[: text.CLAIMS],
        "verification_claims": result.claims[text.CLAIMS :],
        "groups": groups(result.cells),
        "flow_colours": order,
        "arms": [TITLES[arm] for arm in ARMS],
        "flows": FLOWS,
        "changes": shown,
        "runs": runs,
        "populations": len(verified.seeds),
        "flow_rows": networks.flow_rows(evaluated.acns.scenario.resolved),
        "calibration_text": (*text.CALIBRATION, text.maximum(evidence.variations())),
        "variations": _variations(),
        "fair": rests.fair(result.claims, evidence.variations()),
        "rests_on": text.what_it_rests_on(evidence.variations()),
        "readings": text.readings(evidence.variations()),
        "seeds": text.seeds(evidence.seeds()),
        "baselines": _baselines(result),
        "choices": verification.CHOICES,
        "slips": text.SLIPS,
        "decisions": text.DECISIONS,
        "sources": text.SOURCES,
        "parameters": text.PARAMETERS,
        "identity": [
            ("Seed", str(evaluated.acns.seed)),
            (
                "Runs",
                f"{runs} per arm, paired by seed; {len(verified.seeds)} populations for each setting of the "
                "verification",
            ),
            ("Version", evaluated.acns.version),
            ("Digest without ACNS", evaluated.without.digest),
            ("Digest with ACNS", evaluated.acns.digest),
        ],
        "scenario_toml": evaluated.acns.scenario.to_toml(),
        "cell_entries": [entry(cell, is_total=False) for cell in result.cells],
        "definitions": tables.DEFINITIONS,
        "limits": (*text.LIMITS, *tables.LIMITS),
    }


def _lost_change(evaluated: Evaluation) -> Cell:
    return Cell.of("change/lost/total", 100 * (2 - 236) / 236, change(evaluated, "lost"), "%")


def _variations() -> list[dict[str, str | bool | int]]:
    def three(values: tuple[float, float, float]) -> str:
        mean, low, high = values
        return "–" if math.isnan(mean) else f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")

    return [
        {
            "name": one.name,
            "data": three(one.data),
            "rtt": three(one.rtt),
            "lost": three(one.lost),
            "order_without": one.order_without,
            "order_acns": one.order_acns,
            "claims": one.claims,
            "reading": one.reading,
        }
        for one in evidence.variations()
    ]


def _baselines(result: Reproduction) -> list[dict[str, object]]:
    """Rows of the arm without ACNS: published, here, and on ns-2.35 over the same network."""

    def measured(quantity: str) -> list[str]:
        return [style.number(result.cell(f"without/{quantity}/{flow}").measured) for flow in (*FLOWS, "total")]

    def published(quantity: str) -> list[str]:
        return [f"{result.cell(f'without/{quantity}/{flow}').published:g}" for flow in (*FLOWS, "total")]

    rows: list[dict[str, object]] = [
        {"name": "published", "sent": published("sent"), "lost": published("lost"), "published": True},
        {"name": "Narrows, this page", "sent": measured("sent"), "lost": measured("lost"), "published": False},
    ]
    for one in evidence.ns2():
        sent = [style.number(mean) for mean, _ in one.sent] + [style.number(one.total)]
        lost = [style.number(mean) for mean, _ in one.lost] + [style.number(sum(mean for mean, _ in one.lost))]
        rows.append({"name": f"ns-2.35, sink: {one.sink}", "sent": sent, "lost": lost, "published": False})
    return rows


def _cards(result: Reproduction, shown: Sequence[Change], runs: int) -> list[dict[str, str]]:
    by_title = {change.title: change for change in shown}

    def card(what: str, title: str, choice: str = "") -> dict[str, str]:
        change = by_title[title]
        notes = (choice, f"published {change.published}", few(runs))
        return {"what": what, "value": change.measured, "note": "; ".join(filter(None, notes))}

    return [
        card("Data sent by the TCP flows", "Data sent by the TCP flows", rests.with_sack(evidence.variations())),
        card("Mean RTT", "Mean RTT of the TCP flows"),
        card("Lost packets", "Packets lost by the TCP flows"),
        {
            "what": "Claims that hold",
            "value": tally(result.claims),
            "note": "each listed below with its figures",
        },
    ]
