"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.errors import InputError

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A scenario file (TOML), or a name from `narrows list scenarios`.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario; may be given several times."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Runs at the same time; by default one per processor.")
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON for machines instead of tables.")]
Load = Annotated[
    list[Path] | None,
    typer.Option("--load", metavar="FILE.py", help="Run a Python file first that registers congestion controls."),
]
NoProgress = Annotated[bool, typer.Option("--no-progress", metavar="", help="Show no progress bar.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Directory for the results.")]


def overrides(assignments: list[str] | None) -> dict[str, str]:
    """Split what ``--set`` was given.

    Parameters
    ----------
    assignments : list of str, optional
        Each ``path=value``.

    Returns
    -------
    dict
        Value by path.

    Raises
    ------
    InputError
        If one has no ``=`` or no path.

    Examples
    --------
    >>> overrides(["duration=2 s", "title=a=b"])
    {'duration': '2 s', 'title': 'a=b'}
    """
    split: dict[str, str] = {}
    for assignment in assignments or []:
        path, equals, value = assignment.partition("=")
        if not equals or not path.strip():
            message = f'--set {assignment}: is not an assignment; allowed: path=value, such as "duration=20 s"'
            raise InputError(message)
        split[path.strip()] = value.strip()
    return split
