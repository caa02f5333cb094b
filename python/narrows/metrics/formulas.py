"""Metrics: pure functions of counters, each with its formula, unit and source.

They take plain numbers, from simulated and live runs alike, or columns of them (`narrows.metrics.arithmetic`).
`narrows.metrics.flows`, `narrows.metrics.queues` and `narrows.metrics.stations` apply them to flows, to queues, and to
the stations of 802.11 channels. Rates are in Mb/s (10^6 bits per second) and count whole IP packets unless stated
otherwise. A metric without a value (for example, no round-trip time was measured) is ``None``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.metrics.arithmetic import nonnegative, otherwise, quotient

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NO_CWND: Final = float(65_535 << 14)
"""cwnd of a sender that has none, bytes: the largest window that TCP can advertise (RFC 7323, section 2.3)."""


def rate_mbps(nbytes: float, time_ns: float) -> float | None:
    """Mean rate: R = 8 b / t.

    Parameters
    ----------
    nbytes : float
        Bytes b.
    time_ns : float
        Time t, ns.

    Returns
    -------
    float or None
        Mb/s; ``None`` if no time passed.

    Examples
    --------
    >>> rate_mbps(1_250_000, 1_000_000_000)
    10.0
    """
    return quotient(nbytes * 8 * 1000, nonnegative(time_ns))


def active_ns(start_ns: float, stop_ns: float, finished_ns: float | None = None) -> float:
    """Time in which a flow could send: from its start to its end.

    Parameters
    ----------
    start_ns, stop_ns : float
        When the application started; when it stopped or the run ended, ns.
    finished_ns : float or None
        When a bounded transfer was complete, ns.

    Returns
    -------
    float
        ns, never negative; an integer if the times are.

    Examples
    --------
    >>> active_ns(5, 105), active_ns(5, 105, 55), active_ns(200, 105)
    (100, 50, 0)
    """
    return nonnegative(otherwise(finished_ns, stop_ns) - start_ns)


def throughput_mbps(arrived_bytes: int, active: float) -> float | None:
    """Throughput: IP bytes of the data direction that reached the receiving host, over the active time.

    T = 8 arrived / active. Retransmissions that arrive count, as on the wire; RFC 5166, section 2.1.

    Parameters
    ----------
    arrived_bytes : int
        IP bytes, headers included.
    active : float
        See `active_ns`, ns.

    Returns
    -------
    float or None
        Mb/s.
    """
    return rate_mbps(arrived_bytes, active)


def throughput_max_mbps(max_bin_bytes: int) -> float | None:
    """Maximum throughput: the most IP bytes that arrived in one bin of one second.

    T_max = 8 max_k B_k / 1 s, with bins from the start of the run.

    Parameters
    ----------
    max_bin_bytes : int
        IP bytes in the fullest bin.

    Returns
    -------
    float or None
        Mb/s.

    Examples
    --------
    >>> throughput_max_mbps(125_000)
    1.0
    """
    return rate_mbps(max_bin_bytes, NS_PER_S)


def goodput_mbps(delivered_bytes: int, active: float) -> float | None:
    """Goodput: payload that was delivered in order to the application, over the active time.

    G = 8 delivered / active; RFC 5166, section 2.1: no headers, no duplicates.

    Parameters
    ----------
    delivered_bytes : int
        Payload bytes.
    active : float
        See `active_ns`, ns.

    Returns
    -------
    float or None
        Mb/s.
    """
    return rate_mbps(delivered_bytes, active)


def mean_ms(sum_ns: int, count: int) -> float | None:
    """Arithmetic mean of measured times.

    Parameters
    ----------
    sum_ns : int
        Exact sum, ns.
    count : int
        Number of measurements.

    Returns
    -------
    float or None
        ms; ``None`` without measurements.

    Examples
    --------
    >>> mean_ms(30_000_000, 2)
    15.0
    """
    return quotient(quotient(sum_ns, count), NS_PER_MS)


def ratio(part: float, whole: float) -> float | None:
    """Share of a part in a whole; ``None`` if there is no whole.

    Parameters
    ----------
    part, whole : float
        In the same unit.

    Returns
    -------
    float or None
        Of 1.

    Examples
    --------
    >>> ratio(1, 4), ratio(0, 0)
    (0.25, None)
    """
    return quotient(part, whole)


def utilisation(forwarded_bytes: int, capacity_bits: int) -> float | None:
    """Utilisation of a link: bits that were sent over bits that could have been sent.

    U = 8 forwarded / capacity; RFC 5166, section 2.1.1. The capacity accounts for the link's changes of rate.

    Parameters
    ----------
    forwarded_bytes : int
        IP bytes that left the queue for the link.
    capacity_bits : int
        Bits that the link could have sent over the run.

    Returns
    -------
    float or None
        Of 1.
    """
    return ratio(forwarded_bytes * 8, capacity_bits)


def airtime_ratio(airtime_ns: float, duration_ns: float) -> float | None:
    """Airtime share: the time that a station spent sending, over the run.

    A = t / T, with frames of all kinds (RTS, CTS, data, ACK) from the first bit of the preamble to the last of the
    frame; IEEE 802.11-2016, section 10.3. A sum over a channel counts each of several overlapping frames.

    Parameters
    ----------
    airtime_ns : float
        Time t spent sending, ns.
    duration_ns : float
        Simulated time T, ns.

    Returns
    -------
    float or None
        Of 1; ``None`` if no time passed.

    Examples
    --------
    >>> airtime_ratio(250, 1000)
    0.25
    """
    return ratio(airtime_ns, duration_ns)


def failure_ratio(data_frames: float, rts_failures: float, data_failures: float) -> float | None:
    """Share of attempts without an answer: no CTS after an RTS, no ACK after data.

    F = (r + d) / (n + r), since an attempt either sends a data frame or ends at the RTS. Without frame errors and
    hidden stations an attempt fails only by collision, and F estimates the conditional collision probability p of
    Bianchi (2000), "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
    equation 9.

    Parameters
    ----------
    data_frames : float
        Data frames n sent, repetitions included; an A-MPDU is one.
    rts_failures, data_failures : float
        Attempts that failed at the RTS, r, and at the data frame, d.

    Returns
    -------
    float or None
        Of 1; ``None`` without attempts.

    Examples
    --------
    >>> failure_ratio(8, 2, 3), failure_ratio(0, 0, 0)
    (0.5, None)
    """
    return ratio(rts_failures + data_failures, data_frames + rts_failures)


def retry_ratio(retried_mpdus: float, mpdus: float) -> float | None:
    """Share of repetitions among the MPDUs with data that were sent, that is, of those with the Retry subfield set.

    IEEE 802.11-2016, section 9.2.4.1.6.

    Parameters
    ----------
    retried_mpdus : float
        MPDUs sent that had been sent before.
    mpdus : float
        MPDUs with data sent, repetitions included.

    Returns
    -------
    float or None
        Of 1; ``None`` if none was sent.

    Examples
    --------
    >>> retry_ratio(1, 20)
    0.05
    """
    return ratio(retried_mpdus, mpdus)


def mpdus_per_frame(mpdus: float, data_frames: float) -> float | None:
    """Mean size of an aggregate: MPDUs with data over data frames, an A-MPDU being one frame; 1 without aggregation.

    IEEE 802.11-2016, section 10.13.

    Parameters
    ----------
    mpdus, data_frames : float
        Sent, repetitions included.

    Returns
    -------
    float or None
        MPDUs; ``None`` if no frame was sent.

    Examples
    --------
    >>> mpdus_per_frame(96, 8)
    12.0
    """
    return ratio(mpdus, data_frames)


def jains_index(values: Iterable[float | None]) -> float | None:
    r"""Jain's fairness index.

    .. math:: J = \frac{(\sum x_i)^2}{n \sum x_i^2}

    Parameters
    ----------
    values : iterable of float
        The flows' shares, in one unit; ``None`` is left out.

    Returns
    -------
    float or None
        From 1/n (one has everything) to 1 (all have the same); ``None`` if all shares are zero or missing.

    Notes
    -----
    Jain, Chiu and Hawe (1984), "A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems", DEC-TR-301; RFC 5166, section 2.3.

    Examples
    --------
    >>> jains_index([5, 5, 5]), jains_index([1, 0, 0, 0])
    (1.0, 0.25)
    """
    shares = [value for value in values if value is not None]
    peak = max((abs(value) for value in shares), default=0.0)
    if peak == 0:
        return None
    scaled = [value / peak for value in shares]  # so that no square overflows or vanishes
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(value * value for value in scaled))


def mean_over_time(time_s: ArrayLike, values: ArrayLike, begin_s: float, end_s: float) -> float | None:
    """Mean over time of a sampled value: each sample holds until the next, the last until the end.

    Parameters
    ----------
    time_s : array
        Times of the samples in order, s.
    values : array
        The value at these times. A sample that is NaN does not count, nor does the time for which it would hold.
    begin_s, end_s : float
        Interval whose samples count, s.

    Returns
    -------
    float or None
        In the unit of the values; ``None`` if no sample holds for any time.

    Examples
    --------
    >>> mean_over_time([0, 1, 4], [10, 20, 50], 0, 5)
    24.0
    >>> mean_over_time([0, 1, 4], [10, 20, 50], 10, 20) is None
    True
    """
    import numpy as np

    time, value = np.asarray(time_s, dtype=np.float64), np.asarray(values, dtype=np.float64)
    inside = (time >= begin_s) & (time <= end_s)
    time, value = time[inside], value[inside]
    held = np.diff(time, append=end_s)
    counted = np.isfinite(value) & (held > 0)
    total = float(held[counted].sum())
    return float((value[counted] * held[counted]).sum()) / total if total > 0 else None


def rate_over_time(
    time_s: ArrayLike, total_bytes: ArrayLike, bin_s: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rate in bins, from a sampled counter: R_k = 8 (c(t_k+1) - c(t_k)) / w.

    Pass ``arrived_bytes`` for throughput over time, ``delivered_bytes`` for goodput, ``forwarded_bytes`` for the
    traffic of a link. Between samples the counter is assumed to grow linearly.

    Parameters
    ----------
    time_s : array
        Times of the samples in order, s.
    total_bytes : array
        The counter at these times.
    bin_s : float
        Width w of a bin, s. Bins start at time zero; bins that the samples do not cover to the end are left out.

    Returns
    -------
    start_s, mbps : arrays
        Start of each bin, s; mean rate in it, Mb/s.

    Raises
    ------
    ValueError
        If the width is not positive or the arrays differ in length.

    Examples
    --------
    >>> start, rate = rate_over_time([0, 1, 2], [0, 125_000, 375_000])
    >>> start.tolist(), rate.tolist()
    ([0.0, 1.0], [1.0, 2.0])
    """
    import numpy as np

    time, total = np.asarray(time_s, dtype=np.float64), np.asarray(total_bytes, dtype=np.float64)
    if not bin_s > 0:
        message = f"bin_s is {bin_s}; allowed: a positive number of seconds"
        raise ValueError(message)
    if time.shape != total.shape:
        message = f"there are {time.size} times and {total.size} values; allowed: as many of both"
        raise ValueError(message)
    last = float(time[-1]) if time.size else 0.0
    edges: NDArray[np.float64] = np.arange(math.floor(last / bin_s + 1e-9) + 1, dtype=np.float64) * bin_s
    if edges.size < 2:
        return np.empty(0), np.empty(0)
    counter = np.interp(edges, time, total, left=0.0)
    return np.asarray(edges[:-1], dtype=np.float64), np.asarray(np.diff(counter) * 8e-6 / bin_s, dtype=np.float64)
