"""The papers' figure of age, and the queue at which a flow is held: by age, priority, and both printed formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from narrows.report import style
from narrows.report.charts import Figure, Line, Panel
from narrows_papers.acns.evaluation import FLOWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from narrows_papers.acns.evaluation import Evaluation

    Array = NDArray[np.float64]

FORMULAS: dict[str, str] = {
    "dcnet2013": "DCNET 2013: F = v_p p / p_max, T = v_a / a",
    "thesis2013": "Thesis, as printed: F = v_p p_max / p, T = v_a a",
}
"""Both sets of formulas, with titles."""

V_P, V_A, P_MAX, FREEZE = 0.8, 0.2, 63, 0.95
"""The papers' weights and threshold of freeze (th_A1), and the largest DSCP."""


def normalised(starts: Mapping[str, float], flow: str, times: Array) -> Array:
    """Return a flow's age over that of the oldest at each time (equation 1), NaN before its start.

    Parameters
    ----------
    starts : mapping of str to float
        When each flow began, s.
    flow : str
        Which flow.
    times : array
        Times, s.
    """
    oldest, own = times - min(starts.values()), times - starts[flow]
    found: Array = np.full(len(times), np.nan)
    np.divide(own, oldest, out=found, where=(own >= 0) & (oldest > 0))
    return found


def held_from(formula: str, age: float, dscp: int) -> float:
    """Return the occupancy of the queue from which a flow gets freeze, of 1; NaN if none gives it (W = A / (F + T)).

    >>> held_from("dcnet2013", 1.0, 0), round(held_from("dcnet2013", 1.0, 46), 3)
    (0.19, 0.745)
    >>> held_from("thesis2013", 1.0, 46)
    nan
    """
    if formula == "dcnet2013":
        harshness = V_P * dscp / P_MAX + (V_A / age if age > 0 else math.inf)
    else:
        harshness = (V_P * P_MAX / dscp if dscp else math.inf) + V_A * age
    occupancy = FREEZE * harshness
    return round(occupancy, 12) if occupancy <= 1 else math.nan


def of_evaluation(evaluation: Evaluation) -> list[Figure]:
    """The figure of age from the first run's flows, and the occupancy at which flows of the run's DSCPs are held."""
    run = evaluation.acns.runs[0]
    flows = {flow: run.flow(f"tcp{flow}") for flow in FLOWS}
    starts = {flow: made.start_s for flow, made in flows.items()}
    times = np.linspace(0, run.scenario.duration_s, 400)
    ages = Panel(
        "Normalised age",
        tuple(
            Line(f"TCP #{flow}", times, normalised(starts, flow, times), style.colour(int(flow) - 1)) for flow in FLOWS
        ),
        y_top=1.05,
    )
    dscps = {flow: next(one.dscp for one in run.scenario.resolved.flows if one.name == f"tcp{flow}") for flow in FLOWS}
    x = np.linspace(0.01, 1, 200)
    held = tuple(
        Panel(
            "Queue (share of its limit)",
            tuple(
                Line(
                    f"DSCP {dscp}",
                    x,
                    np.array([held_from(formula, float(age), dscp) for age in x]),
                    style.colour(i),
                    dash=i,
                    in_legend=formula == "dcnet2013",
                )
                for i, dscp in enumerate((*dscps.values(), P_MAX))
            ),
            title=title,
            y_top=1.0,
        )
        for formula, title in FORMULAS.items()
    )
    return [
        Figure(
            "age",
            "Age of the TCP flows (published as DCNET figure 1 and thesis figure 2)",
            "Each flow's age over that of the oldest, in the first run. A young flow's age rises towards 1 and never "
            "reaches it.",
            "Time (s)",
            (ages,),
            x_range=(0.0, run.scenario.duration_s),
        ),
        Figure(
            "held",
            "Queue from which a flow is held (freeze), by age and priority",
            "W = A / (F + T) reaches 0.95 at this occupancy A; no line where no queue is long enough. The papers' "
            "flows have DSCP 0, 26 and 46. By DCNET's formulas old flows of low priority are held first, as both "
            "papers intend. By the thesis's, as printed, none of the three can ever be held, however old it is and "
            "however full the queue. Routers then say nothing but “normal”: the reading thesis2013 gives to the packet "
            "what hosts with ACNS get where no router runs it.",
            "Normalised age",
            held,
            share_y=True,
            x_range=(0.0, 1.0),
        ),
    ]
