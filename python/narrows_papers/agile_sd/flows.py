"""Any number of flows in the second and third scenario; the files in ``experiments`` have four."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomlkit

if TYPE_CHECKING:
    from collections.abc import Callable

FLOWS = 4
"""Number of flows in the published scenarios; it was in figures that are lost."""

DURATION_S = 100.0
"""Simulated time, s, as published."""


def times(flows: int, duration_s: float = DURATION_S) -> list[tuple[int, int]]:
    """Start and stop times of flows, one after another: a staircase up and down in equal steps.

    Parameters
    ----------
    flows : int
    duration_s : float
        Duration of the run, s.

    Returns
    -------
    list of (int, int)
        Start and stop of each flow, ms. The first flow to start is the first to stop.

    Examples
    --------
    >>> times(2, 3.0)
    [(0, 2000), (1000, 3000)]
    """
    step = 1000 * duration_s / (2 * flows - 1)
    return [(round(i * step), round((i + flows) * step)) for i in range(flows)]


def staircase(flows: int, text: str, duration_s: float = DURATION_S) -> str:
    """Return the second scenario with another number of flows.

    Parameters
    ----------
    flows : int
    text : str
        The file with four flows.
    duration_s : float
        Time over which the steps are spread, s.

    Returns
    -------
    str
    """
    tables = []
    for number, (start, stop) in enumerate(times(flows, duration_s), 1):
        table = _flow(number)
        if start:
            table["start"] = f"{start} ms"
        if stop < 1000 * duration_s:
            table["stop"] = f"{stop} ms"
        tables.append(table)
    return _with_flows(text, tables)


def together(flows: int, text: str) -> str:
    """Return the third scenario with another number of flows.

    Parameters
    ----------
    flows : int
    text : str
        The file with four flows.

    Returns
    -------
    str
    """
    return _with_flows(text, [_flow(number) for number in range(1, flows + 1)])


TEXTS: dict[str, Callable[[int, str], str]] = {"staircase": staircase, "together": together}
"""Functions that convert the files of these scenarios from four flows to another number."""


def _flow(number: int) -> dict[str, str]:
    return {"name": f"flow{number}", "from": f"s{number}", "to": f"d{number}"}


def _with_flows(text: str, flows: list[dict[str, str]]) -> str:
    """Replace the flows of a file, and the number of pairs; all else stays as it is written."""
    document = tomlkit.parse(text)
    document["topology"]["pairs"] = len(flows)
    tables = tomlkit.aot()
    for flow in flows:
        tables.append(tomlkit.item(flow))
    document["flows"] = tables
    return tomlkit.dumps(document)
