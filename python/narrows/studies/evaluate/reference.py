"""Stored runs of CUBIC: what every evaluation compares with, so that it is not run again each time.

``reference.jsonl.gz`` holds the records of the runs of a quick evaluation in which no control is under test but CUBIC.
Their address has no build of the engine, since every wheel is another build: it has the release, and a hash of the list
of digests of that release (``narrows verify``), which changes when the engine's behaviour does. Before any stored run
is used, an evaluation makes some of them itself and compares digests. If one differs, none is used, and the page says
so.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.engine import engine
from narrows.base.errors import NarrowsError
from narrows.runs import verify
from narrows.studies.evaluate.plan import REFERENCE
from narrows.studies.evaluate.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.studies.evaluate.plan import Arm, Plan

FILE: Final = Path(__file__).resolve().parent / "reference.jsonl.gz"
"""The stored runs."""

PROBES: Final = 4
"""Number of stored runs that an evaluation repeats before it uses the others."""


@functools.cache
def behaviour() -> str:
    """Return what stands for the engine's behaviour: its release, and the hash of the digests listed for it.

    Returns
    -------
    str
    """
    release = engine().release
    listed: dict[str, str] = {}
    with suppress(NarrowsError, OSError):
        listed = verify.digests(release)
    return f"{release} {hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()}"


@functools.cache
def _stored() -> dict[str, Record]:
    found: dict[str, Record] = {}
    with suppress(OSError, ValueError, TypeError, KeyError), gzip.open(FILE, "rt", encoding="utf-8") as file:
        for line in file:
            one = Record.from_json(json.loads(line))
            found[one.key] = one
    return found


class Stored:
    """The stored runs that an evaluation may use.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._trusted = False
        self.reason = ""
        """Why stored runs are not used; empty if they are, or if there are none."""

    def probes(self, arms: Iterable[Arm], look: int) -> list[tuple[Arm, int]]:
        """Choose the stored runs to repeat: those with the smallest addresses, of different arms.

        Parameters
        ----------
        arms : iterable of Arm
        look : int
            Number of seeds.

        Returns
        -------
        list of tuple
            Arm and seed.
        """
        found: dict[str, tuple[str, Arm, int]] = {}
        for arm in arms:
            for seed in range(self._plan.seed, self._plan.seed + look):
                key = arm.portable(seed, behaviour())
                if key in _stored() and (arm.identity not in found or key < found[arm.identity][0]):
                    found[arm.identity] = key, arm, seed
        return [(arm, seed) for _, arm, seed in sorted(found.values(), key=lambda one: one[0])[:PROBES]]

    def confirmed(self, repeated: Sequence[tuple[Arm, int, Record]]) -> bool:
        """Take the stored runs if those that were repeated are the same.

        Parameters
        ----------
        repeated : sequence of tuple
            Arm, seed, and the record of this engine.

        Returns
        -------
        bool
            False if one differs.
        """
        for arm, seed, made in repeated:
            if _stored()[arm.portable(seed, behaviour())].digest != made.digest:
                self.reason = "the stored runs of CUBIC are of an engine that behaves differently, and were made again"
                return False
        self._trusted = True
        return True

    def find(self, arm: Arm, seed: int) -> Record | None:
        """Return a stored run.

        Parameters
        ----------
        arm : Arm
        seed : int

        Returns
        -------
        Record or None
        """
        if not self._trusted:
            return None
        found = _stored().get(arm.portable(seed, behaviour()))
        return None if found is None else replace(found, key=arm.key(seed))


def write(plan: Plan, records: Iterable[Record], path: Path = FILE) -> int:
    """Write the runs of CUBIC of an evaluation as the stored ones.

    Parameters
    ----------
    plan : Plan
        Of an evaluation of CUBIC.
    records : iterable of Record
        All records of its directory.
    path : pathlib.Path

    Returns
    -------
    int
        Number of runs.

    Raises
    ------
    ValueError
        If the plan is of another control.
    """
    if plan.control != REFERENCE:
        message = f"the evaluation is of {plan.control}; allowed: of {REFERENCE}"
        raise ValueError(message)
    there = {one.key: one for one in records}
    lines = {}
    for row in plan.rows:
        for arm in row.arms if not row.inapplicable else ():
            for seed in range(plan.seed, plan.seed + plan.looks[-1]):
                one = there.get(arm.key(seed))
                if one is not None and one.error is None:
                    key = arm.portable(seed, behaviour())
                    lines[key] = json.dumps(replace(one, key=key).to_json(), separators=(",", ":"))
    content = "".join(f"{lines[key]}\n" for key in sorted(lines))
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
    return len(lines)
