"""Two TCP flows beside UDP, which shares the queue, does not react to congestion and is not counted."""

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
    from narrows.model.scenario import Override
    from narrows.outcome import Run

RATES = tuple(range(10))
"""Rates of UDP, Mb/s, on a link of 10 Mb/s; for 0, a datagram is sent now and then."""

COLUMNS = ("reno", *MODES)
BEGIN_S, END_S = 8.0, 40.0
RATE_MBPS = 10.0
RTT_S = 0.044
LIMIT_BYTES = 97_000
FLOW_FACTOR = 0.98
PAYLOAD_BYTES, PACKET_BYTES = 1440, 1500
"""Size of a segment's payload (1460 less 12 for timestamps and 8 for the option), and with all headers."""
QUEUE = "r1->r2"
ENOUGH_DATAGRAMS = 100
"""With fewer datagrams than this, their loss is not reported."""

TCP = ("tcp-1", "tcp-2")


def arms(quick: bool) -> list[Arm]:
    """Return every mode with every rate."""
    columns, rates = (("reno", "1", "6", "8"), (0, 3, 5, 9)) if quick else (COLUMNS, RATES)

    def changes(column: str, rate: int) -> dict[str, Override]:
        mode: dict[str, Override] = dict(OFF) if column == "reno" else {"ngwa.mode": int(column)}
        return {"flows.udp.rate": f"{rate} Mb/s" if rate else "1 kb/s"} | mode

    return [Arm((column, str(rate)), changes(column, rate)) for column in columns for rate in rates]


def measure(run: Run) -> Numbers:
    """Measure the goodput of TCP, losses of TCP and UDP, queue, utilisation and fairness."""
    at = Course(run).window(BEGIN_S, END_S)
    enough = at.grown("flow", "udp", "sent_packets") >= ENOUGH_DATAGRAMS
    return {
        "tcp": at.goodput(*TCP),
        "udp": at.throughput("udp"),
        "lost_tcp": at.loss(*TCP),
        "lost_udp": at.loss("udp") if enough else math.nan,
        "waiting": at.waiting(QUEUE),
        "used": at.used(QUEUE, RATE_MBPS),
        "jain": at.jain(TCP),
    }


UNITS = {"tcp": "Mb/s", "udp": "Mb/s", "lost_tcp": "%", "lost_udp": "%", "waiting": "kB", "used": "%", "jain": ""}


def overflow_at() -> float:
    """Rate of UDP from which the windows of flow division no longer fit, Mb/s.

    Let w be the windows of both TCP flows (IP bytes, whole segments) and s TCP's share of the rate C. Then s C RTT
    bytes of w are in flight and the rest waits in the queue, where UDP waits in proportion to its rate. So (w - s C
    RTT) / s bytes wait. The queue limit L bounds this from s = w / (L + C RTT) on.

    >>> f"{overflow_at():.2f}"
    '3.49'
    """
    segments = int(FLOW_FACTOR * LIMIT_BYTES / len(TCP) / PAYLOAD_BYTES)
    windows = len(TCP) * segments * PACKET_BYTES
    return RATE_MBPS * (1 - windows / (LIMIT_BYTES + RATE_MBPS * 1e6 / 8 * RTT_S))


def section(results: Results) -> Section:
    """Return the tables, figures and conclusions."""
    columns = [one for one in COLUMNS if results.has((one, "5"))]
    rates = [rate for rate in RATES if results.has((columns[0], str(rate)))]
    return Section(
        conclusion(results, rates),
        claims(results, rates),
        _tables(results, columns, rates),
        (_figure(results, columns, rates),),
    )


def first_loss(results: Results, column: str, rates: list[int]) -> int | None:
    """The smallest rate of UDP at which a mode loses packets, TCP's or UDP's; Mb/s."""
    for rate in rates:
        key = (column, str(rate))
        if results.mean(key, "lost_tcp") > 0 or results.mean(key, "lost_udp") > 0:
            return rate
    return None


