"""The axes of a sweep as the forecast sees them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from narrows.execution.forecast import Scale

if TYPE_CHECKING:
    from narrows.studies.sweep.axis import Axis
    from narrows.studies.sweep.plan import Sweep


def scales(sweep: Sweep) -> list[Scale]:
    """Return the axes of a sweep, with their numbers.

    Parameters
    ----------
    sweep : Sweep

    Returns
    -------
    list of Scale
    """
    return [Scale(len(axis), _numbers(axis)) for axis in sweep.axes]


def _numbers(axis: Axis) -> tuple[float, ...] | None:
    """Return an axis's values, if all are numbers or begin with one."""
    found = []
    for value in axis.values:
        label = next(iter(value.labels.values()))
        match = re.match(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)", str(label))
        if match is None or isinstance(label, bool):
            return None
        found.append(float(match[1]))
    return tuple(found)
