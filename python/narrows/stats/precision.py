"""The number of runs that an interval of a wanted width needs, and the rule that stops once it is reached."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from narrows.stats.runs import CONFIDENCE, Estimate, mean_ci, t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEAST_RUNS: Final = 10
"""Fewest runs before a sequential rule may stop: with fewer the interval is too often narrow by chance (Law 2015)."""

MOST_RUNS: Final = 200
"""Number of runs after which a sequential rule gives up."""

_BEYOND: Final = 10**12
"""A number of runs above any practical one."""


@dataclass(frozen=True, slots=True)
class Precision:
    r"""A wanted half width, and the sequential rule that runs until it is reached.

    Runs are taken in the order of their index. After each one the mean and Student's interval over all runs so far are
    computed, and the rule stops at the first number n of runs, `least` or more, at which

    .. math:: t_{n-1,\,(1+c)/2} \; s_n / \sqrt n \le h, \qquad h = \gamma\,|\bar x_n| \text{ or } h \text{ itself}

    Attributes
    ----------
    relative : float or None
        Wanted half width as a part of the mean, such as 0.02.
    absolute : float or None
        Wanted half width in the unit of the metric; exactly one of the two is given.
    confidence : float
        Confidence level c, in (0, 1).
    least, most : int
        Fewest runs, 2 or more, and most.

    Notes
    -----
    Chow and Robbins (1965), "On the asymptotic theory of fixed-width sequential confidence intervals for the mean",
    Annals of Mathematical Statistics 36(2); for simulations Law (2015), *Simulation Modeling and Analysis*, section
    9.4.1, who requires at least ten runs. The rule stops too soon if the spread looks small by chance, so its interval
    covers the mean slightly less often than its nominal level. The error shrinks as `least` grows; ``docs/metrics.md``
    has figures. The half width is relative to the estimated mean; if the error relative to the true mean is to stay
    below :math:`\gamma`, ask for :math:`\gamma / (1 + \gamma)` (the same section).

    Examples
    --------
    >>> wanted = Precision(relative=0.1, least=3)
    >>> [wanted.met(mean_ci(values)) for values in ([10, 11, 9], [10, 10.1, 9.9], [10, 10])]
    [False, True, False]
    """

    relative: float | None = None
    absolute: float | None = None
    confidence: float = CONFIDENCE
    least: int = LEAST_RUNS
    most: int = MOST_RUNS

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        if (self.relative is None) == (self.absolute is None):
            message = f"relative is {self.relative} and absolute is {self.absolute}; allowed: exactly one of them"
            raise ValueError(message)
        for name, value in (("relative", self.relative), ("absolute", self.absolute)):
            if value is not None and not 0 < value < math.inf:
                message = f"{name} is {value}; allowed: a positive number"
                raise ValueError(message)
        if not 0 < self.confidence < 1:
            message = f"confidence is {self.confidence}; allowed: a number between 0 and 1"
            raise ValueError(message)
        if not 2 <= self.least <= self.most:
            message = f"least is {self.least} and most is {self.most}; allowed: 2 or more, and least no more than most"
            raise ValueError(message)

    def goal(self, estimate: Estimate) -> float:
        """Return the largest half width that is narrow enough, in the unit of the metric.

        Parameters
        ----------
        estimate : Estimate
            Its mean is the reference of a relative half width.

        Returns
        -------
        float
        """
        return self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(estimate.mean)

    def met(self, estimate: Estimate) -> bool:
        """Return whether the rule stops here.

        Parameters
        ----------
        estimate : Estimate
            Over the first runs, at this confidence level.

        Returns
        -------
        bool
        """
        return estimate.n >= self.least and estimate.half_width <= self.goal(estimate)

    def needed(self, estimate: Estimate) -> int | None:
        """Predict how many runs will be enough; see `required_runs`.

        Parameters
        ----------
        estimate : Estimate
            Over the runs so far.

        Returns
        -------
        int or None
            At least `least`; ``None`` if no prediction is possible yet, or the mean is zero.
        """
        if estimate.n < 2:
            return None
        found = _least_number(estimate, self.goal(estimate), self.confidence)
        return None if found is None else max(self.least, found)

    def told(self) -> str:
        """Describe the wanted precision in words.

        Returns
        -------
        str

        Examples
        --------
        >>> Precision(relative=0.02).told(), Precision(absolute=0.5, confidence=0.9).told()
        ('±2 % of the mean at 95 %', '±0.5 at 90 %')
        """
        wanted = (
            f"±{self.absolute:g}" if self.absolute is not None else f"±{100 * (self.relative or 0):g} % of the mean"
        )
        return f"{wanted} at {100 * self.confidence:g} %"


@dataclass(frozen=True, slots=True)
class Reached:
    """The precision that a sequential rule reached.

    Attributes
    ----------
    metric : str
        The estimated metric.
    precision : Precision
        The wanted precision.
    estimate : Estimate
        Over all runs made.
    runs : int
        Number of these runs.
    """

    metric: str
    precision: Precision
    estimate: Estimate
    runs: int

    @property
    def met(self) -> bool:
        """Whether the wanted half width was reached."""
        return self.precision.met(self.estimate)

    @property
    def relative_half_width(self) -> float:
        """Half width over the size of the mean; NaN without an interval, or if the mean is zero."""
        mean = abs(self.estimate.mean)
        return self.estimate.half_width / mean if mean > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``until`` of a summary; see ``docs/json.md``.

        Returns
        -------
        dict
        """
        return {
            "metric": self.metric,
            "relative": self.precision.relative,
            "absolute": self.precision.absolute,
            "confidence": self.precision.confidence,
            "least_runs": self.precision.least,
            "max_runs": self.precision.most,
            "reached": self.met,
            "runs": self.runs,
            "values": self.estimate.n,
            "mean": self.estimate.mean,
            "interval": [self.estimate.low, self.estimate.high],
            "half_width": self.estimate.half_width,
            "relative_half_width": self.relative_half_width,
            "sd": self.estimate.sd,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reached:
        """Restore an object from the result of `to_dict`.

        Parameters
        ----------
        data : mapping
            ``None`` stands for NaN.

        Returns
        -------
        Reached
        """

        def number(value: float | None) -> float:
            return math.nan if value is None else float(value)

        precision = Precision(
            data["relative"],
            data["absolute"],
            float(data["confidence"]),
            int(data["least_runs"]),
            int(data["max_runs"]),
        )
        low, high = map(number, data["interval"])
        estimate = Estimate(number(data["mean"]), low, high, int(data["values"]), number(data["sd"]))
        return cls(str(data["metric"]), precision, estimate, int(data["runs"]))

    def told(self) -> str:
        """Describe the result in a sentence.

        Returns
        -------
        str

        Examples
        --------
        >>> found = mean_ci([10, 10.1, 9.9])
        >>> Reached("jain", Precision(relative=0.1, least=3), found, 3).told()
        'jain: reached ±2.48 % with 3 runs; wanted ±10 % of the mean at 95 %'
        >>> print(Reached("jain", Precision(relative=0.01, least=3, most=3), found, 3).told())
        jain: NOT reached: ±2.48 % with 3 runs, the most allowed;
        wanted ±1 % of the mean at 95 %, for which about 7 are needed
        """
        width = self.relative_half_width
        if math.isnan(self.estimate.half_width):
            found = "no interval"
        elif self.precision.absolute is not None or math.isnan(width):
            found = f"±{self.estimate.half_width:.3g}"
        else:
            found = f"±{100 * width:.3g} %"
        runs = f"with {self.runs} run{'' if self.runs == 1 else 's'}"
        if self.met:
            same = ", which all have the same value" if self.estimate.sd == 0 else ""
            return f"{self.metric}: reached {found} {runs}{same}; wanted {self.precision.told()}"
        ended = ", the most allowed" if self.runs >= self.precision.most else ""
        needed = self.precision.needed(self.estimate)
        more = f", for which about {needed:,} are needed" if needed is not None and needed > self.runs else ""
        return f"{self.metric}: NOT reached: {found} {runs}{ended}; wanted {self.precision.told()}{more}"


def required_runs(
    pilot: Estimate | Iterable[float | int | None],
    *,
    relative: float | None = None,
    absolute: float | None = None,
    confidence: float = CONFIDENCE,
    rule: Literal["iterated", "stein"] = "iterated",
) -> int:
    r"""Number of runs that an interval of a wanted half width h needs, estimated from pilot runs.

    .. math:: n^* = \min \{\, n \ge n_0 : t_{n-1,\,(1+c)/2} \; s / \sqrt n \le h \,\}

    with the standard deviation s of the :math:`n_0` pilot runs, which are among the n.

    Parameters
    ----------
    pilot : Estimate or iterable of float
        The metric in the pilot runs, at least two; or `mean_ci` over them.
    relative, absolute : float
        Wanted half width, as a fraction of the pilot's mean or in the unit of the metric; give exactly one of them.
    confidence : float
        Confidence level c, in (0, 1).
    rule : {"iterated", "stein"}
        ``"stein"`` uses the quantile for the pilot's :math:`n_0 - 1` degrees of freedom instead of n - 1. It needs more
        runs; then :math:`\bar x \pm h` over all of them covers the mean of normal values at least as often as its
        nominal level, whatever their spread.

    Returns
    -------
    int
        At least the number of pilot runs.

    Raises
    ------
    ValueError
        If there are fewer than two pilot values, an argument is out of range, or the half width is relative to a mean
        of zero.

    Notes
    -----
    Law (2015), *Simulation Modeling and Analysis*, section 9.4.1, where the relative error is relative to the true mean
    (see `Precision`). Stein (1945), "A two-sample test for a linear hypothesis whose power is independent of the
    variance", Annals of Mathematical Statistics 16(3). The spread of a few pilot runs is itself uncertain: with five of
    them the standard deviation can easily be off by a third, and the number of runs by a factor of two.

    Examples
    --------
    >>> required_runs([98, 102, 101, 97, 103], relative=0.01)
    29
    >>> required_runs([98, 102, 101, 97, 103], relative=0.01, rule="stein")
    52
    """
    wanted = Precision(relative, absolute, confidence, least=2)
    estimate = pilot if isinstance(pilot, Estimate) else mean_ci(pilot, confidence)
    if estimate.n < 2:
        message = f"the pilot has {estimate.n} values; needed: at least 2"
        raise ValueError(message)
    goal = wanted.goal(estimate)
    if _known(rule) == "stein":
        exact = (t_quantile(estimate.n - 1, confidence) * estimate.sd / goal) ** 2 if goal > 0 else math.inf
        found = max(estimate.n, math.ceil(exact)) if math.isfinite(exact) else None
    else:
        found = _least_number(estimate, goal, confidence)
    if found is None:
        message = f"the half width is relative to a mean of {estimate.mean:g}; allowed: an absolute one there"
        raise ValueError(message)
    return found


def _known(rule: str) -> str:
    if rule not in ("iterated", "stein"):
        message = f"rule is {rule!r}; allowed: 'iterated', 'stein'"
        raise ValueError(message)
    return rule


def _least_number(estimate: Estimate, goal: float, confidence: float) -> int | None:
    """Smallest n, not below the estimate's own, with a half width of at most the goal; the half width falls with n."""

    def enough(n: int) -> bool:
        return t_quantile(n - 1, confidence) * estimate.sd / math.sqrt(n) <= goal

    high = estimate.n
    if estimate.sd == 0 or enough(high):
        return high
    if not goal > 0:
        return None
    while not enough(high):
        high *= 2
        if high > _BEYOND:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
