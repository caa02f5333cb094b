"""The paper's figures from our runs: windows over time, rates of flows, triple duplicate ACKs and losses, Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows.studies.reproduction.result import Curve
from narrows_papers.frame import panels as panel
from narrows_papers.ngwa import linux
from narrows_papers.ngwa.arms import ARMS, BY_NAME, FLOWS
from narrows_papers.ngwa.window import MARKS, STAGES, formula

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.stats import Estimate
    from narrows.studies.reproduction.result import Cell
    from narrows_papers.ngwa.linux import Setting, Transfer, Transfers
    from narrows_papers.ngwa.rounds import Rounds
    from narrows_papers.ngwa.window import Array, Window

WIDE_IN = 5.2
"""Width of figures with many categories, inches."""

PANELS: dict[str, tuple[str, ...]] = {
    "NewReno": ("newreno",),
    "NGWA with congestion window": ("mode5", "mode6"),
    "NGWA without congestion window": ("mode7", "mode8"),
}
"""Arms in the figure of windows, panel by panel; the curves of a panel's two modes nearly coincide."""


def of_windows(windows: Mapping[str, Window]) -> Figure:
    """The transmission window over time, as the paper's figure 3."""
    steps = [(0.0, 1), *((mark, number) for mark, number in zip(MARKS, (2, 3, 4, 2), strict=True))]
    x = np.array([begin for begin, _ in steps] + [180.0])
    y = np.array([formula(number) * 1e-3 for _, number in steps])
    rule = Line(
        "0.98 · queue / flows, at most W_max", x, np.append(y, y[-1]), style.PUBLISHED_COLOUR, dash=2, step=True
    )
    panels = []
    for p, (title, arms) in enumerate(PANELS.items()):
        lines = [
            Line(BY_NAME[arm].title, windows[arm].time_s, windows[arm].value * 1e-3, style.colour(c), dash=c)
            for c, arm in enumerate(arms)
        ]
        if p:
            lines = [
                Line(line.name, line.x, line.y, style.colour(2 * p - 1 + c), dash=c) for c, line in enumerate(lines)
            ]
            lines.insert(0, Line(**{**rule.__dict__, "in_legend": p == 1}))
        panels.append(Panel("Window (kB)", tuple(lines), title=title))
    return Figure(
        "window",
        "Transmission window over time (published as figure 3)",
        "min(cwnd, rwnd) of the flow that is there throughout. Dotted upright lines: a flow joins at 15, 30 and 45 s, "
        "two leave at 120 s.",
        "Time (s)",
        tuple(panels),
        marks=tuple((mark, "") for mark in MARKS),
        share_y=True,
        panel_in=1.3,
        x_range=(0.0, STAGES["two-again"][2]),
    )


def _ends(estimates: Sequence[Estimate], scale: float) -> tuple[Array, Array, Array]:
    """Means with the ends of their intervals; without an interval, the ends equal the mean."""
    rows = []
    for one in estimates:
        half = one.half_width if np.isfinite(one.half_width) else 0.0
        rows.append((one.mean * scale, (one.mean - half) * scale, (one.mean + half) * scale))
    mean, low, high = np.array(rows, dtype=np.float64).T
    return mean, low, high


def of_rates(arms: Mapping[str, Rounds]) -> list[Figure]:
    """Rates of the flows with intervals by batch means, as the paper's figures 4 and 5."""
    order = [arm.name for arm in ARMS]
    return [
        _rates(arms, "rates", order[:6], "Rates of the four flows (published as figure 4)"),
        _rates(arms, "rates-divided", order[6:], "Rates of the four flows, modes 5 to 8 (published as figure 5)"),
    ]


