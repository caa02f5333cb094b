"""Convergence times of flows: of one flow to its fair share, and of all flows to fairness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, Protocol

from narrows.metrics import rate_over_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from narrows.metrics.flows import FlowMetrics

BAND: Final = 0.25
"""How far a converged flow may be from its fair share, as a fraction of the share (Dong et al. 2015)."""

HOLD_S: Final = 5.0
"""How long a converged flow must stay there, s (Dong et al. 2015)."""

BIN_S: Final = 1.0
"""Interval over which rates are averaged, s (Dong et al. 2015)."""

DELTA: Final = 0.1
"""How far from equal the shares of flows may be (Bansal et al. 2001)."""

_CLOSE: Final = 1e-9
"""Times closer together than this count as equal, s."""

_ROUNDING: Final = 1 + 1e-12
"""Relative tolerance, so that rounding of decimal fractions does not move a sum out of a band."""


class Sampled(Protocol):
    """Flows and samples of a run: the part of `narrows.Run` that convergence times need."""

    @property
    def flows(self) -> Sequence[FlowMetrics]:
        """Metrics of the flows."""

    @property
    def samples(self) -> Frames:
        """Samples over time."""


class Frames(Protocol):
    """Samples as data frames."""

    def frame(self, kind: Literal["flow"], /) -> pd.DataFrame:
        """Return the rows of flows."""


def lasting_from(time_s: ArrayLike, holds: ArrayLike, hold_s: float | None = HOLD_S) -> float | None:
    """First time from which a condition holds without a break for a given duration.

    A stretch lasts from its first sample to the sample that ends it, or to the last one.

    Parameters
    ----------
    time_s : array
        Times of the samples in order, s.
    holds : array of bool
        Whether the condition holds at these times.
    hold_s : float or None
        How long it must hold, s; ``None``: until the samples end.

    Returns
    -------
    float or None
        s; ``None`` if it never holds that long before the samples end.

    Raises
    ------
    ValueError
        If the arrays differ in length.

    Examples
    --------
    >>> lasting_from(range(8), [0, 1, 1, 0, 1, 1, 1, 1], 3.0), lasting_from(range(4), [1, 1, 1, 0], None)
    (4.0, None)
    """
    import numpy as np

    time, held = np.asarray(time_s, dtype=np.float64), np.asarray(holds, dtype=np.bool_)
    if time.shape != held.shape:
        message = f"there are {time.size} times and {held.size} values; allowed: as many of both"
        raise ValueError(message)
    if not time.size:
        return None
    breaks = time[~held]
    for i in np.flatnonzero(held & ~np.concatenate(([False], held[:-1]))):
        later = breaks[breaks > time[i]]
        if hold_s is None:
            if not later.size:
                return float(time[i])
        elif (float(later[0]) if later.size else float(time[-1])) - time[i] >= hold_s - _CLOSE:
            return float(time[i])
    return None


def convergence_time(
    time_s: ArrayLike,
    mbps: ArrayLike,
    share_mbps: ArrayLike,
    *,
    start_s: float = 0.0,
    band: float = BAND,
    hold_s: float | None = HOLD_S,
) -> float | None:
    r"""Time from a flow's start until its rate stays close to its fair share.

    The smallest :math:`t - t_0` with :math:`|x(u) - f(u)| \le b\,f(u)` at all samples u from t to t + hold.

    Parameters
    ----------
    time_s : array
        Times in order, s.
    mbps : array
        The flow's rate x at these times, averaged over about a second; the time of a bin is its beginning.
    share_mbps : float or array
        The fair share f, constant or at each time.
    start_s : float
        When the flow started, s; earlier times are left out.
    band : float
        b.
    hold_s : float or None
        How long the rate must stay there, s; ``None``: until the samples end, like a settling time in control theory.

    Returns
    -------
    float or None
        s; ``None`` if it never stays that long before the samples end.

    Raises
    ------
    ValueError
        If arrays differ in length, or the band is not positive.

    Notes
    -----
    Dong et al. (2015), "PCC: Re-architecting congestion control for consistent high performance", NSDI, section 4.2:
    the first second from which throughput is within 25 % of the ideal equal rate in each of the next five seconds.
    RFC 5166, section 2.3, explains why this matters: a flow that starts late must obtain its share. An aggressive flow
    that reaches its share early and overshoots has not converged.

    Examples
    --------
    >>> convergence_time(range(12), [1, 2, 4, 9, 12, 10, 9, 11, 10, 10, 9, 10], 10.0, start_s=1.0)
    2.0
    """
    import numpy as np

    time, rate = np.asarray(time_s, dtype=np.float64), np.asarray(mbps, dtype=np.float64)
    share = np.asarray(share_mbps, dtype=np.float64)
    if time.shape != rate.shape or share.shape not in ((), time.shape):
        message = f"there are {time.size} times, {rate.size} rates and {share.size} shares; allowed: as many of each"
        raise ValueError(message)
    _positive("band", band)
    near = (np.abs(rate - share) <= band * share * _ROUNDING) & (share > 0)
    return _since(start_s, time, near, hold_s)


def fair_convergence_time(
    time_s: ArrayLike,
    rates: ArrayLike,
    *,
    start_s: float = 0.0,
    delta: float = DELTA,
    hold_s: float | None = HOLD_S,
) -> float | None:
    r"""Time until flows share fairly for a while: :math:`\delta`-fair convergence, for any number of flows.

    Two flows are :math:`\delta`-fair if their shares are within :math:`(1 \pm \delta)/2`, that is
    :math:`|x_1 - x_2| \le \delta (x_1 + x_2)`. This equals a coefficient of variation of at most :math:`\delta`, which
    is used for more than two flows as well, and a Jain's index of at least :math:`1 / (1 + \delta^2)`.

    Parameters
    ----------
    time_s : array
        Times in order, s.
    rates : array
        Rates at these times, one row per flow (two or more), in one unit, averaged over about a second.
    start_s : float
        When the last of the flows started, s; earlier times are left out.
    delta : float
        :math:`\delta`.
    hold_s : float or None
        How long fairness must last, s; 0: a single sample is enough, as in the papers; ``None``: until the samples end.

    Returns
    -------
    float or None
        s; ``None`` if it never lasts that long before the samples end. Times at which nothing is sent are not fair.

    Raises
    ------
    ValueError
        If there are fewer than two flows, rates and times differ in number, or :math:`\delta` is not positive.

    Notes
    -----
    Chiu and Jain (1989), "Analysis of the increase and decrease algorithms for congestion avoidance in computer
    networks", Computer Networks and ISDN Systems 17(1), measure the distance from fairness by Jain's index, and call
    the time to come near the goal responsiveness. Bansal, Balakrishnan, Floyd and Shenker (2001), "Dynamic behavior
    of slowly-responsive congestion control algorithms", SIGCOMM, define :math:`\delta`-fair convergence, and RFC 5166,
    section 2.3, adopts it; both start from shares of 100/101 and 1/101, which the scenario must set up. The
    requirement that fairness lasts is ours: rates that only cross have not converged.

    Examples
    --------
    >>> fair_convergence_time(range(20), [[10] * 6 + [5] * 14, [0] * 6 + [5] * 14], start_s=2.0)
    4.0
    """
    import numpy as np

    time, rows = np.asarray(time_s, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1:] != time.shape:
        message = f"rates have the shape {rows.shape}; allowed: (flows, {time.size}), with two flows or more"
        raise ValueError(message)
    _positive("delta", delta)
    mean = rows.mean(axis=0)
    active = mean > 0
    scaled = rows / np.where(active, mean, 1.0)
    spread = np.sqrt(np.mean((scaled - 1.0) ** 2, axis=0))
    return _since(start_s, time, active & (spread <= delta * _ROUNDING), hold_s)


def convergence_times(
    run: Sampled,
    *,
    share_mbps: Mapping[str, float] | float | None = None,
    bin_s: float = BIN_S,
    band: float = BAND,
    hold_s: float | None = HOLD_S,
) -> dict[str, float | None]:
    """Compute the convergence time of every flow with a congestion control, from the samples of a run.

    Parameters
    ----------
    run : Run
        A run sampled at least once per bin.
    share_mbps : float, mapping or None
        Fair share, Mb/s, for all flows or by name. ``None``: in each bin, an equal part of the bytes that those flows
        received together that were active throughout the bin. Flows with different paths need individual shares.
    bin_s : float
        Interval over which rates are averaged, s.
    band, hold_s
        As for `convergence_time`.

    Returns
    -------
    dict
        Time from the flow's start, s, by name; ``None`` for a flow that never converges or does not live long enough.

    Raises
    ------
    ValueError
        If an argument is out of range, or a mapping lacks a flow.

    Examples
    --------
    >>> import narrows as nw
    >>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "20 s"})
    >>> sorted(convergence_times(run)) == sorted(flow.name for flow in run.flows)
    True
    """
    import numpy as np

    frame = run.samples.frame("flow")
    flows = [flow for flow in run.flows if flow.cc is not None]
    columns = {flow.name: frame[frame["name"] == flow.name] for flow in flows}
    curves = {
        name: rate_over_time(rows["time_s"], rows["arrived_bytes"], bin_s)
        for name, rows in columns.items()
        if len(rows)
    }
    bins = max((start.size for start, _ in curves.values()), default=0)
    begin = np.arange(bins) * bin_s
    rates = {name: np.pad(rate, (0, bins - rate.size)) for name, (_, rate) in curves.items()}
    alive = {
        flow.name: (begin >= flow.start_s - _CLOSE) & (begin + bin_s <= flow.start_s + flow.active_s + _CLOSE)
        for flow in flows
    }
    even = _even(rates, alive, bins)
    found: dict[str, float | None] = {}
    for flow in flows:
        if flow.name not in rates:
            found[flow.name] = None
            continue
        share = even if share_mbps is None else np.full(bins, _share(share_mbps, flow.name))
        own = alive[flow.name]
        found[flow.name] = convergence_time(
            begin[own], rates[flow.name][own], share[own], start_s=flow.start_s, band=band, hold_s=hold_s
        )
    return found


def _even(
    rates: Mapping[str, NDArray[np.float64]], alive: Mapping[str, NDArray[np.bool_]], bins: int
) -> NDArray[np.float64]:
    """Return an equal part of the rates of all active flows, bin by bin."""
    import numpy as np

    total, count = np.zeros(bins), np.zeros(bins)
    for name, rate in rates.items():
        total += np.where(alive[name], rate, 0.0)
        count += alive[name]
    return np.asarray(total / np.maximum(count, 1.0), dtype=np.float64)


def _share(share_mbps: Mapping[str, float] | float, name: str) -> float:
    if isinstance(share_mbps, (int, float)):
        return float(share_mbps)
    if name not in share_mbps:
        message = f"share_mbps has no {name!r}; needed: the share of every flow with a congestion control"
        raise ValueError(message)
    return float(share_mbps[name])


def _since(start_s: float, time: NDArray[np.float64], holds: NDArray[np.bool_], hold_s: float | None) -> float | None:
    after = time >= start_s - _CLOSE
    found = lasting_from(time[after], holds[after], hold_s)
    return None if found is None else max(0.0, found - start_s)


def _positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        message = f"{name} is {value}; allowed: a positive number"
        raise ValueError(message)
