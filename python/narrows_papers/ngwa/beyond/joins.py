"""Flows that join two existing flows all at once, and leave: losses, the time to the new share, and lasting effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import LOOKS, OFF, PAPER, TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.scenario import Override
    from narrows.outcome import Run

TOTALS = (3, 5, 10, 20, 35, 50)
"""Total numbers of flows, including the two that exist before."""

EACH, DATA = "6-each", "8-data"
COLUMNS = ("reno", "1", "2", "6", EACH, "8", DATA)
"""No NGWA, some modes, mode 6 with receivers that acknowledge each segment, and mode 8 without marks on SYNs."""

ARM_LOOKS = LOOKS | {EACH: ("#4A4F57", 0, "diamond"), DATA: ("#4A4F57", 1, "circle")}
ARM_TITLES = TITLES | {EACH: "mode 6, ACKs at once", DATA: "mode 8, only data marked"}
"""Looks and titles of the modes, and of the arm that is this question's own."""

THERE = ("there-1", "there-2")
COME_S, GO_S = 10.0, 20.0
JOIN_S = 1.5
"""Time after the first newcomer in which losses count as losses of the join, s."""

STAY_S = (13.0, 20.0)
AFTER_S = (21.0, 30.0)
LONGEST_S = 9.0
"""Means "not while the newcomers stay"."""

RATE_MBPS = 10.0
QUEUE = "r1->r2"
LIMIT_BYTES = 97_000
PAYLOAD_BYTES = 1440


def arms(quick: bool) -> list[Arm]:
    """Return every number of flows in every arm."""
    columns, totals = (("reno", "6", EACH, "8", DATA), (5, 20, 50)) if quick else (COLUMNS, TOTALS)
    return [
        Arm((column, str(total)), {"flows.come.copies": total - len(THERE)} | _changes(column))
        for column in columns
        for total in totals
    ]


def _changes(column: str) -> dict[str, Override]:
    if column == "reno":
        return dict(OFF)
    if column == EACH:
        return {"ngwa.mode": 6, "tcp.delayed_ack": False}
    if column == DATA:
        return {"ngwa.mode": 8, "ngwa.marks": "data"}
    return {"ngwa.mode": int(column)}


def measure(run: Run) -> Numbers:
    """Measure losses at the join and later, time to the new share, fairness, and utilisation then and afterwards."""
    course = Course(run)
    come = course.flows("come")
    every = (*THERE, *come)
    join, stay, after = (course.window(*at) for at in ((COME_S, COME_S + JOIN_S), STAY_S, AFTER_S))
    return {
        "join_lost": join.lost(*every),
        "join_loss": join.loss(*every),
        "settle": settled(course, every),
        "stay_loss": stay.loss(*every),
        "stay_jain": stay.jain(every),
        "stay_used": stay.used(QUEUE, RATE_MBPS),
        "after_used": after.used(QUEUE, RATE_MBPS),
    }


UNITS = {
    "join_lost": "packets",
    "join_loss": "%",
    "settle": "s",
    "stay_loss": "%",
    "stay_jain": "",
    "stay_used": "%",
    "after_used": "%",
}


def settled(course: Course, every: Sequence[str]) -> float:
    """Time from the first newcomer's start until the old flows have at most 1.25 times their share over one second, s.

    Their share is an equal part of all arriving bytes; `LONGEST_S` if this never happens.
    """
    for begin in np.arange(COME_S, COME_S + LONGEST_S, 0.1):
        second = course.window(float(begin), float(begin) + 1.0)
        old, whole = second.throughput(*THERE), second.throughput(*every)
        if old <= 1.25 * whole * len(THERE) / len(every):
            return float(begin) - COME_S
    return LONGEST_S


def window_bytes(flows: int) -> float:
    """Window that flow division gives each flow, bytes."""
    return 0.98 * LIMIT_BYTES / flows


def section(results: Results) -> Section:
    """Return the tables, figures and conclusions."""
    columns = [one for one in COLUMNS if results.has((one, "20"))]
    totals = [total for total in TOTALS if results.has(("6", str(total)))]
    return Section(
        conclusion(results, totals),
        claims(results, totals),
        _tables(results, columns, totals),
        (_figure(results, columns, totals), *_courses(results)),
    )


