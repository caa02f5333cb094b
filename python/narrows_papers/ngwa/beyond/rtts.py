"""Four flows with round-trip times from 20 to 240 ms: their shares, and the effect of delayed ACKs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.question import Arm, Numbers, Question, Results, Section, Table
from narrows_papers.frame.beyond.window import Course
from narrows_papers.ngwa.beyond.modes import LOOKS, MODES, OFF, PAPER, TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.scenario import Override
    from narrows.outcome import Run

RTTS_MS = (20, 60, 120, 240)
FLOWS = tuple(f"rtt{rtt}" for rtt in RTTS_MS)
COLUMNS = ("reno", "cubic", *MODES)
LIMITS_KB = (97, 388)
"""Limits of the queue, kB: the scenario's, and four times that."""

ACKS: dict[str, Override] = {
    "each": False,
    "2, 40 ms": '{ every = 2, timeout = "40 ms" }',
    "2, 200 ms": '{ every = 2, timeout = "200 ms" }',
    "4, 500 ms": '{ every = 4, timeout = "500 ms" }',
}
"""ACK settings: each segment, or every n segments with a timeout; the default is ``DEFAULT_ACKS``."""

DEFAULT_ACKS = "2, 200 ms"
LATE = ("reno", "1", "6", "8")
"""Arms that are also run with other ACK settings."""

BEGIN_S, END_S = 15.0, 60.0
RATE_MBPS = 10.0
PAYLOAD_BYTES, PACKET_BYTES = 1440, 1500
QUEUE = "r1->r2"


def _changes(column: str) -> dict[str, Override]:
    if column.isdigit():
        return {"ngwa.mode": int(column)}
    return OFF | {"tcp.cc": column}


def arms(quick: bool) -> list[Arm]:
    """Return all arms with both queues, and some arms with other ACK settings."""
    columns = ("reno", "cubic", "1", "6") if quick else COLUMNS
    acks = ("each", "4, 500 ms") if quick else tuple(one for one in ACKS if one != DEFAULT_ACKS)
    late = ("reno", "6") if quick else LATE
    queues = [
        Arm((column, str(limit)), _changes(column) | {"topology.bottleneck.queue.limit": f"{limit} kB"})
        for limit in LIMITS_KB
        for column in columns
    ]
    return queues + [
        Arm((column, str(LIMITS_KB[0]), ack), _changes(column) | {"tcp.delayed_ack": ACKS[ack]})
        for ack in acks
        for column in late
    ]


def measure(run: Run) -> Numbers:
    """Measure goodput of each flow, fairness, loss, utilisation and queue."""
    at = Course(run).window(BEGIN_S, END_S)
    made = {flow: at.goodput(flow) for flow in FLOWS}
    return made | {
        "total": at.goodput(*FLOWS),
        "jain": at.jain(FLOWS),
        "loss": at.loss(*FLOWS),
        "used": at.used(QUEUE, RATE_MBPS),
        "waiting": at.waiting(QUEUE),
    }


UNITS = dict.fromkeys(FLOWS, "Mb/s") | {"total": "Mb/s", "jain": "", "loss": "%", "used": "%", "waiting": "kB"}


