"""The paper's figures from our runs: cwnd over time, throughput, losses and fairness over buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows.stats import mean_ci
from narrows.studies.reproduction.result import Curve
from narrows_papers.agile_sd import fairness
from narrows_papers.agile_sd.arms import (
    ARMS,
    BY_NAME,
    ONE,
    PUBLISHED,
    SCENARIO_TITLES,
    SMALLEST,
    STAIRCASE,
    TOGETHER,
    per_in_words,
)
from narrows_papers.agile_sd.published import published

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from narrows.stats import Estimate
    from narrows_papers.agile_sd.arms import Arm
    from narrows_papers.agile_sd.data import Data, Runs

WIDE_IN = 5.2
"""Width of figures over buffers, inches."""

FIGURE: dict[str, str] = {ONE: "figure 11(a) to (c)", STAIRCASE: "figure 11(d) to (f)", TOGETHER: "figure 11(g) to (i)"}
"""Numbers of the paper's figures."""


def all_of(data: Data) -> list[Figure]:
    """Return all figures that these runs cover, in the order of the page."""
    made = [_windows(data, "windows", PUBLISHED, "published as figure 10")]
    yardsticks = tuple(arm for arm in ARMS if not arm.published and (SMALLEST, arm.name) in data.windows)
    if yardsticks:
        made.append(_windows(data, "windows-yardsticks", (BY_NAME["agile_sd"], *yardsticks), "yardsticks"))
    made += [_throughput(data.printed, scenario) for scenario in data.printed.scenarios]
    made += [_losses(data.printed), _intra(data.printed), _pairs(data.pairs)]
    if data.round_trips is not None:
        made.append(_round_trips(data.round_trips))
    if data.sack is not None:
        made.append(_with_sack(data.printed, data.sack))
    return made


def _windows(data: Data, name: str, arms: Sequence[Arm], what: str) -> Figure:
    buffers = sorted({buffer for buffer, _ in data.windows})
    panels = []
    for buffer in buffers:
        lines = [
            Line(arm.title, *data.windows[buffer, arm.name], arm.colour, dash=arm.dash)
            for arm in reversed(arms)
            if (buffer, arm.name) in data.windows
        ]
        panels.append(Panel("Packets", tuple(lines), title=f"Buffers of {buffer} packets", y_top=2400))
    return Figure(
        name,
        f"cwnd of one flow over time, by buffer ({what})",
        "One flow alone, no packet errors, first seed. 1500 packets fill the path; the buffer in front of it adds its "
        "own.",
        "Time (s)",
        tuple(panels),
        share_y=True,
        panel_in=0.95,
        x_range=(0.0, 100.0),
    )


def _throughput(runs: Runs, scenario: str) -> Figure:
    panels = [
        Panel(
            "Mb/s",
            _lines(runs, "utilisation", scenario, per, 10.0),
            title="no packet errors" if per == 0 else f"packet error rate {per_in_words(per)}",
        )
        for per in runs.pers
    ]
    return Figure(
        f"throughput-{scenario}",
        f"Average throughput over buffers: {SCENARIO_TITLES[scenario]} (published as {FIGURE[scenario]})",
        "What left the first router for the shared link of 1 Gb/s, over the whole run. Bands are 95 % intervals over "
        "seeds. Dashed: what the paper's figure does not have.",
        "Buffer (packets)",
        tuple(panels),
        ticks=_ticks(runs.buffers),
        width_in=WIDE_IN,
        share_y=True,
    )


def _lines(runs: Runs, what: str, scenario: str, per: float = 0.0, scale: float = 1.0) -> tuple[Line, ...]:
    """A line over buffers for each congestion control, with its interval."""
    x = np.arange(len(runs.buffers), dtype=np.float64)
    made = []
    for arm in (BY_NAME[name] for name in runs.arms):
        estimates = [runs.estimate(what, scenario, buffer, arm.name, per) for buffer in runs.buffers]
        mean, low, high = _ends(estimates, scale)
        made.append(Line(arm.title, x, mean, arm.colour, dash=arm.dash, low=low, high=high))
    return tuple(made)


