"""Which rows of a contrast a reader sees first, and names in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.comparison.comparison import BUSY
from narrows.studies.contrast.metrics import SHOWN

if TYPE_CHECKING:
    from narrows.studies.contrast.contrast import Contrast, Row

_LOSSES = ("dropped_packets", "marked_packets", "corrupted_packets")


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
        Most objects of each kind; all by default.

    Returns
    -------
    (list of Row, int)
        The rows in the order of kinds and objects, and how many others have a value.
    """
    worth = [row for row in made.rows if not row.never]
    if every:
        return worth, 0
    busy = set(busy_queues(made))
    places: dict[str, list[str]] = {}
    kept = []
    for row in worth:
        chief = row.measure.key in SHOWN if made.wanted is None else True
        if not chief or (row.kind == "queue" and row.name not in busy):
            continue
        names = places.setdefault(row.kind, [])
        if row.name not in names:
            names.append(row.name)
        if most is None or names.index(row.name) < most:
            kept.append(row)
    return kept, len(worth) - len(kept)


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
