"""The tables of a contest's page: standings and pairs, as numbers with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.studies.contest import text
from narrows.studies.contest.measures import MEASURES

if TYPE_CHECKING:
    from narrows.stats import Estimate
    from narrows.studies.contest.plan import Order
    from narrows.studies.contest.result import Contest, Place
    from narrows.studies.contest.standing import Standing


@dataclass(frozen=True, slots=True)
class Shown:
    """A number in a table: mean, half of its interval, and sort key."""

    value: str
    spread: str
    sort: float


def shown(estimate: Estimate, key: str) -> Shown:
    """Format an estimate of a measure, with the same number of digits in the whole column.

    Parameters
    ----------
    estimate : Estimate
    key : str
        Key of the measure.

    Returns
    -------
    Shown

    Examples
    --------
    >>> from narrows.stats import mean_ci
    >>> one = shown(mean_ci([0.1, 0.2, 0.3]), "share")
    >>> one.value, one.spread
    ('20.0', '24.8')
    """
    if estimate.n == 0 or math.isnan(estimate.mean):
        return Shown("–", "", -math.inf)
    measure = MEASURES[key]
    factor = 100 if measure.percent else 1
    mean = estimate.mean * factor
    value = f"{mean:.{measure.digits}f}"
    value = value.lstrip("-") if float(value) == 0 else value.replace("-", "−")
    spread = f"{estimate.half_width * factor:.{measure.digits}f}" if estimate.n > 1 and estimate.sd > 0 else ""
    return Shown(value, spread, mean)


_STANDING: Final = (
    ("share", "Share"),
    ("harm", "Harm done"),
    ("harm", "Harm suffered"),
    ("jain", "Jain"),
    ("total_mbps", "Total"),
    ("utilisation", "Utilisation"),
    ("rtt_inflation", "RTT inflation"),
    ("loss_ratio", "Loss"),
)
"""Measure and title of each column of the standings."""


def standing(one: Standing) -> dict[str, Any]:
    """Return a row of the standings, for the template.

    Parameters
    ----------
    one : Standing

    Returns
    -------
    dict
        The label, and the cells.
    """
    return {
        "label": one.label,
        "cells": [
            shown(one.share, "share"),
            shown(one.harm_done, "harm"),
            shown(one.harm_suffered, "harm"),
            shown(one.jain, "jain"),
            shown(one.total_mbps, "total_mbps"),
            shown(one.utilisation, "utilisation"),
            shown(one.rtt_inflation, "rtt_inflation"),
            shown(one.loss_ratio, "loss_ratio"),
        ],
    }


_PAIR: Final[tuple[tuple[str, Place], ...]] = (
    ("tpp_mbps", "first"),
    ("tpp_mbps", "second"),
    ("share", "first"),
    ("harm", "first"),
    ("harm", "second"),
    ("rtt_inflation", "first"),
    ("rtt_inflation", "second"),
    ("loss_ratio", "first"),
    ("loss_ratio", "second"),
    ("jain", "first"),
)
"""Columns of the table of pairs."""


def pair(contest: Contest, first: str, second: str, order: Order) -> dict[str, Any]:
    """Return a row of the table of pairs, for the template.

    Parameters
    ----------
    contest : Contest
    first, second : str
        Labels of the contestants in the first and the second slot.
    order : Order
        Starting order.

    Returns
    -------
    dict
        Labels, cells, and what the pair does in words.
    """
    equilibrium = contest.estimate("equilibrium_s", first, second, "first", order)
    some = 0 < equilibrium.n < contest.plan.runs
    return {
        "first": first,
        "second": second,
        "cells": [shown(contest.estimate(key, first, second, place, order), key) for key, place in _PAIR],
        "behaviour": text.behaviour(contest, first, second, order),
        "equilibrium": shown(equilibrium, "equilibrium_s"),
        "reached": f"in {equilibrium.n} of {contest.plan.runs}" if some else "",
    }


def standing_rows(contest: Contest) -> tuple[list[tuple[str, str]], list[tuple[str, list[Shown]]]]:
    """Return the standings as the page shows them: title and unit of each column, and a row for each contestant.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    tuple of list
    """
    heads = [(title, "%" if MEASURES[key].percent else MEASURES[key].unit) for key, title in _STANDING]
    return heads, [(one.label, standing(one)["cells"]) for one in contest.standings()]


def pair_rows(contest: Contest) -> tuple[list[tuple[str, str]], list[tuple[str, list[Shown]]]]:
    """Return every pair as the page shows it: title and unit of each column, and a row for each pair.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    tuple of list
    """
    heads = []
    for key, place in _PAIR:
        one = MEASURES[key]
        of = f", {place}" if one.of == "flow" else ""
        heads.append((f"{one.title}{of}", "%" if one.percent else one.unit))
    order = contest.plan.orders[0]
    rows = [
        (f"{a}, {b}", [shown(contest.estimate(key, a, b, place, order), key) for key, place in _PAIR])
        for a in contest.plan.labels
        for b in contest.plan.labels
    ]
    return heads, rows
