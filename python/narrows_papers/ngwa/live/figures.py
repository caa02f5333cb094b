"""The paper's figures 8 and 9 from live runs on this machine, with the simulated ones next to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows_papers.ngwa import linux
from narrows_papers.ngwa.live import plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows_papers.ngwa.linux import Setting, Transfers

WIDE_IN = 5.2
"""Width of figures with many categories, inches."""

LIVE_COLOUR = style.OKABE_ITO[1]
SIMULATED_COLOUR = style.OKABE_ITO[0]
"""Colours of live and simulated results."""

CAPTION = (
    "Payload delivered; bars are 95 % intervals by batch means over 30 batches. The published rates are in a figure "
    "that is lost."
)


def draw(worlds: Mapping[str, Transfers]) -> list[Figure]:
    """Rates of one flow and of two flows, by `live` and `simulated`."""
    ticks = tuple(method.title.replace("NGWA ", "").replace(", ", "\n") for method in linux.METHODS)
    return [
        Figure(
            "live-one",
            "One flow on this Linux, and simulated (published as figure 8)",
            CAPTION,
            "",
            tuple(_panel(worlds, setting) for setting in linux.ONE),
            ticks=ticks,
            width_in=WIDE_IN,
            panel_in=1.2,
        ),
        Figure(
            "live-two",
            "Two flows on this Linux, and simulated, 100 Mb/s (published as figure 9)",
            CAPTION,
            "",
            tuple(_panel(worlds, setting) for setting in linux.TWO),
            ticks=ticks,
            width_in=WIDE_IN,
        ),
    ]


def _panel(worlds: Mapping[str, Transfers], setting: Setting) -> Panel:
    first = setting in (linux.ONE[0], linux.TWO[0])
    lines = []
    for w, (world, transfers) in enumerate(worlds.items()):
        for flow in range(setting.flows):
            name = world if setting.flows == 1 else f"{world}, flow {flow + 1}"
            offset = 0.24 * (w - 0.5) + 0.12 * (flow - (setting.flows - 1) / 2)
            lines.append(_marks(transfers, setting, flow, name, offset, in_legend=first))
    return Panel("Rate (MB/s)", tuple(lines), title=setting.title)


def _marks(transfers: Transfers, setting: Setting, flow: int, name: str, offset: float, *, in_legend: bool) -> Line:
    made = linux.of(transfers, plan.WINDOW, setting)
    estimates = [made[method.name].rates[flow].estimate for method in linux.METHODS]
    mean = np.array([one.mean for one in estimates]) * 1e-6
    half = np.array([one.half_width if np.isfinite(one.half_width) else 0.0 for one in estimates]) * 1e-6
    return Line(
        name,
        np.arange(len(linux.METHODS), dtype=np.float64) + offset,
        mean,
        LIVE_COLOUR if name.startswith("live") else SIMULATED_COLOUR,
        low=mean - half,
        high=mean + half,
        markers=True,
        symbol=("circle", "diamond")[flow],
        in_legend=in_legend,
    )
