"""Connections that fail: routers see their SYN, count them, and never see them end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import PAPER

if TYPE_CHECKING:
    from narrows.outcome import Run

COUNTS = (1, 4, 16, 48, 96)
"""Numbers of connections that fail."""

COLUMNS: dict[str, str] = {
    "60": "mode 6, forgets after 60 s",
    "10": "mode 6, after 10 s",
    "1": "mode 6, after 1 s",
    "free": "mode 1: free bytes",
}
"""Arms: timeouts after which the router forgets flows, in s, and a mode without division."""

BUSY = ("busy-1", "busy-2")
BEGIN_S, END_S = 5.0, 60.0
RATE_MBPS = 10.0
QUEUE = "r1->r2"
SEGMENT_BYTES = 1440
STALL_PERCENT = 1.0
"""A link with less utilisation than this is stalled, per cent."""


def arms(quick: bool) -> list[Arm]:
    """Return every number of failing connections in every arm."""
    counts = (4, 96) if quick else COUNTS
    made = []
    for column in COLUMNS:
        how = {"ngwa.mode": 1} if column == "free" else {"ngwa.idle_timeout": f"{column} s"}
        made += [Arm((column, str(count)), {"flows.failed.copies": count, **how}) for count in counts]
    return made


def measure(run: Run) -> Numbers:
    """Measure the goodput of the flows with data, and utilisation."""
    at = Course(run).window(BEGIN_S, END_S)
    return {"busy": at.goodput(*BUSY), "used": at.used(QUEUE, RATE_MBPS)}


UNITS = {"busy": "Mb/s", "used": "%"}


def section(results: Results) -> Section:
    """Return the table, figure and conclusions."""
    counts = [count for count in COUNTS if results.has(("60", str(count)))]
    rows = tuple(
        (title, *(draw.told(results.of((column, str(count)), "busy")) for count in counts))
        for column, title in COLUMNS.items()
    )
    table = Table(
        "Goodput of two flows beside so many that fail, Mb/s", ("Connections that fail", *map(str, counts)), rows
    )
    return Section(conclusion(results, counts), claims(results, counts), (table,), (_figure(results, counts),))


def claims(results: Results, counts: list[int]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""
    top = str(counts[-1])
    long, short, free = (results.mean((column, top), "used") for column in ("60", "1", "free"))
    window = 0.98 * 97_000 / (counts[-1] + len(BUSY))
    return (
        Claim(
            f"SYNs alone stop the link: {top} connections that fail leave each flow {window:,.0f} bytes, less than a "
            "segment, which is advertised as 0 (less than 1 % used)",
            long < STALL_PERCENT,
            f"{draw.share(long)} used where routers forget after 60 s",
        ),
        Claim(
            "A short time-out is a remedy (at least half of the link used), if not a whole one (less than 95 %)",
            50 <= short < 95,
            f"{draw.share(short)} used where they forget after 1 s",
        ),
        Claim(
            "Free bytes are not affected (at least 95 % used)",
            free >= 95,
            f"{draw.share(free)} used in mode 1",
        ),
    )


def conclusion(results: Results, counts: list[int]) -> tuple[str, ...]:
    """Describe the results."""
    used = {count: results.mean(("60", str(count)), "used") for count in counts}
    half = next((count for count, value in used.items() if value < 50), None)
    first = (
        f"From {half} connections that fail on, less than half of the link is used where routers remember SYNs for 60 "
        "s."
        if half is not None
        else "Connections that fail leave more than half of the link used."
    )
    top = str(counts[-1])
    return (
        f"{first} With {top} of them two flows that always have data get "
        f"{draw.plain(results.mean(('60', top), 'busy'))} Mb/s, and {draw.plain(results.mean(('1', top), 'busy'))} "
        "Mb/s where routers forget after 1 s. To count at the SYN, as the paper has it, lets anybody who sends SYNs "
        "decide what others may send: to count from the first data segment on, or to forget a SYN without an answer "
        "soon, would not.",
    )


def _figure(results: Results, counts: list[int]) -> Figure:
    looks = [(style.colour(i), 0, symbol) for i, symbol in enumerate(("circle", "diamond", "square", "circle"))]
    lines = tuple(
        draw.points(
            title,
            [j + draw.beside(len(COLUMNS), i, 0.4) for j in range(len(counts))],
            [results.of((column, str(count)), "used") for count in counts],
            looks[i],
            in_legend=True,
        )
        for i, (column, title) in enumerate(COLUMNS.items())
    )
    return Figure(
        "syn",
        "Two busy flows beside connections that fail",
        "Use of the link by how many connections send SYNs that get no answer; means over the seeds with 95 % "
        "intervals.",
        "Connections that fail",
        (Panel("Use (%)", lines),),
        ticks=tuple(map(str, counts)),
        panel_in=1.8,
        width_in=style.PAGE_IN,
    )


QUESTION = Question(
    paper=PAPER,
    key="syn",
    title="Connections that fail",
    asks="(a) “.. it can occur rerouting processes and/or loss of flows due to failures”",
    setting="Two flows that always have data over 10 Mb/s, round trip 44 ms, queue 97 kB. Others send SYNs, again "
    "after 1, 3, 7, 15 and 31 s, that are lost behind the routers. 60 s, measured from 5 s on.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
)
"""The question."""
