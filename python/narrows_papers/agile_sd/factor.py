"""The agility factor at work: the paper's figures 4 to 6 from runs of the algorithm, and the worked example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows.runs.simulated import Task, run_all
from narrows_papers.agile_sd.arms import scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from narrows.model.scenario import Override
    from narrows.outcome import Run

    Array = NDArray[np.float64]

FACTORS: tuple[int, ...] = (1, 2, 3, 4)
"""Values of lambda_max: 1 grows as the standard TCP does, 3 is the default, 4 is the paper's example."""

DEFAULT = 3

OVERRIDES: dict[str, Override] = {
    "topology.bottleneck.rate": "100 Mb/s",
    "duration": "8 s",
    "start_jitter": "0 s",
    "sampling": '{ interval = "1 ms", state = true }',
}
"""The paper's network with one flow, ten times as slow, so that single round trips can be seen."""

SETTLED_S = 3.0
"""Time after which the drawn epoch begins, s."""

MSS_BYTES = 960
"""Payload of a segment in the scenario."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A flow's window and the algorithm's state in one run.

    Attributes
    ----------
    time_s : array
        Times of the samples.
    cwnd, loss, degraded : array
        cwnd; cwnd just before the last reduction (W_lastmax), and just after it: in segments.
    factor : array
        The agility factor lambda, segments per RTT.
    avoids : array of bool
        Whether the flow is in congestion avoidance, outside loss recovery.
    """

    time_s: Array
    cwnd: Array
    loss: Array
    degraded: Array
    factor: Array
    avoids: NDArray[np.bool_]

    @property
    def gap(self) -> Array:
        """Distance of cwnd from W_lastmax, at least 0 (gap_current, equation 3), in segments."""
        return np.maximum(self.loss - self.cwnd, 0)

    def epoch(self) -> slice:
        """Samples of an epoch: from the end of a loss recovery until cwnd has regained W_lastmax, or to the next loss.

        It is the first after `SETTLED_S`, when the losses of slow start are over.
        """
        cut = (np.diff(self.cwnd) < 0) & (self.time_s[1:] > SETTLED_S)
        reduction = int(np.flatnonzero(cut)[0]) + 1
        begin = reduction + int(np.argmax(self.avoids[reduction:]))
        falls = np.append(np.diff(self.cwnd[begin:]) < 0, True)
        return slice(begin, begin + int(np.argmax(falls | (self.gap[begin:] == 0))) + 1)


def epoch_ms(factor_max: float, gap: int, rtt_ms: float) -> float:
    """Return the time in which cwnd regains `gap` segments (equation 6): the sum of RTT / lambda over the cycles.

    >>> [round(epoch_ms(factor, 4, 20.0), 1) for factor in FACTORS]
    [80.0, 63.3, 48.9, 41.7]
    """
    return sum(rtt_ms / max(factor_max * (gap - cycle) / gap, 1.0) for cycle in range(gap))


def trace(run: Run) -> Trace:
    """Read a run's only flow."""
    (flow,) = run.flows
    state = run.samples.state.wide(flow.name)
    frame = run.samples.frame("flow").set_index("time_s").loc[state.index]
    return Trace(
        state.index.to_numpy(float),
        frame["cwnd_bytes"].to_numpy(float) / MSS_BYTES,
        state["agile_sd.cwnd_loss"].to_numpy(float) / MSS_BYTES,
        state["agile_sd.cwnd_degraded"].to_numpy(float) / MSS_BYTES,
        state["agile_sd.lambda"].to_numpy(float),
        (state["tcp.phase"] == 0).to_numpy(bool),
    )


def traces() -> dict[int, Trace]:
    """Run the algorithm with each lambda_max."""
    base = scenario("one-flow").with_overrides(OVERRIDES)
    tasks = [Task(base.with_overrides({"tcp.cc_params": f"{{ lambda_max = {factor} }}"}), 1) for factor in FACTORS]
    return {factor: trace(run) for factor, run in zip(FACTORS, run_all(tasks), strict=True)}


def figures(found: dict[int, Trace]) -> list[Figure]:
    """The paper's figures 4 to 6, and lambda, gap and W_lastmax over time."""
    return [_epochs(found), _factors(found), _course(found[DEFAULT])]


def _epochs(found: dict[int, Trace]) -> Figure:
    def lines(of: str) -> tuple[Line, ...]:
        made = []
        for i, (factor, one) in enumerate(found.items()):
            part = one.epoch()
            since = 1e3 * (one.time_s[part] - one.time_s[part][0])
            y = one.factor[part] if of == "factor" else _regained(one)[part]
            made.append(
                Line(
                    f"λ_max {factor}", since, y, style.colour(i), dash=i, in_legend=of != "factor", step=of == "factor"
                )
            )
        return tuple(made)

    return Figure(
        "factor-epochs",
        "One epoch: from a loss to the window before it (published as figures 4 and 5)",
        "One flow, 100 Mb/s, in congestion avoidance. Above: how much of the lost window is regained; "
        "below: the agility factor, which begins at λ_max and falls to 1. λ_max of 1 grows as the standard TCP does.",
        "Time since the loss (ms)",
        (Panel("Regained (of 1)", lines("regained"), y_top=1.05), Panel("λ (segments per RTT)", lines("factor"))),
        panel_in=1.4,
    )


def _regained(one: Trace) -> Array:
    return np.clip((one.cwnd - one.degraded) / np.maximum(one.loss - one.degraded, 1e-9), 0, 1)


def _factors(found: dict[int, Trace]) -> Figure:
    lines = []
    for i, (factor, one) in enumerate(found.items()):
        part = one.epoch()
        lines.append(Line(f"λ_max {factor}", _regained(one)[part], one.factor[part], style.colour(i), dash=i))
    return Figure(
        "factor-gap",
        "The agility factor by distance from the last maximum (published as figure 6)",
        "The same epochs: λ falls in a line with the gap, and is never below 1.",
        "Regained of the lost window (of 1)",
        (Panel("λ (segments per RTT)", tuple(lines)),),
        x_range=(0.0, 1.0),
    )


def _course(one: Trace) -> Figure:
    known = one.loss > 0

    def after(values: Array) -> Array:
        return np.where(known, values, np.nan)

    windows = (
        Line("cwnd", one.time_s, one.cwnd, style.colour(0)),
        Line("W_lastmax", one.time_s, after(one.loss), style.colour(1), dash=1),
    )
    return Figure(
        "factor-course",
        "cwnd, W_lastmax, gap and λ over time",
        f"One flow, 100 Mb/s, λ_max {DEFAULT}. W_lastmax is cwnd just before the last reduction, gap what is missing "
        "to it; λ is that of the last ACK in congestion avoidance.",
        "Time (s)",
        (
            Panel("Segments", windows),
            Panel("Gap (segments)", (Line("gap", one.time_s, after(one.gap), style.colour(2)),)),
            Panel("λ", (Line("λ", one.time_s, after(one.factor), style.colour(3)),)),
        ),
        panel_in=1.2,
    )


def context(found: dict[int, Trace]) -> dict[str, Any]:
    """Return what the page shows of epochs, by lambda_max: the paper's worked example, and the epochs drawn."""
    rows = []
    for factor, one in found.items():
        times = one.time_s[one.epoch()]
        rows.append((str(factor), f"{epoch_ms(factor, 4, 20.0):.1f}", f"{1e3 * (times[-1] - times[0]):.0f}"))
    one = found[DEFAULT]
    part = one.epoch()
    return {"epochs": rows, "epoch_gap": f"{one.loss[part][0] - one.degraded[part][0]:.1f}"}
