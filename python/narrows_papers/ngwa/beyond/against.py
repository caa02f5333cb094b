"""One NGWA flow beside a flow without NGWA: shares, losses and queue length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import LOOKS, MODES, PAPER, TITLES, changes

if TYPE_CHECKING:
    from narrows.outcome import Run
    from narrows.stats import Estimate

OTHERS: dict[str, str] = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBRv3"}
"""Congestion controls of the other flow."""

COLUMNS = ("off", *MODES)
"""Variants of our flow: Reno without NGWA, and the modes."""

BEGIN_S, END_S = 10.0, 60.0
RATE_MBPS = 10.0
LIMIT_KB = 97.0
QUEUE = "r1->r2"
DIVIDING = ("5", "6")
"""Modes with flow division and congestion window."""


def arms(quick: bool) -> list[Arm]:
    """Return the arms: our flow without NGWA and in every mode, against each of the others."""
    columns = ("off", "1", "6", "8") if quick else COLUMNS
    return [Arm((cc, column), {"flows.other.cc": cc} | changes(column)) for cc in OTHERS for column in columns]


def measure(run: Run) -> Numbers:
    """Measure our flow's share of the total, losses of both flows, delay and queue."""
    at = Course(run).window(BEGIN_S, END_S)
    ours, both = at.throughput("ours"), at.throughput("ours", "other")
    return {
        "share": 100 * ours / both,
        "ours": at.goodput("ours"),
        "other": at.goodput("other"),
        "lost_ours": at.loss("ours"),
        "lost_other": at.loss("other"),
        "rtt": at.rtt("ours", "other"),
        "waiting": at.waiting(QUEUE),
        "used": at.used(QUEUE, RATE_MBPS),
    }


UNITS = {
    "share": "%",
    "ours": "Mb/s",
    "other": "Mb/s",
    "lost_ours": "%",
    "lost_other": "%",
    "rtt": "ms",
    "waiting": "kB",
    "used": "%",
}


def section(results: Results) -> Section:
    """Return the tables, figures and conclusions."""
    columns = [one for one in COLUMNS if results.has(("cubic", one))]
    return Section(conclusion(results), claims(results), (_table(results, columns),), _figures(results, columns))


