"""A run that was read from a directory, as the page shows it.

A directory holds samples and metrics, not the engine's totals. Totals are computed back from the metrics where these
determine them, and are "no value" otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from narrows.metrics import NS_PER_MS, NS_PER_S
from narrows.ui.data import NONE, SAMPLED, Data, Table, Thinning, numbers, step_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa

    from narrows.metrics.flows import FlowMetrics
    from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
    from narrows.outcome import Run
    from narrows.outcome.tidy import Kind
    from narrows.ui.frames import Column

_KINDS: Final[tuple[Kind, ...]] = ("flow", "queue", "router", "subqueue")

_UNITS: Final = {"ns": "ns", "bytes": "bytes", "packets": "packets"}
"""Units of columns of totals, by the last word of their names."""

_BITS: Final = 8


def of_run(run: Run, check: Callable[[], None] = lambda: None) -> Data:
    """Take what a run has.

    Parameters
    ----------
    run : Run
    check : callable
        Called between parts; may raise to stop.

    Returns
    -------
    Data
    """
    names = {
        "flow": [flow.name for flow in run.flows],
        "queue": [queue.name for queue in run.queues],
        "router": [router.name for router in run.routers],
        "subqueue": [part.name for part in run.subqueues],
    }
    places = _places(names["queue"], names["subqueue"])
    series = _series(run, names)
    step = step_of(sum(run.samples.rows(kind) for kind in _KINDS) + len(run.samples.state))
    made = Data(
        run.events,
        run.packets,
        {
            "flows": names["flow"],
            "queues": names["queue"],
            "routers": names["router"],
            "stations": [station.name for station in run.stations],
            "channels": list(dict.fromkeys(station.channel for station in run.stations)),
            "workloads": [],
            "subqueues": [
                [queue, index, name.partition("/")[2]]
                for (queue, index), name in zip(places, names["subqueue"], strict=True)
            ],
        },
        [one | {"words": list(one["words"])} for one in series.values()],
        step=step,
    )
    for kind in _KINDS:
        made.tables.append(_samples(run, kind, names[kind], places, Thinning(SAMPLED[f"{kind}s"], step), check))
    made.tables.append(_state(run, list(series), Thinning(SAMPLED["state"], step), check))
    made.tables.append(_totals("flow_totals", [_flow(flow) for flow in run.flows]))
    made.tables.append(_totals("queue_totals", [_queue(queue) for queue in run.queues]))
    made.tables.append(
        _totals(
            "subqueue_totals",
            [
                {"queue": queue, "subqueue": index} | _waiting(part)
                for (queue, index), part in zip(places, run.subqueues, strict=True)
            ],
        )
    )
    return made


def _places(queues: Sequence[str], subqueues: Sequence[str]) -> list[tuple[int, int]]:
    """Return for each sub-queue the index of its queue, and a number within that queue."""
    at = {name: index for index, name in enumerate(queues)}
    seen: dict[int, int] = {}
    places = []
    for name in subqueues:
        queue = at.get(name.partition("/")[0], 0)
        places.append((queue, seen.get(queue, 0)))
        seen[queue] = seen.get(queue, 0) + 1
    return places


def _samples(
    run: Run,
    kind: Kind,
    names: Sequence[str],
    places: Sequence[tuple[int, int]],
    thinning: Thinning,
    check: Callable[[], None],
) -> Table:
    """Convert the tidy rows of a kind into the engine's table."""
    import numpy as np

    schema = run.samples.schema(kind)
    own = [field for field in schema if field.name not in {"run", "time_s", "kind", "name"}]
    described = [("time_ns", "ns", "Time of the sample.")]
    described += [(column, "index", f"Index of the {column}.") for column in thinning.key]
    described += [_described(field) for field in own]
    at = np.array(places, dtype=np.int64).reshape(-1, 2)
    parts: list[list[Column]] = []
    for batch in run.samples.batches(kind):
        check()
        codes = _codes(batch["name"], names)
        keys = [codes] if kind != "subqueue" else list(at[codes].T)
        kept = thinning.kept(keys)
        time = np.rint(batch["time_s"].to_numpy() * NS_PER_S)
        columns = [time, *keys, *(batch[field.name].to_numpy() for field in own)]
        parts.append([np.asarray(column, dtype=np.float64)[kept] for column in columns])
    return Table(f"{kind}s", described, [np.concatenate(column) for column in zip(*parts, strict=True)])


def _described(field: pa.Field) -> tuple[str, str, str]:
    told = field.metadata or {}
    return field.name, told.get(b"unit", b"").decode(), told.get(b"doc", b"").decode()


