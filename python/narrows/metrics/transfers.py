"""Metrics of transfers: completion times and slow-downs by size, and what video players did.

A transfer's completion time runs from its beginning (the SYN, or the request) to the arrival of its last byte at the
application. Its slow-down is that time over the least one on an empty path: handshake, propagation, and the packets at
the rate of each link, without slow start. See ``docs/metrics.md``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.metrics.formulas import NS_PER_S, ratio
from narrows.metrics.row import MetricsRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

CLASSES: Final = (100_000, 10_000_000)
"""Upper bounds of size classes, bytes, the last class without one: small, medium and large as in Alizadeh et al. 2013
(pFabric, section 5)."""

PERCENTILES: Final = (50, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferMetrics(MetricsRow):
    """Metrics of the transfers of one size class, of a workload or of a flow's requests. In a mean over runs, of runs.

    Attributes
    ----------
    name : str
        The workload or flow, and the class: ``web all``, ``web up to 100 kB``, ``web above 10 MB``.
    begun : int
        Transfers that began.
    finished : int
        Transfers that finished within the run.
    size_mean_bytes : float or None
        Mean size of those that finished.
    fct_mean_ms, fct_p50_ms, fct_p95_ms, fct_p99_ms : float or None
        Completion time of those that finished, mean or percentile by nearest rank, ms.
    slowdown_mean, slowdown_p50, slowdown_p95, slowdown_p99 : float or None
        Completion time over the least one on an empty path, mean or percentile; ``None`` across 802.11 channels.
    """

    name: str
    begun: float
    finished: float
    size_mean_bytes: float | None
    fct_mean_ms: float | None
    fct_p50_ms: float | None
    fct_p95_ms: float | None
    fct_p99_ms: float | None
    slowdown_mean: float | None
    slowdown_p50: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackMetrics(MetricsRow):
    """What the video player of a flow did. In a mean over runs, every number is a mean.

    Attributes
    ----------
    name : str
        The flow.
    segments : int
        Segments received.
    switches : int
        Segments received at another rate than the one before.
    rate_mean_mbps : float or None
        Mean rate of the received media, over media time, Mb/s.
    startup_s : float or None
        From the flow's start to the start of playback, s; ``None`` if it did not start.
    stalls : int
        Times that playback stood still.
    stalled_s : float
        How long it stood still, s.
    played_s : float
        Media time played, s.
    stalled_ratio : float or None
        Time that it stood still over the time since playback started, of 1.
    """

    name: str
    segments: float
    switches: float
    rate_mean_mbps: float | None
    startup_s: float | None
    stalls: float
    stalled_s: float
    played_s: float
    stalled_ratio: float | None


def nearest_rank(values: NDArray[np.float64], percent: float) -> float | None:
    """Return a percentile by nearest rank: the smallest value that at least this share of values does not exceed.

    Parameters
    ----------
    values : numpy.ndarray
        Sorted.
    percent : float
        Above 0 and at most 100.

    Returns
    -------
    float or None
        ``None`` without values.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_rank(np.array([1.0, 2.0, 3.0, 4.0]), 50)
    2.0
    """
    if not len(values):
        return None
    rank = math.ceil(len(values) * percent / 100 - 1e-9)
    return float(values[max(rank, 1) - 1])


def class_names(bounds: Sequence[int] = CLASSES) -> list[str]:
    """Name the size classes with these upper bounds.

    Parameters
    ----------
    bounds : sequence of int
        In bytes, rising.

    Returns
    -------
    list of str
        One more than there are bounds.

    Examples
    --------
    >>> class_names()
    ['up to 100 kB', '100 kB to 10 MB', 'above 10 MB']
    """
    texts = [_size(bound) for bound in bounds]
    if not texts:
        return ["all"]
    inner = [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
    return [f"up to {texts[0]}", *inner, f"above {texts[-1]}"]


def _size(nbytes: int) -> str:
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if nbytes >= factor:
            return f"{nbytes / factor:g} {unit}"
    return f"{nbytes} B"


def transfer_metrics(
    name: str,
    size_bytes: NDArray[np.float64],
    fct_s: NDArray[np.float64],
    slowdown: NDArray[np.float64],
) -> TransferMetrics:
    """Compute the metrics of transfers.

    Parameters
    ----------
    name : str
    size_bytes, fct_s, slowdown : numpy.ndarray
        One value per transfer; NaN for the completion time of one that did not finish, and for a slow-down without
        value.

    Returns
    -------
    TransferMetrics
    """
    import numpy as np

    done = np.isfinite(fct_s)
    times, slow = np.sort(fct_s[done]), np.sort(slowdown[done & np.isfinite(slowdown)])

    def mean(values: NDArray[np.float64]) -> float | None:
        return math.fsum(values) / len(values) if len(values) else None

    def ms(value: float | None) -> float | None:
        return None if value is None else value * 1000

    return TransferMetrics(
        name=name,
        begun=len(fct_s),
        finished=int(done.sum()),
        size_mean_bytes=mean(size_bytes[done]),
        fct_mean_ms=ms(mean(times)),
        fct_p50_ms=ms(nearest_rank(times, 50)),
        fct_p95_ms=ms(nearest_rank(times, 95)),
        fct_p99_ms=ms(nearest_rank(times, 99)),
        slowdown_mean=mean(slow),
        slowdown_p50=nearest_rank(slow, 50),
        slowdown_p95=nearest_rank(slow, 95),
        slowdown_p99=nearest_rank(slow, 99),
    )


def playback_metrics(name: str, start_s: float, totals: Mapping[str, int | None]) -> PlaybackMetrics:
    """Compute the metrics of a video player.

    Parameters
    ----------
    name : str
        The flow.
    start_s : float
        When the flow started, s.
    totals : mapping
        Value by column of the engine's ``playback_totals``; ``None`` for "no value".

    Returns
    -------
    PlaybackMetrics
    """
    n = {key: value or 0 for key, value in totals.items()}
    started = totals.get("started_ns")
    return PlaybackMetrics(
        name=name,
        segments=n["segments"],
        switches=n["switches"],
        rate_mean_mbps=n["media_bits"] / n["media_ns"] * 1000 if n["media_ns"] else None,
        startup_s=None if started is None else started / NS_PER_S - start_s,
        stalls=n["stalls"],
        stalled_s=n["stalled_ns"] / NS_PER_S,
        played_s=n["played_ns"] / NS_PER_S,
        stalled_ratio=ratio(n["stalled_ns"], n["stalled_ns"] + n["played_ns"]),
    )
