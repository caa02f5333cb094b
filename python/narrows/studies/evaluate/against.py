"""Two evaluations side by side: which rows got better, worse or stayed the same."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from narrows.stats import Estimate, adjusted_p, mean_ci, paired_difference
from narrows.studies.evaluate.export import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.stats import PairedDifference

Change = Literal["better", "worse", "same", "unknown"]

LEVEL: Final = 0.05
"""Largest expected share of false findings among rows that are called better or worse (Benjamini and Hochberg 1995)."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A row in two evaluations.

    Attributes
    ----------
    row, section, measure : str
    before, after : str
        Verdicts.
    old, new : float or None
        Means of the measure.
    difference : Estimate
        New less old over the seeds that both have, with its 95 % interval.
    change : str
        ``better``, ``worse``, ``same``, or ``unknown`` where fewer than two seeds are common and differ, or a
        difference is equal under too few of them, or the catalogue defines the row's network or measure otherwise now.
    """

    row: str
    section: str
    measure: str
    before: str
    after: str
    old: float | None
    new: float | None
    difference: Estimate
    change: Change


@dataclass(frozen=True, slots=True)
class Against:
    """Two evaluations.

    Attributes
    ----------
    old, new : str
        The controls, and the kernel of live runs.
    rows : tuple of Changed
        Rows that both have, in the order of the new one.
    added, removed : tuple of str
        Rows that only the new one or only the old one has.
    """

    old: str
    new: str
    rows: tuple[Changed, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by change."""
        found = Counter(one.change for one in self.rows)
        return {change: found[change] for change in ("better", "worse", "same", "unknown")}

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain values, without NaN and infinity.

        Returns
        -------
        dict
        """

        def finite(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "old": self.old,
            "new": self.new,
            "changes": self.counts,
            "rows": [
                {
                    "row": one.row,
                    "section": one.section,
                    "measure": one.measure,
                    "before": one.before,
                    "after": one.after,
                    "old": one.old,
                    "new": one.new,
                    "difference": {
                        "mean": finite(one.difference.mean),
                        "low": finite(one.difference.low),
                        "high": finite(one.difference.high),
                        "n": one.difference.n,
                    },
                    "change": one.change,
                }
                for one in self.rows
            ],
            "added": list(self.added),
            "removed": list(self.removed),
        }


def against(old: Mapping[str, Any], new: Mapping[str, Any]) -> Against:
    """Compare two evaluations row by row, over the seeds that both have.

    Parameters
    ----------
    old, new : mapping
        As `narrows.studies.evaluate.export.to_json` returns them.

    Returns
    -------
    Against
    """
    before = {row["row"]: row for row in old["rows"]}
    after = {row["row"]: row for row in new["rows"]}
    both = [name for name in after if name in before]
    pairs = {name: _common(before[name], after[name]) for name in both}
    differences = {
        name: paired_difference([value for value, _ in values], [value for _, value in values])
        for name, values in pairs.items()
        if values
    }
    adjusted = dict(zip(differences, adjusted_p([_p_value(one) for one in differences.values()]), strict=True))
    rows = []
    for name in both:
        was, is_ = before[name], after[name]
        found = differences.get(name)
        change = _change(was, is_, None if found is None else found.difference, adjusted.get(name, math.nan))
        rows.append(
            Changed(
                name,
                is_["section"],
                is_["measure"],
                was["verdict"],
                is_["verdict"],
                was["value"]["mean"],
                is_["value"]["mean"],
                mean_ci(()) if found is None else found.difference,
                change,
            )
        )
    return Against(
        _name(old),
        _name(new),
        tuple(rows),
        tuple(name for name in after if name not in before),
        tuple(name for name in before if name not in after),
    )


def _name(content: Mapping[str, Any]) -> str:
    """The control, and the world of its runs if it is not the simulator; earlier versions had no other."""
    world = content.get("world", SIMULATED)
    return str(content["control"]) + ("" if world == SIMULATED else f" ({world})")


def _p_value(found: PairedDifference) -> float:
    """The p-value; of equal differences that of the sign test, since no spread in a few seeds is no certainty."""
    return max(found.p_value, 2.0 ** (1 - found.difference.n)) if found.difference.sd == 0 else found.p_value


def _common(was: Mapping[str, Any], is_: Mapping[str, Any]) -> list[tuple[float, float]]:
    # Evaluations by earlier versions have no definitions.
    if was.get("definition", is_.get("definition")) != is_.get("definition", was.get("definition")):
        return []
    olds = dict(zip(was["seeds"], was["values"], strict=True))
    news = dict(zip(is_["seeds"], is_["values"], strict=True))
    return [
        (olds[seed], news[seed]) for seed in news if seed in olds and olds[seed] is not None and news[seed] is not None
    ]


def _change(was: Mapping[str, Any], is_: Mapping[str, Any], difference: Estimate | None, p_value: float) -> Change:
    failed = [bool(row["reason"]) and row["verdict"] == "not met" for row in (was, is_)]
    if failed[0] != failed[1]:
        return "worse" if failed[1] else "better"
    if difference is None:
        return "unknown"
    if difference.mean == 0:
        return "same"
    if difference.n < 2:
        return "unknown"
    if not p_value <= LEVEL:
        return "unknown" if difference.sd == 0 else "same"
    return "better" if (difference.mean > 0) == (is_["side"] == "at_least") else "worse"
