"""Behaviour of a pair: which flow keeps the link, or how long the two take until they share it.

The three behaviours are those of the contest of fifteen variants (``experiments/contest``), which names them without
defining them. The definition here is our own. It agrees with the paper's examples; its numbers are parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Behaviour = Literal["kept", "relegated", "shared"]
"""The first flow keeps the link; the second relegates the first; the two share the link."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """Parameters of the definition.

    Attributes
    ----------
    margin : float
        A pair shares if the second's share of the throughput in the window is within 0.5 ± `margin`.
    smooth_s : float
        Throughput is averaged over this time, s.
    band : float
        Two flows are in balance if their rates differ by at most this fraction of their sum.
    hold_s : float
        Equilibrium starts where a balance begins that lasts at least this long, s.

    Notes
    -----
    The margin lies between the paper's examples of the second flow's share: 0.498 for Reno and CUBIC and for Compound
    and CUBIC, which share, 0.549 for Westwood and Hybla, where Hybla relegates, and 0.129 for Illinois and Vegas, where
    Illinois keeps the link.
    """

    margin: float = 0.03
    smooth_s: float = 1.0
    band: float = 0.3
    hold_s: float = 5.0


def classify(second_share: float | None, criteria: Criteria | None = None) -> Behaviour | None:
    """Classify the behaviour of a pair by the second flow's share s of their throughput.

    ``kept`` if s < 0.5 - m, ``relegated`` if s > 0.5 + m, else ``shared``; m is the margin.

    Parameters
    ----------
    second_share : float or None
        In [0, 1]; ``None`` if nothing arrived.
    criteria : Criteria, optional

    Returns
    -------
    str or None

    Examples
    --------
    >>> [classify(b / (a + b)) for a, b in ((0.568, 0.084), (0.283, 0.345), (0.318, 0.315))]
    ['kept', 'relegated', 'shared']
    """
    if second_share is None:
        return None
    margin = (criteria or Criteria()).margin
    if second_share < 0.5 - margin:
        return "kept"
    return "relegated" if second_share > 0.5 + margin else "shared"


def smoothed(
    time_s: NDArray[np.float64], total_bytes: ArrayLike, at_s: NDArray[np.float64], smooth_s: float
) -> NDArray[np.float64]:
    """Mean rate over the last `smooth_s` seconds, from a counter: R(t) = 8 (c(t) - c(t - w)) / w.

    Parameters
    ----------
    time_s : array
        Times of the samples in order, s.
    total_bytes : array
        The counter at these times; it is zero before the first.
    at_s : array
        Times t to evaluate, s.
    smooth_s : float
        Averaging time w, s.

    Returns
    -------
    array
        Mb/s.
    """
    import numpy as np

    total = np.asarray(total_bytes, dtype=np.float64)
    if not time_s.size:
        return np.zeros_like(at_s)
    now = np.interp(at_s, time_s, total, left=0.0)
    before = np.interp(at_s - smooth_s, time_s, total, left=0.0)
    return np.asarray((now - before) * 8e-6 / smooth_s, dtype=np.float64)


def equilibrium_s(
    time_s: ArrayLike,
    first_mbps: ArrayLike,
    second_mbps: ArrayLike,
    second_start_s: float,
    criteria: Criteria | None = None,
) -> float | None:
    """Time from the second flow's start until the two are in balance and stay so for ``hold_s``.

    They are in balance if |x1 - x2| <= band (x1 + x2) and their sum is not zero. Equilibrium is the first time
    from which they are in balance at every sample for ``hold_s``: `narrows.stats.fair_convergence_time` of two flows.

    Parameters
    ----------
    time_s : array
        Times in order, s.
    first_mbps, second_mbps : array
        Smoothed throughput of each flow at these times.
    second_start_s : float
        Start of the second flow, s; earlier times are ignored.
    criteria : Criteria, optional

    Returns
    -------
    float or None
        s; ``None`` if no balance lasts long enough before the times end.

    Examples
    --------
    >>> equilibrium_s(range(20), [10] * 6 + [5] * 14, [0] * 6 + [5] * 14, 2.0)
    4.0
    """
    import numpy as np

    from narrows.stats import fair_convergence_time

    chosen = criteria or Criteria()
    pair = np.array([first_mbps, second_mbps], dtype=np.float64)
    return fair_convergence_time(time_s, pair, start_s=second_start_s, delta=chosen.band, hold_s=chosen.hold_s)
