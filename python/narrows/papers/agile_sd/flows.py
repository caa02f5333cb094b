"""Any number of flows in the second and third scenario; the files in ``experiments`` have four."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
    blocks = []
    for number, (start, stop) in enumerate(times(flows, duration_s), 1):
        lines = [_flow(number)]
        if start:
            lines.append(f'start = "{start} ms"\n')
        if stop < 1000 * duration_s:
            lines.append(f'stop = "{stop} ms"\n')
        blocks.append("".join(lines))
    return _with_flows(text, flows, blocks)


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
    return _with_flows(text, flows, [_flow(number) for number in range(1, flows + 1)])


TEXTS: dict[str, Callable[[int, str], str]] = {"staircase": staircase, "together": together}
"""Functions that convert the files of these scenarios from four flows to another number."""


def _flow(number: int) -> str:
    return f'[[flows]]\nname = "flow{number}"\nfrom = "s{number}"\nto = "d{number}"\n'


def _with_flows(text: str, flows: int, blocks: list[str]) -> str:
    head = text[: text.index("[[flows]]")]
    return re.sub(r"(?m)^pairs = \d+$", f"pairs = {flows}", head) + "\n".join(blocks)
