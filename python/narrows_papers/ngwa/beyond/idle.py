"""Connections that are counted but send little or nothing: idle ones, for different idle timeouts of the router."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import OFF, PAPER

if TYPE_CHECKING:
    from narrows.outcome import Run

TIMEOUTS_S = (1, 2, 5, 10, 20, 60)
"""Times after which a router forgets an idle flow, s."""

IDLE = (4, 16, 32)
"""Numbers of idle connections."""

PAUSE_S = 15
"""How long idle connections send nothing, s."""

BUSY = ("busy-1", "busy-2")
BEGIN_S, END_S = 16.0, 60.0
RATE_MBPS = 10.0
QUEUE = "r1->r2"
BASELINES = {"reno": "Reno, no NGWA", "1": "mode 1: free bytes"}
"""Arms without division among flows; the timeout has no effect on them."""


def arms(quick: bool) -> list[Arm]:
    """Return mode 6 with every timeout, and the arms without division."""
    timeouts = (1, 5, 60) if quick else TIMEOUTS_S
    counts = (16,) if quick else IDLE
    made = [
        Arm(("6", str(count), str(timeout)), {"flows.idle.copies": count, "ngwa.idle_timeout": f"{timeout} s"})
        for count in counts
        for timeout in timeouts
    ]
    for count in counts:
        made.append(Arm(("reno", str(count)), {"flows.idle.copies": count} | OFF))
        made.append(Arm(("1", str(count)), {"flows.idle.copies": count, "ngwa.mode": 1}))
    return made


def measure(run: Run) -> Numbers:
    """Measure the goodput of the flows with data, utilisation and loss."""
    course = Course(run)
    at = course.window(BEGIN_S, END_S)
    every = (*BUSY, *course.flows("idle"))
    return {"busy": at.goodput(*BUSY), "used": at.used(QUEUE, RATE_MBPS), "loss": at.loss(*every)}


UNITS = {"busy": "Mb/s", "used": "%", "loss": "%"}


def section(results: Results) -> Section:
    """Return the table, figure and conclusions."""
    counts = [count for count in IDLE if results.has(("6", str(count), "60"))]
    timeouts = [timeout for timeout in TIMEOUTS_S if results.has(("6", str(counts[0]), str(timeout)))]
    return Section(
        conclusion(results),
        claims(results, timeouts),
        (_table(results, counts, timeouts),),
        (_figure(results, counts, timeouts),),
    )


def claims(results: Results, timeouts: list[int]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds, with sixteen idle connections."""
    used = {timeout: results.mean(("6", "16", str(timeout)), "used") for timeout in timeouts}
    reno = results.mean(("reno", "16"), "used")
    listed = "; ".join(f"{timeout} s: {draw.share(value)}" for timeout, value in used.items())
    falling = list(used.values())
    return (
        Claim(
            "Idle connections are counted and cost the busy ones: with 60 s the link is used to less than half of "
            "what Reno does",
            used[60] < reno / 2,
            f"{draw.share(used[60])} against {draw.share(reno)}",
        ),
        Claim(
            "The sooner they are forgotten, the more of the link is used",
            all(a >= b for a, b in pairwise(falling)),
            listed,
        ),
        Claim(
            "With a second of patience flow division uses the link as well as Reno (at least 95 % of that)",
            used[1] >= 0.95 * reno,
            f"{draw.share(used[1])} against {draw.share(reno)}",
        ),
        Claim(
            "Free bytes (mode 1) count nobody and lose nothing of the link (at least 98 % of Reno's use)",
            results.mean(("1", "16"), "used") >= 0.98 * reno,
            f"{draw.share(results.mean(('1', '16'), 'used'))} against {draw.share(reno)}",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    long, short = (results.mean(("6", "16", timeout), "busy") for timeout in ("60", "1"))
    reno = results.mean(("reno", "16"), "busy")
    lost = results.mean(("6", "16", "1"), "loss")
    answer = (
        f"Even then flow division has lost nothing ({draw.share(lost)})."
        if lost == 0
        else f"It then loses {draw.share(lost)} of its segments."
    )
    return (
        f"Beside sixteen connections that send 20 kB every {PAUSE_S} s, two that always have data get "
        f"{draw.plain(long)} Mb/s together if the router remembers idle flows for 60 s, {draw.plain(short)} Mb/s if "
        f"for 1 s, and {draw.plain(reno)} Mb/s without NGWA. The paper's suggestion, statistics by time windows, is "
        f"what a short time-out does: a flow is active if it has sent in the last second. {answer}",
    )


def _table(results: Results, counts: list[int], timeouts: list[int]) -> Table:
    rows = []
    for count in counts:
        keys: list[tuple[str, tuple[str, ...]]] = [
            (f"mode 6, forgets after {timeout} s", ("6", str(count), str(timeout))) for timeout in timeouts
        ]
        keys += [(title, (column, str(count))) for column, title in BASELINES.items()]
        rows += [
            (f"{count} idle: {title}", *(draw.told(results.of(key, name)) for name in ("busy", "used", "loss")))
            for title, key in keys
        ]
    return Table(
        "Two flows that always have data beside idle ones",
        ("Arm", "Goodput of the two, Mb/s", "Use, %", "Loss of all, %"),
        tuple(rows),
    )


def _figure(results: Results, counts: list[int], timeouts: list[int]) -> Figure:
    panels = []
    places = [str(timeout) for timeout in timeouts]
    for name, label in (("used", "Use (%)"), ("loss", "Loss (%)")):
        lines = []
        for i, count in enumerate(counts):
            look = (style.colour(i), 0, ("circle", "diamond", "square")[i])
            x = [j + draw.beside(len(counts), i, 0.3) for j in range(len(places))]
            estimates = [results.of(("6", str(count), place), name) for place in places]
            lines.append(draw.points(f"{count} idle", x, estimates, look, in_legend=name == "used"))
            x = [len(places) + j + draw.beside(len(counts), i, 0.3) for j in range(len(BASELINES))]
            estimates = [results.of((column, str(count)), name) for column in BASELINES]
            lines.append(draw.points(f"{count} idle", x, estimates, look, in_legend=False))
        panels.append(Panel(label, tuple(lines)))
    return Figure(
        "idle",
        "Two busy flows beside idle ones",
        "Mode 6 by the idle time after which a router forgets a flow; at the right the same without NGWA and in mode "
        "1, which do not divide. Means over the seeds with 95 % intervals.",
        "Router forgets after (mode 6)",
        tuple(panels),
        ticks=(*(f"{place} s" for place in places), "no NGWA", "mode 1"),
        panel_in=1.3,
        width_in=style.PAGE_IN,
    )


QUESTION = Question(
    paper=PAPER,
    key="idle",
    title="Connections that send nothing",
    asks="(a) “.. In this case, it is suggested that the necessary statistics occur by ‘time windows’ to ensure a "
    "better representation of the state of the connections”",
    setting=f"Two flows that always have data over 10 Mb/s, round trip 44 ms, queue 97 kB, beside 4, 16 or 32 that "
    f"send 20 kB every {PAUSE_S} s; 60 s, measured from 16 s on, when all have come. Routers forget flows after 1 to "
    "60 s.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
)
"""The question."""
