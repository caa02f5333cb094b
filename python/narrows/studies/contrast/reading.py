"""Results to compare, read from directories, with a label for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.outcome.outcome import Outcome
from narrows.store import results
from narrows.studies.comparison import directory as comparisons
from narrows.studies.comparison.comparison import Arm, Comparison
from narrows.studies.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from narrows.outcome import Batch, Run

    Result = str | PathLike[str] | Run | Batch | Comparison
    """What can be compared: a directory of results, a run, a batch, or a comparison of a simulated with a live one."""

FILES: Final = (results.SUMMARY, results.SCENARIO, results.SAMPLES, results.REPORT, results.COMPARISON)
"""Files of a result directory that may stand for it."""

_OTHERS: Final = {
    "sweep": "a sweep, whose page compares its points: narrows report {}",
    "contest": "a contest, whose page compares its pairs: narrows report {}",
    "aqm": "a comparison of queue disciplines, whose page is {}/report.html",
    "contrast": "a comparison of results, whose page is {}/report.html",
    "evaluation": "an evaluation, whose page is {0}/report.html; compare two: narrows evaluate CC --against {0}",
}
"""Directories that are no result of a scenario, by kind, and what to do instead."""


def arms(given: Sequence[Result], names: Sequence[str] | None = None) -> tuple[Arm, ...]:
    """Read results, and label each.

    Parameters
    ----------
    given : sequence
        Directories of results, files in them, or results as values. A comparison of a simulated with a live outcome,
        or its directory, gives both.
    names : sequence of str, optional
        A label for each result; by default the names of directories, and ``A``, ``B`` .. for values.

    Returns
    -------
    tuple of Arm

    Raises
    ------
    InputError
        If a directory holds no result, or the names are of another number or repeat.
    ScenarioError
        If this version refuses the scenario of a result.
    """
    directories = [Path(one) for one in given if not isinstance(one, Outcome | Comparison)]
    short = _short(directories)
    found: list[tuple[str, Run | Batch]] = []
    for one in given:
        if isinstance(one, Comparison):
            found += [(arm.label, arm.outcome) for arm in one.arms]
        elif isinstance(one, Outcome):
            found.append((chr(ord("A") + len(found)) if len(found) < 26 else f"R{len(found)}", one))
        else:
            path = Path(one)
            name = short[directories.index(path)]
            parts = _read(path)
            # The arms of the only argument need no name of a directory.
            named = name if len(given) > 1 or len(parts) == 1 else ""
            found += [(f"{named} {inner}".strip(), outcome) for inner, outcome in parts]
    labels = _labels([label for label, _ in found], names)
    return tuple(Arm(label, outcome) for label, (_, outcome) in zip(labels, found, strict=True))


def files(given: Sequence[str | PathLike[str]]) -> list[Path]:
    """List the files that stand for results, so that no command replaces what it reads.

    Parameters
    ----------
    given : sequence of path
        Directories of results.

    Returns
    -------
    list of pathlib.Path
        Those that exist.
    """
    named = [Path(one) / file for one in given for file in FILES]
    return [path for path in [*map(Path, given), *named] if path.is_file()]


def _labels(own: Sequence[str], names: Sequence[str] | None) -> Sequence[str]:
    if names is None:
        return [label if own.count(label) == 1 else f"{label} ({place})" for place, label in enumerate(own, 1)]
    if len(names) != len(own):
        message = f"names are {', '.join(names) or 'none'}; allowed: {len(own)}, one for each result"
        raise InputError(message)
    empty = next((name for name in names if not name.strip()), None)
    if empty is not None:
        message = "a name is empty; allowed: text, separated by commas"
        raise InputError(message)
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        message = f"names have {twice!r} twice; allowed: another one for each result"
        raise InputError(message)
    return names


def _short(directories: Sequence[Path]) -> list[str]:
    """Name each directory by as many of its last parts as tell it from the others."""
    whole = [path.parent if path.name in FILES else path for path in directories]
    parts = [path.absolute().resolve().parts for path in whole]
    made = []
    for mine in parts:
        others = [one for one in parts if one != mine]
        length = next((n for n in range(1, len(mine)) if all(one[-n:] != mine[-n:] for one in others)), len(mine))
        made.append("/".join(mine[-length:]))
    return made


def _read(path: Path) -> list[tuple[str, Run | Batch]]:
    """Read a directory, or the one of a file in it: one outcome, or both of a comparison, with a word for each."""
    directory = path.parent if path.is_file() and path.name in FILES else path
    if path.is_file() and directory is path:
        message = f"{path}: is a file; allowed: a directory that `narrows run` or `narrows live` wrote with -o"
        raise InputError(message)
    if not directory.is_dir():
        message = f"{path}: does not exist; allowed: a directory that `narrows run` or `narrows live` wrote with -o"
        raise InputError(message)
    found = kind_of(directory)
    if found == "comparison":
        return [(arm.label, arm.outcome) for arm in comparisons.load(directory).arms]
    if found in _OTHERS:
        message = f"{path}: holds {_OTHERS[found].format(directory)}"
        raise InputError(message)
    return [("", results.load(directory))]
