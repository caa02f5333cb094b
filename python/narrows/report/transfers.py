"""The figures of transfers: completion times as a distribution, and slow-downs by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.metrics.transfers import nearest_rank
from narrows.report import style
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from narrows.outcome.transfers import Transfers

#: Fewest transfers that a group of sizes has.
LEAST_IN_GROUP: Final = 10

#: Most groups of sizes.
MOST_GROUPS: Final = 12


def figures(transfers: Transfers) -> list[Figure]:
    """Return the figures of transfers.

    Parameters
    ----------
    transfers : Transfers
        Of one run or several.

    Returns
    -------
    list of Figure
        Empty without finished transfers.
    """
    frame = transfers.frame()
    frame = frame[frame["fct_s"].notna()]
    if frame.empty:
        return []
    names = [name for name in transfers.names if (frame["name"] == name).any()]
    made = [_completion(frame, names)]
    slowed = _slowdown(frame[frame["slowdown"].notna()], names)
    return made if slowed is None else [*made, slowed]


def _completion(frame: pd.DataFrame, names: list[str]) -> Figure:
    lines = []
    for index, name in enumerate(names):
        times = np.sort(frame.loc[frame["name"] == name, "fct_s"].to_numpy(dtype=np.float64)) * 1000
        share = np.arange(1, len(times) + 1) / len(times)
        lines.append(Line(name, times, share, style.colour(index), dash=index // len(style.OKABE_ITO), step=True))
    return Figure(
        name="completion-times",
        title="Completion times",
        caption="Share of the finished transfers that took at most this long. Transfers under way at the end of the "
        "run are not in it.",
        x_label="Completion time (ms)",
        panels=(Panel("Share of transfers", tuple(lines)),),
        x_log=True,
    )


def _groups(size: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Split sorted sizes into groups: by size if there are few sizes, else into groups of equal number."""
    different, first = np.unique(size, return_index=True)
    if len(different) <= MOST_GROUPS:
        return [piece for piece in np.split(np.arange(len(size)), first[1:]) if len(piece) >= LEAST_IN_GROUP]
    return list(np.array_split(np.arange(len(size)), min(MOST_GROUPS, len(size) // LEAST_IN_GROUP) or 1))


def _slowdown(frame: pd.DataFrame, names: list[str]) -> Figure | None:
    """Return the median and the 99th percentile of slow-downs over groups of sizes with as many transfers each."""
    medians: list[Line] = []
    tails: list[Line] = []
    for index, name in enumerate(names):
        part = frame[frame["name"] == name].sort_values("size_bytes", kind="stable")
        size, slow = part["size_bytes"].to_numpy(dtype=np.float64), part["slowdown"].to_numpy(dtype=np.float64)
        pieces = _groups(size)
        if len(pieces) < 2:
            continue
        x = np.array([np.exp(np.mean(np.log(size[piece]))) for piece in pieces]) / 1000
        colour, dash = style.colour(index), index // len(style.OKABE_ITO)
        for lines, percent in ((medians, 50), (tails, 99)):
            y = np.array([nearest_rank(np.sort(slow[piece]), percent) or np.nan for piece in pieces])
            lines.append(Line(name, x, y, colour, dash=dash, in_legend=lines is medians))
    if not medians:
        return None
    return Figure(
        name="slow-downs",
        title="Slow-down by size",
        caption="Completion time over the least one on an empty path (without slow start), for groups of transfers of "
        "like size: their median, and their 99th percentile. Each group has at least "
        f"{LEAST_IN_GROUP} transfers; with fewer than 100 the percentile is their largest value.",
        x_label="Size (kB)",
        panels=(Panel("Slow-down", tuple(medians), "Median"), Panel("Slow-down", tuple(tails), "99th percentile")),
        x_log=True,
    )
