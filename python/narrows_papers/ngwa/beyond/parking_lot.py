"""A flow over three bottlenecks beside a flow on each: whether the tightest queue decides, and with what effect."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import LOOKS, MODES, OFF, PAPER, TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.outcome import Run

QUEUES: dict[str, float] = {"r1->r2": 97.0, "r2->r3": 48.5, "r3->r4": 194.0}
"""Bottlenecks with their queue limits, kB."""

TIGHTEST = "r2->r3"
FLOWS = ("long", "cross1", "cross2", "cross3")
COLUMNS = ("reno", *MODES, "r1")
"""No NGWA, the modes at all routers, and mode 6 at the first router only."""

ALONE = "r1"
DIVIDING = ("5", "6", "7", "8")
BEGIN_S, END_S = 15.0, 60.0
RATE_MBPS = 10.0
WINDOW_BYTES = 0.98 * 1e3 * QUEUES[TIGHTEST] / 2
"""Window that the tightest router gives with flow division, bytes: two flows share its queue."""


def arms(quick: bool) -> list[Arm]:
    """Return the arms of `COLUMNS`."""
    columns = ("reno", "1", "6", ALONE) if quick else COLUMNS
    made = []
    for column in columns:
        if column == "reno":
            made.append(Arm((column,), dict(OFF)))
        elif column == ALONE:
            made.append(Arm((column,), {"ngwa.routers": '["r1"]'}))
        else:
            made.append(Arm((column,), {"ngwa.mode": int(column)}))
    return made


def measure(run: Run) -> Numbers:
    """Measure the goodput of each flow, utilisation and drops of each link, and the long flow's receive window."""
    at = Course(run).window(BEGIN_S, END_S)
    made = {flow: at.goodput(flow) for flow in FLOWS}
    for queue in QUEUES:
        made[f"used {queue}"] = at.used(queue, RATE_MBPS)
        made[f"waiting {queue}"] = at.waiting(queue)
        made[f"dropped {queue}"] = at.dropped(queue)
    return made | {"rwnd": at.mean("flow", "long", "rwnd_bytes"), "jain": at.jain(FLOWS), "loss": at.loss(*FLOWS)}


UNITS = (
    dict.fromkeys(FLOWS, "Mb/s")
    | {f"used {queue}": "%" for queue in QUEUES}
    | {f"waiting {queue}": "kB" for queue in QUEUES}
    | {f"dropped {queue}": "packets" for queue in QUEUES}
    | {"rwnd": "B", "jain": "", "loss": "%"}
)


def title(column: str) -> str:
    """Title of an arm."""
    return "mode 6, r1 alone" if column == ALONE else TITLES[column]


def section(results: Results) -> Section:
    """Return the tables, figure and conclusions."""
    columns = [one for one in COLUMNS if results.has((one,))]
    return Section(
        conclusion(results, columns),
        claims(results, columns),
        _tables(results, columns),
        (_figure(results, columns),),
    )


