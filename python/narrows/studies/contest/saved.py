"""Reading a contest from its directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import ownership
from narrows.base.errors import InputError
from narrows.model.scenario import Scenario
from narrows.store.journal import RUNS, records
from narrows.store.saved import described, refusing_damage
from narrows.studies.contest.contestant import Contestant
from narrows.studies.contest.export import FORMAT
from narrows.studies.contest.page import SCENARIO, SUMMARY
from narrows.studies.contest.plan import make
from narrows.studies.contest.record import Record
from narrows.studies.contest.result import Contest

if TYPE_CHECKING:
    from os import PathLike

    from narrows.studies.contest.plan import Plan


def load(directory: str | PathLike[str]) -> Contest:
    """Read the directory of a finished contest, without running anything.

    Parameters
    ----------
    directory : path

    Returns
    -------
    Contest

    Raises
    ------
    InputError
        If the directory is not of a contest, or the contest is unfinished or damaged.
    ScenarioError
        If this version refuses the scenario in it.
    """
    root = Path(directory)
    ownership.found(root)
    if not (root / SUMMARY).is_file():
        message = f"{directory}: has no {SUMMARY}: its contest has not ended; the command that started it continues it"
        raise InputError(message)
    with refusing_damage(root):
        content = described(root / SUMMARY, format=FORMAT)
        plan = _plan(root, content)
        engine = content.get("engine")
        wanted = [plan.key(match, run, engine) for match in plan.matches for run in range(plan.runs)]
        kept = records((root / RUNS).read_bytes(), Record)
        there = {one.key: one for one in kept}
        lacking = sum(key not in there for key in wanted)
        if lacking:
            message = f"{directory}: {RUNS} lacks {lacking} of the {len(wanted)} runs of {SUMMARY}: it is damaged"
            raise InputError(message)
        return Contest(plan, tuple(there[key] for key in wanted), len(wanted), len(kept) - len(wanted))


def _plan(root: Path, content: dict[str, Any]) -> Plan:
    start_s, end_s = content["window_s"]
    first, second = content["slots"]
    orders = list(dict.fromkeys(pair["order"] for pair in content["pairs"]))
    if not set(orders) <= {"as_is", "swapped"}:
        message = f"orders are {orders}"
        raise ValueError(message)
    return make(
        Scenario.from_text((root / SCENARIO).read_text(encoding="utf-8"), str(root / SCENARIO)),
        [
            Contestant(str(one["label"]), {str(k): str(v) for k, v in one["tcp"].items()})
            for one in content["contestants"]
        ],
        runs=int(content["runs"]),
        seed=int(content["seed"]),
        slots=(str(first), str(second)),
        window=(float(start_s), float(end_s)),
        orders=orders,
        solo=bool(content["solo"]),
        sampling=None,
    )
