"""What a link delivered over time, and the two forms of file that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

OPPORTUNITY_BYTES = 1504
"""Bytes of an opportunity in mahimahi's format: an IP packet of 1500 bytes and the 4 bytes that its TUN device adds."""

TUN_BYTES = OPPORTUNITY_BYTES - 1500
"""Bytes that a packet counts beyond its IP bytes in mahimahi's format."""

MOST_OPPORTUNITIES = 50_000_000
"""Opportunities that a scenario's trace may have."""


@dataclass(frozen=True, eq=False)
class Deliveries:
    """Bytes that were delivered up to each of a row of times.

    Attributes
    ----------
    times_s : array of float
        Times, which never decrease; the first is the start, the last is the end.
    delivered : array of float
        Bytes delivered up to each time, the first of them 0.
    at_once : bool
        Whether bytes come at the times, as packets do, and not evenly between them, as at a rate.
    """

    times_s: Array
    delivered: Array
    at_once: bool

    @classmethod
    def of_packets(cls, times_ns: ArrayLike, sizes: ArrayLike) -> Deliveries:
        """Return the deliveries of packets.

        Parameters
        ----------
        times_ns : array-like of int
            Times since the start, which never decrease.
        sizes : array-like of int
            Bytes that each packet counts.

        Returns
        -------
        Deliveries
        """
        times = np.concatenate(([0.0], np.asarray(times_ns, dtype=np.float64) / 1e9))
        return cls(times, np.concatenate(([0.0], np.cumsum(np.asarray(sizes, dtype=np.float64)))), at_once=True)

    @classmethod
    def of_rates(cls, times_s: ArrayLike, rates_bps: ArrayLike) -> Deliveries:
        """Return the deliveries of a link whose rate changes.

        Parameters
        ----------
        times_s : array-like of float
            When each rate begins; the last time is the end.
        rates_bps : array-like of float
            The rates, one less than times.

        Returns
        -------
        Deliveries
        """
        times = np.asarray(times_s, dtype=np.float64)
        grown = np.cumsum(np.diff(times) * np.asarray(rates_bps, dtype=np.float64) / 8)
        return cls(times, np.concatenate(([0.0], grown)), at_once=False)

    @property
    def duration_s(self) -> float:
        """Time from the start to the end."""
        return float(self.times_s[-1] - self.times_s[0])

    @property
    def mean_bps(self) -> float:
        """Mean rate in b/s; NaN if no time passes."""
        return float(self.delivered[-1]) * 8 / self.duration_s if self.duration_s > 0 else float("nan")

    @property
    def longest_gap_s(self) -> float:
        """Longest time in which nothing was delivered."""
        if self.at_once:
            moments = np.concatenate(
                (self.times_s[:1], self.times_s[1:][np.diff(self.delivered) > 0], self.times_s[-1:])
            )
            return float(np.diff(moments).max())
        still = np.diff(self.delivered) <= 0
        longest = gap = 0.0
        for length, stands in zip(np.diff(self.times_s), still, strict=True):
            gap = gap + float(length) if stands else 0.0
            longest = max(longest, gap)
        return longest

    def rates(self, bin_s: float) -> tuple[Array, Array]:
        """Return mean rates of equal intervals.

        Parameters
        ----------
        bin_s : float
            Length of an interval in s; the last one ends with the deliveries and may be shorter.

        Returns
        -------
        edges_s, rates_bps : array of float
            Ends of the intervals, the start included, and the rate in each, one less.
        """
        start, end = float(self.times_s[0]), float(self.times_s[-1])
        count = max(1, int(np.ceil((end - start) / bin_s - 1e-9)))
        edges = np.minimum(start + bin_s * np.arange(count + 1), end)
        if self.at_once:
            # What comes at an edge belongs to the interval before it, but for the start.
            at = self.delivered[np.searchsorted(self.times_s, edges, side="right") - 1]
            at[0] = 0.0
        else:
            at = np.interp(edges, self.times_s, self.delivered)
        lengths = np.diff(edges)
        return edges, np.divide(np.diff(at) * 8, lengths, out=np.zeros(count), where=lengths > 0)

    def to_mahimahi(self) -> str:
        """Return the lines of mahimahi's format: an opportunity, in ms, whenever 1504 bytes more were delivered.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If less than 1504 bytes were delivered, or more than a trace may hold.
        """
        count = int(self.delivered[-1] // OPPORTUNITY_BYTES)
        if not 1 <= count <= MOST_OPPORTUNITIES:
            message = (
                f"{self.delivered[-1]:.0f} bytes give {count} opportunities of {OPPORTUNITY_BYTES} bytes; "
                f"allowed: 1 to {MOST_OPPORTUNITIES}"
            )
            raise InputError(message)
        levels = OPPORTUNITY_BYTES * np.arange(1, count + 1, dtype=np.float64)
        if self.at_once:
            times = self.times_s[np.searchsorted(self.delivered, levels - 1e-6)]
        else:
            times = np.interp(levels, self.delivered, self.times_s)
        # An opportunity comes when its bytes have been delivered, and the first millisecond is 1.
        moments = np.maximum(1, np.ceil((times - self.times_s[0]) * 1000 - 1e-6)).astype(np.int64)
        return "\n".join(map(str, moments.tolist())) + "\n"

    def to_csv(self, bin_s: float) -> str:
        """Return a CSV of rates, as scenarios read it: the rate from each time on, and a last line at the end.

        Parameters
        ----------
        bin_s : float
            Length of an interval in s.

        Returns
        -------
        str
        """
        edges, rates = self.rates(bin_s)
        values: Sequence[float] = [*rates.tolist(), float(rates[-1])]
        start = float(edges[0])
        lines = [f"{time - start:.9g},{rate / 1e6:.9g}" for time, rate in zip(edges.tolist(), values, strict=True)]
        return "\n".join(["time_s,rate_mbps", *lines]) + "\n"
