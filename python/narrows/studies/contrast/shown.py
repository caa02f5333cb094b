"""Which rows of a contrast a reader sees first, and names in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.studies.comparison.comparison import BUSY
from narrows.studies.contrast.changes import ABSENT, Change
from narrows.studies.contrast.metrics import SHOWN
from narrows.studies.contrast.table import kernel, world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.contrast.contrast import Contrast, Row

HEADLINE: Final = (
    "throughput_mbps",
    "rtt_mean_ms",
    "delay_mean_ms",
    "lost_packets",
    "utilisation",
    "jain",
    "fct_mean_ms",
    "rate_mean_mbps",
    "stalled_s",
)
"""Metrics that the verdict may name."""

_LOSSES: Final = ("dropped_packets", "marked_packets", "corrupted_packets")


def rows(made: Contrast, *, every: bool, most: int | None = None) -> tuple[list[Row], int]:
    """Select the rows to show.

    Parameters
    ----------
    made : Contrast
    every : bool
        Whether to show every metric of every object. Otherwise the chief metrics: of all flows, of flows and of queues
        that lost something or were busy in a result; or the metrics that were asked for. Counts that are zero
        everywhere are always left out.
    most : int, optional
        Most objects of each kind: those that changed most. All by default.

    Returns
    -------
    (list of Row, int)
        The rows in the order of kinds and objects, and how many others have a value.
    """
    worth = [row for row in made.rows if not row.never]
    if every:
        return worth, 0
    busy = set(busy_queues(made))
    kept = [
        row
        for row in worth
        if (made.wanted is not None or row.measure.key in SHOWN) and (row.kind != "queue" or row.name in busy)
    ]
    if most is not None:
        chosen = _most_changed(kept, most)
        kept = [row for row in kept if (row.kind, row.name) in chosen]
    return kept, len(worth) - len(kept)


def _most_changed(listed: Sequence[Row], most: int) -> set[tuple[str, str]]:
    """Return the objects of each kind that changed most in a metric that the verdict may name."""
    sizes: dict[str, dict[str, float]] = {}
    for row in listed:
        size = max((change(row, place) for place in range(len(row.differences))), default=0.0)
        found = sizes.setdefault(row.kind, {})
        found.setdefault(row.name, 0.0)
        if row.measure.key in HEADLINE and math.isfinite(size):
            found[row.name] = max(found[row.name], size)
    return {(kind, name) for kind, found in sizes.items() for name in sorted(found, key=lambda one: -found[one])[:most]}


def change(row: Row, place: int) -> float:
    """Return the size of a change: the logarithm of the ratio of both means, without its sign.

    Parameters
    ----------
    row : Row
    place : int
        Of the further result, from 0.

    Returns
    -------
    float
        0 without a change or a value; infinite from or to zero.
    """
    before, after = row.estimates[0], row.estimates[place + 1]
    if not before.n or not after.n or before.mean == after.mean:
        return 0.0
    if before.mean <= 0 or after.mean <= 0:
        return math.inf
    return abs(math.log(after.mean / before.mean))


def busy_queues(made: Contrast) -> list[str]:
    """Return the queues that lost something or were busy in a result, the busiest first.

    Parameters
    ----------
    made : Contrast

    Returns
    -------
    list of str
    """
    used: dict[str, float] = {}
    for queue in (queue for arm in made.arms for run in arm.outcome.runs for queue in run.queues):
        share = queue.utilisation or 0.0
        if share >= BUSY or any(getattr(queue, key) for key in _LOSSES):
            used[queue.name] = max(used.get(queue.name, 0.0), share)
    return sorted(used, key=lambda name: -used[name])


def facts(made: Contrast, index: int) -> list[Change]:
    """Return what differs beside the scenarios: where the results come from, kernel, version, seed and number of runs.

    Parameters
    ----------
    made : Contrast
    index : int
        Place of the further result, from 0.

    Returns
    -------
    list of Change
        With a word in place of a path.
    """
    before, after = made.baseline, made.arms[index + 1]
    pairs = (
        ("world", world(before), world(after)),
        ("kernel", kernel(before) or ABSENT, kernel(after) or ABSENT),
        ("version", before.outcome.version, after.outcome.version),
        ("seed", str(before.outcome.seed), str(after.outcome.seed)),
        ("runs", str(len(before.outcome.runs)), str(len(after.outcome.runs))),
    )
    return [Change(what, one, other) for what, one, other in pairs if one != other]


def about(made: Contrast, row: Row) -> str:
    """Return the congestion controls of a flow in all results: one where they agree.

    Parameters
    ----------
    made : Contrast
    row : Row

    Returns
    -------
    str
        Empty for other objects.
    """
    if row.kind != "flow":
        return ""
    found = []
    for arm in made.arms:
        flow = next((one for one in arm.outcome.runs[0].flows if one.name == row.name), None)
        found.append("–" if flow is None else flow.cc or "UDP")
    return found[0] if len(set(found)) == 1 else (" → " if len(found) == 2 else ", ").join(found)


def unmatched(made: Contrast, index: int) -> list[tuple[str, str, list[str]]]:
    """Return the objects that only one of two results has, by result and kind.

    Parameters
    ----------
    made : Contrast
    index : int
        Place of the further result, from 0.

    Returns
    -------
    list of (str, str, list of str)
        Label of the result, kind, and names.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for label, kind, name in made.unmatched(index):
        found.setdefault((label, kind), []).append(name)
    return [(label, kind, names) for (label, kind), names in found.items()]
