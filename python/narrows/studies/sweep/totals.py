"""The totals of a run's flows and queues in a record, and the metrics of many records as columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

from narrows.metrics import jains_index
from narrows.metrics.columns import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from narrows import _core
    from narrows.model.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a run's flows, or of its queues.

    Attributes
    ----------
    kind : {"flow", "queue"}
    names : sequence of str
        Flows or queues, in order.
    words : sequence of str or None
        Congestion control of each flow (``None`` for UDP); 802.11 channel of each queue (``None`` of a wired link).
    columns : tuple of str
        Columns of the totals.
    values : bytes
        Values row by row, as `narrows._core.Result.totals` returns them.
    """

    kind: Literal["flow", "queue"]
    names: Sequence[str]
    words: Sequence[str | None]
    columns: tuple[str, ...]
    values: bytes


def totals_of(scenario: Scenario, result: _core.Result) -> tuple[Totals, ...]:
    """Return the totals of a run.

    Parameters
    ----------
    scenario : Scenario
        As run.
    result : narrows._core.Result

    Returns
    -------
    tuple of Totals
        Of flows, and of queues.
    """
    flows, controls = result.flow_names, scenario.congestion_controls()
    queues, channels = result.queue_names, scenario.interface_queues()
    return (
        Totals("flow", flows, [controls.get(name) for name in flows], *result.totals("flow_totals")),
        Totals("queue", queues, [channels.get(name) for name in queues], *result.totals("queue_totals")),
    )


def metrics(parts: Sequence[Totals]) -> dict[str, NDArray[np.float64]]:
    """Compute the metrics of the flows or queues of many runs.

    Parameters
    ----------
    parts : sequence of Totals
        Of one kind, with the same columns; at least one.

    Returns
    -------
    dict
        Columns by metric, with a row for each flow or queue; NaN where a metric has no value.
    """
    return columns(parts[0].kind, parts[0].columns, b"".join(part.values for part in parts))


def jain(parts: Sequence[Totals], throughput_mbps: NDArray[np.float64]) -> list[float | None]:
    """Compute the fairness among the flows of each run, see `narrows.metrics.aggregate.fairness`.

    Parameters
    ----------
    parts : sequence of Totals
        Of flows, run by run.
    throughput_mbps : array
        Throughput of all of them, one run after the other; NaN where there is none.

    Returns
    -------
    list of float or None
    """
    rates = [None if rate != rate else rate for rate in throughput_mbps.tolist()]
    found = []
    begin = 0
    for part in parts:
        own = rates[begin : begin + len(part.names)]
        begin += len(part.names)
        found.append(jains_index(rate for rate, cc in zip(own, part.words, strict=True) if cc is not None))
    return found


def names(parts: Sequence[Totals]) -> list[str]:
    """Return the names of all flows or queues, one run after the other.

    Parameters
    ----------
    parts : sequence of Totals

    Returns
    -------
    list of str
    """
    return list(chain.from_iterable(part.names for part in parts))


def words(parts: Sequence[Totals]) -> list[str | None]:
    """Return their congestion controls or channels.

    Parameters
    ----------
    parts : sequence of Totals

    Returns
    -------
    list of str or None
    """
    return list(chain.from_iterable(part.words for part in parts))