def theory(limit_kb: float, flow_factor: float = 0.98) -> list[float]:
    """Goodput of each flow if all have the window of flow division and nothing else limits them, Mb/s.

    A flow sends one window per round-trip time, which is the propagation delay plus the queueing delay. If windows fill
    the link, the queue has the length at which the rates add up to the link's rate.

    >>> [f"{rate:.2f}" for rate in theory(97)]
    ['5.10', '2.42', '1.35', '0.72']
    """
    segments = int(flow_factor * limit_kb * 1e3 / len(RTTS_MS) / PAYLOAD_BYTES)
    capacity = RATE_MBPS * PAYLOAD_BYTES / PACKET_BYTES

    def rates(queue_ms: float) -> list[float]:
        return [segments * PAYLOAD_BYTES * 8e-3 / (rtt + queue_ms) for rtt in RTTS_MS]

    low, high = 0.0, limit_kb * 8 / RATE_MBPS * 2
    if sum(rates(low)) <= capacity:
        return rates(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(rates(middle)) > capacity else (low, middle)
    return rates(high)


def section(results: Results) -> Section:
    """Return the tables, figures and conclusions."""
    columns = [one for one in COLUMNS if results.has((one, str(LIMITS_KB[0])))]
    return Section(
        conclusion(results),
        claims(results, columns),
        (*(_table(results, columns, limit) for limit in LIMITS_KB), _ack_table(results)),
        (_figure(results, columns), _ack_figure(results)),
    )


def farthest(results: Results, column: str, limit: int) -> float:
    """Largest difference of a mode's rates from `theory`, %."""
    pairs = zip(FLOWS, theory(limit), strict=True)
    return max(100 * abs(results.mean((column, str(limit)), flow) / rate - 1) for flow, rate in pairs)


def claims(results: Results, columns: Sequence[str]) -> tuple[Claim, ...]:
    """Evaluate what is expected of the mechanism, on means over the seeds."""
    dividing = [one for one in columns if one in ("5", "6", "7", "8")]
    short, long = (str(limit) for limit in LIMITS_KB)

    def jain(column: str, limit: str) -> float:
        return results.mean((column, limit), "jain")

    far = {limit: draw.most([farthest(results, one, limit) for one in dividing]) for limit in LIMITS_KB}
    base = {limit: max(jain("reno", limit), jain("cubic", limit)) for limit in (short, long)}
    least = {limit: min(jain(one, limit) for one in dividing) for limit in (short, long)}
    lost = max(results.mean((one, limit), "loss") for one in dividing for limit in (short, long))
    late = _late(results, "6")
    return (
        Claim(
            "With flow division a flow gets its window once a round trip, queue included (all rates within 10 %)",
            all(value <= 10 for value in far.values()),
            "; ".join(f"at most {value:.1f} % off with {limit} kB" for limit, value in far.items()),
        ),
        Claim(
            "So it is less unfair to long round trips than Reno and CUBIC (Jain's index), with either queue",
            all(least[limit] > base[limit] for limit in (short, long)),
            "; ".join(f"{least[one]:.2f} against {base[one]:.2f} at best with {one} kB" for one in (short, long)),
        ),
        Claim(
            "A longer queue makes it fairer, since all wait in it alike",
            least[long] > least[short],
            f"Jain's index {least[short]:.2f} with {short} kB, {least[long]:.2f} with {long} kB",
        ),
        Claim("It loses nothing with either queue", lost == 0, f"at most {draw.share(lost)}"),
        Claim(
            "Late ACKs change little in mode 6 (total goodput within 5 %)",
            draw.alike(late, 0.05),
            f"{draw.plain(draw.least(late))} to {draw.plain(draw.most(late))} Mb/s",
        ),
    )


def _late(results: Results, column: str, name: str = "total") -> list[float]:
    found = [results.mean(_ack_key(column, ack), name) for ack in ACKS]
    return [one for one in found if not math.isnan(one)]


def _span(values: Sequence[float]) -> float:
    """Difference between the largest and the smallest value, in % of the largest."""
    return 100 * (1 - min(values) / max(values)) if max(values) > 0 else 0.0


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    short, long = (str(limit) for limit in LIMITS_KB)

    def ratio(column: str, limit: str) -> float:
        return draw.times(results.mean((column, limit), FLOWS[0]), results.mean((column, limit), FLOWS[-1]))

    text = (
        f"Flow division gives all the same window, and so the flow of 20 ms {ratio('6', short):.1f} times the rate of "
        f"that of 240 ms (Reno {ratio('reno', short):.1f}, CUBIC {ratio('cubic', short):.1f} times), with four times "
        f"the queue {ratio('6', long):.1f} times (Reno {ratio('reno', long):.1f}, CUBIC {ratio('cubic', long):.1f}). "
        "Equal windows are equal rates only where round trips are equal."
    )
    free = results.mean(("1", short), "jain")
    parts = [text, f"By free bytes (mode 1) Jain's index is {free:.2f}, and flows lose {_loss(results, '1', short)}."]
    late = {column: (_late(results, column), _late(results, column, "jain")) for column in LATE}
    late = {column: found for column, found in late.items() if len(found[0]) > 1}
    if late:
        worst = max(late, key=lambda one: _span(late[one][0]))
        parts.append(
            f"How late ACKs come changes the goodput of all together by {_span(late[worst][0]):.1f} % at most "
            f"({TITLES[worst]}): windows here hold many segments, so that ACKs seldom wait for the timer. Where "
            "they fall below two segments they do; see “Flows that come and go”. What it changes is fairness: Jain's "
            "index is "
            + ", ".join(f"{min(jain):.2f} to {max(jain):.2f} ({TITLES[column]})" for column, (_, jain) in late.items())
            + "."
        )
    return tuple(parts)


def _loss(results: Results, column: str, limit: str) -> str:
    return draw.share(results.mean((column, limit), "loss"))


def _table(results: Results, columns: Sequence[str], limit: int) -> Table:
    names = (*FLOWS, "jain", "loss", "used", "waiting")
    rows = [
        (TITLES[column], *(draw.told(results.of((column, str(limit)), name)) for name in names)) for column in columns
    ]
    rows.append(("one window a round trip", *(draw.plain(rate) for rate in theory(limit)), "–", "–", "–", "–"))
    head = ("Arm", *(f"{rtt} ms, Mb/s" for rtt in RTTS_MS), "Jain", "Loss, %", "Use, %", "Queue, kB")
    return Table(f"Goodput by round-trip time, queue of {limit} kB", head, tuple(rows))


def _figure(results: Results, columns: Sequence[str]) -> Figure:
    panels = []
    for limit in LIMITS_KB:
        first = limit == LIMITS_KB[0]
        lines = []
        for i, column in enumerate(columns):
            x = [j + draw.beside(len(columns) + 1, i, 0.64) for j in range(len(FLOWS))]
            estimates = [results.of((column, str(limit)), flow) for flow in FLOWS]
            lines.append(draw.points(TITLES[column], x, estimates, LOOKS[column], in_legend=first))
        x = [j + draw.beside(len(columns) + 1, len(columns), 0.64) for j in range(len(FLOWS))]
        rates = np.array(theory(limit))
        lines.append(
            Line(
                "one window a round trip",
                np.array(x),
                rates,
                "#8A8F98",
                markers=True,
                symbol="diamond",
                in_legend=first,
            )
        )
        panels.append(Panel("Goodput (Mb/s)", tuple(lines), title=f"Queue of {limit} kB"))
    return Figure(
        "rtts",
        "Four flows with different round-trip times",
        "Goodput of each; means over the seeds with 95 % intervals. “One window a round trip”: the window of flow "
        "division over propagation and the queue that makes rates add up to the link's.",
        "Round-trip time without queue",
        tuple(panels),
        ticks=tuple(f"{rtt} ms" for rtt in RTTS_MS),
        panel_in=1.6,
        width_in=style.PAGE_IN,
    )


def _ack_keys(results: Results) -> tuple[list[str], list[str]]:
    limit = str(LIMITS_KB[0])
    columns = [one for one in LATE if results.has((one, limit, "each"))]
    acks = [ack for ack in ACKS if ack == DEFAULT_ACKS or results.has((columns[0], limit, ack))] if columns else []
    return columns, acks


def _ack_key(column: str, ack: str) -> tuple[str, ...]:
    limit = str(LIMITS_KB[0])
    return (column, limit) if ack == DEFAULT_ACKS else (column, limit, ack)


def _ack_table(results: Results) -> Table:
    columns, acks = _ack_keys(results)
    rows = tuple(
        (
            f"{TITLES[column]}: {_ack_words(ack)}",
            *(draw.told(results.of(_ack_key(column, ack), name)) for name in _ACK_NAMES),
        )
        for column in columns
        for ack in acks
    )
    return Table(
        "By how receivers acknowledge: each segment, or every so many segments and at the latest after so long",
        ("Arm", "Goodput, Mb/s", "Jain", "Loss, %", "Queue, kB"),
        rows,
    )


def _ack_words(ack: str) -> str:
    return "each at once" if ack == "each" else f"every {ack}"


_ACK_NAMES = ("total", "jain", "loss", "waiting")


def _ack_figure(results: Results) -> Figure:
    columns, acks = _ack_keys(results)
    panels = []
    for name, label in (("total", "Goodput (Mb/s)"), ("jain", "Jain's index"), ("loss", "Loss (%)")):
        lines = []
        for i, column in enumerate(columns):
            x = [j + draw.beside(len(columns), i, 0.4) for j in range(len(acks))]
            estimates = [results.of(_ack_key(column, ack), name) for ack in acks]
            lines.append(draw.points(TITLES[column], x, estimates, LOOKS[column], in_legend=name == "total"))
        panels.append(Panel(label, tuple(lines)))
    return Figure(
        "acks",
        "Delays of ACKs",
        "Four flows with different round-trip times, queue of 97 kB: all of them together, by how receivers "
        "acknowledge.",
        "How receivers acknowledge",
        tuple(panels),
        ticks=tuple(_ack_words(ack).replace(", ", ",\n") for ack in acks),
        panel_in=1.1,
        width_in=style.PAGE_IN,
    )


QUESTION = Question(
    paper=PAPER,
    key="rtts",
    title="Different round-trip times, and late ACKs",
    asks="(c) “.. so that there are different round trip times (RTTs) in routes. .. one need to check what would be "
    "the impact on NGWA performance due to ACK delays”",
    setting="Four flows over 10 Mb/s with round trips of 20, 60, 120 and 240 ms, a queue of 97 kB or four times that, "
    "for 60 s, measured from 15 s on; all end points know NGWA.",
    arms=arms,
    measure=measure,
    units=UNITS,
    section=section,
    seeds=8,
)
"""The question."""
