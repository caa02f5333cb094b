"""The verdict in sentences: what changed most, and how many differences are more than chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.base.format import number
from narrows.studies.comparison.values import ALL
from narrows.studies.contrast import shown
from narrows.studies.contrast.metrics import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from narrows.studies.contrast.contrast import Contrast, Row
    from narrows.studies.contrast.differences import Difference

MOST: Final = 3
"""Metrics that a verdict names at most."""

CORRECTION: Final = (
    "A * marks differences that remain after the correction for the number of metrics (Benjamini and Hochberg 1995): "
    "of all marks, 5 % at most are expected to be chance."
)


def verdict(made: Contrast, index: int) -> list[str]:
    """Say what distinguishes a further result from the baseline.

    Parameters
    ----------
    made : Contrast
    index : int
        Place of the further result, from 0.

    Returns
    -------
    list of str
        Sentences.
    """
    how, arm = made.against[index], made.arms[index + 1]
    who = f"{arm.label} against {made.baseline.label}"
    if how.method == "same":
        return [f"{arm.label} gives the same as {made.baseline.label}, to the bit."]
    if how.method == "none":
        largest = _largest(made, index, lambda row: row.differences[index].difference.mean != 0)
        told = f"{who}: {'; '.join(largest)}." if largest else f"{who}: none of the chief metrics differs."
        return [told, f"No intervals: {how.reason}."]
    tested = [row for row in made.rows if not math.isnan(row.differences[index].p_adjusted)]
    marked = sum(row.differences[index].survives for row in tested)
    kind = "paired by seed" if how.method == "paired" else f"Welch's: {how.reason}"
    counted = f"{marked} of {len(tested)} metrics differ by more than chance (intervals {kind})."
    largest = _largest(made, index, lambda row: row.differences[index].survives)
    if largest:
        return [f"{who}: {'; '.join(largest)}.", counted]
    return [f"{who}: no chief metric differs by more than chance.", counted]


def _largest(made: Contrast, index: int, wanted: Callable[[Row], bool]) -> list[str]:
    """Return the headline metrics that changed most, each at the object where it did."""
    found: dict[str, tuple[float, Row]] = {}
    for row in shown.rows(made, every=False)[0]:
        key = row.measure.key
        if key not in shown.HEADLINE or not wanted(row):
            continue
        size = shown.change(row, index)
        if size and (key not in found or size > found[key][0]):
            found[key] = size, row
    ranked = sorted(found.values(), key=lambda one: -one[0])
    return [told(row, index) for _, row in ranked[:MOST]]


def told(row: Row, index: int) -> str:
    """Write a change in words: metric, object, both means, and the difference in per cent with half of its interval.

    Parameters
    ----------
    row : Row
    index : int
        Place of the further result, from 0.

    Returns
    -------
    str
    """
    scale, unit = row.measure.scale, row.measure.unit
    before, after = row.estimates[0].mean * scale, row.estimates[index + 1].mean * scale
    text = f"{row.measure.title} of {named(row)} {number(before)} → {number(after)} {unit}".rstrip()
    share = percent(row.differences[index])
    return f"{text} ({share} %)" if share else text


def percent(one: Difference) -> str:
    """Write a difference in per cent with its sign and half of its interval.

    Parameters
    ----------
    one : Difference

    Returns
    -------
    str
        Empty if there is none.
    """
    share = one.percent
    if math.isnan(share.mean):
        return ""
    digits = 0 if abs(share.mean) >= 10 else 1 if abs(share.mean) >= 0.1 or not share.mean else 2
    spread = "" if math.isnan(share.half_width) else f" ±{share.half_width:,.{digits}f}"
    mean = f"{share.mean:+,.{digits}f}"
    return f"{mean if mean.strip('+-0.') else mean[1:]}{spread}" if share.mean else f"0{spread}"


def named(row: Row) -> str:
    """Name the object of a row, with its kind where the name alone does not tell.

    Parameters
    ----------
    row : Row

    Returns
    -------
    str
    """
    if row.name == ALL or row.kind in ("flow", "queue"):
        return row.name
    return f"{KINDS[row.kind]} {row.name}"


def multiple(made: Contrast) -> str:
    """Say what intervals and marks mean over so many metrics.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    str
        Empty if nothing was tested.
    """
    if not made.tests:
        return ""
    chance = round(0.05 * made.tests)
    many = (
        f" {made.tests} differences were tested, so about {chance} would lie beyond their intervals if nothing "
        "differed."
        if chance > 1
        else ""
    )
    return f"± is half of the 95 % interval of one value or difference.{many} {CORRECTION}"
