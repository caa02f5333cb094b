"""The result of an evaluation: a decision for each row, and what they say by path class."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from narrows.base.engine import engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.studies.evaluate.decide import Decision
    from narrows.studies.evaluate.plan import Plan, Row

VERDICTS: Final = ("met", "not met", "undecided", "not applicable")

USE: Final = "goodput_mbps"
DELAY: Final = "queue_ms"
LONGEST: Final = "rtt_p95_ms"


@dataclass(frozen=True, slots=True)
class Judged:
    """A row with its decision.

    Attributes
    ----------
    row : Row
    decision : Decision
    """

    row: Row
    decision: Decision


class Verdicts(Protocol):
    """What has a verdict and a section."""

    @property
    def verdict(self) -> str:
        """The verdict."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation.

    Attributes
    ----------
    plan : Plan
    judged : tuple of Judged
        In the order of the plan.
    note : str
        What has to be known about how it was made; empty if nothing.
    made : int
        Runs that this execution made.
    release, build : str
        The engine.
    """

    plan: Plan
    judged: tuple[Judged, ...]
    note: str
    made: int
    release: str
    build: str

    @classmethod
    def of(cls, plan: Plan, decisions: Mapping[str, Decision], note: str, made: int) -> Evaluation:
        """Put decisions into the order of the plan.

        Parameters
        ----------
        plan : Plan
        decisions : mapping
            By name of the row.
        note : str
        made : int

        Returns
        -------
        Evaluation
        """
        here = engine()
        rows = tuple(Judged(row, decisions[row.name]) for row in plan.rows)
        return cls(plan, rows, note, made, here.release, here.build)

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by verdict, all four."""
        found = Counter(one.decision.verdict for one in self.judged)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def digest(self) -> str:
        """SHA-256 over the verdicts and the digests of the runs that they rest on, hexadecimal.

        Two evaluations of one control by one engine under one seed have the same digest, whatever the number of jobs.
        """
        content = [
            (one.row.name, one.decision.verdict, one.decision.seeds, one.decision.digests) for one in self.judged
        ]
        whole = json.dumps([self.plan.quick, self.plan.seed, content], separators=(",", ":"))
        return hashlib.sha256(whole.encode()).hexdigest()

    @property
    def runs(self) -> int:
        """Number of different runs that the verdicts rest on."""
        return len({arm.key(seed) for one in self.judged for arm in one.row.arms for seed in one.decision.seeds})

    def of_row(self, name: str) -> Judged:
        """Return a row by its name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Judged

        Raises
        ------
        KeyError
            If there is none.
        """
        found = [one for one in self.judged if one.row.name == name]
        if not found:
            raise KeyError(name)
        return found[0]


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """What an evaluation says of a path class.

    Attributes
    ----------
    path_class : str
    met, judged : int
        Rows that are met, and rows that are judged.
    use, delay : float or None
        Goodput, and delay, over CUBIC's in the same networks (geometric mean); ``None`` without such rows.
    harm : float or None
        Largest mean harm, of 1; ``None`` without such rows.
    """

    path_class: str
    met: int
    judged: int
    use: float | None
    delay: float | None
    harm: float | None


def by_class(rows: Iterable[Mapping[str, Any]]) -> tuple[ClassSummary, ...]:
    """Summarise rows by path class.

    Parameters
    ----------
    rows : iterable of mapping
        Rows as `narrows.studies.evaluate.export.to_json` has them.

    Returns
    -------
    tuple of ClassSummary
        In the order in which the classes appear.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(str(row["class"]), []).append(row)
    return tuple(_summary(name, own) for name, own in grouped.items())


def _summary(name: str, rows: Sequence[Mapping[str, Any]]) -> ClassSummary:
    judged = [row for row in rows if row["verdict"] != "not applicable"]
    harms = [row["value"]["mean"] for row in rows if row["measure"] == "harm" and row["value"]["mean"] is not None]
    return ClassSummary(
        name,
        sum(row["verdict"] == "met" for row in judged),
        len(judged),
        _ratio(row for row in rows if row["measure"] == USE),
        _ratio(row for row in rows if row["measure"] in (DELAY, LONGEST)),
        max(harms, default=None),
    )


def _ratio(rows: Iterable[Mapping[str, Any]]) -> float | None:
    ratios = [
        row["value"]["mean"] / row["cubic"]
        for row in {(row["network"], row["measure"]): row for row in rows}.values()
        if row["cubic"] and row["value"]["mean"]
    ]
    positive = [ratio for ratio in ratios if ratio > 0]
    return math.exp(math.fsum(map(math.log, positive)) / len(positive)) if positive else None
