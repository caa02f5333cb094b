"""A survey as Markdown: tables per network, inserted into a page that people write."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base import bundled
from narrows.outcome.conditions import table as conditions_table
from narrows.report import markdown, style
from narrows.studies.comparison.survey import RTT_WITHIN, SIMULATED_RUNS, SMALL_QUEUE, THROUGHPUT_WITHIN, YARDSTICK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from narrows.stats import Estimate
    from narrows.studies.comparison.comparison import Compared, Subject
    from narrows.studies.comparison.gauge import Gauge
    from narrows.studies.comparison.measures import Measure
    from narrows.studies.comparison.survey import Cell, Survey

BEGIN: Final = "<!-- made by `narrows validate --against live`: from here -->"
END: Final = "<!-- made by `narrows validate --against live`: to here -->"
"""Marker lines around the survey in a page; the rest of the page is not changed."""

_PLACE: Final = markdown.Place(BEGIN, END, "Simulated beside live")

HEADS: Final = (
    "cc",
    "throughput, Mb/s: simulated",
    "live",
    "difference",
    "RTT, ms: simulated",
    "live",
    "difference",
    "mean cwnd, kB: simulated",
    "live",
    "lost: simulated",
    "live",
    "runs",
)
_GAUGE_HEADS: Final = (
    "configured, Mb/s",
    "simulated",
    "live",
    "live against configured",
    "lateness, µs: mean",
    "p99",
    "runs",
)
_DOUBTED: Final = "**not to be trusted**"


def check(target: str | PathLike[str]) -> None:
    """Reject a page without a place for a survey, before the survey runs.

    Parameters
    ----------
    target : path
        A page; if it exists, it must have the lines `BEGIN` and `END`.

    Raises
    ------
    InputError
        If there is no such place, or the page cannot be read.
    """
    _PLACE.around(Path(target))


def write(survey: Survey, target: str | PathLike[str]) -> Path:
    """Write a survey into a page, between its lines `BEGIN` and `END`; create the page if it does not exist.

    Parameters
    ----------
    survey : Survey
    target : path

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        As `check`.
    OSError
        If the page cannot be written.
    """
    return _PLACE.write(target, text(survey))


def text(survey: Survey) -> str:
    """Format a survey.

    Parameters
    ----------
    survey : Survey

    Returns
    -------
    str
        Markdown, with headings from the third level on.
    """
    done = [cell for cell in survey.cells if cell.failure is None]
    live = sorted({cell.live_runs for cell in done})
    runs = " or ".join(map(str, live))
    parts = [
        f"Made on {survey.date} with Narrows {survey.version} on Linux {survey.kernel} ({survey.machine}) by"
        f" `narrows validate --against live{' --quick' if survey.quick else ''}`: {runs} live"
        f" run{'' if live == [1] else 's'} of each cell, one after the other, beside {SIMULATED_RUNS} simulated ones"
        f' with `stack = "linux"`.{" A first look: short runs." if survey.quick else ""}',
        " ".join(filter(None, (_headline(survey), _small_queue(survey)))),
        "Differences are live against simulated, in per cent of simulated; ± is half of the 95 % interval"
        " (Welch), where live runs are two or more. Throughput counts IP bytes that arrived, from the flow's start to"
        " the end of the run; RTT is the mean of what the sender measured (live, of what the conditions name as its"
        " source); losses are data packets that the network dropped, in a run.",
    ]
    parts += _gauges(survey.gauges)
    for name in dict.fromkeys(cell.network for cell in survey.cells):
        cells = [cell for cell in survey.cells if cell.network == name]
        folder = "pairs/" if (bundled.directory("validation/live/pairs") / f"{name}.toml").is_file() else ""
        file = f"`validation/live/{folder}{name}.toml`"
        parts += [f"### {cells[0].title}", file, markdown.table(HEADS, _rows(cells))]
    parts += _remarks(survey)
    told = [one for gauge in survey.gauges for one in gauge.conditions]
    rows = conditions_table([*told, *(one for cell in survey.cells for one in cell.conditions)])
    if rows:
        parts += [
            "### Conditions of the live runs",
            "Where runs differ, from the smallest to the largest value.",
            markdown.table(("", ""), [[name, value] for name, value in rows]),
        ]
    return "\n\n".join(parts) + "\n"


def _headline(survey: Survey) -> str:
    asked = [cell for cell in survey.cells if cell.asked and cell.flows]
    told = "; ".join(
        f"{cell.cc} {_percent(cell.percent(0, 'throughput_mbps'))} and {_percent(cell.percent(0, 'rtt_mean_ms'))}"
        for cell in asked
    )
    doubted = len([cell for cell in survey.cells if cell.doubts])
    trust = f" {doubted} of {len(survey.cells)} cells have runs that are not to be trusted." if doubted else ""
    if not asked:
        return f"The yardstick ({' and '.join(YARDSTICK[1])} on `{YARDSTICK[0]}`) was not run.{trust}"
    verdict = "**missed** by " + ", ".join(cell.cc for cell in survey.missed) if survey.missed else "reached"
    return (
        f"The yardstick is that on `{YARDSTICK[0]}` simulated {' and '.join(YARDSTICK[1])} are within"
        f" {THROUGHPUT_WITHIN:g} % of live in mean throughput and {RTT_WITHIN:g} % in mean RTT: {verdict}"
        f" ({told}).{trust}"
    )


def _small_queue(survey: Survey) -> str:
    """Compare two throughputs where the queue is small, simulated and live; empty unless both controls were run."""
    network, one, other = SMALL_QUEUE
    cells = [survey.cell(network, cc) for cc in (one, other)]
    rates = [None if cell is None else cell.flows[0].of("throughput_mbps") for cell in cells]
    if rates[0] is None or rates[1] is None or not (rates[1].first.mean > 0 and rates[1].second.mean > 0):
        return ""
    ours = 100 * (rates[0].first.mean / rates[1].first.mean - 1)
    live = 100 * (rates[0].second.mean / rates[1].second.mean - 1)
    same = "the same direction" if (ours > 0) == (live > 0) else "**not** the same direction"
    told = f"simulated {_percent(ours)} and live {_percent(live)}: {same}"
    return f"Throughput of {one} against that of {other} on `{network}`, where the queue is small: {told}."


def _gauges(gauges: Sequence[Gauge]) -> list[str]:
    """The live network's own rates and idle round-trip time; empty if not measured."""
    rows, idle = [], ""
    for one in gauges:
        simulated = style.number(one.simulated, 4)
        spread = (
            f" ± {style.number(one.live.half_width)}"
            if one.live.n > 1 and one.live.half_width > 1e-6 * one.live.mean
            else ""
        )
        rate = style.number(one.live.mean if one.live.n else None, 4) + spread
        mark = _DOUBTED if one.doubts else ("" if one.within else "**off**")
        mark = mark if one.failure is None else "**not held**"
        if one.configured is None:
            told = "" if one.off is None else f", {_hundredths(one.off)} ms"
            idle = (
                f"A round trip that meets no queue (`validation/live/gauge/{one.network}.toml`): simulated"
                f" {simulated} ms, live {rate} ms{told}. {mark}".rstrip()
            )
            continue
        late = (one.lateness_us("mean_us"), one.lateness_us("p99_us"))
        off = style.number(None) if one.off is None else f"{_hundredths(one.off)} %"
        rows.append([style.number(one.configured), simulated, rate, off, *map(style.number, late), mark])
    if not rows and not idle:
        return []
    told = (
        "What the bottleneck sent while its queue held packets, IP bytes per second after the first two seconds, one"
        " CUBIC flow, as the network computes it; and how late packets were relative to it, in the worst run."
    )
    return ["### The live network itself", told, markdown.table(_GAUGE_HEADS, rows), *filter(None, [idle])]