def _rates(arms: Mapping[str, Rounds], name: str, order: Sequence[str], title: str) -> Figure:
    x = np.arange(len(order), dtype=np.float64)
    lines = []
    for f, flow in enumerate(FLOWS):
        mean, low, high = _ends([arms[arm].rates[flow].estimate for arm in order], 1e-3)
        lines.append(
            Line(f"flow {flow}", x + 0.14 * (f - 1.5), mean, style.colour(f), low=low, high=high, markers=True)
        )
    mean, low, high = _ends([arms[arm].rates["total"].estimate for arm in order], 1e-3)
    total = Line("all flows", x, mean, style.PUBLISHED_COLOUR, low=low, high=high, markers=True, symbol="square")
    return Figure(
        name,
        title,
        "IP bytes that arrived, kilobytes per second, in the first round; bars are 95 % intervals by batch means over "
        "30 batches. Below, all four together.",
        "",
        (Panel("Per flow (kB/s)", tuple(lines)), Panel("All flows (kB/s)", (total,))),
        ticks=tuple(_tick(arm) for arm in order),
        width_in=WIDE_IN,
        panel_in=1.4,
    )


def _tick(arm: str) -> str:
    return BY_NAME[arm].title.replace("NGWA ", "")


def of_counts(cells: Sequence[Cell]) -> Figure:
    """Triple duplicate ACKs and losses, published and measured, as the paper's figure 6 and table 2."""
    by_name = {cell.name: cell for cell in cells}
    quantities = (("triples", "Triple duplicate ACKs"), ("lost", "Lost packets"))
    panels = [
        panel.beside(label, [by_name[f"{quantity}/{arm.name}"] for arm in ARMS], in_legend=place == 0)
        for place, (quantity, label) in enumerate(quantities)
    ]
    return Figure(
        "counts",
        "Triple duplicate ACKs and lost packets (published as figure 6 and table 2)",
        "Sums over the four flows in ten minutes, means over the rounds; duplicate ACKs each from the third on. For "
        "those of standard TCP and NewReno the paper prints no number.",
        "",
        tuple(panels),
        ticks=tuple(_tick(arm.name) for arm in ARMS),
        width_in=WIDE_IN,
        panel_in=1.4,
    )


def of_linux(transfers: Transfers, window: str) -> list[Figure]:
    """Rates of the Linux section with one window, as the paper's figures 8 and 9."""
    title = linux.WINDOW_TITLES[window]
    end = "" if window == "64kB" else f"-{window}"
    ticks = tuple(method.title.replace("NGWA ", "").replace(", ", "\n") for method in linux.METHODS)
    one = [
        Panel(
            f"{rate} Mb/s link (MB/s)",
            tuple(
                _marks(transfers, window, setting, 0, f"{setting.packets} packets", 0.2 * s - 0.1, s)
                for s, setting in enumerate(linux.ONE[2 * r : 2 * r + 2])
            ),
        )
        for r, rate in enumerate((10, 100))
    ]
    two = [
        Panel(
            f"{setting.packets} packets (MB/s)",
            tuple(_marks(transfers, window, setting, f, f"flow {f + 1}", 0.2 * f - 0.1, f) for f in range(2)),
        )
        for setting in linux.TWO
    ]
    caption = f"Payload delivered, with a window of {title}; bars are 95 % intervals by batch means over 30 batches."
    return [
        Figure(
            f"linux-one{end}",
            f"One flow on Linux's settings, window of {title} (published as figure 8)",
            caption,
            "",
            tuple(one),
            ticks=ticks,
            width_in=WIDE_IN,
        ),
        Figure(
            f"linux-two{end}",
            f"Two flows on Linux's settings, 100 Mb/s, window of {title} (published as figure 9)",
            caption,
            "",
            tuple(two),
            ticks=ticks,
            width_in=WIDE_IN,
        ),
    ]


def _marks(
    transfers: Transfers, window: str, setting: Setting, flow: int, name: str, offset: float, colour: int
) -> Line:
    made: Mapping[str, Transfer] = linux.of(transfers, window, setting)
    mean, low, high = _ends([made[method.name].rates[flow].estimate for method in linux.METHODS], 1e-6)
    x = np.arange(len(linux.METHODS), dtype=np.float64) + offset
    return Line(name, x, mean, style.colour(colour), low=low, high=high, markers=True)


def for_terminal(windows: Mapping[str, Window]) -> tuple[Curve, ...]:
    """Windows of NewReno and of two modes over time, as curves for the terminal."""
    shown = ("newreno", "mode5", "mode7")
    lines = tuple((BY_NAME[arm].title, windows[arm].time_s, windows[arm].value * 1e-3) for arm in shown)
    return (Curve("Transmission window", "kB", lines),)
