"""The record that a comparison of queue disciplines keeps of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.outcome import Run
    from narrows.studies.aqm.plan import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The stored results of a run.

    Attributes
    ----------
    key : str
        Content address; see `Plan.key`.
    scenario, queue : str
        Label of the scenario, and of the queue discipline.
    seed, run : int
        Seed, and index of the run.
    digest : str
        SHA-256 over everything that the run yielded.
    goodput_mbps : float
        Payload delivered in order by all TCP flows, per simulated time, Mb/s.
    utilisation : float or None
        Of the observed link direction, in [0, 1].
    delay_mean_ms, delay_p50_ms, delay_p95_ms, delay_p99_ms, delay_max_ms : float or None
        Queueing delay in the observed queue, ms; ``None`` if no packet left it.
    drop_ratio, mark_ratio : float or None
        Packets that the observed queue dropped, or marked CE, over packets that came to it.
    jain : float or None
        Jain's index over the throughputs of the TCP flows.
    """

    key: str
    scenario: str
    queue: str
    seed: int
    run: int
    digest: str
    goodput_mbps: float
    utilisation: float | None
    delay_mean_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    delay_p99_ms: float | None
    delay_max_ms: float | None
    drop_ratio: float | None
    mark_ratio: float | None
    jain: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values.

        Returns
        -------
        dict
        """
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Create a record from the output of `to_json`.

        Parameters
        ----------
        row : mapping

        Returns
        -------
        Record

        Raises
        ------
        TypeError
            If the values are not those of a record.
        """
        return cls(**row)


def measure(cell: Cell, key: str, index: int, made: Run) -> Record:
    """Measure a run.

    Parameters
    ----------
    cell : Cell
        What was run.
    key : str
        The record's key.
    index : int
        Index of the run.
    made : Run

    Returns
    -------
    Record
    """
    queue = next(one for one in made.queues if one.name == cell.observed)
    delivered = sum(flow.delivered_bytes for flow in made.flows if flow.cc is not None)
    return Record(
        key=key,
        scenario=cell.scenario_label,
        queue=cell.queue,
        seed=made.seed,
        run=index,
        digest=made.digest,
        goodput_mbps=8e-6 * delivered / made.scenario.duration_s,
        utilisation=queue.utilisation,
        delay_mean_ms=queue.delay_mean_ms,
        delay_p50_ms=queue.delay_p50_ms,
        delay_p95_ms=queue.delay_p95_ms,
        delay_p99_ms=queue.delay_p99_ms,
        delay_max_ms=queue.delay_max_ms,
        drop_ratio=queue.drop_ratio,
        mark_ratio=queue.marked_packets / queue.arrived_packets if queue.arrived_packets else None,
        jain=made.jain,
    )
