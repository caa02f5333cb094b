"""What routers and senders decide over time in one run: commands, the ruling command, the trend, verdicts on losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.model.scenario import Scenario
from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows.runs.simulated import run
from narrows_papers.acns.evaluation import FLOWS, folder
from narrows_papers.acns.figures import COMMAND_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from narrows.outcome import Run

    Array = NDArray[np.float64]

ROUTER = "P2"
"""The router in front of the receiving last mile, which all flows pass."""

THRESHOLDS: tuple[float, float] = (1.8413, 2.1587)
"""th_L1 and th_L2: trends between which a loss means fallback; below, the channel; above, the base variant's answer."""

VERDICTS: dict[str, str] = {
    "acns_losses_frozen": "channel: cwnd stays",
    "acns_losses_fallen_back": "congestion coming: fallback",
    "acns_losses_decreased": "congestion: the base variant's answer",
}
"""Senders' verdicts on losses, by variable, with titles."""


def made() -> Run:
    """Run the papers' network once, with the state of senders every 100 ms."""
    scenario = Scenario.from_file(folder() / "scenario.toml")
    return run(scenario.with_overrides({"sampling": '{ interval = "100 ms", state = true }'}))


def verdicts(found: Run) -> dict[str, Array]:
    """Losses so far by verdict, all TCP flows together, at each sample; the times are under ``time_s``."""
    parts = {flow: found.samples.state.wide(f"tcp{flow}") for flow in FLOWS}
    times = next(iter(parts.values())).index
    made: dict[str, Array] = {"time_s": times.to_numpy(float)}
    for name in VERDICTS:
        rows = [part[_column(part.columns, name)].reindex(times).ffill().fillna(0) for part in parts.values()]
        made[name] = np.sum([row.to_numpy(float) for row in rows], axis=0)
    return made


def _column(columns: Iterable[str], name: str) -> str:
    """Return the column of an ACNS variable; its prefix is the base variant's name."""
    (found,) = (one for one in columns if one.endswith(f".{name}"))
    return found


def figure(found: Run) -> Figure:
    """Draw a run's decisions."""
    routers = found.samples.frame("router")
    here = routers[routers["name"].astype(str) == ROUTER]
    flows = tuple(
        Line(
            title,
            here["time_s"].to_numpy(float),
            here[f"flows_{command}"].to_numpy(float),
            style.COMMAND_COLOURS[command],
        )
        for command, title in reversed(COMMAND_NAMES.items())
    )

    def of(variable: str, *, step: bool, in_legend: bool) -> tuple[Line, ...]:
        lines = []
        for flow in FLOWS:
            state = found.samples.state.wide(f"tcp{flow}")
            values = state[_column(state.columns, variable)]
            lines.append(
                Line(
                    f"TCP #{flow}",
                    state.index.to_numpy(float),
                    values.where(values > 0).to_numpy(float),
                    style.colour(int(flow) - 1),
                    step=step,
                    in_legend=in_legend,
                )
            )
        return tuple(lines)

    losses = verdicts(found)
    span = (0.0, found.scenario.duration_s)
    limits = tuple(
        Line(f"th_L{i}", np.array(span), np.full(2, level), style.PUBLISHED_COLOUR, dash=i)
        for i, level in enumerate(THRESHOLDS, start=1)
    )
    judged = tuple(
        Line(title, losses["time_s"], losses[name], style.colour(3 + i), dash=i)
        for i, (name, title) in enumerate(VERDICTS.items())
    )
    return Figure(
        "decisions",
        "Commands, ruling command, trend and verdicts over time",
        f"One run. From above: flows at router {ROUTER} by the command that they would get; the command that rules "
        "each sender (1 normal, 2 freeze, 3 fallback), which another router of its path may have given; the trend of "
        "its last ten commands, with both thresholds; losses so far by the verdict that the trend gave.",
        "Time (s)",
        (
            Panel("Flows", flows, stacked=True),
            Panel("Command", of("acns_command", step=True, in_legend=True), y_top=3.2),
            Panel("Trend", (*of("acns_trend", step=False, in_legend=False), *limits), y_top=3.2),
            Panel("Losses", judged),
        ),
        panel_in=1.2,
        x_range=span,
    )
