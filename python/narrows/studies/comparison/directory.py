"""Directories of comparisons: a result directory for each arm, and their differences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import ownership
from narrows.base import indented
from narrows.store import results
from narrows.store.saved import described, refusing_damage
from narrows.studies.comparison.comparison import FORMAT, KIND, Arm, Comparison

if TYPE_CHECKING:
    from os import PathLike

FILE: Final = results.COMPARISON


def fill(comparison: Comparison, directory: Path) -> None:
    """Write both arms and their differences into an existing directory.

    Parameters
    ----------
    comparison : Comparison
    directory : pathlib.Path
        A directory such as `narrows.ownership.staged` yields.

    Raises
    ------
    OSError
        If writing fails.
    """
    folders = [_fill_arm(arm, directory).name for arm in comparison.arms]
    content = comparison.to_json()
    for told, name in zip(content["arms"], folders, strict=True):
        told["directory"] = name
    (directory / FILE).write_text(dumps(content), encoding="utf-8")


def _fill_arm(arm: Arm, directory: Path) -> Path:
    folder = directory / folder_name(arm.label)
    folder.mkdir()
    results.fill(arm.outcome, folder)
    return folder


def write(comparison: Comparison, directory: str | PathLike[str]) -> Path:
    """Write a directory of a comparison atomically.

    Parameters
    ----------
    comparison : Comparison
    directory : path
        As for `narrows.ownership.staged`.

    Returns
    -------
    pathlib.Path
        The directory.

    Raises
    ------
    InputError, RunError
        As `narrows.ownership.staged` does.
    """
    with ownership.staged(directory) as temporary:
        fill(comparison, temporary)
    return Path(directory)


def load(directory: str | PathLike[str]) -> Comparison:
    """Read the directory of a comparison; differences are computed again.

    Parameters
    ----------
    directory : path

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If the directory is not of a comparison, has another format, or cannot be read.
    ScenarioError
        If this version refuses the scenario in it.
    """
    root = Path(directory)
    with refusing_damage(root / FILE):
        content = described(root / FILE, kind=KIND, format=FORMAT)
        first, second = [(str(arm["label"]), str(arm["directory"])) for arm in content["arms"]]
    return Comparison(*(Arm(label, results.load(root / Path(folder).name)) for label, folder in (first, second)))


def folder_name(label: str) -> str:
    """Name the directory of an arm.

    Parameters
    ----------
    label : str

    Returns
    -------
    str

    Examples
    --------
    >>> folder_name("simulated"), folder_name("Linux 6.18 (live)")
    ('simulated', 'linux-6.18-live')
    """
    return re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.") or "arm"


def dumps(content: dict[str, Any]) -> str:
    """Serialise as JSON text.

    Parameters
    ----------
    content : dict
        As `Comparison.to_json` returns it.

    Returns
    -------
    str
        Ends with a newline.
    """
    return indented.dumps(content) + "\n"
