"""What a sweep's page shows first: measures over an x axis, with lines and small multiples for further axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.studies.sweep.effects import Effects
    from narrows.studies.sweep.measured import Measured

MEASURES: Final = ("throughput_mbps", "loss_ratio", "rtt_mean_ms", "jain")
"""Measures that are shown first if the data set has them; others are added if fewer than three of these are there."""

MOST_SERIES: Final = 12
"""Largest number of values of an axis with a line for each value."""

MOST_FACETS: Final = 24
"""Largest number of values of an axis with a chart for each value."""

MOST_HEAT: Final = 60
"""Largest number of values of an axis of the heat map."""

_FEW: Final = 6
"""Largest number of lines, and of charts, that the page begins with: as many lines as there are colours."""

NONE: Final = "none"
"""Stands for no axis."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user asks for; ``None`` leaves the choice to `choose`.

    Attributes
    ----------
    measures : tuple of str
    x, series, facet : str or None
        Columns of axes; ``none`` for no lines or no small multiples.
    """

    measures: tuple[str, ...] = ()
    x: str | None = None
    series: str | None = None
    facet: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What the page shows first.

    Attributes
    ----------
    measures : tuple of str
    x, series, facet : str or None
        Columns of axes: along the charts, a line for each value, a chart for each value.
    heat : tuple of str or None
        Columns of the heat map's columns and rows.
    """

    measures: tuple[str, ...]
    x: str | None
    series: str | None
    facet: str | None
    heat: tuple[str, str] | None


def first_measures(made: Measured) -> tuple[str, ...]:
    """Return the measures that are shown unless others are asked for: at most four.

    Parameters
    ----------
    made : Measured

    Returns
    -------
    tuple of str
    """
    there: list[str] = [name for name in MEASURES if name in made.measures]
    if len(there) < 3:
        rest = [name for name in made.varying if name not in there]
        there += rest[: len(MEASURES) - len(there)] if there else rest[: len(MEASURES)]
    return tuple(there or list(made.measures)[: len(MEASURES)])


def choose(made: Measured, found: Mapping[str, Effects], wanted: Wanted) -> View:
    """Choose what the page shows first.

    The x axis is the numeric axis with the largest effect on the measures, or else the axis with the largest effect;
    lines and small multiples are the axes with the next effects that have few values.

    Parameters
    ----------
    made : Measured
    found : mapping
        Effects by measure; all that are shown.
    wanted : Wanted

    Returns
    -------
    View

    Raises
    ------
    InputError
        If a measure or an axis does not exist, has too many values for its place, or has two places.
    """
    for name in wanted.measures:
        if name not in made.measures:
            message = f"--measure: {name!r} is no measure of this sweep; allowed: {', '.join(made.measures) or 'none'}"
            raise InputError(message)
    measures = wanted.measures or first_measures(made)
    weight = {
        column.name: sum(one.share for name in measures for one in found[name].axes if column.name in one.columns)
        for column in made.columns
    }
    ranked = sorted((c for c in made.columns if len(c.levels) > 1), key=lambda column: -weight[column.name])
    ranked = ranked or list(made.columns)
    _check(made, wanted)
    taken = {name for name in (wanted.x, wanted.series, wanted.facet) if name is not None}
    used = {column.axis for column in made.columns if column.name in taken}
    free = [column for column in ranked if column.axis not in used]
    numeric = [column for column in free if column.numeric and len(column.levels) > 2]
    x = wanted.x or next((column.name for column in [*numeric, *free]), None)
    free = [column for column in free if not _together(made, column.name, x) and len(column.levels) > 1]
    series = _placed(wanted.series, [c.name for c in free if len(c.levels) <= _FEW])
    facet = _placed(
        wanted.facet,
        [c.name for c in free if not _together(made, c.name, series) and len(c.levels) <= _FEW] if series else [],
    )
    others = [column for column in ranked if not _together(made, column.name, x)]
    rows = next((column.name for column in others if len(column.levels) <= MOST_HEAT), None)
    return View(tuple(measures), x, series, facet, None if x is None or rows is None else (x, rows))


def _together(made: Measured, one: str, other: str | None) -> bool:
    """Whether two columns are of one axis, so that drawing both says nothing more."""
    return other is not None and made.column(one).axis == made.column(other).axis


def _placed(wanted: str | None, free: list[str]) -> str | None:
    if wanted == NONE:
        return None
    return wanted or next(iter(free), None)


def _check(made: Measured, wanted: Wanted) -> None:
    """Refuse axes that do not exist, do not fit, or have two places."""
    known = [column.name for column in made.columns]
    places = (("--x", wanted.x, None), ("--series", wanted.series, MOST_SERIES), ("--facet", wanted.facet, MOST_FACETS))
    used: dict[str, str] = {}
    for option, name, most in places:
        if name is None or (most is not None and name == NONE):
            continue
        if name not in known:
            also = "" if most is None else ", none"
            message = f"{option}: {name!r} is no axis of this sweep; allowed: {', '.join(known) or 'nothing'}{also}"
            raise InputError(message)
        levels = len(made.column(name).levels)
        if most is not None and levels > most:
            message = f"{option}: {name} has {levels:,} values; allowed: an axis with at most {most}, or none"
            raise InputError(message)
        if name in used:
            message = f"{option}: {name} is given for {used[name]} too; allowed: different axes"
            raise InputError(message)
        used[name] = option
