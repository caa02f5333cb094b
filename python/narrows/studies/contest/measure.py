"""Reducing a run of a contest to its record: pure functions of the run's samples.

Counters in samples are cumulative, so growth in a window is the difference between its ends. Between two samples,
counters are interpolated linearly. If a window ends between two samples, the error is less than the growth in that
interval; if it ends at a sample, as the default window does, the growth is exact.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from narrows.metrics import jains_index, rate_mbps, ratio
from narrows.studies.contest.behaviour import classify, equilibrium_s, smoothed
from narrows.studies.contest.record import FlowRecord, Record, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from narrows.model.resolved import Resolved
    from narrows.outcome import Run
    from narrows.studies.contest.behaviour import Criteria
    from narrows.studies.contest.plan import Match, Plan
    from narrows.studies.contest.slots import Slot
    from narrows.studies.contest.window import Window

    Columns = Mapping[str, NDArray[np.float64]]

BINS: Final = 60
"""Approximate number of bins in the series of a record."""

_STEPS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0)
_TIMESTAMPS: Final = 12
"""Bytes of the timestamps option with its padding, present in every segment (RFC 7323, appendix A)."""


def record(plan: Plan, match: Match, run: Run) -> Record:
    """Reduce a run to a record.

    Parameters
    ----------
    plan : Plan
        Defines how to measure.
    match : Match
        The match that was run.
    run : Run
        The run.

    Returns
    -------
    Record
    """
    playing = [match.first is not None, match.second is not None]
    columns = [_columns(run, slot) for slot in plan.slots]
    flows = [
        _flow(run, slot, own, plan.window) if plays else None
        for slot, own, plays in zip(plan.slots, columns, playing, strict=True)
    ]
    rates = [flow.throughput_mbps for flow in flows if flow is not None]
    both = len(rates) == 2
    if both and sum(rates) > 0:
        flows = [flow and replace(flow, share=flow.throughput_mbps / sum(rates)) for flow in flows]
    starts = [run.flows[slot.index].start_s for slot in plan.slots]
    later = 1 if starts[1] >= starts[0] else 0
    late = flows[later]
    return Record(
        key=plan.key(match, run.index),
        first=match.first,
        second=match.second,
        order=match.order,
        seed=run.seed,
        run=run.index,
        digest=run.digest,
        flows=(flows[0], flows[1]),
        jain=jains_index(rates) if both else None,
        total_mbps=math.fsum(rates),
        utilisation=busiest(run, plan.window),
        behaviour=classify(late.share, plan.criteria) if both and late is not None else None,
        equilibrium_s=balance_s(columns, run.scenario.duration_s, starts[later], plan.criteria) if both else None,
        series=_series(columns, run.scenario.duration_s),
    )


def grown(columns: Columns, name: str, window: Window) -> float:
    """Growth of a counter in a window.

    Parameters
    ----------
    columns : mapping
        ``time_s`` and the counter, by name; the counter is zero before the first sample.
    name : str
        Name of the counter.
    window : Window

    Returns
    -------
    float
    """
    import numpy as np

    if not columns["time_s"].size:
        return 0.0
    begin, end = np.interp((window.start_s, window.end_s), columns["time_s"], columns[name], left=0.0)
    return float(end - begin)


def rtt_ms(columns: Columns, window: Window) -> tuple[float | None, float | None]:
    """Mean and 95th percentile of the round-trip time in a window, ms, over its samples, which are evenly spaced.

    Parameters
    ----------
    columns : mapping
        ``time_s`` and ``rtt_ns`` (NaN for "no value").
    window : Window

    Returns
    -------
    mean, p95 : float or None
    """
    import numpy as np

    time, rtt = columns["time_s"], columns["rtt_ns"]
    inside = rtt[(time > window.start_s) & (time <= window.end_s + 1e-9) & ~np.isnan(rtt)]
    if not inside.size:
        return None, None
    rank = math.ceil(0.95 * inside.size) - 1
    return float(inside.mean()) / 1e6, float(np.sort(inside)[rank]) / 1e6


def busiest(run: Run, window: Window) -> float | None:
    """Utilisation of the busiest link in a window: 8 F / (R t), with F the IP bytes forwarded to it and R its rate.

    Parameters
    ----------
    run : Run
    window : Window

    Returns
    -------
    float or None
        In [0, 1]; ``None`` if a link changes its rate or follows a trace, or the scenario has an 802.11 channel, whose
        rate no link defines.
    """
    resolved = run.scenario.resolved
    rates: dict[str, float] = {}
    for link in resolved.links:
        for a, b, way in ((link.a, link.b, link.forward), (link.b, link.a, link.reverse)):
            rates[f"{a}->{b}"] = way.rate_bps
            if way.changes or way.trace is not None:
                return None
    if not rates or resolved.wifi:
        return None
    table = _select(run, "queue", ("forwarded_bytes",))
    used = [
        8 * grown(columns, "forwarded_bytes", window) / (rates[name] * window.length_s)
        for name, columns in table.items()
        if name in rates
    ]
    return max(used, default=None)


def balance_s(columns: Sequence[Columns], duration_s: float, start_s: float, criteria: Criteria) -> float | None:
    """Time to equilibrium, from the samples of two flows and the start of the later one.

    Parameters
    ----------
    columns : two mappings
        ``time_s`` and ``arrived_bytes`` of each flow.
    duration_s : float
        Simulated time of the run, s.
    start_s : float
        Start of the later flow, s.
    criteria : Criteria

    Returns
    -------
    float or None
        s.
    """
    import numpy as np

    step = _step(columns)
    ticks = np.arange(math.ceil((start_s - 1e-9) / step), math.floor(duration_s / step + 1e-9) + 1)
    grid = np.asarray(ticks * step, dtype=np.float64)
    rates = [smoothed(own["time_s"], own["arrived_bytes"], grid, criteria.smooth_s) for own in columns]
    return equilibrium_s(grid, rates[0], rates[1], start_s, criteria)


def _flow(run: Run, slot: Slot, columns: Columns, window: Window) -> FlowRecord:
    sent = grown(columns, "sent_packets", window)
    sent_bytes = grown(columns, "sent_bytes", window) + sent * header_bytes(run.scenario.resolved, slot.index)
    arrived_bytes = grown(columns, "arrived_bytes", window)
    arrived = arrived_bytes * sent / sent_bytes if sent_bytes else 0.0
    lost = grown(columns, "lost_packets", window)
    pdr = arrived / sent if sent else None
    time_ns = window.length_s * 1e9
    sent_mbps = rate_mbps(sent_bytes, time_ns) or 0.0
    mean, p95 = rtt_ms(columns, window)
    return FlowRecord(
        throughput_mbps=rate_mbps(arrived_bytes, time_ns) or 0.0,
        sent_mbps=sent_mbps,
        sent_packets=sent,
        arrived_packets=arrived,
        pdr=pdr,
        tpp_mbps=None if pdr is None else sent_mbps * pdr,
        lost_packets=lost,
        loss_ratio=ratio(lost, sent),
        retransmitted_packets=grown(columns, "retransmitted_packets", window),
        timeouts=grown(columns, "timeouts", window),
        rtt_mean_ms=mean,
        rtt_p95_ms=p95,
        rtt_min_ms=run.flows[slot.index].rtt_min_ms,
        share=None,
    )


def header_bytes(resolved: Resolved, flow: int) -> int:
    """Bytes of a data segment's headers: IP, TCP and the timestamps option (only ACKs carry SACK blocks).

    Parameters
    ----------
    resolved : Resolved
    flow : int
        Index of the flow.

    Returns
    -------
    int
        52 with IPv4 and timestamps.
    """
    tcp = resolved.flows[flow].tcp
    stamped = tcp is not None and tcp.settings["timestamps"]
    return (20 if resolved.ip == 4 else 40) + 20 + (_TIMESTAMPS if stamped else 0)


_FLOW_COLUMNS: Final = (
    "sent_bytes",
    "sent_packets",
    "arrived_bytes",
    "lost_packets",
    "retransmitted_packets",
    "timeouts",
    "rtt_ns",
)


def _columns(run: Run, slot: Slot) -> Columns:
    import numpy as np

    found = _select(run, "flow", _FLOW_COLUMNS).get(slot.name)
    return found if found is not None else {name: np.empty(0) for name in ("time_s", *_FLOW_COLUMNS)}


def _select(run: Run, kind: Any, names: tuple[str, ...]) -> dict[str, Columns]:
    """Columns of a table, by the name in its rows; NaN means "no value"."""
    import numpy as np

    table = run.samples.table(kind).unify_dictionaries().combine_chunks()
    values = {name: table[name].to_numpy().astype(np.float64) for name in ("time_s", *names)}
    if not table.num_rows:
        return {}
    rows = table["name"].chunk(0)
    index = rows.indices.to_numpy()
    return {
        name: {column: array[index == i] for column, array in values.items()}
        for i, name in enumerate(rows.dictionary.to_pylist())
    }


def _step(columns: Sequence[Columns]) -> float:
    import numpy as np

    steps = [float(np.median(np.diff(own["time_s"]))) for own in columns if own["time_s"].size > 1]
    return round(max(steps), 9) if steps else 0.1


def _series(columns: Sequence[Columns], duration_s: float) -> Series:
    import numpy as np

    width = next((step for step in _STEPS_S if duration_s / step <= BINS), duration_s / BINS)
    edges = np.arange(math.floor(duration_s / width + 1e-9) + 1) * width
    curves = []
    for own in columns:
        if own["time_s"].size:
            rate = np.diff(np.interp(edges, own["time_s"], own["arrived_bytes"], left=0.0)) * 8e-6 / width
        else:
            rate = np.zeros(max(0, edges.size - 1))
        curves.append(tuple(float(f"{value:.4g}") for value in rate))
    return Series(bin_s=width, first=curves[0], second=curves[1])
