"""Gauges of the live network itself: the rates it achieves, and its round-trip time without queueing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.base import bundled
from narrows.base.errors import LiveError
from narrows.metrics import rate_over_time
from narrows.runs import simulated
from narrows.stats import mean_ci
from narrows.studies.comparison.comparison import estimate_json
from narrows.studies.comparison.make import run_live

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.execution.job import ProgressHook
    from narrows.model.scenario import Scenario
    from narrows.outcome import Batch, Run
    from narrows.outcome.conditions import Conditions
    from narrows.stats import Estimate
    from narrows.store.archive import Archive

BOTTLENECK: Final = "r1->r2"
"""The queue of the bottleneck link in these networks."""

WARMUP_S: Final = 2
"""Whole seconds left out at the beginning, while the queue is not yet full."""

RATE_WITHIN: Final = {"rate-10m": 0.5, "rate-100m": 0.5, "rate-500m": 2.0}
"""How far the rate may be from the configured one, per cent. No limit applies at 1 Gb/s."""

FAST: Final = ("rate-100m", "rate-500m", "rate-1g")
"""Rates that a machine may fail to hold although the rest of a survey can run on it."""

IDLE_WITHIN_MS: Final = 0.6
"""How far an idle round-trip time may be from the simulated one, ms."""

_ORDER: Final = ("rate-10m", "rate-100m", "rate-500m", "rate-1g", "idle")


@dataclass(frozen=True, slots=True)
class Gauge:
    """The result of one gauge network.

    Attributes
    ----------
    network, title : str
        Name and title of the network.
    configured : float or None
        Rate of the bottleneck, Mb/s; ``None`` if the round-trip time is measured.
    simulated : float or None
        Simulated value of the quantity that `live` measures.
    live : Estimate
        Mean rate of the bottleneck in Mb/s, or mean round-trip time in ms, with an interval over the runs.
    conditions : tuple of dict
        Conditions of the live runs.
    doubts : tuple of str
        Reasons not to trust the live runs.
    failure : str or None
        Why this machine cannot hold the rate; then there are no live runs.
    """

    network: str
    title: str
    configured: float | None
    simulated: float | None
    live: Estimate
    conditions: tuple[Conditions, ...]
    doubts: tuple[str, ...]
    failure: str | None = None

    @property
    def off(self) -> float | None:
        """Deviation of the live value: per cent of the configured rate, or ms above the simulated round-trip time."""
        if not self.live.n:
            return None
        if self.configured is not None:
            return 100 * (self.live.mean / self.configured - 1)
        return None if self.simulated is None else self.live.mean - self.simulated

    @property
    def within(self) -> bool:
        """Whether the deviation is within its limit, if there is one."""
        limit = RATE_WITHIN.get(self.network) if self.configured is not None else IDLE_WITHIN_MS
        return limit is None or (self.off is not None and abs(self.off) <= limit)

    def lateness_us(self, key: str) -> float | None:
        """Return the largest lateness over the runs.

        Parameters
        ----------
        key : str
            ``mean_us``, ``p50_us``, ``p99_us`` or ``max_us``.

        Returns
        -------
        float or None
            Microseconds; ``None`` if the conditions do not report it.
        """
        found = [(one.get("lateness") or {}).get(key) for one in self.conditions]
        return max((value for value in found if value is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "network": self.network,
            "unit": "ms" if self.configured is None else "Mb/s",
            "configured": self.configured,
            "simulated": self.simulated,
            "live": estimate_json(self.live),
            "off": self.off,
            "within": self.within,
            "trusted": not self.doubts,
            "doubts": list(self.doubts),
            "failure": self.failure,
            "conditions": list(self.conditions),
        }


def networks() -> dict[str, Path]:
    """Scenario files of the networks, by name, slowest first.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If this installation lacks them.
    """
    found = {path.stem: path for path in bundled.directory("validation/live/gauge").glob("*.toml")}
    return {name: found[name] for name in _ORDER if name in found}


def gauge(scenario: Scenario, runs: int, progress: ProgressHook | None = None, store: Archive | None = None) -> Gauge:
    """Measure one network.

    Parameters
    ----------
    scenario : Scenario
        One of `networks`; longer than `WARMUP_S` if it measures a rate.
    runs : int
        Live runs, one after the other. The simulation is deterministic here, so it runs once.
    progress : callable, optional
    store : Archive, optional
        Where live runs are kept as they end.

    Returns
    -------
    Gauge

    Raises
    ------
    LiveError
        If live runs are not available on this machine, or one failed. A rate that is not held is recorded instead.
    """
    made: Run | Batch | None = None
    failure = None
    try:
        made = run_live(scenario, runs, progress, store)
    except LiveError as error:
        # If the slowest rate (not in FAST) cannot run, nothing can run on this machine.
        if error.kind != "unavailable" or scenario.name not in FAST:
            raise
        failure = str(error)
    live = () if made is None else made.runs
    is_rate = scenario.name.startswith("rate-")
    measured = _rate_mbps if is_rate else _rtt_ms
    return Gauge(
        network=scenario.name,
        title=scenario.title,
        configured=_configured_mbps(scenario) if is_rate else None,
        simulated=measured(simulated.run(scenario, jobs=1).runs[0]),
        live=mean_ci([measured(run) for run in live]),
        conditions=tuple(run.conditions for run in live if run.conditions is not None),
        doubts=() if made is None else made.doubts,
        failure=failure,
    )


def _rate_mbps(run: Run) -> float | None:
    """Mean rate of the bottleneck in IP bytes sent per second, without the start."""
    frame = run.samples.frame("queue")
    rows = frame[frame["name"].astype(str) == BOTTLENECK]
    rates = rate_over_time(rows["time_s"], rows["forwarded_bytes"])[1][WARMUP_S:]
    return float(rates.mean()) if len(rates) else None


def _rtt_ms(run: Run) -> float | None:
    return run.flows[0].rtt_mean_ms


def _configured_mbps(scenario: Scenario) -> float:
    """Rate of the slowest link, which is the bottleneck."""
    slowest: float = min(link.forward.rate_bps for link in scenario.resolved.links)
    return slowest / 1e6
