"""A comparison as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.studies.comparison.comparison import Comparison


def comparison(value: Comparison) -> str:
    """Represent two outcomes of one scenario: both, and their differences, flow by flow.

    Parameters
    ----------
    value : Comparison

    Returns
    -------
    str
        HTML.
    """
    from narrows.report import render

    return render.part(
        "notebook-comparison.html.j2",
        title=value.scenario.title,
        duration=f"{value.scenario.duration_s:g}",
        arms=[{"label": arm.label, "runs": len(arm.outcome.runs)} for arm in value.arms],
        doubts=value.doubts,
        subjects=[*value.flows, *([] if value.together is None else [value.together]), *value.telling_queues],
    )
