"""Measures of a run of an evaluation: pure functions of its samples and totals.

Counters in samples are cumulative, so growth in a window is the difference between its ends, interpolated linearly.
Rates are those of IP packets that arrived, except goodput.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.metrics import jains_index
from narrows.stats.convergence import fair_convergence_time
from narrows.studies.contest.measure import grown, rtt_ms
from narrows.studies.contest.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from narrows.outcome import Run
    from narrows.studies.evaluate.criteria import Network

    Columns = Mapping[str, NDArray[np.float64]]

VERSION: Final = 2
"""Version of the measures. It grows when one changes its meaning, which invalidates older records."""

STARVED: Final = 0.1
"""Part of its share below which a flow counts as starved in a second."""

AFTER_S: Final = 3.0
"""Length of the window after a change, s."""

_COLUMNS: Final = (
    "sent_bytes",
    "sent_packets",
    "arrived_bytes",
    "delivered_bytes",
    "lost_packets",
    "rtt_ns",
)
_MOST: Final = 1000.0
"""Largest ratio of rates that is told: beyond, the slower flow has as good as nothing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a measure sees of a run.

    Attributes
    ----------
    run : Run
    network : Network
    tested, others : dict
        Columns of samples by flow: of the flows under test, and of other TCP flows.
    window : Window
        The measured window.
    """

    run: Run
    network: Network
    tested: dict[str, Columns]
    others: dict[str, Columns]
    window: Window

    def rates(self, flows: Mapping[str, Columns], counter: str = "arrived_bytes") -> list[float]:
        """Return the rate of each flow in the window, Mb/s."""
        return [8e-6 * grown(own, counter, self.window) / self.window.length_s for own in flows.values()]

    def trailing(self, flows: Mapping[str, Columns], span_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a grid of times, s, and rates over the time before each, Mb/s, a row per flow."""
        import numpy as np

        times = next(iter(flows.values()))["time_s"]
        grid = times[times > 0]
        rows = [
            8e-6
            * (
                np.interp(grid, own["time_s"], own["arrived_bytes"], left=0.0)
                - np.interp(grid - span_s, own["time_s"], own["arrived_bytes"], left=0.0)
            )
            / span_s
            for own in flows.values()
        ]
        return grid, np.asarray(rows, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure.

    Attributes
    ----------
    title, unit : str
        In words, and the unit in which it is shown.
    factor : float
        By which its value is multiplied for that.
    digits : int
        Decimals.
    of : callable
        Computes it; ``None`` if the run has no such value.
    """

    title: str
    unit: str
    factor: float
    digits: int
    of: Callable[[Seen], float | None]


def _mean_rtt(flows: Mapping[str, Columns], window: Window, part: int) -> float | None:
    values = [value for own in flows.values() if (value := rtt_ms(own, window)[part]) is not None]
    return math.fsum(values) / len(values) if values else None


def _goodput(seen: Seen) -> float | None:
    return math.fsum(seen.rates(seen.tested, "delivered_bytes")) if seen.tested else None


def _jain(seen: Seen) -> float | None:
    return jains_index(seen.rates(seen.tested)) if len(seen.tested) > 1 else None


def _imbalance(seen: Seen) -> float | None:
    rates = seen.rates(seen.tested)
    if len(rates) < 2 or max(rates) == 0:
        return None
    return min(_MOST, max(rates) / max(min(rates), 1e-9))


def _converge(seen: Seen) -> float | None:
    if len(seen.tested) != 2:
        return None
    start = max(seen.run.flow(name).start_s for name in seen.tested)
    grid, rates = seen.trailing(seen.tested, 1.0)
    found = fair_convergence_time(grid, rates, start_s=start, delta=0.3, hold_s=5.0)
    return seen.run.scenario.duration_s - start if found is None else found


def _recover(seen: Seen) -> float | None:
    event, target = seen.network.event_s, seen.network.target_mbps
    if event is None or target is None or not seen.tested:
        return None
    grid, rates = seen.trailing(seen.tested, 0.5)
    there = grid[(grid >= event + 0.5) & (rates.sum(axis=0) >= target)]
    return float(there[0] if there.size else seen.run.scenario.duration_s) - event


def _quiet(seen: Seen) -> float | None:
    quiet, rtt = seen.network.quiet_s, seen.network.rtt_ms
    if quiet is None or rtt is None or not seen.tested:
        return None
    sent = math.fsum(grown(own, "sent_packets", Window(*quiet)) for own in seen.tested.values())
    return sent / ((quiet[1] - quiet[0]) / (rtt / 1e3))


def _growth(seen: Seen) -> float | None:
    """Mean factor by which the time between transmissions grows while nothing arrives; see `growth`."""
    quiet, rtt = seen.network.quiet_s, seen.network.rtt_ms
    if quiet is None or rtt is None or not seen.tested:
        return None
    import numpy as np

    found = []
    for own in seen.tested.values():
        sent = np.flatnonzero(np.diff(own["sent_packets"]) > 0) + 1
        times = own["time_s"][sent]
        found.append(growth(times[(times >= quiet[0]) & (times <= quiet[1])].tolist(), quiet, rtt / 1e3))
    return min(found)


def growth(times_s: Sequence[float], quiet_s: tuple[float, float], rtt_s: float) -> float:
    """Return the mean factor by which the intervals between transmissions grow.

    Packets less than a round-trip time after the first one of a transmission belong to it. The interval from the last
    packet to the end of the window counts if it is longer than the one before: it would have been longer still.

    Parameters
    ----------
    times_s : sequence of float
        When packets were sent, in order, s.
    quiet_s : tuple of float
        Begin and end of the window in which nothing arrives, s.
    rtt_s : float
        Round-trip time, s.

    Returns
    -------
    float
        The geometric mean, at most 1000; 2 for a doubled timer, 1 for a constant rate. A sender of fewer than two
        transmissions pauses, and its intervals are compared with the round-trip time.

    Examples
    --------
    >>> growth([1.0, 2.0, 4.0, 8.0], (0.0, 16.0), 0.04), growth([1.0, 2.0, 3.0, 4.0], (0.0, 5.0), 0.04)
    (2.0, 1.0)
    """
    begins: list[float] = []
    for time in times_s:
        if not begins or time - begins[-1] >= rtt_s:
            begins.append(time)
    gaps = [later - earlier for earlier, later in itertools.pairwise(begins)]
    rest = quiet_s[1] - (times_s[-1] if times_s else quiet_s[0])
    if not gaps or rest > gaps[-1]:
        gaps.append(rest)
    if len(gaps) < 2:
        return min(_MOST, gaps[0] / rtt_s)
    return float(min(_MOST, (gaps[-1] / gaps[0]) ** (1 / (len(gaps) - 1))))


def _equation(seen: Seen) -> float | None:
    """Sending rate over the simplified equation s / (R sqrt(2 p / 3)) of RFC 8083, section 4.3."""
    loss, rtt = seen.network.loss, _mean_rtt(seen.tested, seen.window, 0)
    sent = math.fsum(grown(own, "sent_bytes", seen.window) for own in seen.tested.values())
    packets = math.fsum(grown(own, "sent_packets", seen.window) for own in seen.tested.values())
    if loss is None or rtt is None or not packets:
        return None
    equation = (sent / packets) / (rtt / 1e3 * math.sqrt(2 * loss / 3))
    return sent / seen.window.length_s / equation


def _after_rtt(seen: Seen) -> float | None:
    event = seen.network.event_s
    return None if event is None else _mean_rtt(seen.tested, Window(event, event + AFTER_S), 0)


def _queue(name: str) -> Callable[[Seen], float | None]:
    def value(seen: Seen) -> float | None:
        found = [one for one in seen.run.queues if one.name == seen.network.queue]
        return getattr(found[0], name) if found else None

    return value


def _victim_mbps(seen: Seen) -> float | None:
    # The sum, since the arm in which the others are alone has a silent flow among them.
    return math.fsum(seen.rates(seen.others)) if seen.others else None


def _victim_loss(seen: Seen) -> float | None:
    sent = math.fsum(grown(own, "sent_packets", seen.window) for own in seen.others.values())
    return math.fsum(grown(own, "lost_packets", seen.window) for own in seen.others.values()) / sent if sent else None


def _starved(seen: Seen) -> float | None:
    if not seen.others:
        return None
    import numpy as np

    edges = np.arange(seen.window.start_s, seen.window.end_s + 1e-9, 1.0)
    every = [*seen.others.values(), *seen.tested.values()]
    rows = np.asarray([np.diff(np.interp(edges, own["time_s"], own["arrived_bytes"], left=0.0)) for own in every])
    share = rows.sum(axis=0) / len(every)
    return float(np.mean(rows[: len(seen.others)] < STARVED * share))


def _transfers(seen: Seen) -> float | None:
    found = [one for one in seen.run.transfer_classes if one.name == "short all"]
    return found[0].slowdown_mean if found else None


def _call_delay(seen: Seen) -> float | None:
    found = [one for one in seen.run.datagrams if one.name == "call-down"]
    return found[0].delay_p95_ms if found else None


def _call_loss(seen: Seen) -> float | None:
    found = [one for one in seen.run.flows if one.name == "call-down"]
    return found[0].loss_ratio if found else None


def _finish(seen: Seen) -> float | None:
    if not seen.tested:
        return None
    ends = [seen.run.flow(name).finished_s for name in seen.tested]
    last = seen.run.scenario.duration_s
    return 1e3 * max(last if end is None else end for end in ends)


def _video(name: str) -> Callable[[Seen], float | None]:
    def value(seen: Seen) -> float | None:
        return getattr(seen.run.playbacks[0], name) if seen.run.playbacks else None

    return value


HARM: Final = "harm"
"""The measure that compares a flow with itself alone: (alone - beside) / alone of `VICTIM`, Ware et al. 2019."""

VICTIM: Final = "victim_mbps"

MEASURES: Final = {
    "goodput_mbps": Measure("goodput", "Mb/s", 1, 2, _goodput),
    "rtt_ms": Measure("mean round-trip time", "ms", 1, 1, lambda seen: _mean_rtt(seen.tested, seen.window, 0)),
    "rtt_p95_ms": Measure("95 % of round-trip times", "ms", 1, 1, lambda seen: _mean_rtt(seen.tested, seen.window, 1)),
    "queue_ms": Measure("mean queueing delay", "ms", 1, 2, _queue("delay_mean_ms")),
    "drops": Measure("packets that the queue drops", "%", 100, 2, _queue("drop_ratio")),
    "jain": Measure("Jain's index", "", 1, 3, _jain),
    "imbalance": Measure("largest over smallest rate", "", 1, 2, _imbalance),
    "converge_s": Measure("time to equal shares", "s", 1, 2, _converge),
    "recover_s": Measure("time to 80 % of the link", "s", 1, 2, _recover),
    "quiet_packets": Measure("packets per round-trip time", "", 1, 3, _quiet),
    "growth": Measure("growth of the time between packets", "", 1, 2, _growth),
    "equation": Measure("sending rate over TCP's equation", "", 1, 2, _equation),
    "after_rtt_ms": Measure("mean round-trip time in 3 s", "ms", 1, 1, _after_rtt),
    VICTIM: Measure("rate of the others", "Mb/s", 1, 2, _victim_mbps),
    "victim_rtt_ms": Measure("others' round-trip time", "ms", 1, 1, lambda s: _mean_rtt(s.others, s.window, 0)),
    "victim_loss": Measure("others' losses", "%", 100, 2, _victim_loss),
    "starved": Measure("time in which others starve", "%", 100, 1, _starved),
    "slowdown_mean": Measure("mean slow-down of transfers", "", 1, 2, _transfers),
    "call_delay_ms": Measure("95 % of the call's delays", "ms", 1, 1, _call_delay),
    "call_loss": Measure("losses of the call", "%", 100, 2, _call_loss),
    "video_mbps": Measure("rate of the video", "Mb/s", 1, 2, _video("rate_mean_mbps")),
    "stalled": Measure("time in which the video stands", "%", 100, 1, _video("stalled_ratio")),
    "finish_ms": Measure("end of the last transfer", "ms", 1, 1, _finish),
    HARM: Measure("harm to the other's rate", "%", 100, 1, lambda _: None),
}
"""The measures by name. `HARM` is made of two runs, see `narrows.studies.evaluate.decide`."""


def measured(run: Run, network: Network, tested: tuple[str, ...]) -> dict[str, float | None]:
    """Compute all measures of a run.

    Parameters
    ----------
    run : Run
    network : Network
    tested : tuple of str
        Names of the flows under test, without the numbers of copies.

    Returns
    -------
    dict
        Value by name of the measure, except `HARM`.
    """
    columns = _columns(run)
    ours = re.compile(rf"({'|'.join(map(re.escape, tested))})(-\d+)?") if tested else None
    mine = {name for name in columns if ours is not None and ours.fullmatch(name)}
    driven = {flow.name for flow in run.flows if flow.cc is not None}
    seen = Seen(
        run,
        network,
        {name: own for name, own in columns.items() if name in mine},
        {name: own for name, own in columns.items() if name in driven - mine},
        Window(network.from_s, run.scenario.duration_s if network.until_s is None else network.until_s),
    )
    return {name: _finite(one.of(seen)) for name, one in MEASURES.items() if name != HARM}


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _columns(run: Run) -> dict[str, Columns]:
    """Columns of the samples of flows that have any, by flow; NaN means "no value"."""
    import numpy as np

    table = run.samples.table("flow").unify_dictionaries().combine_chunks()
    if not table.num_rows:
        return {}
    values = {name: table[name].to_numpy().astype(np.float64) for name in ("time_s", *_COLUMNS)}
    rows = table["name"].chunk(0)
    index = rows.indices.to_numpy()
    return {
        name: {column: array[index == i] for column, array in values.items()}
        for i, name in enumerate(rows.dictionary.to_pylist())
        if (index == i).any()  # a silent flow of a live run has none
    }