def _ends(estimates: Sequence[Estimate], scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means with the ends of their intervals; without an interval, the ends equal the mean."""
    rows = []
    for one in estimates:
        half = one.half_width if np.isfinite(one.half_width) else 0.0
        rows.append((one.mean * scale, max(0.0, one.mean - half) * scale, (one.mean + half) * scale))
    mean, low, high = np.array(rows, dtype=np.float64).T
    return mean, low, high


def _ticks(buffers: Iterable[int]) -> tuple[str, ...]:
    return tuple(str(buffer) for buffer in buffers)


def _losses(runs: Runs) -> Figure:
    limit = published().the("loss_ratio", "all")
    panels = tuple(
        Panel(
            "Lost (%)",
            _lines(runs, "loss_ratio", scenario),
            title=SCENARIO_TITLES[scenario],
            rule=limit,
        )
        for scenario in runs.scenarios
    )
    return Figure(
        "losses",
        "Loss ratio over buffers, no packet errors (published as figure 12)",
        f"Data packets lost over data packets sent, all flows. Dotted: {limit:g} %, below which all published ratios "
        "are. Bands are 95 % intervals over seeds.",
        "Buffer (packets)",
        panels,
        ticks=_ticks(runs.buffers),
        width_in=WIDE_IN,
    )


def _intra(runs: Runs) -> Figure:
    panels = tuple(
        Panel(
            "Jain's index",
            _lines(runs, "shared_jain", scenario),
            title=SCENARIO_TITLES[scenario],
            y_from_zero=False,
        )
        for scenario in (STAIRCASE, TOGETHER)
        if scenario in runs.scenarios
    )
    return Figure(
        "intra-fairness",
        "Intra-fairness over buffers, no packet errors (published as figure 13)",
        "Jain's index of what flows of one congestion control get in each stretch of time with the same flows, as a "
        "mean over time. Bands are 95 % intervals over seeds.",
        "Buffer (packets)",
        panels,
        ticks=_ticks(runs.buffers),
        width_in=WIDE_IN,
    )


def _pairs(pairs: pd.DataFrame) -> Figure:
    told = published().pairs
    names = [*told, *(name for name in dict.fromkeys(pairs["pair"]) if name not in told)]
    lines = []
    buffers = fairness.buffers(pairs)
    for b, buffer in enumerate(buffers):
        x = np.arange(len(names), dtype=np.float64) + 0.14 * (b - (len(buffers) - 1) / 2)
        mean, low, high = _ends([fairness.index(pairs, name, buffer) for name in names])
        lines.append(
            Line(f"{buffer} packets", x, mean, style.colour(b), low=low, high=np.minimum(high, 1.0), markers=True)
        )
    x = np.arange(len(told), dtype=np.float64) - 0.14 * (len(buffers) + 1) / 2
    lines.append(
        Line("published", x, np.array(list(told.values())), style.PUBLISHED_COLOUR, markers=True, symbol="diamond")
    )
    ticks = tuple("\n".join(BY_NAME[word].title for word in name.split()) for name in names)
    return Figure(
        "inter-fairness",
        "Inter-fairness: a flow of each of two congestion controls (published as figure 15)",
        "Jain's index over both flows, from 0.5 (one has everything) to 1. Bars are 95 % intervals over seeds. The "
        "paper does not say which buffer its indices are of.",
        "",
        (Panel("Jain's index", tuple(lines), y_from_zero=False),),
        ticks=ticks,
        width_in=style.PAGE_IN,
        panel_in=2.4,
    )


def _round_trips(runs: pd.DataFrame) -> Figure:
    buffers = sorted(int(buffer) for buffer in runs["buffer"].unique())
    x = np.arange(len(buffers), dtype=np.float64)
    lines = []
    for arm in ARMS:
        rows = runs[runs["arm"] == arm.name]
        mean, low, high = _ends([mean_ci(rows[rows["buffer"] == buffer]["jain"]) for buffer in buffers])
        lines.append(Line(arm.title, x, mean, arm.colour, dash=arm.dash, low=low, high=np.minimum(high, 1.0)))
    return Figure(
        "rtt-fairness",
        "RTT-fairness over buffers (published as figure 14)",
        "Jain's index over four flows of 12, 24, 36 and 48 ms that start together. Bands are 95 % intervals over "
        "seeds.",
        "Buffer (packets)",
        (Panel("Jain's index", tuple(lines)),),
        ticks=_ticks(buffers),
        width_in=WIDE_IN,
        panel_in=2.0,
    )


def _with_sack(printed: Runs, sack: Runs) -> Figure:
    """Throughput with and without SACK, without packet errors."""
    x = np.arange(len(sack.buffers), dtype=np.float64)
    panels = []
    for scenario in sack.scenarios:
        lines = []
        for name in sack.arms:
            arm = BY_NAME[name]
            for runs, dash, end in ((printed, 0, ""), (sack, 1, ", SACK")):
                values = np.array([10 * runs.mean("utilisation", scenario, buffer, name) for buffer in sack.buffers])
                lines.append(Line(arm.title + end, x, values, arm.colour, dash=dash))
        panels.append(Panel("Mb/s", tuple(lines), title=SCENARIO_TITLES[scenario]))
    return Figure(
        "with-sack",
        "Average throughput without SACK, as printed, and with it",
        "No packet errors. Solid: as the paper's table has it, SACK and FACK disabled. Dashed: with SACK and the "
        "recovery of ns-2's TCP/Linux, one seed.",
        "Buffer (packets)",
        tuple(panels),
        ticks=_ticks(sack.buffers),
        width_in=WIDE_IN,
        share_y=True,
    )


def for_terminal(data: Data) -> tuple[Curve, ...]:
    """Congestion windows with the smallest buffer, as curves for the terminal."""
    lines = tuple(
        (arm.title, *data.windows[SMALLEST, arm.name]) for arm in PUBLISHED if (SMALLEST, arm.name) in data.windows
    )
    return (Curve(f"cwnd with buffers of {SMALLEST} packets", "packets", lines),)