def _codes(column: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the index of each name."""
    import numpy as np

    whole = column.unify_dictionaries().combine_chunks()
    at = {name: index for index, name in enumerate(names)}
    # A dictionary of a file also has the names of the other kinds.
    index = np.array([at.get(str(name), -1) for name in whole.dictionary.to_pylist()] or [0], dtype=np.int64)
    codes: np.ndarray[Any, np.dtype[np.int64]] = index[whole.indices.to_numpy(zero_copy_only=False)]
    if (codes < 0).any():
        message = "samples have a name that the metrics lack"
        raise ValueError(message)
    return codes


Series = tuple[str, str, str, str]
"""Kind, name of the object, algorithm and variable."""


def _series(run: Run, names: Mapping[str, Sequence[str]]) -> dict[Series, dict[str, Any]]:
    """List what the rows of state describe."""
    known = {(one.kind, one.algorithm, one.name): one for one in run.samples.state.variables}
    found: dict[Series, dict[str, Any]] = {}
    for table in run.samples.state.batches():
        rows = table.select(["kind", "name", "algorithm", "variable"]).unify_dictionaries()
        for row in rows.group_by(rows.schema.names, use_threads=False).aggregate([]).to_pylist():
            kind, name, algorithm, variable = (str(row[key]) for key in rows.schema.names)
            told = known[kind, algorithm, variable]
            found.setdefault(
                (kind, name, algorithm, variable),
                {
                    "owner": kind,
                    "index": names[kind].index(name),
                    "algorithm": algorithm,
                    "variable": variable,
                    "unit": told.unit,
                    "doc": told.doc,
                    "words": told.words,
                },
            )
    return found


def _state(run: Run, series: Sequence[Series], thinning: Thinning, check: Callable[[], None]) -> Table:
    import numpy as np

    described = [
        ("time_ns", "ns", "Time of the sample."),
        ("series", "index", "Index of the series."),
        ("value_bits", "", "The value: the bits of an IEEE 754 double; none where the variable has no value."),
    ]
    parts: list[list[Column]] = [[np.empty(0)] * len(described)]
    at = {one: index for index, one in enumerate(series)}
    for batch in run.samples.state.batches():
        check()
        columns = [batch[key].cast("string").to_pylist() for key in ("kind", "name", "algorithm", "variable")]
        codes = np.array([at[one] for one in zip(*columns, strict=True)], dtype=np.int64)
        kept = thinning.kept([codes])
        value = np.asarray(batch["value"].to_numpy(), dtype=np.float64)
        bits = np.where(np.isnan(value), np.uint64(NONE), value.view(np.uint64))
        time = np.rint(batch["time_s"].to_numpy() * NS_PER_S)
        parts.append([time[kept], codes.astype(np.float64)[kept], numbers(bits)[kept]])
    return Table("state", described, [np.concatenate(column) for column in zip(*parts, strict=True)])


def _totals(name: str, rows: Sequence[dict[str, float | None]]) -> Table:
    import numpy as np

    described = [(column, _UNITS.get(column.rpartition("_")[2], ""), "") for column in (rows[0] if rows else ())]
    columns = [
        np.array([math.nan if row[column] is None else row[column] for row in rows], dtype=np.float64)
        for column, *_ in described
    ]
    return Table(name, described, columns)


def _flow(flow: FlowMetrics) -> dict[str, float | None]:
    """Compute a flow's totals back from its metrics."""
    same = (
        *("sent_bytes", "sent_packets", "arrived_bytes", "arrived_packets", "delivered_bytes", "lost_packets"),
        *("retransmitted_packets", "retransmitted_bytes", "timeouts", "fast_retransmits", "triple_duplicate_acks"),
        *("later_duplicate_acks", "ecn_reductions", "spurious", "rtt_samples", "commands_normal", "commands_freeze"),
        *("commands_fallback", "window_options", "window_options_ignored", "transactions"),
    )
    end = flow.start_s + flow.active_s
    return {
        "start_ns": _ns(flow.start_s, NS_PER_S),
        "stop_ns": _ns(end, NS_PER_S),
        **{name: getattr(flow, name) for name in same},
        "rtt_sum_ns": _times(flow.rtt_mean_ms, NS_PER_MS * flow.rtt_samples),
        "rtt_min_ns": _ns(flow.rtt_min_ms, NS_PER_MS),
        "rtt_max_ns": _ns(flow.rtt_max_ms, NS_PER_MS),
        "rtt_p50_ns": _ns(flow.rtt_p50_ms, NS_PER_MS),
        "rtt_p95_ns": _ns(flow.rtt_p95_ms, NS_PER_MS),
        "rtt_p99_ns": _ns(flow.rtt_p99_ms, NS_PER_MS),
        "max_bin_bytes": _times(flow.throughput_max_mbps, 1e6 / _BITS),
        "finished_ns": _ns(flow.finished_s, NS_PER_S),
        "aborted_ns": _ns(flow.aborted_s, NS_PER_S),
    }


def _waiting(queue: QueueMetrics | SubqueueMetrics) -> dict[str, float | None]:
    """Compute back the totals that queues and sub-queues have in common: delays are of the packets that left."""
    return {
        "arrived_packets": queue.arrived_packets,
        "forwarded_bytes": queue.forwarded_bytes,
        "forwarded_packets": queue.forwarded_packets,
        "dropped_overflow": queue.dropped_overflow,
        "dropped_early": queue.dropped_early,
        "dropped_forced": queue.dropped_forced,
        "marked": queue.marked_packets,
        "waiting_packets": queue.waiting_packets,
        "delay_samples": queue.forwarded_packets,
        "delay_sum_ns": _times(queue.delay_mean_ms, NS_PER_MS * queue.forwarded_packets),
        "delay_max_ns": _ns(queue.delay_max_ms, NS_PER_MS),
        "delay_p50_ns": _ns(queue.delay_p50_ms, NS_PER_MS),
        "delay_p95_ns": _ns(queue.delay_p95_ms, NS_PER_MS),
        "delay_p99_ns": _ns(queue.delay_p99_ms, NS_PER_MS),
    }


def _queue(queue: QueueMetrics) -> dict[str, float | None]:
    share = queue.utilisation
    return {
        **_waiting(queue),
        "corrupted": queue.corrupted_packets,
        "busy_ns": None,
        "unsent_bytes": 0.0,
        "max_packets": queue.max_packets,
        "max_bytes": queue.max_bytes,
        "capacity_bits": None if not share else queue.forwarded_bytes * _BITS / share,
    }


def _ns(value: float | None, unit: float) -> float | None:
    """Return a time in whole nanoseconds, as the engine counts them."""
    return None if value is None else float(round(value * unit))


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
