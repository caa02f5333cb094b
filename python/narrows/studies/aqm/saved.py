"""Reading a comparison of queue disciplines from its directory, without running anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import ownership
from narrows.store.journal import RUNS, records
from narrows.store.saved import described, refusing_damage
from narrows.studies.aqm.page import FORMAT, SUMMARY
from narrows.studies.aqm.record import Record
from narrows.studies.aqm.result import COLUMNS, Results

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, slots=True)
class Saved(Results):
    """A comparison that was read from its directory.

    Attributes
    ----------
    titles : dict
        Titles of the scenarios by label.
    names : tuple of str
        The disciplines.
    records : tuple of Record
    observed : dict
        The queue that is measured, by scenario.
    """

    titles: dict[str, str]
    names: tuple[str, ...]
    records: tuple[Record, ...]
    observed: dict[str, str]

    @property
    def runs(self) -> tuple[Record, ...]:
        """The records."""
        return self.records

    @property
    def scenarios(self) -> dict[str, str]:
        """Titles of the scenarios by label, in their order."""
        return self.titles

    @property
    def queues(self) -> tuple[str, ...]:
        """The disciplines, in their order."""
        return self.names


def load(directory: str | PathLike[str]) -> Saved:
    """Read the directory of a finished comparison.

    Parameters
    ----------
    directory : path

    Returns
    -------
    Saved

    Raises
    ------
    InputError
        If the directory is not of a comparison, or is damaged.
    """
    root = Path(directory)
    ownership.found(root)
    with refusing_damage(root):
        return _revived(root, described(root / SUMMARY, format=FORMAT))


def _revived(root: Path, content: dict[str, Any]) -> Saved:
    cells = [(str(one["scenario"]), str(one["queue"])) for one in content["cells"]]
    wanted = [(*cell, int(content["seed"]), run) for cell in cells for run in range(int(content["runs"]))]
    # The journal may hold runs of other engines too: of each run the last one is that of the page.
    there = {(one.scenario, one.queue, one.seed, one.run): one for one in records((root / RUNS).read_bytes(), Record)}
    made = Saved(
        {str(one["scenario"]): str(one.get("title", one["scenario"])) for one in content["cells"]},
        tuple(dict.fromkeys(queue for _, queue in cells)),
        tuple(there[key] for key in wanted),
        {str(one["scenario"]): str(one["observed"]) for one in content["cells"]},
    )
    for one in content["cells"]:
        for name in COLUMNS:
            told = one["measures"][name]["mean"]
            again = made.estimate(name, str(one["queue"]), str(one["scenario"])).mean
            if not (math.isnan(again) if told is None else math.isclose(told, again, rel_tol=1e-9, abs_tol=1e-12)):
                message = f"{name} of {one['queue']} on {one['scenario']} is {told} in {SUMMARY} and {again} in {RUNS}"
                raise ValueError(message)
    return made
