"""Layout of a sweep's directory, and reading it without writing to it.

``sweep.json`` describes the directory and the engine that made it, ``sweep.toml`` and ``scenarios/`` are what was run,
``runs/`` is the data set, ``other/`` holds runs of points that the sweep file no longer names, ``broken/`` holds files
that could not be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.studies.sweep import parts, table

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

FORMAT: Final = 1
"""Version of the directory format."""

MARKER: Final = "sweep.json"
SWEEP: Final = "sweep.toml"
RUNS: Final = "runs"
OTHER: Final = "other"
BROKEN: Final = "broken"
LOCK: Final = "lock"
SCENARIOS: Final = "scenarios"
"""Folder of the scenario files, next to `SWEEP`."""

_TRIES: Final = 10


def kept_name(name: str) -> str:
    """Return the path under which a sweep's directory keeps a scenario file.

    Parameters
    ----------
    name : str
        The scenario's name in the sweep file.

    Returns
    -------
    str
        Relative to the directory.

    Examples
    --------
    >>> kept_name("dumbbell-cubic"), kept_name("../mine/one-flow.toml")
    ('scenarios/dumbbell-cubic.toml', 'scenarios/__-mine-one-flow.toml')
    """
    flat = name.removesuffix(".toml").replace("..", "__").replace("/", "-")
    return f"{SCENARIOS}/{flat}.toml"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object that a sweep wrote.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If the file is damaged.
    OSError
        If the file cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        message = f"{path}: is damaged; allowed: a file that a sweep wrote"
        raise InputError(message)
    return found


def marker(directory: str | PathLike[str]) -> dict[str, Any]:
    """Read the marker file of a sweep's directory.

    Parameters
    ----------
    directory : path

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If the directory is not that of a sweep.
    """
    try:
        found = read_json(Path(directory) / MARKER)
    except OSError as error:
        message = f"{directory}: is not the directory of a sweep: {MARKER}: {error.strerror or error}"
        raise InputError(message) from None
    if found.get("format") != FORMAT:
        message = f"{directory}: format is {found.get('format')!r}; allowed: {FORMAT}"
        raise InputError(message)
    return found


def data_set(directory: str | PathLike[str]) -> pa.Table:
    """Read the data set of a directory as it is stored, with the columns of axes, each run once.

    Parameters
    ----------
    directory : path

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    InputError
        If it cannot be read.
    """
    tries = 0
    while True:
        try:
            found = [parts.read(path) for path in parts.listed(Path(directory) / RUNS)]
            return table.typed(parts.unique(table.agreed(found), table.Layout({}, ())))
        except (OSError, ValueError) as error:
            # A sweep in progress may have merged parts meanwhile: list them again.
            tries += 1
            if isinstance(error, FileNotFoundError) and tries < _TRIES:
                continue
            message = f"{directory}: cannot be read: {error}; `narrows sweep` puts aside what is damaged"
            raise InputError(message) from None


def size(directory: Path) -> int:
    """Size of the data set in bytes.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    int
    """
    return sum(path.stat().st_size for path in parts.listed(directory / RUNS))