def _hundredths(value: float) -> str:
    """A difference with two decimals and its sign; no sign if it rounds to zero."""
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", "−")


def _rows(cells: Iterable[Cell]) -> list[list[str]]:
    rows = []
    for cell in cells:
        if cell.failure is not None:
            rows.append([cell.cc, *[style.number(None)] * (len(HEADS) - 2), "could not be run"])
            continue
        mark = _DOUBTED if cell.doubts else ""
        for flow in cell.flows:
            name = cell.cc if len(cell.flows) == 1 else f"{cell.cc}, {flow.name}"
            rows.append([name, *_values(flow), mark])
    return rows


def _values(flow: Subject) -> list[str]:
    rate, rtt, cwnd, lost = (
        flow.of(key) for key in ("throughput_mbps", "rtt_mean_ms", "cwnd_mean_bytes", "lost_packets")
    )
    return [*_both(rate), _difference(rate), *_both(rtt), _difference(rtt), *_both(cwnd), *_both(lost)]


def _both(one: Compared | None) -> list[str]:
    if one is None:
        return [style.number(None)] * 2
    return [_mean(estimate, one.measure) for estimate in (one.first, one.second)]


def _mean(estimate: Estimate, measure: Measure) -> str:
    if not estimate.n:
        return style.number(None)
    return style.count(round(estimate.mean, 1)) if measure.is_count else style.number(estimate.mean * measure.scale)


def _difference(one: Compared | None) -> str:
    if one is None or math.isnan(one.difference.percent.mean):
        return style.number(None)
    percent = one.difference.percent
    spread = f" ± {percent.half_width:.1f}" if percent.half_width > 0 else ""
    return f"{style.signed(percent.mean)}{spread} %"


def _percent(value: float | None) -> str:
    return style.number(None) if value is None else f"{style.signed(value)} %"


def _remarks(survey: Survey) -> list[str]:
    """Reasons not to trust cells, and why cells could not be run; a line each."""
    doubted = [f"{one.network}: {doubt}" for one in survey.gauges for doubt in one.doubts]
    doubted += [f"{cell.cc} on {cell.network}: {doubt}" for cell in survey.cells for doubt in cell.doubts]
    failed = [f"{one.network}: {one.failure}" for one in survey.gauges if one.failure is not None]
    failed += [f"{cell.cc} on {cell.network}: {cell.failure}" for cell in survey.failed]
    parts = []
    for title, lines in (("Runs that are not to be trusted", doubted), ("What could not be run", failed)):
        if lines:
            parts += [f"### {title}", "\n".join(f"- {line}" for line in lines)]
    return parts