def claims(results: Results, rates: list[int]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""
    limit = overflow_at()
    first = first_loss(results, "6", rates)
    before = max((rate for rate in rates if rate < limit), default=None)
    after = min((rate for rate in rates if rate > limit), default=None)
    high = [rate for rate in rates if rate > limit]

    def at_most(column: str, name: str, over: list[int]) -> float:
        return draw.most([results.mean((column, str(rate)), name) for rate in over])

    udp = {column: at_most(column, "lost_udp", high) for column in ("reno", "1", "6")}
    goodput = [(results.mean(("6", str(rate)), "tcp"), results.mean(("reno", str(rate)), "tcp")) for rate in rates]
    bare = [(results.mean(("8", str(rate)), "tcp"), results.mean(("reno", str(rate)), "tcp")) for rate in high]
    return (
        Claim(
            f"Flow division overflows once UDP takes more than {limit:.1f} Mb/s, since it does not see it (window of "
            "all flows against what link and queue hold)",
            first is not None and first == after,
            f"first losses in mode 6 at {first} Mb/s, none at {before} Mb/s or less"
            if first is not None
            else "no losses in mode 6",
        ),
        Claim(
            "Free bytes do see it: in mode 1 UDP loses less than beside Reno, and less than with flow division, above "
            "that",
            udp["1"] < udp["reno"] and udp["1"] < udp["6"],
            f"UDP loses at most {draw.share(udp['1'])} beside mode 1, {draw.share(udp['6'])} beside mode 6, "
            f"{draw.share(udp['reno'])} beside Reno",
        ),
        Claim(
            "With a congestion window flow division costs TCP nothing beside Reno (at least 95 % of its goodput)",
            all(ours >= 0.95 * reno for ours, reno in goodput),
            f"{100 * draw.least([draw.times(*pair) for pair in goodput]):.0f} % of Reno's at least",
        ),
        Claim(
            "Without one TCP collapses where windows no longer fit (less than three quarters of Reno's goodput)",
            any(ours < 0.75 * reno for ours, reno in bare),
            f"mode 8: {100 * draw.least([draw.times(*pair) for pair in bare]):.0f} % of Reno's at worst",
        ),
    )


def conclusion(results: Results, rates: list[int]) -> tuple[str, ...]:
    """Describe the results."""
    first = first_loss(results, "6", rates)
    top = str(rates[-1])

    def lost(column: str, rate: str) -> str:
        return draw.share(results.mean((column, rate), "lost_tcp"))

    where = (
        f"from {first} Mb/s of UDP on packets are lost" if first is not None else "nothing is lost at any rate of UDP"
    )
    text = (
        f"Flow division gives away the whole queue to TCP and does not know of UDP: {where}, and there its congestion "
        f"window answers as Reno's does. With UDP at {top} Mb/s TCP loses {lost('6', top)} in mode 6, "
        f"{lost('1', top)} in mode 1 and {lost('reno', top)} without NGWA."
    )
    worst = max(rates, key=lambda rate: results.mean(("8", str(rate)), "lost_tcp"))
    return (
        text,
        f"Without a congestion window (mode 8) TCP loses up to {lost('8', str(worst))} (at {worst} Mb/s), and the "
        f"link stands at {draw.share(draw.least([results.mean(('8', str(rate)), 'used') for rate in rates]))} where "
        "it is used least: modes 7 and 8 do need a congestion control, as soon as something is in the queue that "
        "routers do not count.",
    )


def _tables(results: Results, columns: list[str], rates: list[int]) -> tuple[Table, ...]:
    def table(name: str, caption: str) -> Table:
        rows = tuple(
            (TITLES[column], *(draw.told(results.of((column, str(rate)), name)) for rate in rates))
            for column in columns
        )
        return Table(caption, ("UDP, Mb/s", *map(str, rates)), rows)

    return (
        table("tcp", "Goodput of both TCP flows together, Mb/s"),
        table("lost_tcp", "What TCP loses, % of its segments"),
        table("lost_udp", "What UDP loses, % of its datagrams"),
    )


def _figure(results: Results, columns: list[str], rates: list[int]) -> Figure:
    panels = []
    for name, label in (
        ("tcp", "TCP goodput (Mb/s)"),
        ("lost_tcp", "TCP's loss (%)"),
        ("lost_udp", "UDP's loss (%)"),
        ("waiting", "Queue (kB)"),
    ):
        lines = [
            draw.sweep(
                TITLES[column],
                rates,
                [results.of((column, str(rate)), name) for rate in rates],
                LOOKS[column],
                in_legend=name == "tcp",
            )
            for column in columns
        ]
        panels.append(Panel(label, tuple(lines)))
    return Figure(
        "udp",
        "Two TCP flows beside UDP",
        f"Means over the seeds with 95 % intervals. Dotted: {overflow_at():.2f} Mb/s, above which the windows of flow "
        "division do not fit into link and queue.",
        "Rate of UDP (Mb/s)",
        tuple(panels),
        marks=((overflow_at(), ""),),
        panel_in=1.25,
        width_in=style.PAGE_IN,
        x_range=(0.0, 9.0),
    )


QUESTION = Question(
    paper=PAPER,
    key="udp",
    title="Beside UDP",
    asks="(b) “.. and other types of traffic, such as UDP”",
    setting="Two TCP flows (Reno's congestion window in modes 1, 2, 5 and 6, none in 7 and 8) and UDP at a constant "
    "rate, from almost nothing to 9 of the link's 10 Mb/s, for 40 s, measured from 8 s on; round trip 44 ms, queue 97 "
    "kB. Routers count TCP flows only, as the paper has it.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=6,
)
"""The question."""