def claims(results: Results, totals: Sequence[int]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""

    def values(column: str, name: str) -> list[float]:
        return [results.mean((column, str(total)), name) for total in totals]

    lost, reno = values("6", "join_lost"), values("reno", "join_lost")
    small = [total for total in totals if window_bytes(total) < 2 * PAYLOAD_BYTES]
    large = [total for total in totals if total not in small]
    used = {total: results.mean(("6", str(total)), "stay_used") for total in totals}
    pairs = [
        (results.mean(("6", str(one)), "stay_jain"), results.mean(("reno", str(one)), "stay_jain")) for one in totals
    ]
    return (
        Claim(
            "What is under way when flows come overflows the queue: with many newcomers even flow division loses "
            "packets at first, though fewer than Reno",
            lost[-1] > 0 and all(a <= b for a, b in zip(lost, reno, strict=True)),
            "; ".join(f"{total} flows: {a:.0f} (Reno {b:.0f})" for total, a, b in zip(totals, lost, reno, strict=True))
            + f" packets in {JOIN_S:g} s",
        ),
        Claim(
            "Once they are there it shares more evenly than Reno, however many",
            all(a > b for a, b in pairs),
            "; ".join(f"{total} flows: {a:.3f} (Reno {b:.3f})" for total, (a, b) in zip(totals, pairs, strict=True)),
        ),
        Claim(
            "It keeps the link busy while a window holds two segments (at least 95 % used), and does not below: a "
            "single segment waits for the delayed ACK",
            all(used[one] >= 95 for one in large) and all(used[one] < 95 for one in small),
            "; ".join(f"{total} flows, {window_bytes(total):,.0f} B: {draw.share(used[total])}" for total in totals),
        ),
        Claim(
            "A SYN with the value spares packets: mode 8 loses no more than where only data are marked",
            all(a <= b for a, b in zip(values("8", "join_lost"), values(DATA, "join_lost"), strict=True)),
            "; ".join(
                f"{total} flows: {results.mean(('8', str(total)), 'join_lost'):.0f} and "
                f"{results.mean((DATA, str(total)), 'join_lost'):.0f}"
                for total in totals
            ),
        ),
        Claim(
            "When the newcomers go by FIN, those that stay have the link again (at least 95 % used)",
            all(value >= 95 for value in values("6", "after_used")),
            f"{draw.share(min(values('6', 'after_used')))} at least",
        ),
    )


def conclusion(results: Results, totals: Sequence[int]) -> tuple[str, ...]:
    """Describe the results."""
    settle = [results.mean(("6", str(total)), "settle") for total in totals]
    reno = [results.mean(("reno", str(total)), "settle") for total in totals]

    def span(values: Sequence[float]) -> str:
        low, high = min(values), max(values)
        text = f"{low:.1f} s" if high - low < 0.05 else f"{low:.1f} to {high:.1f} s"
        return text + (" (9 s: not while they stay)" if high >= LONGEST_S else "")

    top = str(totals[-1])

    def lost(column: str) -> str:
        return f"{results.mean((column, top), 'join_lost'):,.0f}"

    parts = [
        f"The old flows are down to their new share after {span(settle)} in mode 6, after {span(reno)} without NGWA. "
        "The right edge of a window never moves left, so that what was granted before is still sent. Newcomers know "
        f"their share before they send, because their SYN carries it. With {top} flows mode 6 loses {lost('6')} "
        f"packets at the join, mode 8 loses {lost('8')} and Reno {lost('reno')}. Where routers write only into data, "
        f"mode 8 loses {lost(DATA)}: a newcomer begins with all that the SYN-ACK offers (65,535 bytes)."
    ]
    used, without = results.mean(("6", top), "stay_used"), results.mean(("reno", top), "stay_used")
    if used < 0.95 * without:
        parts.append(
            f"The price of many flows is another: with {top} a window holds {window_bytes(totals[-1]):,.0f} bytes, "
            f"one segment and a rest, whose ACK the receiver delays. Mode 6 then uses {draw.share(used)} of the link "
            f"and Reno {draw.share(without)}; where receivers acknowledge at once, mode 6 uses "
            f"{draw.share(results.mean((EACH, top), 'stay_used'))}. Flow division has a floor: a queue must hold two "
            "segments for each flow."
        )
    bare = results.mean(("8", top), "stay_loss")
    if bare > results.mean(("6", top), "stay_loss"):
        parts.append(
            f"Without a congestion window losses go on: mode 8 loses {draw.share(bare)} of its segments while {top} "
            "flows are there."
        )
    return tuple(parts)


def _tables(results: Results, columns: Sequence[str], totals: Sequence[int]) -> tuple[Table, ...]:
    def table(name: str, caption: str) -> Table:
        rows = tuple(
            (ARM_TITLES[column], *(draw.told(results.of((column, str(total)), name)) for total in totals))
            for column in columns
        )
        return Table(caption, ("Flows in all", *map(str, totals)), rows)

    return (
        table("join_lost", f"Packets lost in the {JOIN_S:g} s after the newcomers begin"),
        table(
            "settle",
            "Time until the old flows are down to 1.25 times their new share, s (9: not while the newcomers stay)",
        ),
        table("stay_jain", "Jain's index while the newcomers are there"),
        table("stay_used", "Use of the link while the newcomers are there, %"),
        table("stay_loss", "Loss while the newcomers are there, %"),
    )


def _figure(results: Results, columns: Sequence[str], totals: Sequence[int]) -> Figure:
    panels = []
    for name, label in (
        ("join_lost", "Lost at join"),
        ("settle", "To new share (s)"),
        ("stay_jain", "Jain's index"),
        ("stay_used", "Use (%)"),
    ):
        lines = []
        for i, column in enumerate(columns):
            x = [j + draw.beside(len(columns), i) for j in range(len(totals))]
            estimates = [results.of((column, str(total)), name) for total in totals]
            lines.append(
                draw.points(ARM_TITLES[column], x, estimates, ARM_LOOKS[column], in_legend=name == "join_lost")
            )
        panels.append(Panel(label, tuple(lines)))
    return Figure(
        "joins",
        "Flows that come all at once",
        f"Two flows are there; at {COME_S:g} s the others come and stay 10 s. Packets lost in the first {JOIN_S:g} s, "
        "time to the new share, and how link and flows are while they stay; means over the seeds with 95 % intervals.",
        "Flows in all",
        tuple(panels),
        ticks=tuple(map(str, totals)),
        panel_in=1.2,
        width_in=style.PAGE_IN,
    )


def _courses(results: Results) -> tuple[Figure, ...]:
    run = results.shown.get(("6", "20"))
    if run is None:
        return ()
    course = Course(run)
    shown = (("there-1", "one that was there", style.colour(0)), ("come-1", "one that comes", style.colour(1)))
    lines = tuple(
        Line(
            name, course.column("flow", flow, "time_s"), course.column("flow", flow, "flightsize_bytes") * 1e-3, colour
        )
        for flow, name, colour in shown
    )
    queue = Line(
        "queue",
        course.column("queue", QUEUE, "time_s"),
        course.column("queue", QUEUE, "bytes") * 1e-3,
        style.colour(2),
        in_legend=False,
    )
    return (
        Figure(
            "joins-course",
            "Mode 6, 20 flows, one run",
            "What two of the flows have in the network, and what waits in the queue. The new window is told with the "
            "next data segment; when the others have gone, the old one is back.",
            "Time (s)",
            (
                Panel("In flight (kB)", lines, rule=window_bytes(20) / 1e3, rule_text="0.98 · 97 kB / 20"),
                Panel("Queue (kB)", (queue,), rule=LIMIT_BYTES / 1e3, rule_text="limit"),
            ),
            marks=((COME_S, ""), (GO_S, "")),
            x_range=(0.0, 30.0),
        ),
    )


QUESTION = Question(
    paper=PAPER,
    key="joins",
    title="Flows that come and go",
    asks="(a) “.. to study the effectiveness of the method when dealing with the accounting of active connections "
    "that make use of routers”",
    setting="Two flows over 10 Mb/s, round trip 44 ms, queue 97 kB; at 10 s so many others begin within 0.2 s that "
    "there are 3 to 50, and at 20 s they end by FIN. All end points know NGWA.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
    shown=(("6", "20"),),
)
"""The question."""
