"""What ``narrows ui`` opens: a scenario, or a directory of results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows.base import inputs
from narrows.base.errors import InputError, NarrowsError
from narrows.model.scenario import Scenario
from narrows.outcome import Batch
from narrows.store import results
from narrows.store.saved import DAMAGE
from narrows.studies.comparison import directory as comparisons
from narrows.ui import stored
from narrows.ui.files import Files
from narrows.ui.listing import Entry, entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from narrows.outcome import Run
    from narrows.ui.data import Data


@dataclass(frozen=True, slots=True)
class Opened:
    """What the page shows first.

    Attributes
    ----------
    files : Files
    text : str or None
        Text of a scenario.
    name : str
        As the user named it.
    results : Entry or None
        Results instead of a scenario.
    """

    files: Files
    text: str | None = None
    name: str = ""
    results: Entry | None = None

    def to_dict(self) -> dict[str, Any] | None:
        """Return it for the page; ``None`` if nothing was opened."""
        if self.results is not None:
            return self.results.to_dict()
        if self.text is None:
            return None
        return {"kind": "scenario", "name": self.name, "toml": self.text, "files": self.files.names}


def find(name: str | None) -> Opened:
    """Find what the user named.

    Parameters
    ----------
    name : str or None
        A scenario file, the name of a bundled scenario, or a directory of results.

    Returns
    -------
    Opened

    Raises
    ------
    InputError
        If it is none of these.
    ScenarioError
        If it is a scenario that is refused.
    """
    if name is None:
        return Opened(Files())
    if name != inputs.STANDARD_INPUT and Path(name).is_dir():
        found = entry(Path(name), name)
        if found is None:
            message = f"{name}: is a directory without results; allowed: a scenario, or a directory of results"
            raise InputError(message)
        return Opened(Files(), results=found, name=name)
    scenario = Scenario.from_file(name)
    return Opened(Files(scenario.text, _folder(scenario)), scenario.text, Path(name).name)


def _folder(scenario: Scenario) -> Path:
    from narrows.base import bundled

    path = Path(scenario.path)
    known = bundled.scenarios().get(scenario.path.removesuffix(".toml"))
    return known.parent if known is not None and not path.exists() else path.parent


def read(
    found: Entry, arm: int = 0, number: int = 0, check: Callable[[], None] = lambda: None
) -> tuple[Data, dict[str, Any]]:
    """Read a run of a directory of results.

    Parameters
    ----------
    found : Entry
        Of runs or of a comparison.
    arm : int
        Of a comparison: 0 is the simulated one, 1 the live one.
    number : int
        Place of the run among those of the directory.
    check : callable
        Called between parts; may raise to stop.

    Returns
    -------
    data : Data
    told : dict
        ``toml`` (the scenario as run, below a line that names the results), ``runs`` (how many there are), ``live``,
        ``doubts`` (reasons not to trust the run) and ``label``.

    Raises
    ------
    InputError
        If the directory holds no such run, or is damaged.
    """
    if found.kind not in {"run", "comparison"}:
        message = f"{found.name}: holds a {found.kind}, which its page shows; allowed: runs, or a comparison"
        raise InputError(message)
    try:
        label, runs = _runs(found, arm)
        if not 0 <= number < len(runs):
            message = f"{found.name}: has no run {number}; allowed: 0 to {len(runs) - 1}"
            raise InputError(message)
        run = runs[number]
        data = stored.of_run(run, check)
    except NarrowsError:
        raise
    except DAMAGE as error:
        message = f"{found.name}: is damaged: {error!r}"
        raise InputError(message) from None
    return data, {
        "toml": _text(found, run, label, number, len(runs)),
        "runs": len(runs),
        "live": run.conditions is not None,
        "doubts": list(run.doubts),
        "label": label,
    }


def _runs(found: Entry, arm: int) -> tuple[str, list[Run]]:
    if found.kind == "comparison":
        chosen = comparisons.load(found.directory).arms[arm]
        label, outcome = chosen.label, chosen.outcome
    else:
        label, outcome = "", results.load(found.directory)
    return label, list(outcome.runs) if isinstance(outcome, Batch) else [outcome]


def _text(found: Entry, run: Run, label: str, number: int, runs: int) -> str:
    """Return the scenario as run below a line that tells recorded results from a run of the same text."""
    which = [found.name, *([label] if label else []), *([f"run {number + 1} of {runs}"] if runs > 1 else [])]
    # A file name may hold a line break, which would end the comment.
    name = "".join(letter if letter.isprintable() else " " for letter in ", ".join(which))
    return f"# Recorded results: {name}. A changed text is run again.\n{run.scenario.to_file()}"
