"""Which rows of an evaluation can be run on this machine's own TCP stack, and why others cannot."""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from narrows.base.errors import LiveError
from narrows.runs import live

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.evaluate.plan import Arm, Row

NOT_LIVE: Final = "not evaluated live"
"""Begin of the reason of a row that cannot be run live."""


def world() -> str:
    """Return what makes live runs, in words.

    Returns
    -------
    str
        ``live, kernel X``.
    """
    return f"live, kernel {platform.release()}"


def rows(planned: Sequence[Row]) -> tuple[Row, ...]:
    """Give rows live arms; those that cannot be run live are not applicable and say why.

    Parameters
    ----------
    planned : sequence of Row

    Returns
    -------
    tuple of Row

    Raises
    ------
    LiveError
        If no row can be run live, with the reason of the first.
    """
    where = f"live on {platform.release()} {platform.machine()}"
    refused: dict[str, LiveError | None] = {}
    made = []
    for row in planned:
        why = row.inapplicable or (f"{NOT_LIVE}: {row.network.no_live}" if row.network.no_live else "")
        for arm in () if why else row.arms:
            if arm.identity not in refused:
                refused[arm.identity] = _refusal(arm)
            if not why and (error := refused[arm.identity]) is not None:
                why = f"{NOT_LIVE}: {in_a_line(error).partition('; allowed:')[0]}"
        arms = [None if arm is None else replace(arm, world=where) for arm in (row.cubic, row.alone)]
        made.append(replace(row, test=replace(row.test, world=where), cubic=arms[0], alone=arms[1], inapplicable=why))
    errors = [error for error in refused.values() if error is not None]
    if errors and all(row.inapplicable for row in made):
        raise errors[0]
    return tuple(made)


def _refusal(arm: Arm) -> LiveError | None:
    try:
        live.check(arm.scenario)
    except LiveError as error:
        return error
    return None


def in_a_line(error: Exception) -> str:
    """Return the text of an error without line breaks.

    Parameters
    ----------
    error : Exception

    Returns
    -------
    str
    """
    return "; ".join(line.strip() for line in str(error).splitlines())
