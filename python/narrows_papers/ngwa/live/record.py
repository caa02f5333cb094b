"""The record of a live or simulated run: enough for every table, figure and claim of the page."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from narrows.metrics import rate_over_time
from narrows.stats import batch_means
from narrows.studies.contest.plan import engine
from narrows_papers.ngwa.linux import BIN_S, Transfer
from narrows_papers.ngwa.rounds import BATCHES, BYTES_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narrows.outcome import Run
    from narrows.outcome.conditions import Conditions
    from narrows_papers.ngwa.live.plan import Job

FORMAT = 1
"""Version of the format and of the measures; a new version changes every key."""

BOTTLENECK = "r1->r2"
"""The queue in front of the middle link."""

UNHEARD = "no receiver took a window from NGWA's option, so that this is a run without NGWA"
"""Reason not to trust a run of NGWA whose receivers did not take part."""

LONGEST_GAP_S = 0.5
"""Largest time between samples of a flow, s (interval: `BIN_S`); after longer gaps, the traffic threads lacked CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run.

    Attributes
    ----------
    key : str
        Content address; see `address`.
    name : str
        Name of its `Job`.
    rates : tuple of tuple of int
        Payload delivered, by flow in bins of `BIN_S`, bytes/s.
    rtt_ms : tuple of float or None
        Mean round-trip time, by flow, ms.
    lost : float
        Data packets of all flows that the network dropped.
    dropped : float
        Packets that the queue before the middle link dropped.
    timeouts : float or None
        Expiries of the retransmission timer, over all flows; `None` if not counted.
    filled : float
        Largest number of bytes in that queue.
    used : float or None
        Utilisation of the middle link over the whole run, in [0, 1].
    options : float or None
        Number of segments from whose option a receiver took a window, over all flows.
    digest : str
        Digest of the run.
    doubts : tuple of str
        Reasons not to trust the run.
    conditions : dict or None
        Conditions of a live run; see `narrows.outcome.conditions`.
    """

    key: str
    name: str
    rates: tuple[tuple[int, ...], ...]
    rtt_ms: tuple[float | None, ...]
    lost: float
    dropped: float
    timeouts: float | None
    filled: float
    used: float | None
    options: float | None
    digest: str
    doubts: tuple[str, ...] = ()
    conditions: Conditions | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Create a record from the output of `to_json`.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the values are not those of a record.
        """
        values = dict(row)
        rates = tuple(tuple(map(int, flow)) for flow in values.pop("rates"))
        rtt_ms, doubts = tuple(values.pop("rtt_ms")), tuple(values.pop("doubts"))
        return cls(**values, rates=rates, rtt_ms=rtt_ms, doubts=doubts)

    def transfer(self, warmup_s: float) -> Transfer:
        """Convert to a transfer, as the Linux section's claims and figures use it: rates with intervals by batch means.

        Raises
        ------
        ValueError
            If too few bins are left after the warm-up.
        """
        warmup = round(warmup_s / BIN_S)
        return Transfer(
            tuple(batch_means(flow, batches=BATCHES, warmup=warmup) for flow in self.rates),
            lost=self.lost,
            timeouts=self.timeouts or 0.0,
            filled=self.filled,
            used=self.used or 0.0,
            digest=self.digest,
        )


def address(job: Job) -> str:
    """Content address of a live run: scenario, build of the engine, and kernel and machine."""
    parts = [FORMAT, job.scenario.to_toml(), job.scenario.seed, engine(), platform.release(), platform.node()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def record(job: Job, run: Run) -> Record:
    """Reduce a run to a record."""
    frame = run.samples.frame("flow")
    names = frame["name"].astype(str)
    rates = []
    gap = 0.0
    for flow in run.flows:
        rows = frame[names == flow.name]
        series = rate_over_time(rows["time_s"], rows["delivered_bytes"], BIN_S)[1] * BYTES_PER_S
        rates.append(tuple(round(float(value)) for value in series))
        gap = max(gap, float(rows["time_s"].diff().max()))
    queue = run.queue(BOTTLENECK)
    options = _sum(flow.window_options for flow in run.flows)
    doubts = run.doubts
    if "ngwa" in run.scenario.resolved.schemes and options == 0:
        # Without options, the numbers would be those of a network without NGWA, labelled as NGWA.
        doubts = (*doubts, UNHEARD)
    if gap > LONGEST_GAP_S:
        doubts = (*doubts, f"samples are up to {gap:.1f} s apart (allowed: {LONGEST_GAP_S:g}): hosts had no time")
    return Record(
        key=address(job),
        name=job.name,
        rates=tuple(rates),
        rtt_ms=tuple(flow.rtt_mean_ms for flow in run.flows),
        lost=sum(flow.lost_packets for flow in run.flows),
        dropped=queue.dropped_packets,
        timeouts=_sum(flow.timeouts for flow in run.flows),
        filled=queue.max_bytes,
        used=queue.utilisation,
        options=options,
        digest=run.digest,
        doubts=doubts,
        conditions=run.conditions,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    listed = list(values)
    return None if None in listed else float(sum(value for value in listed if value is not None))
