"""Time series for figures, from the columns of samples: rates of counters, and means over runs with a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

#: Share of the runs inside the band around a mean.
BAND = 0.95


@dataclass(frozen=True)
class Series:
    """A value over time. With several runs: the mean, and between `low` and `high` the middle 95 % of the runs."""

    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


def counter_rate(time_s: Array, total_bytes: Array, edges: Array) -> Array:
    """Mean rate in each bin, in Mb/s, of a cumulative counter of bytes.

    Between samples the counter is assumed to grow linearly; before the first sample it is zero and after the last it
    stays constant. Bins that end before the first sample or begin after the last have no value.

    Parameters
    ----------
    time_s, total_bytes : array
        Times in order, and the counter at each.
    edges : array
        Edges of the bins, s.

    Returns
    -------
    array
        One value per bin, NaN for bins without one.

    Examples
    --------
    >>> counter_rate(np.array([0.0, 1.0, 2.0]), np.array([0.0, 125000.0, 375000.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    if time_s.size == 0:
        return np.full(edges.size - 1, np.nan)
    at = np.interp(edges, time_s, total_bytes)
    rate = np.diff(at) * 8e-6 / np.diff(edges)
    rate[(edges[1:] <= time_s[0]) | (edges[:-1] >= time_s[-1])] = np.nan
    return np.asarray(rate, dtype=np.float64)


def bin_means(time_s: Array, values: Array, edges: Array) -> Array:
    """Mean of the samples in each bin (including its first edge, not its last); NaN without samples.

    Examples
    --------
    >>> bin_means(np.array([0.1, 0.2, 1.5]), np.array([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 2.0, 3.0])).tolist()
    [2.0, 5.0, nan]
    """
    ok = np.isfinite(values)
    place = np.searchsorted(edges, time_s[ok], side="right") - 1
    inside = (place >= 0) & (place < edges.size - 1)
    total = np.bincount(place[inside], weights=values[ok][inside], minlength=edges.size - 1)
    number = np.bincount(place[inside], minlength=edges.size - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(number > 0, total / number, np.nan), dtype=np.float64)


def bins(duration_s: float, width_s: float) -> Array:
    """Edges of bins of `width_s` from zero that cover `duration_s`; a remainder shorter than a bin is left out.

    Examples
    --------
    >>> bins(3.0, 1.0).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    ends = np.arange(0, int(duration_s / width_s + 1e-9) + 1) * width_s
    # Samples are at whole nanoseconds, but 3 * 0.1 exceeds 0.3: unrounded, a sample at 0.3 s falls into the bin before.
    return np.asarray(np.round(ends, 9), dtype=np.float64)


def bin_width(duration_s: float) -> float:
    """Width of bins for a run of this length: about 120 bins, from a series of round numbers; 1 s for two minutes.

    Examples
    --------
    >>> bin_width(118.0), bin_width(20.0), bin_width(3600.0)
    (1.0, 0.2, 30.0)
    """
    wanted = duration_s / 120
    rounds = [base * 10.0**power for power in range(-6, 6) for base in (1, 2, 5)] + [15.0, 30.0]
    return min(sorted(rounds), key=lambda width: abs(np.log(width / wanted)))


def over_runs(rows: list[Array], x: Array) -> Series:
    """Combine one row per run into a series: mean and band for several runs, or the row of a single run itself."""
    if len(rows) == 1:
        return Series(x, rows[0])
    stack = np.vstack(rows)
    some = np.isfinite(stack).any(axis=0)
    y, low, high = (np.full(x.size, np.nan) for _ in range(3))
    if not some.any():
        return Series(x, y, low, high)
    y[some] = np.nanmean(stack[:, some], axis=0)
    tail = (1 - BAND) / 2
    low[some], high[some] = np.nanquantile(stack[:, some], [tail, 1 - tail], axis=0)
    return Series(x, y, low, high)


def by_name(frame: pd.DataFrame) -> dict[str, list[pd.DataFrame]]:
    """Split the rows of each flow, queue or router by run, in order of time."""
    out: dict[str, list[pd.DataFrame]] = {}
    for (name, _), rows in frame.groupby(["name", "run"], observed=True, sort=True):
        out.setdefault(str(name), []).append(rows.sort_values("time_s", kind="stable"))
    return out


def rate_series(parts: list[pd.DataFrame], column: str, edges: Array) -> Series:
    """Rate in Mb/s of a counter of bytes, per bin, over the runs."""
    centres = (edges[:-1] + edges[1:]) / 2
    return over_runs([counter_rate(_column(p, "time_s"), _column(p, column), edges) for p in parts], centres)


def mean_series(parts: list[pd.DataFrame], column: str, edges: Array, scale: float = 1.0) -> Series:
    """Mean of a gauge per bin, times `scale`, over the runs."""
    centres = (edges[:-1] + edges[1:]) / 2
    return over_runs([bin_means(_column(p, "time_s"), _column(p, column) * scale, edges) for p in parts], centres)


def count_series(parts: list[pd.DataFrame], column: str, edges: Array) -> Series:
    """A counter over time, at the end of each bin, over the runs."""
    rows = []
    for part in parts:
        time, value = _column(part, "time_s"), _column(part, column)
        at = np.interp(edges[1:], time, value, left=0.0) if time.size else np.full(edges.size - 1, np.nan)
        rows.append(np.asarray(at, dtype=np.float64))
    return over_runs(rows, edges[1:])


def rtt_column(frame: pd.DataFrame) -> str:
    """Name the column of round-trip times: the sender's samples, or smoothed ones if the kernel reports no samples."""
    return "rtt_ns" if frame["rtt_ns"].notna().any() else "srtt_ns"


def raw_series(part: pd.DataFrame, column: str, scale: float = 1.0) -> Series:
    """Samples of one run unchanged, times `scale`."""
    return Series(_column(part, "time_s"), _column(part, column) * scale)


def _column(frame: pd.DataFrame, name: str) -> Array:
    return np.asarray(frame[name].to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
