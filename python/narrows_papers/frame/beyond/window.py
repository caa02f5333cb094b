"""Measurements in a time window of a run, from its samples: throughput and losses of flows, and queue lengths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from narrows.metrics import jains_index
from narrows_papers.frame.beyond.question import average

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.outcome import Run

Array = NDArray[np.float64]
Kind = Literal["flow", "queue"]


class Course:
    """Samples of a run, by flow or queue and column; each column is read once.

    Parameters
    ----------
    run : Run
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._columns: dict[tuple[str, str, str], Array] = {}
        self._rows: dict[tuple[str, str], NDArray[np.int64]] = {}
        kinds: tuple[Kind, ...] = ("flow", "queue")
        self._tables = {kind: run.samples.table(kind) for kind in kinds}
        for kind, table in self._tables.items():
            names = table["name"].combine_chunks()
            codes = names.indices.to_numpy(zero_copy_only=False)
            for code, name in enumerate(names.dictionary.to_pylist()):
                self._rows[kind, name] = np.flatnonzero(codes == code)

    def column(self, kind: Kind, name: str, column: str) -> Array:
        """Values of a column of one flow or queue, in order of time; NaN means "no value"."""
        key = (kind, name, column)
        if key not in self._columns:
            table = self._tables[kind]
            whole = (kind, "", column)
            if whole not in self._columns:
                values = table[column].to_numpy()
                self._columns[whole] = np.asarray(values, dtype=np.float64)
            self._columns[key] = self._columns[whole][self._rows.get((kind, name), np.array([], dtype=np.int64))]
        return self._columns[key]

    def window(self, begin_s: float, end_s: float) -> Window:
        """Return the window between two times, s."""
        return Window(self, begin_s, end_s)

    def flows(self, prefix: str) -> list[str]:
        """Names of the flow with this name, or of its copies."""
        return [one.name for one in self.run.flows if one.name == prefix or one.name.startswith(f"{prefix}-")]


class Window:
    """Measurements between two times.

    Parameters
    ----------
    course : Course
        The run.
    begin_s, end_s : float
        Start and end, s.
    """

    def __init__(self, course: Course, begin_s: float, end_s: float) -> None:
        self.course = course
        self.begin_s = begin_s
        self.end_s = end_s

    @property
    def length_s(self) -> float:
        """Length of the window, s."""
        return self.end_s - self.begin_s

    def grown(self, kind: Kind, name: str, column: str) -> float:
        """Growth of a counter; a flow's counter is zero before its first sample."""
        time, values = self.course.column(kind, name, "time_s"), self.course.column(kind, name, column)
        if not time.size:
            return 0.0
        at = np.interp([self.begin_s, self.end_s], time, values, left=0.0)
        return float(at[1] - at[0])

    def mean(self, kind: Kind, name: str, column: str) -> float:
        """Mean of the samples of a gauge; NaN if there are none."""
        time, values = self.course.column(kind, name, "time_s"), self.course.column(kind, name, column)
        inside = values[(time > self.begin_s) & (time <= self.end_s)]
        inside = inside[np.isfinite(inside)]
        return float(inside.mean()) if inside.size else math.nan

    def goodput(self, *flows: str) -> float:
        """Payload delivered in order to the applications, sum over the flows, Mb/s."""
        return sum(self.grown("flow", flow, "delivered_bytes") for flow in flows) * 8e-6 / self.length_s

    def throughput(self, *flows: str) -> float:
        """IP bytes that arrived, sum over the flows, Mb/s."""
        return sum(self.grown("flow", flow, "arrived_bytes") for flow in flows) * 8e-6 / self.length_s

    def lost(self, *flows: str) -> float:
        """Lost packets with payload, sum over the flows."""
        return sum(self.grown("flow", flow, "lost_packets") for flow in flows)

    def loss(self, *flows: str) -> float:
        """Lost packets in per cent of sent ones; NaN if none were sent."""
        sent = sum(self.grown("flow", flow, "sent_packets") for flow in flows)
        return 100 * self.lost(*flows) / sent if sent else math.nan

    def jain(self, flows: Sequence[str]) -> float:
        """Jain's index over the goodput of flows; NaN if all are zero."""
        found = jains_index([self.goodput(flow) for flow in flows])
        return math.nan if found is None else found

    def rtt(self, *flows: str) -> float:
        """Mean of the latest round-trip times, averaged over the flows, ms."""
        return average([self.mean("flow", flow, "rtt_ns") * 1e-6 for flow in flows])

    def used(self, queue: str, rate_mbps: float) -> float:
        """Utilisation of the link behind a queue, % of its rate."""
        return self.grown("queue", queue, "forwarded_bytes") * 8e-4 / self.length_s / rate_mbps

    def waiting(self, queue: str) -> float:
        """Mean number of bytes in a queue, kB."""
        return self.mean("queue", queue, "bytes") * 1e-3

    def dropped(self, queue: str) -> float:
        """Number of packets that a queue dropped by overflow."""
        return self.grown("queue", queue, "dropped_overflow")
