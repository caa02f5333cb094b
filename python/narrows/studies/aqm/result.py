"""Means and ellipses over the runs of a comparison of queue disciplines."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.stats import mean_ci

if TYPE_CHECKING:
    import pandas as pd

    from narrows.stats import Estimate
    from narrows.studies.aqm.plan import Plan
    from narrows.studies.aqm.record import Record

COLUMNS = (
    "goodput_mbps",
    "utilisation",
    "delay_mean_ms",
    "delay_p50_ms",
    "delay_p95_ms",
    "delay_p99_ms",
    "delay_max_ms",
    "drop_ratio",
    "mark_ratio",
    "jain",
)
"""The measures, in the order of tables."""


@dataclass(frozen=True, slots=True)
class Ellipse:
    """The runs of a discipline on a scenario in the plane of delay and goodput.

    The ellipse is the contour of one standard deviation of the two-dimensional normal distribution with the runs' means
    and covariances, as in Winstein and Balakrishnan, "TCP ex Machina", SIGCOMM 2013.

    Attributes
    ----------
    delay_ms, goodput_mbps : float
        The centre.
    major, minor : tuple of float
        Half axes, each a vector of delay, ms, and goodput, Mb/s; zero with fewer than two runs.
    """

    delay_ms: float
    goodput_mbps: float
    major: tuple[float, float]
    minor: tuple[float, float]

    def outline(self, points: int = 90) -> tuple[list[float], list[float]]:
        """Return the contour.

        Parameters
        ----------
        points : int
            Number of points; the last one is the first.

        Returns
        -------
        tuple of list of float
            Delays, ms, and goodputs, Mb/s.
        """
        turns = [2 * math.pi * i / (points - 1) for i in range(points)]
        return (
            [self.delay_ms + math.cos(t) * self.major[0] + math.sin(t) * self.minor[0] for t in turns],
            [self.goodput_mbps + math.cos(t) * self.major[1] + math.sin(t) * self.minor[1] for t in turns],
        )


class Results(ABC):
    """Records of every discipline on every scenario, with their means."""

    __slots__ = ()

    @property
    @abstractmethod
    def runs(self) -> tuple[Record, ...]:
        """The records."""

    @property
    @abstractmethod
    def scenarios(self) -> dict[str, str]:
        """Titles of the scenarios by label, in their order."""

    @property
    @abstractmethod
    def queues(self) -> tuple[str, ...]:
        """The disciplines, in their order."""

    def of(self, queue: str, scenario: str) -> list[Record]:
        """Return the records of a discipline on a scenario, by run.

        Parameters
        ----------
        queue, scenario : str
            Labels.

        Returns
        -------
        list of Record

        Raises
        ------
        KeyError
            If there is no such cell.
        """
        found = [one for one in self.runs if (one.queue, one.scenario) == (queue, scenario)]
        if not found:
            raise KeyError((queue, scenario))
        return found

    def estimate(self, measure: str, queue: str, scenario: str) -> Estimate:
        """Return a measure's mean over the runs, with its 95 % interval.

        Parameters
        ----------
        measure : str
            A number of `Record`, such as ``delay_p95_ms``.
        queue, scenario : str
            Labels.

        Returns
        -------
        Estimate
        """
        return mean_ci(getattr(one, measure) for one in self.of(queue, scenario))

    def delay_ms(self, queue: str, scenario: str) -> Estimate:
        """Return the mean queueing delay, ms.

        Parameters
        ----------
        queue, scenario : str
            Labels.

        Returns
        -------
        Estimate
        """
        return self.estimate("delay_mean_ms", queue, scenario)

    def ellipse(self, queue: str, scenario: str) -> Ellipse | None:
        """Return the ellipse of a discipline on a scenario.

        Parameters
        ----------
        queue, scenario : str
            Labels.

        Returns
        -------
        Ellipse or None
            ``None`` if no packet left the queue.
        """
        runs = self.of(queue, scenario)
        points = [(one.delay_mean_ms, one.goodput_mbps) for one in runs if one.delay_mean_ms is not None]
        if not points:
            return None
        x = [point[0] for point in points]
        y = [point[1] for point in points]
        n = len(points)
        mx, my = math.fsum(x) / n, math.fsum(y) / n
        if n < 2:
            return Ellipse(mx, my, (0.0, 0.0), (0.0, 0.0))
        xx = math.fsum((a - mx) ** 2 for a in x) / (n - 1)
        yy = math.fsum((b - my) ** 2 for b in y) / (n - 1)
        xy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / (n - 1)
        # The axes of the ellipse are those of the covariance matrix, in closed form for two dimensions.
        angle = 0.5 * math.atan2(2 * xy, xx - yy)
        middle, spread = (xx + yy) / 2, math.hypot((xx - yy) / 2, xy)
        long, short = math.sqrt(middle + spread), math.sqrt(max(0.0, middle - spread))
        return Ellipse(
            mx,
            my,
            (long * math.cos(angle), long * math.sin(angle)),
            (-short * math.sin(angle), short * math.cos(angle)),
        )

    def table(self) -> pd.DataFrame:
        """Return means and half intervals, a row per scenario and discipline.

        Returns
        -------
        pandas.DataFrame
            ``scenario``, ``queue``, and for every measure its mean and, as ``NAME_ci``, half of its 95 % interval.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for scenario in self.scenarios:
            for queue in self.queues:
                row: dict[str, Any] = {"scenario": scenario, "queue": queue}
                for name in COLUMNS:
                    estimate = self.estimate(name, queue, scenario)
                    row |= {name: estimate.mean, f"{name}_ci": estimate.half_width}
                rows.append(row)
        return pd.DataFrame(rows)


@dataclass(frozen=True, slots=True)
class Aqm(Results):
    """A comparison of queue disciplines.

    Attributes
    ----------
    plan : Plan
    records : tuple of Record
        Cell by cell in the plan's order, and by run within a cell.
    """

    plan: Plan
    records: tuple[Record, ...]

    @property
    def runs(self) -> tuple[Record, ...]:
        """The records."""
        return self.records

    @property
    def scenarios(self) -> dict[str, str]:
        """Titles of the scenarios by label, in their order."""
        return {cell.scenario_label: cell.scenario.title for cell in self.plan.cells}

    @property
    def queues(self) -> tuple[str, ...]:
        """The disciplines, in their order."""
        return self.plan.queues