def claims(results: Results, columns: Sequence[str]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""
    dividing = [one for one in columns if one in DIVIDING]
    windows = {one: results.mean((one,), "rwnd") for one in dividing}
    long = {one: results.mean((one,), "long") for one in columns}
    known = [one for one in columns if one in MODES]
    lost = {one: results.mean((one,), "loss") for one in dividing}
    used = {one: results.mean((one,), f"used {TIGHTEST}") for one in dividing}
    return (
        Claim(
            "The tightest queue of the path rules, wherever it stands: the long flow is told 0.98 · 48.5 kB / 2 = "
            f"{WINDOW_BYTES:,.0f} bytes (within 2 %)",
            all(abs(window / WINDOW_BYTES - 1) <= 0.02 for window in windows.values()),
            "; ".join(f"mode {one}: {window:,.0f}" for one, window in windows.items()),
        ),
        Claim(
            "Every mode gives the flow over three bottlenecks more than Reno does",
            all(long[one] > long["reno"] for one in known),
            "; ".join(f"{title(one)} {draw.plain(long[one], 2)}" for one in ("reno", *known)) + " Mb/s",
        ),
        Claim(
            "Flow division loses nothing on any of the links",
            all(value == 0 for value in lost.values()),
            "; ".join(f"mode {one}: {draw.share(value)}" for one, value in lost.items()),
        ),
        Claim(
            "It uses the link with the shortest queue as well as the others (at least 98 %)",
            all(value >= 98 for value in used.values()),
            f"{draw.share(min(used.values(), default=math.nan))} at least",
        ),
    )


def conclusion(results: Results, columns: Sequence[str]) -> tuple[str, ...]:
    """Describe the results."""
    six, reno = ("6",), ("reno",)
    text = (
        f"The long flow gets {draw.plain(results.mean(six, 'long'), 2)} Mb/s in mode 6, "
        f"{draw.plain(results.mean(('1',), 'long'), 2)} in mode 1 and {draw.plain(results.mean(reno, 'long'), 2)} "
        f"without NGWA; Jain's index over all four is {results.mean(six, 'jain'):.2f}, "
        f"{results.mean(('1',), 'jain'):.2f} and {results.mean(reno, 'jain'):.2f}."
    )
    used = results.mean(six, f"used {TIGHTEST}")
    parts = [text]
    if used < 98:
        parts.append(
            "A router's value is its queue's length and says nothing of the path's BDP: behind the queue of 48.5 kB "
            f"the link is used to {draw.share(used)} only, since what two windows of {WINDOW_BYTES:,.0f} bytes leave "
            "over of the link nobody may take. A queue must be as long as the BDP of the flows that share it."
        )
    else:
        parts.append("The windows are large enough to keep even the link behind the shortest queue busy.")
    if ALONE in columns:
        lost = sum(results.mean((ALONE,), f"dropped {queue}") for queue in QUEUES)
        parts.append(
            f"With NGWA at the first router alone the others' queues are full again ({draw.plain(lost)} packets are "
            f"dropped in {END_S - BEGIN_S:.0f} s) and the long flow is down to "
            f"{draw.plain(results.mean((ALONE,), 'long'), 2)} Mb/s."
            if lost > 0
            else "With NGWA at the first router alone nothing is lost either."
        )
    return tuple(parts)


def _tables(results: Results, columns: Sequence[str]) -> tuple[Table, ...]:
    def rows(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        return tuple((title(one), *(draw.told(results.of((one,), name)) for name in names)) for one in columns)

    links = [f"{what} {queue}" for queue in QUEUES for what in ("used", "waiting", "dropped")]
    heads = [f"{queue.replace('->', '–')}: {what}" for queue in QUEUES for what in ("use, %", "queue, kB", "dropped")]
    return (
        Table(
            "Flows: goodput, and the window that the long one is told",
            ("Arm", *(f"{flow}, Mb/s" for flow in FLOWS), "Jain", "Loss, %", "Window, B"),
            rows((*FLOWS, "jain", "loss", "rwnd")),
        ),
        Table("Links", ("Arm", *heads), rows(links)),
    )


def _figure(results: Results, columns: Sequence[str]) -> Figure:
    panels = []
    for name, label, heading in (
        ("", "Goodput (Mb/s)", "Flows"),
        ("used ", "Use (%)", "Links"),
        ("waiting ", "Queue (kB)", ""),
    ):
        places = FLOWS if not name else ("", *QUEUES)
        lines = []
        for i, column in enumerate(columns):
            shown = [(j, place) for j, place in enumerate(places) if place]
            x = [j + draw.beside(len(columns), i, 0.64) for j, _ in shown]
            estimates = [results.of((column,), f"{name}{place}") for _, place in shown]
            look = ("#4A4F57", 0, "diamond") if column == ALONE else LOOKS[column]
            lines.append(draw.points(title(column), x, estimates, look, in_legend=not name))
        panels.append(Panel(label, tuple(lines), title=heading))
    return Figure(
        "parking-lot",
        "Three bottlenecks in a row",
        "Upper panel: goodput of the flow over all three and of the flow on each. Below: use of the link that each "
        "cross flow goes over, and what waits in front of it (limits 97, 48.5 and 194 kB). Means over the seeds with "
        "95 % intervals.",
        "Flow, and the link that it crosses",
        tuple(panels),
        ticks=("long", *(f"cross{i + 1}\n{queue.replace('->', '–')}" for i, queue in enumerate(QUEUES))),
        panel_in=1.3,
        width_in=style.PAGE_IN,
    )


QUESTION = Question(
    paper=PAPER,
    key="parking-lot",
    title="A parking lot of three bottlenecks",
    asks="(c) “.. to test more complex networks, with a larger number of nodes and links ..”",
    setting="Four routers in a row, 10 Mb/s and 10 ms between each two, with queues of 97, 48.5 and 194 kB; a long "
    "flow over all three links and a cross flow over each. 60 s, measured from 15 s on.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
)
"""The question."""
