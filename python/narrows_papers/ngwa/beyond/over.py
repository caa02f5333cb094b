"""NGWA over other base variants: two equal flows, with and without NGWA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.report.charts import Figure, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import LOOKS, PAPER, TITLES, changes

if TYPE_CHECKING:
    from narrows.outcome import Run

BASES: dict[str, str] = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBRv3"}
"""Base variants."""

COLUMNS = ("off", "1", "2", "6")
"""No NGWA, and the modes with a congestion window; mode 5 equals 6 here, since the number of flows is constant."""

BEGIN_S, END_S = 10.0, 60.0
RATE_MBPS = 10.0
QUEUE = "r1->r2"
FLOWS = ("flow-1", "flow-2")
AS_MUCH = 0.99
"""Fraction of the base variant's utilisation from which NGWA counts as using no less of the link."""


def arms(quick: bool) -> list[Arm]:
    """Return each base variant with and without NGWA."""
    columns = ("off", "6") if quick else COLUMNS
    return [Arm((cc, column), {"tcp.cc": cc} | changes(column)) for cc in BASES for column in columns]


def measure(run: Run) -> Numbers:
    """Measure utilisation of the link, loss, round-trip time and fairness."""
    at = Course(run).window(BEGIN_S, END_S)
    return {
        "used": at.used(QUEUE, RATE_MBPS),
        "loss": at.loss(*FLOWS),
        "rtt": at.rtt(*FLOWS),
        "jain": at.jain(FLOWS),
        "waiting": at.waiting(QUEUE),
    }


UNITS = {"used": "%", "loss": "%", "rtt": "ms", "jain": "", "waiting": "kB"}


def section(results: Results) -> Section:
    """Return the table, figure and conclusions."""
    columns = [one for one in COLUMNS if results.has(("cubic", one))]
    return Section(conclusion(results), claims(results), (_table(results, columns),), (_figure(results, columns),))


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what NGWA should achieve over any base variant, on means over the seeds."""

    def pairs(name: str) -> list[tuple[float, float]]:
        return [(results.mean((cc, "off"), name), results.mean((cc, "6"), name)) for cc in BASES]

    def said(name: str) -> str:
        return "; ".join(
            f"{title} {draw.plain(off)} → {draw.plain(on)}"
            for title, (off, on) in zip(BASES.values(), pairs(name), strict=True)
        )

    return (
        Claim(
            "Over every base variant mode 6 loses nothing", all(on == 0 for _, on in pairs("loss")), said("loss") + " %"
        ),
        Claim(
            "It uses the link as well as the base variant alone (at least 99 % of that)",
            all(on >= AS_MUCH * off for off, on in pairs("used")),
            said("used") + " %",
        ),
        Claim("It makes round trips shorter", all(on < off for off, on in pairs("rtt")), said("rtt") + " ms"),
        Claim("It shares at least as evenly (Jain's index)", all(on >= off for off, on in pairs("jain")), said("jain")),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    off = [results.mean((cc, "off"), "rtt") for cc in BASES]
    on = [results.mean((cc, "6"), "rtt") for cc in BASES]
    lost = [title for cc, title in BASES.items() if results.mean((cc, "6"), "loss") > 0]
    first = (
        "Where all flows know NGWA, flow division takes the losses from every base variant"
        if not lost
        else f"Even where all flows know NGWA, flow division leaves losses to {', '.join(lost)}"
    )
    text = (
        f"{first}. Round trips are {min(on):.0f} to {max(on):.0f} ms with mode 6, and {min(off):.0f} to "
        f"{max(off):.0f} ms without."
    )
    if draw.alike([results.mean((cc, "6"), "rtt") for cc in ("reno", "cubic")], 0.01):
        text += " Over Reno and over CUBIC it comes to the same: what is advertised, not cwnd, bounds the window."
    return (text,)


def _table(results: Results, columns: list[str]) -> Table:
    rows = tuple(
        (
            f"{title}, {'no NGWA' if column == 'off' else TITLES[column]}",
            *(draw.told(results.of((cc, column), name)) for name in ("used", "loss", "rtt", "jain", "waiting")),
        )
        for cc, title in BASES.items()
        for column in columns
    )
    return Table("Two flows of one base variant", ("Arm", "Use, %", "Loss, %", "RTT, ms", "Jain", "Queue, kB"), rows)


def _figure(results: Results, columns: list[str]) -> Figure:
    panels = []
    for name, label in (("loss", "Loss (%)"), ("rtt", "RTT (ms)"), ("waiting", "Queue (kB)")):
        lines = []
        for i, column in enumerate(columns):
            x = [j + draw.beside(len(columns), i, 0.4) for j in range(len(BASES))]
            title = "without NGWA" if column == "off" else TITLES[column]
            look = LOOKS["reno" if column == "off" else column]
            estimates = [results.of((cc, column), name) for cc in BASES]
            lines.append(draw.points(title, x, estimates, look, in_legend=name == "loss"))
        panels.append(Panel(label, tuple(lines)))
    return Figure(
        "over",
        "NGWA over other base variants",
        "Two flows of the variant, all end points with NGWA; means over the seeds with 95 % intervals.",
        "Base variant",
        tuple(panels),
        ticks=tuple(BASES.values()),
        panel_in=1.15,
        width_in=style.PAGE_IN,
    )


QUESTION = Question(
    paper=PAPER,
    key="over",
    title="Over CUBIC and BBR",
    asks="(b), the other way round: NGWA bounds the window of any base variant. Does it help CUBIC and BBR?",
    setting="The same network; two flows alike, CUBIC, BBR, BBRv3 or Reno, all end points with NGWA, or none.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
)
"""The question."""