def yielding(results: Results, column: str) -> list[str]:
    """List the controls against which our flow gets less than half, and significantly less than without NGWA."""
    found = []
    for cc in OTHERS:
        change = results.change((cc, "off"), (cc, column), "share")
        less = change.high < 0 if change.n > 1 else change.mean < 0
        if less and results.mean((cc, column), "share") < 50:
            found.append(cc)
    return found


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""
    modes = [one for one in MODES if results.has(("cubic", one))]
    yields = {mode: yielding(results, mode) for mode in modes}
    division = [one for one in DIVIDING if one in modes]
    free = [one for one in ("1", "2") if one in modes]
    kept = {cc: draw.least([results.mean((cc, one), "share") for one in division]) for cc in OTHERS}
    offered = {cc: draw.most([results.mean((cc, one), "share") for one in free]) for cc in OTHERS}
    quiet = [cc for cc in OTHERS if all(results.mean((cc, one), "lost_ours") == 0 for one in division)]
    queues = {cc: (results.mean((cc, "off"), "waiting"), results.mean((cc, division[-1]), "waiting")) for cc in OTHERS}
    filled = [cc for cc, (off, on) in queues.items() if on >= 0.9 * off]
    return (
        Claim(
            "NGWA yields to every flow that fills the queue: less than half, and less than Reno without NGWA gets "
            "there (by more than the 95 % interval of the difference)",
            all(len(found) == len(OTHERS) for found in yields.values()),
            "; ".join(f"mode {mode}: to {_listed(found)}" for mode, found in yields.items()),
        ),
        Claim(
            "Flow division gives more of the link than free bytes, whoever the other is (congestion window on)",
            all(
                results.mean((cc, a), "share") > results.mean((cc, b), "share")
                for cc in OTHERS
                for a in division
                for b in free
            ),
            "; ".join(f"{OTHERS[cc]} {draw.share(kept[cc])} (free bytes {draw.share(offered[cc])})" for cc in OTHERS),
        ),
        Claim(
            "With flow division our flow loses nothing against flows that probe by loss (Reno, CUBIC)",
            {"reno", "cubic"} <= set(quiet),
            f"no loss in mode{'s' if len(division) > 1 else ''} {' and '.join(division)} against {_listed(quiet)}",
        ),
        Claim(
            "With flow division the other flow fills the queue all the same (at least nine tenths of what waits "
            "without NGWA)",
            len(filled) == len(OTHERS),
            "; ".join(f"{OTHERS[cc]} {off:.0f} → {on:.0f} kB" for cc, (off, on) in queues.items()),
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    mode = "6"

    def shares(column: str, beside: str | None = None) -> str:
        parts = []
        for cc, title in OTHERS.items():
            note = "" if beside is None else f" ({draw.share(results.mean((cc, beside), 'share'))})"
            parts.append(f"{title} {draw.share(results.mean((cc, column), 'share'))}{note}")
        return ", ".join(parts)

    free = [results.mean((cc, "1"), "share") for cc in OTHERS]
    divided = [results.mean((cc, mode), "share") for cc in OTHERS]
    less = all(a < b for a, b in zip(free, divided, strict=True))
    sentences = [
        f"Of what both get, one flow with NGWA in mode 6 has, against {shares(mode, 'off')}; in brackets what Reno "
        f"without NGWA has there. With free bytes (mode 1) it has {'less' if less else 'not always less'}: "
        f"{shares('1')}. A flow that knows NGWA takes its part of the queue, or what is free of it; one that does not "
        "takes the rest until packets are lost."
    ]
    worst = max(OTHERS, key=lambda cc: results.mean((cc, "8"), "lost_ours"))
    if results.mean((worst, "8"), "lost_ours") > results.mean((worst, "off"), "lost_ours"):
        sentences.append(
            f"Without a congestion window (mode 8) nothing but the timer answers to the losses that the other causes: "
            f"against {OTHERS[worst]} our flow loses {draw.share(results.mean((worst, '8'), 'lost_ours'))} of its "
            f"packets and has {draw.share(results.mean((worst, '8'), 'share'))} of the link. The paper's modes "
            "without one suppose that all flows know NGWA."
        )
    else:
        sentences.append("Without a congestion window (mode 8) our flow loses no more than Reno without NGWA.")
    used = draw.least([results.mean((cc, mode), "used") for cc in OTHERS])
    sentences.append(f"The link stays used, by the other if not by us: {draw.share(used)} at least.")
    return tuple(sentences)


def _listed(keys: list[str]) -> str:
    return ", ".join(OTHERS[key] for key in keys) or "none"


def _name(column: str) -> str:
    return "Reno, no NGWA" if column == "off" else TITLES[column]


def _table(results: Results, columns: list[str]) -> Table:
    rows = []
    for cc, title in OTHERS.items():
        for column in columns:

            def of(name: str, key: tuple[str, str] = (cc, column)) -> str:
                return draw.told(results.of(key, name))

            rows.append(
                (
                    f"{_name(column)} – {title}",
                    of("share"),
                    of("ours"),
                    of("other"),
                    of("lost_ours"),
                    of("lost_other"),
                    of("rtt"),
                    of("waiting"),
                    of("used"),
                )
            )
    head = (
        "Ours – the other",
        "Our share, %",
        "Goodput, Mb/s",
        "The other's",
        "Our loss, %",
        "The other's",
        "RTT, ms",
        "Queue, kB",
        "Use, %",
    )
    return Table("Our flow against another that does not know NGWA", head, tuple(rows))


def _figures(results: Results, columns: list[str]) -> tuple[Figure, ...]:
    looks = {cc: (style.colour(i), 0, symbol) for i, (cc, symbol) in enumerate(zip(OTHERS, _SYMBOLS, strict=True))}

    def panel(name: str, label: str, *, first: bool = False, rule: float | None = None, text: str = "") -> Panel:
        lines = []
        for i, (cc, title) in enumerate(OTHERS.items()):
            x = [j + draw.beside(len(OTHERS), i) for j in range(len(columns))]
            estimates: list[Estimate] = [results.of((cc, column), name) for column in columns]
            lines.append(draw.points(f"against {title}", x, estimates, looks[cc], in_legend=first))
        return Panel(label, tuple(lines), rule=rule, rule_text=text)

    ticks = tuple("Reno,\nno NGWA" if column == "off" else f"mode {column}" for column in columns)
    drawn = Figure(
        "against",
        "One NGWA flow against one without",
        "Share of our flow in what both get, its losses and the other's, and what waits in the queue of 97 kB; points "
        "are means over the seeds, bars their 95 % intervals.",
        "Our flow",
        (
            panel("share", "Our share (%)", first=True, rule=50.0, text="equal"),
            panel("lost_ours", "Our loss (%)"),
            panel("lost_other", "Other's loss (%)"),
            panel("waiting", "Queue (kB)"),
        ),
        ticks=ticks,
        panel_in=1.15,
        width_in=style.PAGE_IN,
    )
    return (drawn, *_courses(results))


_SYMBOLS = ("square", "circle", "diamond", "circle")


def _courses(results: Results) -> tuple[Figure, ...]:
    run = results.shown.get(("cubic", "6"))
    if run is None:
        return ()
    course = Course(run)
    ours, other = (course.column("flow", name, "flightsize_bytes") * 1e-3 for name in ("ours", "other"))
    time = [course.column("flow", name, "time_s") for name in ("ours", "other")]
    lines = (
        Line("mode 6", time[0], ours, LOOKS["6"][0]),
        Line("CUBIC", time[1], other, LOOKS["cubic"][0]),
    )
    frame = series.Series(course.column("queue", QUEUE, "time_s"), course.column("queue", QUEUE, "bytes") * 1e-3)
    return (
        Figure(
            "against-course",
            "Mode 6 against CUBIC, one run",
            "What each has in the network, and what waits in the queue. Dotted: what the router gives each of two "
            "flows.",
            "Time (s)",
            (
                Panel("In flight (kB)", lines, rule=0.98 * LIMIT_KB / 2, rule_text="0.98 · 97 kB / 2"),
                Panel("Queue (kB)", (Line("queue", frame.x, frame.y, style.colour(0), in_legend=False),)),
            ),
            x_range=(0.0, END_S),
        ),
    )


QUESTION = Question(
    paper=PAPER,
    key="against",
    title="Against Reno, CUBIC and BBR that do not know it",
    asks="(b) “.. to perform an analysis of the system performance when the NGWA competes with different schemes for "
    "congestion control, such as TCP New Reno, TCP CUBIC ..”",
    setting="Two flows over 10 Mb/s with a round trip of 44 ms (BDP 55 kB) and a queue of 97 kB in front of it, for "
    "60 s, measured from 10 s on. The router runs NGWA and counts both; only our flow's end points know it. Our flow "
    "has Reno's congestion window in modes 1, 2, 5 and 6, none in 7 and 8. Both have SACK.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
    shown=(("cubic", "6"),),
)
"""The question."""
