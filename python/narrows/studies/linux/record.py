"""What is kept of a run: the measures of its flows, and their congestion windows over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from narrows import _core
from narrows.metrics import NO_CWND
from narrows.studies.comparison import measures
from narrows.studies.comparison.measures import Measure
from narrows.studies.comparison.values import mean_windows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.outcome import Run

SAMPLE_S: Final = 0.1
"""Interval at which windows are kept, s."""

SPURIOUS: Final = Measure("spurious", "Spurious", "", is_count=True)

MEASURES: Final = (
    measures.THROUGHPUT,
    measures.RTT,
    Measure("rtt_p95_ms", "RTT, 95 %", "ms"),
    measures.CWND,
    Measure("lost_packets", "Lost", "packets", is_count=True),
    Measure("retransmitted_packets", "Sent again", "packets", is_count=True),
    Measure("timeouts", "Timeouts", "", is_count=True),
    SPURIOUS,
    Measure("ecn_reductions", "Reductions by ECN", "", is_count=True),
)
"""The measures that are compared, in the order of the tables."""

Trace = NDArray[np.float64]
"""cwnd in bytes every `SAMPLE_S`, from the beginning of the run; 0 before the flow starts."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow of one run.

    Attributes
    ----------
    name : str
    values : mapping
        Measures by key; ``None`` for "no value".
    cwnd : ndarray
        Congestion window over time.
    """

    name: str
    values: Mapping[str, float | None]
    cwnd: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is kept of a run.

    Attributes
    ----------
    key : str
        Content address.
    place : str
        For a run on Linux what was run where, whichever version of Narrows did; empty for a simulated one.
    flows : tuple of Flow
    conditions : mapping or None
        Conditions of a run on Linux; ``None`` for a simulated one.
    doubts : tuple of str
        Reasons not to trust it.
    seconds : float
        Wall-clock time that it took, s.
    version : str
        Narrows' version that made it.
    failure : str or None
        Why it could not be run; then there are no flows.
    """

    key: str
    place: str = ""
    flows: tuple[Flow, ...] = ()
    conditions: Mapping[str, Any] | None = None
    doubts: tuple[str, ...] = ()
    seconds: float = 0.0
    version: str = ""
    failure: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values."""
        return {
            "key": self.key,
            "place": self.place,
            "flows": [
                {"name": one.name, "values": dict(one.values), "cwnd": one.cwnd.astype(int).tolist()}
                for one in self.flows
            ],
            "conditions": None if self.conditions is None else dict(self.conditions),
            "doubts": list(self.doubts),
            "seconds": self.seconds,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Create a record from the output of `to_json`."""
        return cls(
            key=str(row["key"]),
            place=str(row["place"]),
            flows=tuple(Flow(one["name"], one["values"], np.array(one["cwnd"], np.float64)) for one in row["flows"]),
            conditions=row["conditions"],
            doubts=tuple(row["doubts"]),
            seconds=row["seconds"],
            version=row["version"],
        )


def of(key: str, place: str, run: Run, seconds: float) -> Record:
    """Return what is kept of a run.

    Parameters
    ----------
    key, place : str
        Its content address, and what was run where; see `Record`.
    run : Run
    seconds : float
        Wall-clock time that it took, s.

    Returns
    -------
    Record
    """
    windows = mean_windows(run)
    frame = run.samples.frame("flow")
    grid = np.arange(round(run.scenario.duration_s / SAMPLE_S)) * SAMPLE_S
    flows = []
    for flow in run.flows:
        own: dict[str, Any] = {**flow.to_dict(), measures.CWND.key: windows.get(flow.name)}
        rows = frame[frame["name"] == flow.name]
        cwnd = rows["cwnd_bytes"].to_numpy(dtype=np.float64, na_value=0.0, copy=True)
        cwnd[cwnd >= NO_CWND] = 0.0
        flows.append(
            Flow(
                flow.name,
                {one.key: own[one.key] for one in MEASURES},
                _held(rows["time_s"].to_numpy(dtype=np.float64), cwnd, grid, flow.start_s),
            )
        )
    return Record(
        key=key,
        place=place,
        flows=tuple(flows),
        conditions=run.conditions,
        doubts=tuple(run.doubts),
        seconds=round(seconds, 2),
        version=_core.version(),
    )


def _held(time_s: Trace, values: Trace, grid: NDArray[Any], start_s: float) -> Trace:
    """Return the latest value at each time of a grid; 0 before the flow starts."""
    at = np.searchsorted(time_s, grid + SAMPLE_S / 1000, side="right") - 1
    held = np.where(at >= 0, values[np.maximum(at, 0)], 0.0) if len(values) else np.zeros(len(grid))
    return np.where(grid >= start_s, held, 0.0)
