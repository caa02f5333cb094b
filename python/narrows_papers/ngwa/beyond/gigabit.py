"""A link of 1 Gb/s with a queue of one BDP: utilisation, loss and queue, and what NGWA requires of TCP there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import OFF, PAPER

if TYPE_CHECKING:
    from narrows.model.scenario import Override
    from narrows.outcome import Run

ARMS: dict[str, tuple[str, dict[str, Override]]] = {
    "reno": ("Reno", dict(OFF)),
    "cubic": ("CUBIC", OFF | {"tcp.cc": "cubic"}),
    "6": ("mode 6\nover Reno", {}),
    "6-cubic": ("mode 6\nover CUBIC", {"tcp.cc": "cubic"}),
    "6-unscaled": ("mode 6, no\nwindow scale", {"tcp.window_scaling": False}),
}
"""Arms: title, and overrides of the file."""

NGWA = ("6", "6-cubic")
FLOWS = ("flow-1", "flow-2")
BEGIN_S, END_S = 5.0, 15.0
RATE_MBPS = 1000.0
QUEUE = "r1->r2"


def arms(quick: bool) -> list[Arm]:
    """Return all of `ARMS`; for a quick experiment, fewer arms of shorter duration."""
    short: dict[str, Override] = {"duration": "4 s"} if quick else {}
    names = ("reno", "6", "6-unscaled") if quick else tuple(ARMS)
    return [Arm((name,), ARMS[name][1] | short) for name in names]


def measure(run: Run) -> Numbers:
    """Measure goodput, fairness, loss, utilisation and queue over the last two thirds (short runs: the second half)."""
    course = Course(run)
    end = min(END_S, run.scenario.duration_s)
    at = course.window(min(BEGIN_S, end / 2), end)
    first, second = (at.goodput(flow) for flow in FLOWS)
    return {
        "more": max(first, second),
        "less": min(first, second),
        "used": at.used(QUEUE, RATE_MBPS),
        "jain": at.jain(FLOWS),
        "loss": at.loss(*FLOWS),
        "lost": course.window(0.0, end).lost(*FLOWS),
        "waiting": at.waiting(QUEUE),
        "rtt": at.rtt(*FLOWS),
    }


UNITS = {
    "more": "Mb/s",
    "less": "Mb/s",
    "used": "%",
    "jain": "",
    "loss": "%",
    "lost": "packets",
    "waiting": "kB",
    "rtt": "ms",
}


def section(results: Results) -> Section:
    """Return the table, figure and conclusions."""
    names = [name for name in ARMS if results.has((name,))]
    columns = ("more", "less", "used", "jain", "loss", "lost", "waiting", "rtt")
    rows = tuple(
        (ARMS[name][0].replace("\n", " "), *(draw.told(results.of((name,), column)) for column in columns))
        for name in names
    )
    head = (
        "Arm",
        "Goodput, the better, Mb/s",
        "The other, Mb/s",
        "Use, %",
        "Jain",
        "Loss, %",
        "Lost in all, packets",
        "Queue, kB",
        "RTT, ms",
    )
    table = Table("Two flows over 1 Gb/s", head, rows)
    return Section(conclusion(results, names), claims(results, names), (table,), (_figure(results, names),))


def claims(results: Results, names: list[str]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""
    known = [name for name in NGWA if name in names]
    plain = [name for name in ("reno", "cubic") if name in names]

    def listed(name: str, over: list[str], unit: str) -> str:
        return "; ".join(
            f"{ARMS[one][0].replace(chr(10), ' ')} {draw.plain(results.mean((one,), name))}{unit}" for one in over
        )

    return (
        Claim(
            "Mode 6 loses nothing, not even at the start",
            all(results.mean((one,), "lost") == 0 for one in known),
            listed("lost", [*plain, *known], " packets"),
        ),
        Claim(
            "It uses the link as well as Reno and CUBIC (at least 98 % of that)",
            all(results.mean((one,), "used") >= 0.98 * results.mean((two,), "used") for one in known for two in plain),
            listed("used", [*plain, *known], " %"),
        ),
        Claim(
            "It shares evenly at once, where Reno and CUBIC need more than these 15 s (Jain's index at least 0.99)",
            all(results.mean((one,), "jain") >= 0.99 for one in known)
            and all(results.mean((one,), "jain") < 0.99 for one in plain),
            listed("jain", [*plain, *known], ""),
        ),
        Claim(
            "It needs window scaling: without it a flow has 65,535 bytes a round trip, 26 Mb/s",
            results.mean(("6-unscaled",), "more") <= 65_535 * 8e-6 / 0.02,
            f"{draw.plain(results.mean(('6-unscaled',), 'more'))} Mb/s a flow",
        ),
    )


def conclusion(results: Results, names: list[str]) -> tuple[str, ...]:
    """Describe the results."""
    six, reno = ("6",), ("reno",)
    return (
        f"At 1 Gb/s with a queue of one BDP mode 6 uses {draw.share(results.mean(six, 'used'))} of the link "
        f"({draw.share(results.mean(reno, 'used'))} without NGWA) and keeps "
        f"{draw.plain(results.mean(six, 'waiting'))} kB waiting ({draw.plain(results.mean(reno, 'waiting'))} kB): two "
        "windows of half the queue are just the BDP. The option's 32 bits hold such windows; the TCP header's 16 do "
        "so by window scaling only, and without it the link is used to "
        f"{draw.share(results.mean(('6-unscaled',), 'used'))}."
        + (" Over CUBIC it is the same." if draw.alike(_rates(results), 0.02) and "6-cubic" in names else ""),
    )


def _rates(results: Results) -> list[float]:
    return [results.mean((name,), "used") for name in NGWA]


def _figure(results: Results, names: list[str]) -> Figure:
    def panel(columns: tuple[str, ...], label: str) -> Panel:
        lines = []
        for i, column in enumerate(columns):
            x = [j + draw.beside(len(columns), i, 0.24) for j in range(len(names))]
            look = (style.colour(i), 0, ("circle", "diamond")[i])
            estimates = [results.of((name,), column) for name in names]
            title = {"more": "the better flow", "less": "the other"}.get(column, column)
            lines.append(draw.points(title, x, estimates, look, in_legend=column in ("more", "less")))
        return Panel(label, tuple(lines))

    return Figure(
        "gigabit",
        "Two flows over 1 Gb/s",
        "Goodput of each, packets lost in 15 s, and what waits in the queue of 2,500 kB; means over the seeds with 95 "
        "% intervals.",
        "Arm",
        (
            panel(("more", "less"), "Goodput (Mb/s)"),
            panel(("lost",), "Lost (packets)"),
            panel(("waiting",), "Queue (kB)"),
        ),
        ticks=tuple(ARMS[name][0] for name in names),
        panel_in=1.25,
        width_in=style.PAGE_IN,
    )


QUESTION = Question(
    paper=PAPER,
    key="gigabit",
    title="1 Gb/s",
    asks="(d) “.. to perform more complex or impossible (simulation) tests, for example, the use of transmission rate "
    "of 1 Gbps and beyond”",
    setting="Two flows over 1 Gb/s, round trip 20 ms, a queue of 2,500 kB (one BDP), 15 s, measured from 5 s on.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=4,
)
"""The question."""
